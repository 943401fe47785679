//! `token create`, `list`, `remove`.

use crate::program::Rig;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const TASK: &[&str] = &["--kind", "task", "--incarnation", "inc_build_0001", "--owner", "user:alice"];

fn create<'a>(name: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["token", "create", name, "--db", "mesh.db"], more].concat()
}

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn a_token_is_made_listed_and_removed() {
    let rig = Rig::new();
    let (code, values) = rig.json(&create("builder", TASK));
    assert_eq!(code, 0, "{values:?}");
    let expected = json!({
        "tenant": "default", "kind": "task", "id": "builder", "incarnation": "inc_build_0001", "owner": "user:alice",
    });
    assert_eq!(values[0]["principal"], expected);
    let file = rig.path("mesh.db.tokens/builder");
    let token = fs::read_to_string(&file).expect("the token");
    assert_eq!((token.trim().len(), mode(&file)), (43, 0o600));
    assert_eq!((mode(&rig.path("mesh.db.tokens")), mode(&rig.path("mesh.db.tokens.json"))), (0o700, 0o600));
    assert!(!values[0].to_string().contains(token.trim()), "the token is in its file alone");
    let registry = fs::read_to_string(rig.path("mesh.db.tokens.json")).expect("the token file");
    assert!(registry.contains("sha256:") && !registry.contains(token.trim()));
    let listed = rig.run(&["token", "list", "--db", "mesh.db"]);
    assert!(listed.out.contains("builder  task builder, incarnation inc_build_0001, owner user:alice"), "{listed:?}");
    assert_eq!(rig.run(&["token", "remove", "builder", "--db", "mesh.db"]).code, 0);
    assert!(!file.exists());
    assert_eq!(rig.json(&["token", "list", "--db", "mesh.db"]).1[0]["tokens"], json!([]));
}

#[test]
fn a_token_can_be_shown_once_or_put_elsewhere() {
    let rig = Rig::new();
    let shown = rig.run(&create("alice", &["--kind", "user", "--show"]));
    assert_eq!((shown.code, shown.out.trim().len()), (0, 43));
    assert!(!rig.path("mesh.db.tokens/alice").exists());
    assert_eq!(rig.run(&create("bob", &["--kind", "user", "--out", "bob.token"])).code, 0);
    assert_eq!(mode(&rig.path("bob.token")), 0o600);
    let again = rig.json(&create("carol", &["--kind", "user", "--out", "bob.token"]));
    assert_eq!(again.0, 2, "a file is never replaced");
    let names = rig.run(&["token", "list", "--db", "mesh.db"]).out;
    assert!(names.contains("alice") && names.contains("bob") && !names.contains("carol"), "{names}");
}

#[test]
fn what_no_token_may_be_is_refused() {
    let rig = Rig::new();
    for (name, more) in [
        ("host", &["--kind", "host"][..]),
        ("one", &["--kind", "task"]),
        ("one", &["--kind", "task", "--incarnation", "inc_build_0001"]),
        ("one", &["--kind", "task", "--incarnation", "inc_build_0001", "--owner", "alice"]),
        ("one", &["--kind", "user", "--incarnation", "inc_build_0001"]),
        ("../one", &["--kind", "user"]),
        ("one", &["--kind", "user", "--id", ""]),
        ("one", &["--kind", "user", "--id", "a\u{1b}b"]),
        ("one", &["--kind", "user", "--tenant", " default"]),
        ("one", &["--kind", "task", "--incarnation", "build-1", "--owner", "user:alice"]),
        ("one", &["--kind", "task", "--incarnation", "inc_build_0001", "--owner", "user:"]),
        ("one", &["--kind", "task", "--incarnation", "inc_build_0001", "--owner", "user:alice", "--worker", ""]),
    ] {
        let ran = rig.run(&create(name, more));
        assert_eq!(ran.code, 2, "{name} {more:?}: {ran:?}");
    }
    assert!(!rig.path("mesh.db.tokens.json").exists());
    assert_eq!(rig.run(&create("one", &["--kind", "user"])).code, 0);
    let (code, values) = rig.json(&create("one", &["--kind", "user", "--show"]));
    assert_eq!((code, &values[0]["error"]["code"]), (2, &json!("token-exists")));
    let (code, values) = rig.json(&create("one", &["--kind", "user"]));
    assert_eq!((code, &values[0]["replay"]), (0, &json!(true)), "the same again is there already: {values:?}");
    let (code, values) = rig.json(&create("one", &["--kind", "operator"]));
    assert_eq!((code, &values[0]["error"]["code"]), (2, &json!("token-exists")));
    let detail = values[0]["error"]["detail"].as_str().expect("a sentence");
    assert!(detail.contains("user one") && detail.contains("operator one"), "{detail}");
    let (code, values) = rig.json(&["token", "remove", "two", "--db", "mesh.db"]);
    assert_eq!((code, &values[0]["error"]["code"]), (2, &json!("token-unknown")));
    let (code, values) = rig.json(&["token", "list", "--db", "other.db"]);
    assert_eq!((code, &values[0]["error"]["code"]), (2, &json!("token-file-missing")));
}

/// Somebody may have written the file by hand.
#[test]
fn an_entry_that_the_core_takes_nobody_by_is_named() {
    let rig = Rig::new();
    assert_eq!(rig.run(&create("one", &["--kind", "user"])).code, 0);
    let get = r#"{"task": {"taskId": "build-1", "incarnationId": "inc_build_0001"}}"#;
    let call = ["call", "tasks.get", get, "--db", "mesh.db", "--create", "--as", "one"];
    let (code, values) = rig.json(&call);
    assert_eq!((code, &values[0]["error"]["code"]), (1, &json!("not-visible")), "{values:?}");
    let text = fs::read_to_string(rig.path("mesh.db.tokens.json")).expect("the file");
    fs::write(rig.path("mesh.db.tokens.json"), text.replace("\"id\": \"one\"", "\"id\": \"o\\u200bne\""))
        .expect("a file");
    let (code, values) = rig.json(&call);
    assert_eq!((code, &values[0]["error"]["code"]), (1, &json!("authentication-required")), "{values:?}");
    let (code, values) = rig.json(&["doctor", "--db", "mesh.db"]);
    let findings = values[0]["findings"].as_array().expect("findings");
    let bad = findings.iter().find(|finding| finding["level"] == "bad").expect("a finding");
    assert_eq!((code, &bad["about"]), (1, &json!("tokens")));
    let detail = bad["detail"].as_str().expect("text");
    assert!(detail.contains("\"one\"") && detail.contains("OP-1") && detail.ends_with("so: id."), "{detail}");
    let served = rig.run(&["serve", "--db", "mesh.db", "--stdio", "--as", "one"]);
    assert!(served.code == 2 && served.err.contains("token-unusable"), "it is as good as not there: {served:?}");
}

#[test]
fn a_token_file_that_is_open_to_others_lets_nobody_in() {
    let rig = Rig::new();
    assert_eq!(rig.run(&create("one", &["--kind", "user"])).code, 0);
    fs::set_permissions(rig.path("mesh.db.tokens.json"), fs::Permissions::from_mode(0o644)).expect("a mode");
    for arguments in [&["token", "list", "--db", "mesh.db"][..], &create("two", &["--kind", "user"])] {
        let (code, values) = rig.json(arguments);
        assert_eq!((code, &values[0]["error"]["code"]), (2, &json!("token-file-unsafe")));
    }
}
