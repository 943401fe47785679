use super::*;
use serde_json::Value;
use std::time::Duration;

fn digest(text: &str) -> Result<String, String> {
    Ok(format!("digest of {text}"))
}

fn read(text: &str) -> Result<Vec<Profile>, String> {
    // Not probed here: these texts are about settings. `tests/adapters` runs programs.
    let surroundings = Surroundings { digest: &digest, carrier: None };
    parse(text, &surroundings).map_err(|error| error.to_string())
}

fn http(more: &str) -> Result<Vec<Profile>, String> {
    read(&format!("[profile.x]\nkind = \"http\"\nsubmit_url = \"https://example.com/\"\n{more}"))
}

#[test]
fn defaults_promise_little() {
    let profile = &http("").unwrap()[0];
    assert_eq!((profile.name.as_str(), profile.can_query, profile.absent_final), ("x", false, false));
    assert_eq!((profile.deadline, profile.settle), (Duration::from_secs(30), Duration::from_secs(30)));
    let capabilities: Value = serde_json::from_str(&profile.capabilities).unwrap();
    assert_eq!(capabilities["intents"], json!(["suggest"]));
    assert_eq!(capabilities["deliveryModes"], json!(["checkpoint-offer"]));
    assert_eq!(capabilities["features"]["durableSubmissionIdempotency"], "none");
    assert_eq!(capabilities["features"].as_object().unwrap().len(), 13);
}

#[test]
fn a_query_url_makes_receipts_queryable() {
    let profile =
        &http("query_url = \"https://example.com/{idempotencyKey}\"\n[profile.x.query]\nbackoff_ms = 5").unwrap()[0];
    assert!(profile.can_query);
    assert_eq!((profile.query.backoff, profile.query.attempts_max), (Duration::from_millis(5), 10));
    let capabilities: Value = serde_json::from_str(&profile.capabilities).unwrap();
    assert_eq!(capabilities["features"]["durableSubmissionIdempotency"], "queryable-receipt");
}

#[test]
fn a_caller_profile_has_no_adapter() {
    let profile = &read("[profile.own]\nkind = \"caller\"\ndeadline_ms = 5000").unwrap()[0];
    assert!(profile.adapter.is_none());
    assert!(!profile.can_query);
}

#[test]
fn the_digest_covers_what_is_written_and_nothing_else() {
    let one = http("secret_headers = { Authorization = \"/etc/secret\" }").unwrap()[0].digest.clone();
    assert!(one.contains(r#""secret_headers":{"Authorization":"/etc/secret"}"#), "{one}");
    assert!(!one.contains("null") && !one.contains("deadline_ms"), "{one}");
    let same = http("secret_headers = { 'Authorization' = '/etc/secret' } # comment").unwrap()[0].digest.clone();
    assert_eq!(one, same);
    assert_ne!(one, http("").unwrap()[0].digest);
    let renamed =
        read("[profile.y]\nkind = \"http\"\nsubmit_url = \"https://example.com/\"").unwrap()[0].digest.clone();
    assert_ne!(http("").unwrap()[0].digest, renamed);
}

#[test]
fn what_does_not_go_together_is_refused_with_a_sentence() {
    let cases = [
        ("program = \"/bin/true\"", "program does not go with this kind"),
        ("can_query = true", "can_query does not go with this kind"),
        ("absent_final = true", "absent_final = true needs a target that can be queried"),
        ("absent_final_status = [410]", "absent_final_status needs absent_final = true"),
        ("refusal_status = [200]", "refusal_status may list"),
        ("refusal_status = [409]", "refusal_status may list"),
        ("deadline_ms = 0", "deadline_ms must be from 1 to 3600000"),
        ("settle_ms = 999999999", "settle_ms must be from 0"),
        ("response_bytes_max = 99999999", "response_bytes_max must be"),
        ("query_url = \"http://example.com/\"", "plain http://"),
        ("headers = { Host = \"x\" }", "cannot be configured"),
        ("headers = { X = \"a\\nb\" }", "forbidden characters"),
        ("idempotency_header = \"a b\"", "no header name"),
        ("secret_headers = { A = \"relative\" }", "not an absolute path"),
        ("tls_ca_file = \"/none/such\"", "cannot read"),
        ("surprise = 1", "unknown field `surprise`"),
        ("[profile.x.query]\nattempts_max = 3", "[query] needs"),
        ("[profile.x.capabilities.features]\nsurprise = true", "unknown field `surprise`"),
        (
            "[profile.x.capabilities.features]\ndurable_submission_idempotency = \"queryable-receipt\"",
            "needs a target that can be queried",
        ),
    ];
    for (more, expected) in cases {
        let error = http(more).unwrap_err();
        assert!(error.contains(expected), "{more}: {error}");
    }
    let queried = "query_url = \"https://example.com/\"\nabsent_final = true\nabsent_final_status = ";
    assert!(http(&format!("{queried}[410]")).is_ok());
    assert!(http(&format!("{queried}[404]")).unwrap_err().contains("without 404"));
}

#[test]
fn programs_need_a_carrier_and_absolute_paths() {
    let command = |more: &str| read(&format!("[profile.x]\nkind = \"command\"\n{more}"));
    assert!(command("program = \"/bin/true\"").unwrap_err().contains("no carrier"));
    let raw: File = toml::from_str("[profile.x]\nkind = \"command\"\nprogram = \"true\"").unwrap();
    let carrier = CarrierCommand::new("/none", [""; 0]);
    let build = |raw: &RawProfile| build::profile("x", raw, String::new(), Some(&carrier));
    assert!(build(&raw.profile["x"]).unwrap_err().contains("not an absolute path"));
    let cases = [
        ("env = { THREADMESH_CALL = \"x\" }", "cannot be set"),
        ("pass_env = [\"A=B\"]", "cannot be set"),
        ("args = [\"a\\u0000b\"]", "NUL"),
        ("settle_ms = 3999", "settle_ms must be from 4000"),
        ("grace_ms = 5000\nsettle_ms = 7000", "settle_ms must be from 8000"),
        ("submit_url = \"https://example.com\"", "does not go with this kind"),
    ];
    for (more, expected) in cases {
        let text = format!("[profile.x]\nkind = \"command\"\nprogram = \"/bin/true\"\n{more}");
        let raw: File = toml::from_str(&text).unwrap();
        let error = build(&raw.profile["x"]).unwrap_err();
        assert!(error.contains(expected), "{more}: {error}");
    }
}

#[test]
fn names_and_files_are_checked() {
    for name in ["\"\"", "\"A\"", "\"-a\"", "\"a b\"", "\"a/b\"", "\"é\""] {
        assert!(read(&format!("[profile.{name}]\nkind = \"caller\"")).is_err(), "{name}");
    }
    assert!(read("[profile.a-1_b]\nkind = \"caller\"").is_ok());
    assert!(read("[profile.a]\nkind = \"magic\"").is_err());
    assert!(read("[profile.a]").unwrap_err().contains("kind is missing"));
    assert!(read("[profiles.a]").is_err());
    assert!(read("").unwrap().is_empty());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("profiles.toml");
    std::fs::write(&path, "").unwrap();
    let surroundings = Surroundings { digest: &digest, carrier: None };
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let open = load(&path, &surroundings).unwrap_err().to_string();
    assert!(open.contains("mode 0644") && open.contains("chmod 600"), "{open}");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert!(load(&path, &surroundings).unwrap().is_empty());
}
