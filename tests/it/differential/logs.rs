//! Random logs of requests: scenarios of the conformance vectors, spliced and broken in ways that callers, clocks and
//! networks break them. The same seed gives the same log.

use crate::embedded::read_only;
use serde_json::{Map, Value, json};

/// A small generator of numbers (splitmix64): any log can be made again from its seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `most`, which is not 0.
    pub fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % most as u64).expect("it is below a usize")
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// Calls in turn, each a step of a scenario. Steps may have two members more: `wait`, milliseconds that pass before the
/// step and all later ones, and `break`, how the text of the params is broken.
pub struct Log {
    pub start: String,
    pub principals: Map<String, Value>,
    pub steps: Vec<Value>,
}

/// The scenario as it stands.
pub fn straight(scenario: &Value) -> Log {
    let args = &scenario["args"];
    Log {
        start: args["start"].as_str().expect("a start").into(),
        principals: args["principals"].as_object().expect("principals").clone(),
        steps: args["steps"].as_array().expect("steps").clone(),
    }
}

/// A log made of scenarios of `corpus`.
pub fn broken(corpus: &[Value], random: &mut Random) -> Log {
    let mut log = straight(random.pick(corpus));
    if random.once_in(2) {
        let other = straight(random.pick(corpus));
        log.steps.truncate(1 + random.below(log.steps.len()));
        let from = if random.once_in(2) { 0 } else { random.below(other.steps.len()) };
        log.steps.extend(other.steps.into_iter().skip(from));
        log.principals.extend(other.principals);
    }
    // Most of what is refused as it stands, or only looks, makes room for what changes something.
    let idle = |step: &Value| step.get("error").is_some() || read_only(step["method"].as_str().unwrap_or_default());
    log.steps.retain(|step| !idle(step) || random.once_in(8));
    // Long ones add little but time.
    log.steps.truncate(60);
    if log.steps.is_empty() {
        return straight(random.pick(corpus));
    }
    let faults = 1 + log.steps.len() / 8;
    for _ in 0..faults {
        spoil(&mut log, random);
    }
    log
}

/// How params may be broken as a text; see [`break_text`].
pub const BREAKS: &[&str] = &[
    "cut",
    "twice",
    "mark",
    "surrogate",
    "infinite",
    "digits",
    "huge",
    "deep",
    "many",
    "large",
    "list",
    "extra",
    "empty",
];

fn spoil(log: &mut Log, random: &mut Random) {
    // Most faults come after the tasks are registered and the grant is made.
    let first = if random.once_in(8) { 0 } else { 4.min(log.steps.len() - 1) };
    let at = first + random.below(log.steps.len() - first);
    let names: Vec<String> = log.principals.keys().cloned().collect();
    let step = &mut log.steps[at];
    match random.below(16) {
        0 => step["as"] = if random.once_in(4) { Value::Null } else { json!(random.pick(&names)) },
        1 => step["instance"] = json!(random.pick(&["host-1", "host-2", "host-3"])),
        2 => step["wait"] = json!(random.pick(&[1, 999, 5_000, 14_999, 15_000, 30_000, 60_000, 3_600_000])),
        3 => step["break"] = json!(random.pick(BREAKS)),
        4 => step["params"]["idempotencyKey"] = json!(format!("idem_spoilt-{:04}", random.below(4))),
        5 | 6 => {
            // The answer got lost: the same again, at once or later.
            let again = step.clone();
            let later = at + 1 + random.below(log.steps.len() - at);
            log.steps.insert(later, again);
        }
        7 => {
            // Somebody else tries the same, with a key of its own.
            let mut again = step.clone();
            again["as"] = json!(random.pick(&names));
            again["params"]["idempotencyKey"] = json!(format!("idem_other-{:06}", random.below(1_000_000)));
            log.steps.insert(at + 1, again);
        }
        8 if log.steps.len() > 2 => drop(log.steps.remove(at)),
        9 => {
            let other = random.below(log.steps.len());
            log.steps.swap(at, other);
        }
        _ => tweak(&mut log.steps[at]["params"], random),
    }
}

/// Changes one value somewhere in `value`.
fn tweak(value: &mut Value, random: &mut Random) {
    match value {
        Value::Object(members) if !members.is_empty() && !members.contains_key("$var") => {
            let names: Vec<String> = members.keys().cloned().collect();
            let name = random.pick(&names).clone();
            match random.below(12) {
                0 => drop(members.remove(&name)),
                1 => drop(members.insert("extra".into(), json!(1))),
                _ => tweak(&mut members[&name], random),
            }
        }
        Value::Array(items) if !items.is_empty() && !random.once_in(4) => {
            let at = random.below(items.len());
            tweak(&mut items[at], random);
        }
        Value::Array(items) => items.push(json!("other")),
        Value::Number(number) => {
            let next = number.as_i64().unwrap_or(0);
            *value = random.pick(&[json!(next + 1), json!(next - 1), json!(0), json!(1.5), json!(1e300)]).clone();
        }
        Value::Bool(it) => *value = json!(!*it),
        Value::String(text) => *value = other_text(text, random),
        _ => *value = random.pick(&[json!(null), json!("sub_unknown1"), json!(7), json!({})]).clone(),
    }
}

/// Another text in place of `text`: one that also stands in scenarios, or the same with another end.
fn other_text(text: &str, random: &mut Random) -> Value {
    const WORDS: &[&str] = &[
        "msg_work-0001",
        "msg_work-0002",
        "msg_work-0003",
        "inc_writer-0001",
        "inc_builder-0001",
        "inc_builder-0002",
        "writer",
        "builder",
        "rel_work",
        "rel_back",
        "grant_work-1",
        "accepted",
        "rejected",
        "deferred",
        "stale",
        "expired",
        "revoked",
        "suggest",
        "steer",
        "interrupt",
        "notify",
        "store-only",
        "active-steer",
        "user",
        "agent",
        "policy",
        "run-1",
        "run-2",
        "loop",
        "",
        " ",
        "confirmed-submitted",
        "confirmed-not-submitted",
        "manual-required",
        "found",
        "absent-now",
        "absent-final",
        "unanswerable",
        "2026-05-04T08:30:00Z",
        "2026-05-04T08:00:01.000Z",
        "2027-01-01T00:00:00Z",
    ];
    match random.below(4) {
        0 => json!(format!("{text}x")),
        1 => json!(text.chars().rev().skip(1).collect::<Vec<_>>().into_iter().rev().collect::<String>()),
        _ => json!(random.pick(WORDS)),
    }
}

/// The text of params, with what earlier steps kept; what was not kept is made up.
pub fn text(params: &Value, kept: &Map<String, Value>) -> String {
    fn fill(value: &Value, kept: &Map<String, Value>) -> Value {
        match value {
            Value::Object(members) => match members.get("$var").and_then(Value::as_str) {
                Some(name) => kept.get(name).cloned().unwrap_or_else(|| json!(format!("sha256:{:064}", 0))),
                None => members.iter().map(|(name, value)| (name.clone(), fill(value, kept))).collect(),
            },
            Value::Array(items) => items.iter().map(|item| fill(item, kept)).collect(),
            other => other.clone(),
        }
    }
    fill(params, kept).to_string()
}

/// `text`, an object, broken in one of the ways of [`BREAKS`].
pub fn break_text(text: &str, how: &str) -> String {
    let with = |member: &str| text.replacen('{', &format!("{{{member}{}", if text == "{}" { "" } else { "," }), 1);
    match how {
        "cut" => text[..text.len() - 1].to_owned(),
        "twice" => with("\"twice\":1,\"twice\":1"),
        "mark" => format!("\u{feff}{text}"),
        "surrogate" => with("\"half\":\"\\ud800\""),
        "infinite" => with("\"number\":1e400"),
        "digits" => with("\"number\":9007199254740993"),
        "huge" => with("\"number\":1e300"),
        "deep" => with(&format!("\"deep\":{}{}", "[".repeat(70), "]".repeat(70))),
        "many" => with(&format!("\"many\":[{}0]", "0,".repeat(65_600))),
        "large" => with(&format!("\"large\":\"{}\"", "x".repeat(1 << 20))),
        "list" => format!("[{text}]"),
        "extra" => with("\"extra\":1"),
        _ => "{}".into(),
    }
}
