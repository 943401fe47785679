//! `spec/guarantees.md`: every promise names what shows it, and all of that is there.

use std::fs;

/// The promises of the page, each with the names in its last column.
fn promises() -> Vec<(String, Vec<String>)> {
    let page = fs::read_to_string(xtask::root().join("spec/guarantees.md")).expect("the page is readable");
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| promise "));
    let cells = rows.map(|row| row.trim_matches('|').rsplit_once('|').expect("two columns"));
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(Into::into).collect();
    cells.map(|(promise, shown)| (promise.trim().to_owned(), names(shown))).collect()
}

#[test]
fn every_promise_is_shown_by_something_that_can_fail() {
    let promises = promises();
    assert!(promises.len() > 20, "only {} promises were read", promises.len());
    for (promise, names) in &promises {
        assert!(!names.is_empty(), "nothing shows that {promise}");
    }
    let names: Vec<String> = promises.into_iter().flat_map(|(_, names)| names).collect();
    let faults = xtask::behaviours::unshown(&xtask::root(), &names).expect("the sources are readable");
    assert!(faults.is_empty(), "{faults:#?}");
}
