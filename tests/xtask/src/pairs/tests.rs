use super::{median, read::Better, read::figures};

#[test]
fn figures_are_found_in_what_a_bench_prints() {
    let text = "component loaded in 18.0ms (Cached), first answer after 20.5ms\n\
                fresh instance: 12.5 us\n\
                \x20                            component     native   ratio\n\
                decide send, 2nd round          81.00 us      38.00 us   2.13x\n\
                \x20 16 callers send           3859 (0.71x)  4.100 / 9.200  0.021  320 us\n\
                \x20 send                     2.50 / 1.00\n\
                \x20 peak memory 54 kB\n";
    let all = figures(text);
    let value = |name: &str| all.get(name).unwrap_or_else(|| panic!("no {name} in {all:?}")).value;
    assert!((value("start: first answer, ms") - 20.5).abs() < 1e-9);
    assert!((value("core: fresh instance, us") - 12.5).abs() < 1e-9);
    assert!((value("core: decide send, 2nd round, us") - 81.0).abs() < 1e-9);
    assert!((value("native: decide send, 2nd round, us") - 38.0).abs() < 1e-9);
    assert!((value("load: send at 16, us of processor") - 320.0).abs() < 1e-9);
    assert!((value("life: writes of send") - 2.5).abs() < 1e-9);
    assert_eq!(all["load: send at 16, a second"].better, Better::More);
    assert_eq!(all.len(), 11);
}

#[test]
fn the_middle_of_an_even_number_is_the_lower_one() {
    assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
    assert!((median(vec![4.0, 1.0, 2.0, 3.0]) - 2.0).abs() < 1e-9);
}
