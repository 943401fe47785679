//! What a reader of the tree may rely on: short files, no leftovers, no traces of one machine, `unsafe` only where it
//! is named.

use std::{fs, path::PathBuf, process::Command};

/// The only files that may contain `unsafe` code, each with its reason.
const UNSAFE: &[&str] = &[
    // Loading precompiled machine code that this user's own cache holds.
    "host/runtime/src/engine/cache.rs",
    // The allocator of the component, and its tests; and what an instance keeps, which has one thread.
    "guest/component/src/arena.rs",
    "guest/component/src/arena/tests.rs",
    "guest/component/src/one.rs",
    // Setting up the system's allocator.
    "host/cli/src/memory.rs",
];

const LINES_MAX: usize = 700;

fn tracked() -> Vec<PathBuf> {
    let root = xtask::root();
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(&root).output().expect("git runs");
    assert!(output.status.success(), "not a git checkout: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).expect("file names are UTF-8");
    names
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(|name| root.join(name))
        .filter(|path| path.is_file())
        .collect()
}

#[allow(clippy::ptr_arg, reason = "passed to iterators over paths")]
fn name(path: &PathBuf) -> String {
    path.strip_prefix(xtask::root()).expect("below the root").to_string_lossy().into_owned()
}

fn sources() -> Vec<(String, String)> {
    let code = |name: &str| [".rs", ".py", ".js", ".mjs", ".ts", ".wit"].iter().any(|end| name.ends_with(end));
    let read = |path: &PathBuf| (name(path), fs::read_to_string(path).unwrap_or_default());
    tracked().iter().filter(|path| code(&name(path))).map(read).collect()
}

#[test]
fn files_are_short() {
    let long: Vec<String> = sources()
        .iter()
        .filter(|(name, text)| !name.contains("/generated/") && text.lines().count() > LINES_MAX)
        .map(|(name, text)| format!("{name}: {}", text.lines().count()))
        .collect();
    assert!(long.is_empty(), "over {LINES_MAX} lines: {long:?}");
}

/// A file that no module names is compiled by nobody, and its tests never run.
#[test]
fn every_file_is_a_module() {
    let sources = sources();
    let roots = ["main.rs", "lib.rs"];
    let named = |file: &str| {
        let (folder, stem) = file.rsplit_once('/').expect("in a folder");
        let stem = stem.strip_suffix(".rs").expect("Rust");
        let parents = [format!("{folder}.rs"), format!("{folder}/main.rs"), format!("{folder}/lib.rs")];
        let word = format!("mod {stem};");
        sources.iter().any(|(name, text)| parents.contains(name) && text.lines().any(|line| line.ends_with(&word)))
    };
    let modules = sources.iter().map(|(name, _)| name.as_str()).filter(|name| {
        let part = name.contains("/src/") && !name.contains("/src/bin/") || name.starts_with("tests/it/");
        name.ends_with(".rs") && part && !roots.iter().any(|root| name.ends_with(&format!("/{root}")))
    });
    let lost: Vec<&str> = modules.filter(|name| !named(name)).collect();
    assert!(lost.is_empty(), "no module names them: {lost:?}");
}

#[test]
fn nothing_is_left_over() {
    let marks =
        ["TO".to_owned() + "DO", "FIX".to_owned() + "ME", "todo".to_owned() + "!(", "unimple".to_owned() + "mented!("];
    for (name, text) in sources() {
        for mark in &marks {
            assert!(!text.contains(mark.as_str()), "{name} contains {mark}");
        }
    }
}

#[test]
fn no_file_knows_one_machine() {
    let traces = ["/ro".to_owned() + "ot/", "/wo".to_owned() + "rk/", "/home".to_owned() + "/"];
    for path in tracked() {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for trace in &traces {
            assert!(!text.contains(trace.as_str()), "{} contains {trace}", name(&path));
        }
    }
}

#[test]
fn unsafe_code_stands_only_where_it_is_named() {
    let word = "uns".to_owned() + "afe ";
    for (name, text) in sources().iter().filter(|(name, _)| name.ends_with(".rs")) {
        let uses = text.lines().any(|line| {
            let code = line.trim_start();
            !code.starts_with("//") && (code.contains(&format!("{word}{{")) || code.contains(&format!("{word}fn")))
        });
        assert!(!uses || UNSAFE.contains(&name.as_str()) || name.starts_with("tests/faults/"), "{name} is unsafe");
    }
}

#[test]
fn modules_are_named_after_their_folder() {
    let nested: Vec<String> = tracked().iter().map(name).filter(|name| name.ends_with("/mod.rs")).collect();
    assert!(nested.is_empty(), "use foo.rs beside foo/: {nested:?}");
}
