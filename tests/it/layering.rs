//! Who may depend on whom: the table of ARCHITECTURE.md, read off `cargo metadata`.

mod modules;

use serde_json::Value;
use std::{collections::BTreeMap, collections::BTreeSet, process::Command};

/// Per crate of the workspace: what it may depend on, beside the named third-party crates of `protocol`.
const ALLOWED: &[(&str, &[&str])] = &[
    ("threadmesh-protocol", &[]),
    ("threadmesh-component", &["threadmesh-protocol"]),
    ("threadmesh-artifact", &[]),
    ("threadmesh-runtime", &["threadmesh-artifact"]),
    ("threadmesh-store-sqlite", &["threadmesh-runtime"]),
    ("threadmesh-adapters", &["threadmesh-runtime"]),
    ("threadmesh-server", &["threadmesh-runtime"]),
    (
        "threadmesh-cli",
        &[
            "threadmesh-adapters",
            "threadmesh-artifact",
            "threadmesh-runtime",
            "threadmesh-server",
            "threadmesh-store-sqlite",
        ],
    ),
    ("threadmesh-native", &["threadmesh-protocol", "threadmesh-runtime"]),
];

/// What the rules may be built from.
const PROTOCOL: &[&str] = &["ed25519-dalek", "p256", "ryu-js", "sha2"];

/// What must never be near the rules or the host loop.
const NO_ASYNC: &[&str] = &["tokio", "async-std", "smol", "futures-executor"];

fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(xtask::root())
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .map(|package| {
            let normal = package["dependencies"].as_array().expect("dependencies").iter();
            let names = normal.filter(|dependency| dependency["kind"].is_null()).map(name);
            (name(package), names.collect())
        })
        .collect()
}

fn name(value: &Value) -> String {
    value["name"].as_str().expect("a name").to_owned()
}

#[test]
fn crates_depend_only_on_what_the_table_allows() {
    let dependencies = dependencies();
    for (package, allowed) in ALLOWED {
        let actual = dependencies.get(*package).unwrap_or_else(|| panic!("{package} is not in the workspace"));
        for dependency in actual.iter().filter(|dependency| dependency.starts_with("threadmesh-")) {
            assert!(allowed.contains(&dependency.as_str()), "{package} must not depend on {dependency}");
        }
    }
}

#[test]
fn every_crate_of_the_product_is_in_the_table() {
    let known: BTreeSet<&str> = ALLOWED
        .iter()
        .map(|(package, _)| *package)
        .chain([
            "xtask",
            "threadmesh-bench",
            "threadmesh-faults",
            "threadmesh-fuzz",
            "threadmesh-services",
            "threadmesh-sim",
        ])
        .collect();
    for package in dependencies().keys() {
        assert!(known.contains(package.as_str()), "{package} is not in the layering table");
    }
}

#[test]
fn the_rules_are_built_from_four_crates() {
    let dependencies = dependencies();
    let actual: BTreeSet<&str> = dependencies["threadmesh-protocol"].iter().map(String::as_str).collect();
    assert_eq!(actual, PROTOCOL.iter().copied().collect());
}

#[test]
fn the_host_loop_knows_no_async_runtime_and_no_store() {
    let runtime = &dependencies()["threadmesh-runtime"];
    for forbidden in NO_ASYNC.iter().chain(&["rusqlite", "threadmesh-protocol"]) {
        assert!(!runtime.contains(*forbidden), "runtime must not depend on {forbidden}");
    }
}
