use super::*;

const ENVELOPE: &str = r#"{"specVersion":"0.0-draft","messageId":"msg_river-0001","messageType":"suggestion","intent":"suggest",
"claimStatus":"sender-asserted","sender":{"taskId":"survey","incarnationId":"inc_survey-01","actorType":"agent","harness":"codex"},
"target":{"taskId":"bridge","incarnationId":"inc_bridge-01"},"relationshipId":"rel_survey-bridge","content":"Use the northern pier.",
"reason":"The southern one is flooded.","delivery":{"requestedMode":"checkpoint-offer","requiresDisposition":true},
"createdAt":"2026-03-01T08:00:00Z","expiresAt":"2026-03-01T09:00:00+00:00"}"#;

#[test]
fn a_document_keeps_text_digest_and_parsed_form_together() {
    let parsed = parse(Kind::Envelope, ENVELOPE).unwrap();
    let document = parsed.document();
    assert_eq!(document.text(), ENVELOPE);
    assert_eq!(document.digest(), check("envelope", ENVELOPE).unwrap().digest);
    let envelope = views::Envelope::of(&document).unwrap();
    assert_eq!(envelope.sender.task_id, "survey");
    assert_eq!(envelope.expires_at_ms - envelope.created_at_ms, 3_600_000);
    assert!(views::Grant::of(&document).is_none());
}

#[test]
fn pointers_into_params_start_at_the_whole_text() {
    let inner = ENVELOPE.replace("\"suggest\"", "\"steer\"");
    let text = alloc::format!("{{\"envelope\":{inner},\"idempotencyKey\":\"idem_river-1\"}}");
    let tree = json::parse_document(&text).unwrap();
    let params = Params::from_value("messages.send", tree.root()).unwrap();
    let error = params.document(Kind::Envelope, "envelope").unwrap_err();
    assert_eq!((error.code, error.pointer.as_str()), (Code::EnvelopeInvalid, "/envelope/freshness"));
    assert!(error.detail.starts_with("EN-3:"), "{}", error.detail);
    assert!(params.document(Kind::Grant, "grant").unwrap().is_none());
}

#[test]
fn an_unknown_method_has_no_params() {
    let tree = json::parse_document("{}").unwrap();
    assert_eq!(Params::from_value("tasks.list", tree.root()).unwrap_err().code, Code::MethodNotFound);
}
