//! The arrows between the modules of `guest/protocol`, read off its sources: the layers of ARCHITECTURE.md hold, and no
//! file is needed by what it needs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// What knows no operation, and which of the others each of these may use.
const FOUNDATIONS: &[(&str, &[&str])] = &[
    ("schema", &[]),
    // The records know how a row is read and written.
    ("generated", &["json", "schema"]),
    ("characters", &[]),
    ("digest", &[]),
    ("error", &["generated"]),
    ("rules", &["error", "generated"]),
    ("json", &["digest", "error", "generated", "rules"]),
    ("time", &["error", "generated", "rules"]),
    ("lifecycle", &["error", "generated", "json", "rules"]),
    ("documents", &["characters", "digest", "error", "generated", "json", "lifecycle", "rules", "schema", "time"]),
    ("attestation", &["documents", "error", "generated", "json", "rules", "time"]),
    ("rendering", &["characters", "digest"]),
];

/// The domains of the operations, the lowest first: each may use every foundation, and of the domains these.
const DOMAINS: &[(&str, &[&str])] = &[
    ("kernel", &[]),
    ("authority", &["kernel"]),
    ("submission", &["kernel", "authority"]),
    ("delivery", &["kernel", "authority", "submission"]),
    ("retention", &["kernel"]),
    ("events", &["kernel", "authority", "submission", "delivery"]),
    ("registry", &["kernel", "authority", "submission", "delivery", "retention", "events"]),
    ("about", &[]),
    ("operations", &["kernel", "authority", "submission", "delivery", "retention", "events", "registry"]),
];

/// Names at the root of the crate, and where they come from.
const ROOT: &[(&str, &str)] = &[("Error", "error"), ("Code", "generated::errors"), ("Rule", "generated::rules")];

/// The sources by module: `kernel::flow` is `kernel/flow.rs`. Tests are left out: they may use anything.
type Sources = BTreeMap<String, String>;

fn sources() -> Sources {
    fn gather(folder: &Path, parent: &str, out: &mut Sources) {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
            if matches!(stem.as_str(), "lib" | "tests" | "wycheproof") {
                continue;
            }
            let module = if parent.is_empty() { stem } else { format!("{parent}::{stem}") };
            if path.is_dir() {
                gather(&path, &module, out);
            } else {
                out.insert(module, fs::read_to_string(&path).expect("a source"));
            }
        }
    }
    let mut out = Sources::new();
    gather(&xtask::root().join("guest/protocol/src"), "", &mut out);
    out
}

/// The paths that a `use` of `tree` brings in.
fn expand(tree: &str, before: &str, out: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((head, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        return out.push(format!("{before}{}", path.trim_end_matches("::self")));
    };
    let inner = rest.trim_end().strip_suffix('}').expect("a closed group");
    let (mut depth, mut start) = (0_i32, 0_usize);
    for (at, character) in inner.char_indices().chain([(inner.len(), ',')]) {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let part = inner[start..at].trim();
                if !part.is_empty() {
                    expand(part, &format!("{before}{head}"), out);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// Every path that a source names from the root, from above, or from itself.
fn paths(source: &str) -> Vec<String> {
    let code: String =
        source.lines().map(|line| line.split("//").next().unwrap_or_default()).fold(String::new(), |mut all, line| {
            all += line;
            all += "\n";
            all
        });
    let mut out = Vec::new();
    let mut rest = code.as_str();
    while let Some(at) = rest.find("use ") {
        let fresh = rest[..at].rsplit('\n').next().unwrap_or_default().trim();
        rest = &rest[at + 4..];
        if fresh.is_empty() || fresh.starts_with("pub") {
            let (found, after) = rest.split_once(';').expect("an end of the declaration");
            expand(found, "", &mut out);
            rest = after;
        }
    }
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let path: String =
                code[at..].chars().take_while(|one| one.is_alphanumeric() || matches!(one, '_' | ':')).collect();
            // A group was read with its declaration.
            if !path.ends_with("::") {
                out.push(path);
            }
        }
    }
    out
}

/// The module that a path of `module` leads to, if it is one of ours.
fn target(module: &str, path: &str, sources: &Sources) -> Option<String> {
    let mut parts: Vec<&str> = module.split("::").collect();
    let mut steps = path.split("::").peekable();
    match *steps.peek()? {
        "crate" => parts.clear(),
        "super" | "self" => {}
        _ => return None,
    }
    for step in steps {
        match step {
            "crate" | "self" => {}
            "super" => drop(parts.pop()),
            step => parts.push(step),
        }
    }
    if let Some((_, home)) = ROOT.iter().find(|(name, _)| Some(name) == parts.first()) {
        return Some((*home).to_owned());
    }
    (1..=parts.len()).rev().map(|length| parts[..length].join("::")).find(|name| sources.contains_key(name))
}

/// Which modules each one uses. That a module holds those inside it is no arrow.
fn arrows(sources: &Sources) -> BTreeMap<String, BTreeSet<String>> {
    let used = |module: &String, source: &String| {
        let inside = format!("{module}::");
        let found = paths(source).into_iter().filter_map(|path| target(module, &path, sources));
        found.filter(|name| name != module && !name.starts_with(&inside)).collect()
    };
    sources.iter().map(|(module, source)| (module.clone(), used(module, source))).collect()
}

/// Arrows that the tables do not allow.
fn forbidden(sources: &Sources) -> Vec<String> {
    let top = |module: &str| module.split("::").next().unwrap_or_default().to_owned();
    let foundation = |name: &str| FOUNDATIONS.iter().any(|(known, _)| *known == name);
    let mut out = Vec::new();
    for (module, used) in arrows(sources) {
        let from = top(&module);
        let known = FOUNDATIONS.iter().chain(DOMAINS).find(|(name, _)| *name == from);
        let Some((_, allowed)) = known else {
            out.push(format!("{module} is in no layer"));
            continue;
        };
        for name in used {
            let to = top(&name);
            let below = !foundation(&from) && foundation(&to);
            if to != from && !below && !allowed.contains(&to.as_str()) {
                out.push(format!("{module} uses {name}"));
            }
        }
    }
    out
}

/// A way from a module back to itself, if there is one.
fn circle(sources: &Sources) -> Option<Vec<String>> {
    fn walk(
        at: &str,
        arrows: &BTreeMap<String, BTreeSet<String>>,
        way: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> bool {
        if let Some(start) = way.iter().position(|known| known == at) {
            way.drain(..start);
            return true;
        }
        if !done.insert(at.to_owned()) {
            return false;
        }
        way.push(at.to_owned());
        if arrows.get(at).is_some_and(|used| used.iter().any(|next| walk(next, arrows, way, done))) {
            return true;
        }
        way.pop();
        false
    }
    let arrows = arrows(sources);
    let (mut way, mut done) = (Vec::new(), BTreeSet::new());
    arrows.keys().any(|module| walk(module, &arrows, &mut way, &mut done)).then_some(way)
}

#[test]
fn modules_of_the_rules_use_only_what_lies_below_them() {
    let wrong = forbidden(&sources());
    assert!(wrong.is_empty(), "against the layers of ARCHITECTURE.md: {wrong:#?}");
}

#[test]
fn no_file_of_the_rules_needs_itself() {
    assert_eq!(circle(&sources()), None);
}

/// A wrong arrow is seen, in each of the forms in which one can be written.
#[test]
fn a_planted_arrow_is_found() {
    let planted = [
        ("kernel::flow", "use crate::delivery::life::Life;", "kernel::flow uses delivery::life"),
        ("kernel::keys", "use crate::{Rule, authority::task::{self, Task}};", "kernel::keys uses authority::task"),
        ("authority::gate", "fn f() { crate::delivery::send::send(); }", "authority::gate uses delivery::send"),
        ("json::tree", "use super::super::kernel::keys::key;", "json::tree uses kernel::keys"),
        (
            "retention::expiry",
            "    use crate::delivery::{\n    life::Life,\n};",
            "retention::expiry uses delivery::life",
        ),
        ("submission::begin", "use crate::delivery::message;", "submission::begin uses delivery::message"),
        ("generated::shapes", "use crate::documents;", "generated::shapes uses documents"),
    ];
    for (module, text, found) in planted {
        let mut sources = sources();
        let source = sources.get_mut(module).unwrap_or_else(|| panic!("no module {module}"));
        *source = format!("{source}\n{text}\n");
        assert_eq!(forbidden(&sources), [found.to_owned()], "{text}");
    }
    let mut sources = sources();
    sources.insert("elsewhere".into(), String::new());
    assert_eq!(forbidden(&sources), ["elsewhere is in no layer"]);
}

/// So is a circle within one domain, which no table forbids.
#[test]
fn a_planted_circle_is_found() {
    let mut sources = sources();
    let source = sources.get_mut("authority::grant").expect("a module");
    *source += "use crate::authority::relationships::grant;\n";
    let way = circle(&sources).expect("a circle");
    assert!(way.iter().any(|module| module == "authority::grant"), "{way:?}");
}
