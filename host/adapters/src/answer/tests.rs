use super::*;

const KEY: Expected<'_> = Expected { key: "adp_1", session: Some("ses-1"), trust_not_submitted: false };

const RECEIPT: &str =
    r#"{"adapterOperationId":"op-1","acceptedAt":"2026-01-01T00:00:00Z","evidenceRefs":["ledger:1"]}"#;

fn submitted(text: &str) -> Result<(), &'static str> {
    match KEY.submitted(text) {
        Outcome::Submitted(_) => Ok(()),
        Outcome::Unknown(reason) => Err(reason.code),
        Outcome::NotSubmitted(_) => Err("NOT-SUBMITTED"),
    }
}

#[test]
fn a_whole_answer_is_taken() {
    for extra in ["", r#","idempotencyKey":"adp_1""#, r#","session":"ses-1""#, r#","note":"ours to ignore""#] {
        assert_eq!(submitted(&format!(r#" {{"outcome":"submitted","receipt":{RECEIPT}{extra}}}{}"#, "\n")), Ok(()));
    }
}

#[test]
fn receipts_malformed_in_many_ways_are_unknown() {
    let cases = [
        ("answer-malformed", ""),
        ("answer-malformed", "null"),
        ("answer-malformed", "[]"),
        ("answer-malformed", "sent!"),
        ("answer-malformed", r#"{"outcome":"submitted"}"#),
        ("answer-malformed", r#"{"outcome":"submitted","receipt":null}"#),
        ("answer-malformed", r#"{"outcome":"submitted","receipt":"op-1"}"#),
        ("answer-malformed", r#"{"outcome":"sure","receipt":{}}"#),
        ("answer-malformed", r#"{"outcome":"submitted","receipt":{"adapterOperationId":"a","acceptedAt":"b"}}"#),
        ("answer-malformed", r#"{"outcome":"submitted","outcome":"submitted"}"#),
        ("answer-malformed", r#"{"outcome":"submitted","receipt":RECEIPT}{}"#),
        ("answer-malformed", r#"{"outcome":"submitted","receipt":RECEIPT,"reason":7}"#),
        ("answer-malformed", r#"{"outcome":"not-submitted","receipt":RECEIPT}"#),
        ("key-mismatch", r#"{"outcome":"submitted","receipt":RECEIPT,"idempotencyKey":"adp_2"}"#),
        ("session-mismatch", r#"{"outcome":"submitted","receipt":RECEIPT,"session":"ses-2"}"#),
        ("refusal-not-trusted", r#"{"outcome":"not-submitted","reason":"busy"}"#),
        ("target-unsure", r#"{"outcome":"unknown"}"#),
    ];
    for (code, text) in cases {
        assert_eq!(submitted(&text.replace("RECEIPT", RECEIPT)), Err(code), "{text}");
    }
    for extra in [r#""extra":1,"#, r#""evidenceRefs":["twice"],"#] {
        let receipt = RECEIPT.replacen('{', &format!("{{{extra}"), 1);
        let text = format!(r#"{{"outcome":"submitted","receipt":{receipt}}}"#);
        assert_eq!(submitted(&text), Err("answer-malformed"), "{text}");
    }
    let huge = RECEIPT.replace("op-1", &"x".repeat(100_000));
    assert_eq!(submitted(&format!(r#"{{"outcome":"submitted","receipt":{huge}}}"#)), Err("receipt-malformed"));
    let deep = format!(r#"{{"outcome":"submitted","receipt":{}}}"#, "[".repeat(100_000));
    assert_eq!(submitted(&deep), Err("answer-malformed"));
}

#[test]
fn a_refusal_counts_only_where_the_operator_trusts_it() {
    let trusting = Expected { trust_not_submitted: true, ..KEY };
    let text = r#"{"outcome":"not-submitted","reason":"busy"}"#;
    assert!(matches!(trusting.submitted(text), Outcome::NotSubmitted(_)));
    assert!(matches!(KEY.submitted(text), Outcome::Unknown(_)));
}

fn queried(text: &str) -> String {
    match KEY.queried(&text.replace("RECEIPT", RECEIPT)) {
        QueryOutcome::Found(_) => "found".into(),
        QueryOutcome::AbsentFinal(absence) => format!("final {}", absence.evidence_refs.len()),
        QueryOutcome::AbsentNow(_) => "now".into(),
        QueryOutcome::Unanswerable(reason) => reason.code.into(),
    }
}

#[test]
fn answers_to_queries_settle_only_with_the_key_in_them() {
    let cases = [
        ("found", r#"{"result":"found","receipt":RECEIPT,"idempotencyKey":"adp_1"}"#),
        ("answer-malformed", r#"{"result":"found","receipt":RECEIPT}"#),
        ("key-mismatch", r#"{"result":"found","receipt":RECEIPT,"idempotencyKey":"adp_2"}"#),
        ("session-mismatch", r#"{"result":"found","receipt":RECEIPT,"idempotencyKey":"adp_1","session":"x"}"#),
        ("answer-malformed", r#"{"result":"found","idempotencyKey":"adp_1"}"#),
        ("final 1", r#"{"result":"absent-final","idempotencyKey":"adp_1","evidenceRefs":["t:1"]}"#),
        ("final 0", r#"{"result":"absent-final","idempotencyKey":"adp_1"}"#),
        ("answer-malformed", r#"{"result":"absent-final"}"#),
        ("receipt-malformed", r#"{"result":"absent-final","idempotencyKey":"adp_1","evidenceRefs":[""]}"#),
        ("answer-malformed", r#"{"result":"absent-final","idempotencyKey":"adp_1","receipt":RECEIPT}"#),
        ("now", r#"{"result":"absent-now"}"#),
        ("target-unanswerable", r#"{"result":"unanswerable"}"#),
        ("answer-malformed", r#"{"result":"none"}"#),
        ("answer-malformed", r#"[]"#),
    ];
    for (expected, text) in cases {
        assert_eq!(queried(text), expected, "{text}");
    }
}
