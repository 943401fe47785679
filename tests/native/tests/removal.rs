//! Without what makes them so, behaviours are missed: with a rule of a behaviour switched off, or refusing whatever it
//! judges where the behaviour is that something passes, the vectors that `spec/behaviours.json` names for it fail.
//!
//! Where a behaviour rests on what is answered, every answer that its vectors expect is altered, and they must fail as
//! well. Tests in Rust that the map names are not part of this: they cannot be run without a rule.
//!
//! The switches are one for the whole process, so this is a test program of its own with a single test.
//! `THREADMESH_REMOVAL_SEED` chooses other ten of the behaviours to be told about.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::{fs, path::Path};
use threadmesh_native::{NativeCore, vectors};
use threadmesh_protocol::{Rule, generated::rules::ALL, rules};
use threadmesh_runtime::{
    Core, Session, driver,
    vectors::{Verdict, judge},
};

/// How many are told about.
const TOLD: usize = 10;

/// How a rule is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Removal {
    /// It refuses nothing.
    Off,
    /// It refuses everything.
    Refusing,
}

/// The vectors by their names in the map, and what became of them.
struct Run {
    vectors: BTreeMap<String, Value>,
    session: Box<dyn Session>,
    known: BTreeMap<(String, Removal, String), bool>,
    /// What each vector is answered with all rules in place.
    whole: BTreeMap<String, Value>,
}

/// What was found about a behaviour.
#[derive(Default)]
struct Found {
    /// Vectors that noticed, as often as they did.
    noticed: usize,
    faults: Vec<String>,
}

impl Run {
    fn answer(&mut self, vector: &Value) -> Value {
        driver::answer(self.session.as_mut(), vector["function"].as_str().expect("a function"), &vector["args"])
    }

    /// What the vector called `name` is answered with all rules in place.
    fn whole(&mut self, name: &str) -> Value {
        if let Some(answer) = self.whole.get(name) {
            return answer.clone();
        }
        let vector = self.vectors[name].clone();
        let answer = self.answer(&vector);
        self.whole.insert(name.to_owned(), answer.clone());
        answer
    }

    /// Whether the vector fails with the rule removed.
    fn notices(&mut self, name: &str, rule: Rule, removal: Removal) -> bool {
        let key = (name.to_owned(), removal, rule.id().to_owned());
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let vector = self.vectors[name].clone();
        match removal {
            Removal::Off => rules::disable(Some(rule)),
            Removal::Refusing => rules::refuse(Some(rule)),
        }
        let answer = self.answer(&vector);
        rules::disable(None);
        rules::refuse(None);
        let failed = judge(&vector, &answer) != Verdict::Passed;
        self.known.insert(key, failed);
        failed
    }

    fn behaviour(&mut self, behaviour: &Value) -> Found {
        let mut found = Found::default();
        let named = |member: &str| texts(&behaviour[member]).map(Into::into).collect::<Vec<String>>();
        let (names, answers) = (named("vectors"), named("answers"));
        for name in names.iter().chain(&answers) {
            let Some(vector) = self.vectors.get(name).cloned() else {
                found.faults.push(format!("there is no {name:?}"));
                return found;
            };
            if judge(&vector, &self.whole(name)) != Verdict::Passed {
                found.faults.push(format!("{name:?} fails with all rules in place"));
            }
        }
        let removals = [("rules", Removal::Off), ("passes", Removal::Refusing)];
        let rules: Vec<(Rule, Removal)> = removals
            .into_iter()
            .flat_map(|(member, removal)| texts(&behaviour[member]).map(move |id| (rule(id), removal)))
            .collect();
        if rules.is_empty() {
            self.altered(&names, &mut found);
        } else {
            self.removed(&names, &rules, &mut found);
        }
        self.altered(&answers, &mut found);
        found
    }

    /// Every named vector misses one of the rules, and every rule is missed by one of the vectors.
    fn removed(&mut self, names: &[String], rules: &[(Rule, Removal)], found: &mut Found) {
        let mut missed = BTreeSet::new();
        for name in names {
            let noticed: Vec<_> =
                rules.iter().filter(|(rule, removal)| self.notices(name, *rule, *removal)).copied().collect();
            if noticed.is_empty() {
                found.faults.push(format!("{name:?} holds without any of the rules"));
            }
            found.noticed += noticed.len();
            missed.extend(noticed.into_iter().map(|(rule, removal)| (rule.id(), removal)));
        }
        let unmissed = rules.iter().filter(|(rule, removal)| !missed.contains(&(rule.id(), *removal)));
        found.faults.extend(unmissed.map(|(rule, removal)| format!("nothing misses {} ({removal:?})", rule.id())));
    }

    /// Every vector fails wherever an answer is not the expected one.
    fn altered(&mut self, names: &[String], found: &mut Found) {
        for name in names {
            let (vector, answer) = (self.vectors[name].clone(), self.whole(name));
            let altered = if vector["function"] == "scenario" { scenario(&vector, &answer) } else { whole(&vector) };
            if altered.is_empty() {
                found.faults.push(format!("{name:?} expects nothing that could be altered"));
            }
            let passed = altered.iter().filter(|altered| judge(&vector, altered) == Verdict::Passed).count();
            if passed > 0 {
                found.faults.push(format!("{name:?} holds with {passed} altered answers"));
            }
            found.noticed += altered.len() - passed;
        }
    }
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn rule(id: &str) -> Rule {
    *ALL.iter().find(|rule| rule.id() == id).unwrap_or_else(|| panic!("there is no rule {id}"))
}

/// The opposite of what a vector of one function expects.
fn whole(vector: &Value) -> Vec<Value> {
    let refusal = json!({"error": {"code": "altered", "pointer": "", "detail": "altered"}});
    vec![if vector.get("error").is_some() { json!({"ok": "altered"}) } else { refusal }]
}

/// Transcripts of a scenario, each with one expected value replaced by another.
fn scenario(vector: &Value, answer: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    for (index, step) in vector["args"]["steps"].as_array().into_iter().flatten().enumerate() {
        let entry = &answer["ok"][index];
        let (member, expected) =
            if step.get("ok").is_some() { ("result", &step["ok"]) } else { ("error", &step["error"]) };
        let Some(text) = entry[member].as_str() else { continue };
        let value: Value = serde_json::from_str(text).expect("an answer is JSON");
        let mut places = Vec::new();
        leaves(expected, if member == "error" { "/data" } else { "" }, &mut places);
        for place in places.iter().filter(|place| *place != "/data/rule") {
            let mut other = value.clone();
            match other.pointer_mut(place) {
                Some(there) => *there = "altered".into(),
                None => insert(&mut other, place),
            }
            let mut altered = answer.clone();
            altered["ok"][index][member] = other.to_string().into();
            all.push(altered);
        }
    }
    all
}

/// Where `expected` says something about a single value: scalars, and what must not be there.
fn leaves(expected: &Value, place: &str, places: &mut Vec<String>) {
    match expected {
        Value::Object(members) if members.contains_key("$not") => {}
        Value::Object(members) if members.keys().any(|name| name.starts_with('$')) => places.push(place.to_owned()),
        Value::Object(members) => {
            let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
            members.iter().for_each(|(name, value)| leaves(value, &format!("{place}/{}", escaped(name)), places));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| leaves(value, &format!("{place}/{index}"), places));
        }
        _ => places.push(place.to_owned()),
    }
}

/// Puts something where nothing is.
fn insert(value: &mut Value, place: &str) {
    let (parent, name) = place.rsplit_once('/').expect("a pointer");
    if let Some(members) = value.pointer_mut(parent).and_then(Value::as_object_mut) {
        members.insert(name.to_owned(), "altered".into());
    }
}

fn map() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/behaviours.json");
    let map: Value = serde_json::from_str(&fs::read_to_string(path).expect("the map")).expect("JSON");
    map["behaviours"].as_array().expect("behaviours").clone()
}

/// Numbers that look random and are the same for a seed.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 33).expect("31 bits")
}

#[test]
fn removing_a_rule_makes_the_named_vectors_of_its_behaviours_fail() {
    let named = |(file, vector): (String, Value)| {
        (format!("{}: {}", file.trim_end_matches(".json"), vector["name"].as_str().expect("a name")), vector)
    };
    let vectors = vectors::all().into_iter().map(named).collect();
    let mut run = Run {
        vectors,
        session: NativeCore.session().expect("a session"),
        known: BTreeMap::new(),
        whole: BTreeMap::new(),
    };
    let (mut faults, mut tried, mut by_tests) = (Vec::new(), Vec::new(), Vec::new());
    for behaviour in map() {
        let id = behaviour["id"].as_str().expect("an id").to_owned();
        if ["vectors", "answers"].iter().all(|member| texts(&behaviour[*member]).next().is_none()) {
            if texts(&behaviour["tests"]).next().is_some() {
                by_tests.push(id);
            }
            continue;
        }
        let found = run.behaviour(&behaviour);
        faults.extend(found.faults.iter().map(|fault| format!("{id}: {fault}")));
        let how = ["rules", "passes"].iter().flat_map(|member| texts(&behaviour[*member])).collect::<Vec<_>>();
        tried.push((id, how.join(", "), found.noticed));
    }
    let seed = std::env::var("THREADMESH_REMOVAL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut state = seed;
    println!("{} behaviours removed; ten of them, by seed {seed}:", tried.len());
    for _ in 0..TOLD.min(tried.len()) {
        let (id, how, noticed) = &tried[next(&mut state) % tried.len()];
        let how = if how.is_empty() { "its answers altered" } else { how };
        println!("  {id}: {how}: {noticed} failures");
    }
    println!("shown by tests in Rust alone: {}", by_tests.join(" "));
    assert!(tried.len() > 100, "{} behaviours have vectors", tried.len());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
