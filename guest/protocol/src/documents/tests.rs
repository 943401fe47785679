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
    let part = document.part();
    assert_eq!(part.text("/sender/taskId"), "survey");
    assert_eq!(part.time("/expiresAt").unwrap() - part.time("/createdAt").unwrap(), 3_600_000);
    assert_eq!((part.text("/sender/actorId"), part.text("/delivery"), part.int("/freshness")), ("", "", None));
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

#[test]
fn every_kind_is_found_by_its_name_and_no_other() {
    for name in kinds() {
        assert_eq!(Kind::from_name(name).unwrap().name(), name);
    }
    assert!(kinds().count() >= 13);
    assert_eq!(Kind::from_name("Envelope").unwrap_err().code, Code::UnknownKind);
}

#[test]
fn every_method_of_a_request_has_params() {
    assert!(shape::methods().count() >= 27);
    for method in shape::methods() {
        assert!(shape::params(method).is_some(), "{method}");
    }
}

/// Whatever stands in the place of a value, the answer is one of the codes, and the pointer leads into the text.
#[test]
fn a_damaged_document_is_answered_and_never_traps() {
    let tree = json::parse_document(ENVELOPE).unwrap();
    let deep = alloc::format!("{}1{}", "[".repeat(60), "]".repeat(60));
    let wide = alloc::format!("[{}0]", "0,".repeat(6_000));
    let mut values: alloc::vec::Vec<_> = tree.root().members().map(|(_, value)| value).collect();
    values.extend(tree.root().get("sender").unwrap().members().map(|(_, value)| value));
    for value in values {
        for other in ["null", "[]", "{}", "-1", "1.5", "\"\"", "true", "[{}]", &deep, &wide] {
            let text = ENVELOPE.replacen(value.raw(), other, 1);
            for kind in kinds() {
                if let Err(error) = check(kind, &text) {
                    assert!(error.pointer.is_empty() || error.pointer.starts_with('/'));
                }
            }
        }
    }
}
