//! README.md says nothing that is not so: its tour runs, its code compiles, its links lead somewhere.

use crate::program::Rig;
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use threadmesh_runtime::wit::{Principal, PrincipalKind, Status};
use threadmesh_runtime::{Host, WasmCore};
use threadmesh_store_sqlite::{Options, SqliteStore};

fn readme() -> String {
    std::fs::read_to_string(xtask::root().join("README.md")).expect("README.md")
}

/// The fenced blocks of a language, in their order.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    text.split(fence.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

/// Runs a block of shell commands in a folder of its own, with the program on the path; what it printed.
fn run(block: &str) -> String {
    let rig = Rig::new();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_threadmesh"), rig.path("threadmesh")).expect("a link");
    let path = format!("{}:{}", rig.path("").display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("/bin/sh")
        .args(["-e", "-c", block])
        .current_dir(rig.path(""))
        .env_clear()
        .env("PATH", path)
        .env("HOME", rig.path("home"))
        .env("THREADMESH_CACHE_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
        .output()
        .expect("a shell");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    out.into_owned()
}

#[test]
fn the_tour_runs() {
    let text = readme();
    let tour = blocks(&text, "sh").into_iter().find(|block| block.contains("threadmesh init")).expect("the tour");
    assert!(tour.lines().count() <= 8 && !tour.contains('{'), "short, and without JSON: {tour}");
    let out = run(tour);
    for part in ["receiver-decided", "The parser test fails", "mcp_servers.threadmesh"] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

#[test]
fn the_tour_by_single_operations_runs() {
    let text = std::fs::read_to_string(xtask::root().join("spec/tour.md")).expect("the page");
    let out = run(blocks(&text, "sh").first().expect("the tour"));
    assert!(out.contains("receiver-decided"), "{out}");
}

#[test]
fn the_embedding_is_this_code() {
    let source = include_str!("readme.rs");
    let body = source.split("// README: embedding\n").nth(1).and_then(|rest| rest.split("    // README: end").next());
    let body: String = body
        .expect("the code")
        .lines()
        .map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line)))
        .collect();
    let text = readme();
    assert_eq!(blocks(&text, "rust"), [body.as_str()]);
    let rig = Rig::new();
    embed(&rig.path("mesh.db")).expect("it works");
}

fn embed(path: &Path) -> Result<(), Box<dyn Error>> {
    // README: embedding
    let core = Arc::new(WasmCore::new()?);
    let store = Arc::new(SqliteStore::open(path, Options::default())?);
    let host = Host::builder(core, store).build()?;

    // Your transport says who is calling; the payload never does.
    let alice = Principal {
        tenant: "default".into(),
        kind: PrincipalKind::User,
        id: "alice".into(),
        incarnation: None,
        owner: None,
        worker: None,
        authentication: "authn_alice-1".into(),
    };
    let task = r#"{"taskId": "plan-1", "incarnationId": "inc_plan_0001", "harness": "mine"}"#;
    let params = format!(r#"{{"task": {task}, "idempotencyKey": "idem_first-1"}}"#);
    let reply = host.call(Some(&alice), "tasks.register", &params)?;
    assert_eq!(reply.status, Status::Accepted);
    println!("{}", reply.body);
    // README: end
    Ok(())
}

#[test]
fn links_lead_to_files() {
    let root = xtask::root();
    for file in ["README.md", "spec/cli.md", "spec/tour.md", "spec/embedding.md"] {
        let text = std::fs::read_to_string(root.join(file)).expect("the page");
        let folder = root.join(file).parent().expect("a folder").to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let local = !link.contains("://");
            let target = link.split('#').next().unwrap_or_default();
            assert!(!local || folder.join(target).exists(), "{file} links to {link}");
        }
    }
}
