//! `check`, `canonicalize`, `digest`, `verify`, `component`, `conformance`, `doctor`.

use crate::program::Rig;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// The vectors of a file under spec/conformance.
fn vectors(file: &str) -> Vec<Value> {
    let text = fs::read_to_string(xtask::root().join("spec/conformance").join(file)).expect("vectors");
    let file: Value = serde_json::from_str(&text).expect("JSON");
    file["vectors"].as_array().expect("vectors").clone()
}

/// The first vector of `file` that is called by `function` and accepted (or not), and can be a file.
fn vector(file: &str, function: &str, accepted: bool) -> Value {
    let fits = |vector: &&Value| vector["function"] == function && vector.get("ok").is_some() == accepted;
    vectors(file).iter().find(fits).expect("such a vector").clone()
}

#[test]
fn check_says_for_each_file_what_it_is() {
    let rig = Rig::new();
    let good = vector("documents/envelope.json", "check", true);
    let bad = vector("documents/envelope.json", "check", false);
    rig.write("good.json", good["args"]["text"].as_str().expect("text"));
    rig.write("bad.json", bad["args"]["text"].as_str().expect("text"));
    rig.write("bytes.json", b"\"\xff\"");
    let (code, values) = rig.json(&["check", "envelope", "good.json"]);
    assert_eq!((code, &values[0]["accepted"], &values[0]["file"]), (0, &json!(true), &json!("good.json")));
    assert!(values[0]["digest"].as_str().expect("a digest").starts_with("sha256:"));
    let (code, values) = rig.json(&["check", "envelope", "good.json", "bad.json", "bytes.json"]);
    assert_eq!((code, values.len()), (1, 3));
    assert_eq!(values[1]["error"]["code"], bad["error"]["code"]);
    assert_eq!(values[2]["error"]["code"], "json-encoding");
    let (code, values) = rig.json(&["check", "envelope", "bad.json", "missing.json", "good.json"]);
    assert_eq!((code, values.len()), (2, 3), "the worst exit code wins, and every file has its line");
    let ran = rig.feed(&["check", "envelope", "-"], good["args"]["text"].as_str().expect("text").as_bytes());
    assert_eq!(ran.code, 0);
    assert!(ran.out.starts_with("-: accepted sha256:"));
    assert_eq!(rig.run(&["check", "no-kind", "good.json"]).code, 2);
}

#[test]
fn check_and_the_vectors_agree_on_every_kind() {
    let rig = Rig::new();
    let folder = xtask::root().join("spec/conformance/documents");
    for entry in fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_name().expect("a name").to_str().expect("text").to_owned();
        if name.starts_with("generated-") || !name.ends_with(".json") {
            continue;
        }
        let mut by_kind: std::collections::BTreeMap<String, Vec<(String, Value)>> = Default::default();
        for (at, vector) in vectors(&format!("documents/{name}")).into_iter().enumerate().take(30) {
            let file = format!("{at}-{name}");
            rig.write(&file, vector["args"]["text"].as_str().expect("text"));
            by_kind
                .entry(vector["args"]["kind"].as_str().expect("a kind").to_owned())
                .or_default()
                .push((file, vector));
        }
        for (kind, files) in by_kind.iter().filter(|(_, files)| files.iter().all(|(_, one)| known(one))) {
            let mut arguments = vec!["check", kind];
            arguments.extend(files.iter().map(|(file, _)| file.as_str()));
            let (_, values) = rig.json(&arguments);
            for ((file, vector), value) in files.iter().zip(&values) {
                assert_eq!(value["accepted"], json!(vector.get("ok").is_some()), "{file}");
                if let Some(error) = vector.get("error") {
                    assert_eq!(value["error"]["code"], error["code"], "{file}");
                }
            }
        }
    }
}

/// An unknown kind is bad usage of the program, which looks at no file then.
fn known(vector: &Value) -> bool {
    vector["error"]["code"] != "unknown-kind"
}

#[test]
fn canonicalize_prints_exact_bytes_and_digest_their_digest() {
    let rig = Rig::new();
    rig.write("a.json", "{ \"b\" : 1.0, \"a\" : [ 1e2, \"\\u00e9\" ] }\n");
    let ran = rig.run(&["canonicalize", "a.json"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "{\"a\":[100,\"é\"],\"b\":1}"));
    rig.write("null.json", "null");
    let ran = rig.run(&["digest", "null.json"]);
    assert_eq!(ran.out, "sha256:74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b  null.json\n");
    let (code, values) = rig.json(&["canonicalize", "a.json"]);
    assert_eq!((code, &values[0]["canonical"]), (0, &json!("{\"a\":[100,\"é\"],\"b\":1}")));
    let (_, digests) = rig.json(&["digest", "a.json"]);
    assert_eq!(values[0]["digest"], digests[0]["digest"]);
    rig.write("twice.json", "{\"a\":1,\"a\":2}");
    let (code, values) = rig.json(&["canonicalize", "twice.json"]);
    assert_eq!((code, &values[0]["error"]["code"]), (1, &json!("json-duplicate-member")));
    assert_eq!(rig.run(&["digest", "null.json", "twice.json", "missing.json"]).code, 2);
}

#[test]
fn verify_needs_anchors_of_ones_own() {
    let rig = Rig::new();
    let good = vector("attestation/subjects.json", "verify", true);
    let text = |member: &str| good["args"][member].as_str().expect("text").to_owned();
    let now = good["args"]["now"].as_f64().expect("a time");
    assert!(now > 1.6e12, "the vector's time is of our age: {now}");
    let at = "2026-08-01T00:00:00Z";
    rig.write("a.json", text("document"));
    rig.write("anchors.json", text("anchors"));
    rig.write("none.json", "[]");
    rig.write("broken.json", "[{}]");
    let verify = |more: &[&str]| {
        let mut arguments = vec!["verify", "a.json", "--at", at];
        arguments.extend(more);
        rig.json(&arguments)
    };
    let (code, values) = verify(&["--anchors", "anchors.json"]);
    assert_eq!(code, 0, "{values:?}");
    let subject = &values[0]["verdicts"][0]["subject"];
    let message = subject["messageId"].as_str().expect("a message").to_owned();
    assert_eq!(verify(&["--anchors", "anchors.json", "--expect-message", &message]).0, 0);
    let (code, values) = verify(&["--anchors", "anchors.json", "--expect-message", "msg_another01"]);
    assert_eq!((code, &values[0]["error"]["code"]), (1, &json!("verification-subject-mismatch")));
    let (code, values) = verify(&["--anchors", "none.json"]);
    assert_eq!((code, &values[0]["error"]["code"]), (1, &json!("verification-trust-denied")));
    let (code, values) = verify(&["--anchors", "broken.json"]);
    assert_eq!((code, &values[0]["error"]["code"]), (2, &json!("anchor-invalid")));
    assert_eq!(verify(&["--anchors", "missing.json"]).0, 2);
    assert_eq!(verify(&["--anchors", "anchors.json", "--at", "yesterday"]).0, 2);
    rig.write("a.json", text("document").replace(&message, "msg_forged0001"));
    assert_eq!(verify(&["--anchors", "anchors.json"]).0, 1);
}

#[test]
fn component_is_written_once_and_whole() {
    let rig = Rig::new();
    for world in ["core", "verifier"] {
        let file = format!("{world}.wasm");
        let (code, values) = rig.json(&["component", "--world", world, "-o", &file]);
        assert_eq!((code, &values[0]["world"]), (0, &json!(world)));
        let bytes = fs::read(rig.path(&file)).expect("the component");
        assert_eq!(values[0]["bytes"], json!(bytes.len()));
        assert_eq!(&bytes[..4], b"\0asm");
        assert_eq!(rig.run(&["component", "--world", world, "-o", &file]).code, 2, "it is not overwritten");
        assert_eq!(rig.run(&["component", "--world", world, "-o", &file, "--force"]).code, 0);
    }
    assert_eq!(rig.run(&["component", "-o", "no/such/folder.wasm"]).code, 2);
}

#[test]
fn conformance_passes_and_counts() {
    let rig = Rig::new();
    let (code, values) = rig.json(&["conformance"]);
    assert_eq!(code, 0, "{}", values[0]["failing"]);
    assert_eq!(values[0]["failed"], 0);
    let groups = values[0]["groups"].as_object().expect("groups");
    assert!(groups.len() >= 5 && groups.values().all(|group| group["passed"].as_u64() > Some(0)));
    let dir = xtask::root().join("spec/conformance");
    let dir = dir.to_str().expect("text");
    let (_, from_dir) = rig.json(&["conformance", "--dir", dir]);
    assert_eq!(from_dir[0], values[0], "the program holds the vectors of this tree");
    assert_eq!(rig.run(&["conformance", "--group", "nothing"]).code, 2);
    assert_eq!(rig.run(&["conformance", "--dir", "missing"]).code, 2);
}

#[test]
fn conformance_drives_other_programs() {
    let rig = Rig::new();
    let vectors = json!({"group": "g", "vectors": [
        {"name": "one", "rules": [], "function": "canonicalize", "args": {"text": "1"}, "ok": "1"},
        {"name": "two", "rules": [], "function": "canonicalize", "args": {"text": "2"}, "ok": "2"},
        {"name": "bad", "rules": [], "function": "canonicalize", "args": {"text": "x"}, "error": {"code": "json-syntax"}},
    ]});
    fs::create_dir_all(rig.path("v/g")).expect("a folder");
    rig.write("v/g/one.json", vectors.to_string());
    let echo = r#"sed -u 's/.*"text":"\(.\)".*"id":\([0-9]*\)}$/{"id":\2,"ok":"\1"}/'"#;
    let (code, values) = rig.json(&["conformance", "--dir", "v", "--driver", echo]);
    assert_eq!((code, &values[0]["passed"], &values[0]["failed"]), (1, &json!(2), &json!(1)));
    assert_eq!(values[0]["failing"][0]["name"], "bad");
    for driver in ["true", "exec cat", "no-such-program-here"] {
        let (code, values) = rig.json(&["conformance", "--dir", "v", "--driver", driver]);
        let _ = &values;
        assert!(code == 2 || driver == "exec cat" && code == 1, "{driver}: {values:?}");
    }
}

#[test]
fn doctor_without_a_database_looks_at_the_program() {
    let rig = Rig::new();
    let (code, values) = rig.json(&["doctor"]);
    assert_eq!(code, 0, "{values:?}");
    let findings = values[0]["findings"].as_array().expect("findings");
    let about = |name: &str| findings.iter().find(|finding| finding["about"] == name).expect("a finding").clone();
    assert!(about("component")["detail"].as_str().expect("text").contains("sha256:"));
    assert_eq!(about("cache")["level"], "ok");
    assert_eq!(rig.json(&["doctor", "--db", "missing.db"]).0, 2);
}

#[test]
fn doctor_lists_what_the_operators_file_configures() {
    let rig = Rig::new();
    let file = rig.path("profiles.toml");
    let text = "[profile.own]\nkind = \"caller\"\n[resolver.deployments]\nkind = \"http\"\n\
                origin = \"https://deployments.example\"\nproducers = [\"deployer\"]\n";
    fs::write(&file, text).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a mode");
    let doctor = ["doctor", "--profiles", "profiles.toml"];
    let (code, values) = rig.json(&doctor);
    assert_eq!(code, 0, "{values:?}");
    let findings = values[0]["findings"].as_array().expect("findings").clone();
    let detail = |about: &str| {
        let finding = findings.iter().find(|finding| finding["about"] == about).expect("a finding");
        finding["detail"].as_str().expect("text").to_owned()
    };
    assert!(detail("profile").starts_with("own: called by the receiver's task, sha256:"), "{findings:?}");
    assert!(detail("resolver").starts_with("deployments: http, made by deployer, sha256:"), "{findings:?}");

    // A file that others may read, and a source that leads elsewhere: nothing of the file is used.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("a mode");
    assert_eq!(rig.json(&doctor).0, 2);
    fs::write(&file, text.replace("https://", "http://")).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a mode");
    let (code, values) = rig.json(&doctor);
    assert_eq!(code, 2, "{values:?}");
    assert!(values[0].to_string().contains("resolver \\\"deployments\\\": plain http://"), "{values:?}");
}

#[test]
fn an_open_cache_folder_is_not_used() {
    let rig = Rig::new();
    let cache = rig.path("cache");
    fs::create_dir(&cache).expect("a folder");
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).expect("a mode");
    let output = rig.command(&["doctor", "--json"]).env("THREADMESH_CACHE_DIR", &cache).output().expect("it runs");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("findings");
    let cache_finding = findings.iter().find(|finding| finding["about"] == "cache").expect("a finding");
    assert_eq!(cache_finding["level"], "note", "{report}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn replay_runs_the_arguments_of_a_failed_call_again() {
    let rig = Rig::new();
    rig.write("trap.json", json!({"function": "digest", "args": {"text": "null"}, "error": "trap"}).to_string());
    let (code, values) = rig.json(&["replay", "trap.json"]);
    assert_eq!((code, &values[0]["function"]), (0, &json!("digest")), "{values:?}");
    assert!(values[0]["answer"]["ok"].as_str().expect("a digest").starts_with("sha256:74234e98"));
    rig.write("other.json", "{}");
    assert_eq!(rig.run(&["replay", "other.json"]).code, 2);
    assert_eq!(rig.run(&["replay", "missing.json"]).code, 2);
}
