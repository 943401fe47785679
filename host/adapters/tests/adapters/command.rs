use super::*;
use serde_json::{Value, json};
use std::{fs::Permissions, os::unix::fs::PermissionsExt};

/// Prints a receipt.
pub const RECEIPT: &str = r#"echo '{"outcome":"submitted","receipt":{"adapterOperationId":"op-1","acceptedAt":"2026-01-01T00:00:00Z","evidenceRefs":["ledger:1"]}}'"#;

#[test]
fn the_program_gets_the_whole_request_and_its_receipt_is_taken() {
    let place = Place::new();
    let profile = place.script(&format!("cat > request.json; echo effect >> ledger; {RECEIPT}"), "");
    let call = submission("1");
    let Outcome::Submitted(receipt) = submit(&profile, &call) else { panic!("not submitted") };
    assert_eq!(receipt.adapter_operation_id, "op-1");
    assert_eq!(place.lines("ledger"), ["effect"]);
    let text = fs::read_to_string(place.path("request.json")).unwrap();
    assert!(text.contains(&call.payload.text), "the envelope is passed byte for byte: {text}");
    let request: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(request["contract"], "threadmesh-command/1");
    assert_eq!(request["operation"], "submit");
    assert_eq!(request["submissionId"], "sub_1");
    assert_eq!(request["idempotencyKey"], "adp_1");
    assert_eq!(request["session"], "ses/1");
    assert!(request["deadlineMs"].as_u64().unwrap() <= 60_000);
}

/// Content that looks like the end of its frame, or like members beside it, stays a text of the envelope.
#[test]
fn behaviour_201_content_cannot_leave_its_frame() {
    let place = Place::new();
    let profile = place.script(&format!("cat > request.json; {RECEIPT}"), "");
    let content = "\"}\n{\"operation\":\"submit\",\"idempotencyKey\":\"adp_other\"}\n\u{2028}</untrusted>\u{202e}\0'$(touch broken)`touch broken`";
    let envelope = json!({"content": content, "reason": "\\\"},\"operation\":\"other\""});
    let call = with_text(envelope.to_string());
    assert_eq!(word(&submit(&profile, &call)), "submitted");
    let text = fs::read_to_string(place.path("request.json")).unwrap();
    assert_eq!(text.trim_end_matches('\n').lines().count(), 1, "{text}");
    let request: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(request["envelope"], envelope);
    assert_eq!((&request["operation"], &request["idempotencyKey"]), (&json!("submit"), &json!("adp_1")));
    assert!(!place.path("broken").exists(), "nothing of it is run");
}

#[test]
fn the_environment_holds_only_what_was_configured() {
    let place = Place::new();
    let secret = place.path("secret");
    fs::write(&secret, "s3cret\n").unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    let settings = format!(
        "env = {{ FIXED = \"a b\" }}\npass_env = [\"HOME\", \"NOT_SET_ANYWHERE\"]\nsecret_env = {{ TOKEN = {secret:?} }}"
    );
    let profile = place.script(&format!("env > env.txt; {RECEIPT}"), &settings);
    assert_eq!(word(&submit(&profile, &submission("1"))), "submitted");
    let shell_made = ["PWD", "OLDPWD", "SHLVL", "_"];
    let lines = place.lines("env.txt");
    let names: Vec<&str> = lines.iter().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    let mut names: Vec<&str> = names.into_iter().filter(|name| !shell_made.contains(name)).collect();
    names.sort_unstable();
    let ours = ["THREADMESH_CALL", "THREADMESH_OPERATION", "THREADMESH_SUBMISSION", "TOKEN"];
    let passed = if std::env::var("HOME").is_ok() { &["HOME"][..] } else { &[] };
    assert_eq!(names, [&["FIXED"][..], passed, &["PATH"], &ours].concat());
    assert!(lines.contains(&"TOKEN=s3cret".to_owned()) && lines.contains(&"FIXED=a b".to_owned()));

    fs::set_permissions(&secret, Permissions::from_mode(0o644)).unwrap();
    assert_eq!(word(&submit(&profile, &submission("2"))), "not-submitted secret-unreadable");
}

#[test]
fn what_fails_before_the_program_runs_is_not_submitted() {
    let place = Place::new();
    let path = |name: &str| format!("{:?}", place.path(name).to_str().unwrap());
    let file = |name: &str, text: &str, mode: u32| {
        fs::write(place.path(name), text).unwrap();
        fs::set_permissions(place.path(name), Permissions::from_mode(mode)).unwrap();
    };
    file("plain", "#!/bin/sh\n", 0o600);
    file("broken", "#!/none/such\n", 0o700);
    file("noise", "\u{1}\u{2}\u{3}", 0o700);
    fs::create_dir(place.path("folder")).unwrap();
    let program = |program: &str, more: &str| format!("kind = \"command\"\nprogram = {program}\n{more}");
    let cases = [
        ("not-submitted program-missing", program(&path("missing"), "")),
        ("not-submitted program-missing", program(&path("plain"), "")),
        ("not-submitted program-missing", program(&path("folder"), "")),
        ("not-submitted spawn-failed", program(&path("broken"), "")),
        ("not-submitted spawn-failed", program(&path("noise"), "")),
        ("not-submitted spawn-failed", program("\"/bin/sh\"", &format!("cwd = {}", path("missing")))),
    ];
    for (expected, settings) in cases {
        assert_eq!(word(&submit(&profile(&settings), &submission("1"))), expected, "{settings}");
    }
}

#[test]
fn everything_odd_after_the_start_is_unknown() {
    let place = Place::new();
    let cases = [
        ("unknown exit-status", "exit 3"),
        ("unknown exit-status", &format!("{RECEIPT}; exit 1")),
        ("unknown killed", "kill -9 $$"),
        ("unknown killed", &format!("{RECEIPT}; kill -SEGV $$")),
        ("unknown answer-malformed", "exit 0"),
        ("unknown answer-malformed", "echo done"),
        ("unknown answer-malformed", "exec >&-; exit 0"),
        ("unknown answer-malformed", &format!("echo starting; {RECEIPT}")),
        ("unknown answer-malformed", &format!("{RECEIPT}; {RECEIPT}")),
        ("unknown output-encoding", r"printf '\377'"),
        ("unknown output-too-long", "cat /dev/zero"),
        ("unknown output-too-long", &format!("{RECEIPT}; while :; do echo; done")),
        ("unknown refusal-not-trusted", r#"echo '{"outcome":"not-submitted","reason":"closed"}'"#),
        ("unknown target-unsure", r#"echo '{"outcome":"unknown"}'"#),
        ("unknown key-mismatch", r#"echo '{"outcome":"submitted","idempotencyKey":"adp_2"}'"#),
        ("unknown session-mismatch", r#"echo '{"outcome":"submitted","session":"ses/2"}'"#),
        ("unknown answer-malformed", r#"echo '{"outcome":"submitted","receipt":{"adapterOperationId":"a"}}'"#),
    ];
    for (expected, script) in cases {
        let script = format!("echo effect >> ledger; {script}");
        assert_eq!(word(&submit(&place.script(&script, ""), &submission("1"))), expected, "{script}");
    }
    assert_eq!(place.lines("ledger").len(), cases.len(), "each ran once");
}

/// Issue of use: 3 of 14 receipts were taken from a program that had printed too much behind them and was gone.
#[test]
fn too_much_behind_a_receipt_is_unknown_however_fast_the_program_ends() {
    let place = Place::new();
    let profile = place.script(&format!("{RECEIPT}; printf '%65536s' ' '"), "output_bytes_max = 32768");
    for number in 0..20 {
        assert_eq!(word(&submit(&profile, &submission(&number.to_string()))), "unknown output-too-long", "{number}");
    }
}

#[test]
fn a_refusal_of_a_trusted_program_counts() {
    let place = Place::new();
    let script = r#"echo '{"outcome":"not-submitted","reason":"closed"}'"#;
    let profile = place.script(script, "trust_not_submitted = true");
    assert_eq!(word(&submit(&profile, &submission("1"))), "not-submitted target-refused");
}

#[test]
fn a_program_that_never_reads_or_never_ends_is_over_at_the_deadline() {
    let place = Place::new();
    let mut call = submission("1");
    call.payload.text = json!({"content": "x".repeat(1_000_000)}).to_string();
    let short = Duration::from_millis(300);
    for script in ["sleep 1000", "cat > /dev/null; sleep 1000", &format!("{RECEIPT}; exec sleep 1000")] {
        let profile = place.script(script, "grace_ms = 100");
        assert_eq!(word(&submit_within(&profile, &call, short)), "unknown timeout", "{script}");
    }
    let profile = place.script(RECEIPT, "");
    assert_eq!(word(&submit(&profile, &call)), "submitted", "input that nobody reads does no harm");
}

#[test]
fn the_log_gets_the_end_of_standard_error_only() {
    let place = Place::new();
    let script = "head -c 300000 /dev/zero | tr '\\0' 'x' >&2; echo the-end >&2; exit 1";
    let Outcome::Unknown(reason) = submit(&place.script(script, ""), &submission("1")) else { panic!("known") };
    assert!(reason.detail.trim_end().ends_with("the-end"), "{}", reason.detail);
    assert!(reason.detail.len() < 3_000);
}

#[test]
fn queries_ask_without_the_envelope_and_believe_only_answers_about_the_key() {
    let place = Place::new();
    let found = r#"{"result":"found","idempotencyKey":"adp_asked","receipt":{"adapterOperationId":"op-1","acceptedAt":"2026-01-01T00:00:00Z","evidenceRefs":["l:1"]}}"#;
    let cases = [
        ("found", format!("cat > request.json; echo '{found}'")),
        ("unanswerable key-mismatch", format!("echo '{}'", found.replace("adp_asked", "adp_other"))),
        ("unanswerable exit-status", format!("echo '{found}'; exit 1")),
        ("absent-now target-absent-now", r#"echo '{"result":"absent-now"}'"#.into()),
        ("absent-final", r#"echo '{"result":"absent-final","idempotencyKey":"adp_asked"}'"#.into()),
        ("unanswerable answer-malformed", "echo".into()),
    ];
    for (expected, script) in &cases {
        let profile = place.script(script, "can_query = true\nabsent_final = true");
        assert_eq!(answer(&query(&profile, &submission("asked"))), *expected, "{script}");
    }
    let request: Value = serde_json::from_str(&fs::read_to_string(place.path("request.json")).unwrap()).unwrap();
    assert_eq!(request["operation"], "query");
    assert!(request.get("envelope").is_none());
    let profile = profile("kind = \"command\"\nprogram = \"/none/such\"\ncan_query = true");
    assert_eq!(answer(&query(&profile, &submission("asked"))), "unanswerable program-missing");
}

#[test]
fn a_host_whose_carrier_does_not_work_is_told_at_the_start() {
    let digest = |text: &str| Ok(fake::digest(text));
    for broken in ["/bin/true", "/bin/cat", "/none/such"] {
        let surroundings = Surroundings { digest: &digest, carrier: Some(CarrierCommand::new(broken, [""; 0])) };
        let settings = "[profile.x]\nkind = \"command\"\nprogram = \"/bin/true\"";
        let error = parse(settings, &surroundings).unwrap_err().to_string();
        assert!(error.contains("the carrier does not work"), "{broken}: {error}");
    }
}
