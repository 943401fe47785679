//! The figures in what `threadmesh-bench` prints.

use std::collections::BTreeMap;

/// In which direction a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Times and counts of work.
    Less,
    /// Rates.
    More,
}

/// One figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The number, in the unit that its name says.
    pub value: f64,
    /// In which direction it is better.
    pub better: Better,
}

/// All figures of one run by their names. Lines of other forms say nothing.
pub fn figures(text: &str) -> BTreeMap<String, Figure> {
    let mut all = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let found = start(&words).or_else(|| core(&words)).or_else(|| load(&words)).or_else(|| life(&words));
        all.extend(found.unwrap_or_default());
    }
    all
}

type Found = Option<Vec<(String, Figure)>>;

fn less(name: String, value: f64) -> (String, Figure) {
    (name, Figure { value, better: Better::Less })
}

/// `component loaded in 18.0ms (Cached), first answer after 20.1ms`, `fresh instance: 12.3 us`.
fn start(words: &[&str]) -> Found {
    match words {
        ["fresh", "instance:", value, "us"] => Some(vec![less("core: fresh instance, us".into(), value.parse().ok()?)]),
        ["component", "loaded", "in", .., after] => {
            Some(vec![less("start: first answer, ms".into(), milliseconds(after)?)])
        }
        _ => None,
    }
}

/// `digest envelope  1.23 us  0.98 us  1.26x`: in the component, and native.
fn core(words: &[&str]) -> Found {
    let [name @ .., guest, "us", native, "us", ratio] = words else { return None };
    ratio.strip_suffix('x')?;
    let name = name.join(" ");
    let figure = |kind: &str, value: &str| Some(less(format!("{kind}: {name}, us"), value.parse().ok()?));
    Some(vec![figure("core", guest)?, figure("native", native)?])
}

/// `16 callers send  3859 (0.71x)  4.1 / 9.2  0.02  320 us`: operations a second, p50 and p99, commits and processor time.
fn load(words: &[&str]) -> Found {
    let [callers, "callers", name, rate, _, half, "/", most, commits, processor, "us"] = words else { return None };
    let what = |unit: &str| format!("load: {name} at {callers}, {unit}");
    let number = |text: &&str| text.parse::<f64>().ok();
    Some(vec![
        (what("a second"), Figure { value: number(rate)?, better: Better::More }),
        less(what("p50 ms"), number(half)?),
        less(what("p99 ms"), number(most)?),
        less(what("commits each"), number(commits)?),
        less(what("us of processor"), number(processor)?),
    ])
}

/// `claim  3.02 / 1.00`: writes and syncs of a step of a life.
fn life(words: &[&str]) -> Found {
    let [name @ .., writes, "/", syncs] = words else { return None };
    let name = name.join(" ");
    let figure = |unit: &str, value: &str| Some(less(format!("life: {unit} of {name}"), value.parse().ok()?));
    Some(vec![figure("writes", writes)?, figure("syncs", syncs)?])
}

/// A duration as Rust prints it.
fn milliseconds(text: &str) -> Option<f64> {
    let units = [("ms", 1.0), ("µs", 0.001), ("ns", 0.000_001), ("s", 1_000.0)];
    let (number, factor) = units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    Some(number.parse::<f64>().ok()? * factor)
}
