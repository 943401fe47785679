use super::*;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

fn args(params: &str) -> Value {
    json!({ "request": { "operation": "messages.send", "params": params }, "answers": [], "now": 5 })
}

/// The files in a directory, the oldest first.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

/// The text of the only file that is written for these arguments.
fn written(args: Value, keep_content: bool) -> String {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("replays");
    let fault = CoreError::Trap { function: "decide", detail: "unreachable".into() };
    ReplayFiles::in_directory(&at, keep_content).unwrap().write("decide", args, &fault, 7);
    let files = files(&at);
    assert_eq!(files.len(), 1);
    assert_eq!(fs::metadata(&files[0]).unwrap().permissions().mode() & 0o777, 0o600);
    fs::read_to_string(&files[0]).unwrap()
}

fn record(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn texts_are_blotted_out_and_shape_remains() {
    let secret = r#"a \"secret\" \u0041é€😀"#;
    let params = format!("{{\"content\": \"{secret}\", \"n\": [1.5, true], \"k3y\": \"\"}}");
    let text = written(args(&params), false);
    let record = record(&text);
    let blotted = record["args"]["request"]["params"].as_str().unwrap();
    assert_eq!(blotted, r#"{"content": "xx\"xxxxxx\"x\u0078é€😀", "n": [1.5, true], "xxx": ""}"#);
    assert_eq!(blotted.len(), params.len());
    assert_eq!(record["args"]["request"]["operation"], "messages.send");
    let digest = record["digests"]["/request/params"].as_str().unwrap();
    assert_eq!(digest.len(), "sha256:".len() + 64);
    assert_eq!((record["function"].as_str(), record["contentKept"].as_bool()), (Some("decide"), Some(false)));
    assert!(!text.contains("secret"));
}

#[test]
fn content_is_kept_where_it_was_asked_for() {
    let args = args("{\"a\":\"b\"}");
    assert_eq!(record(&written(args.clone(), true))["args"], args);
}

#[test]
fn broken_json_and_plain_texts_are_blotted_out_too() {
    for text in ["{\"secret", "[\"secret\\", "{\"a\":\"secret\\u00", "secret", "", "\\"] {
        let written = written(json!({ "text": text }), false);
        assert_eq!(record(&written)["args"]["text"].as_str().unwrap().len(), text.len());
        assert!(!written.contains("secret"), "{written}");
    }
}

#[test]
fn there_are_never_too_many() {
    let dir = tempfile::tempdir().unwrap();
    let replays = ReplayFiles::in_directory(dir.path(), true);
    assert!(replays.is_err() || fs::metadata(dir.path()).unwrap().permissions().mode() & 0o077 == 0);
    let at = dir.path().join("r");
    let replays = ReplayFiles::in_directory(&at, true).unwrap();
    let fault = CoreError::Trap { function: "decide", detail: "unreachable".into() };
    let write = |number: i64, params: &str| replays.write("decide", args(params), &fault, number);
    (0..=20).for_each(|number| write(number, "{}"));
    assert_eq!(files(&at).len(), FILES_MAX);
    assert!(files(&at)[0].to_string_lossy().contains("trap-0000000000000001-"), "the oldest went");
    (21..26).for_each(|number| write(number, &"x".repeat(6 << 20)));
    let bytes: u64 = files(&at).iter().map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes <= BYTES_MAX);
    let before = files(&at);
    write(30, &"x".repeat(21 << 20));
    let after = files(&at);
    let (last, others) = after.split_last().unwrap();
    assert_eq!(others, before, "what is larger than all may be together makes no room");
    assert!(last.to_string_lossy().contains("trap-0000000000000030-"), "and leaves a file all the same");
    assert!(last.metadata().unwrap().len() < 4096, "without its arguments");
}

#[test]
fn what_holds_texts_is_forgotten_and_the_rest_stays() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("r");
    let fault = CoreError::Trap { function: "decide", detail: "unreachable".into() };
    ReplayFiles::in_directory(&at, false).unwrap().write("decide", args("{}"), &fault, 1);
    let replays = ReplayFiles::in_directory(&at, true).unwrap();
    replays.write("decide", args("{}"), &fault, 2);
    // Whatever cannot be read may hold anything; what was never finished too; what is not ours stays.
    for name in ["trap-3.json", ".trap-4.json.1.0", "other.json"] {
        fs::write(at.join(name), "{\"a\":").unwrap();
    }
    assert!(replays.forget_content());
    let left: Vec<String> = files(&at).iter().map(|file| file.file_name().unwrap().to_string_lossy().into()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left[0] == "other.json" && left[1].starts_with("trap-0000000000000001-"), "{left:?}");
}
