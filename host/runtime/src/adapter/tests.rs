use super::*;

fn receipt() -> Receipt {
    Receipt {
        adapter_operation_id: "op-1".into(),
        accepted_at: "2026-01-01T00:00:00Z".into(),
        evidence_refs: vec!["ledger:1".into()],
    }
}

#[test]
fn bounds_are_inclusive() {
    let mut r = receipt();
    r.adapter_operation_id = "é".repeat(OPERATION_ID_CHARS_MAX);
    r.evidence_refs = (0..EVIDENCE_REFS_MAX).map(|n| format!("{n:0>2000}")).collect();
    assert_eq!(r.check(), Ok(()));
}

#[test]
fn beyond_the_bounds_is_refused() {
    let edits: [fn(&mut Receipt); 8] = [
        |r| r.adapter_operation_id.clear(),
        |r| r.adapter_operation_id = "x".repeat(501),
        |r| r.accepted_at.clear(),
        |r| r.accepted_at = "9".repeat(65),
        |r| r.evidence_refs.clear(),
        |r| r.evidence_refs = (0..33).map(|n| n.to_string()).collect(),
        |r| r.evidence_refs = vec!["a".into(), "a".into()],
        |r| r.evidence_refs = vec!["x".repeat(2001)],
    ];
    for (n, edit) in edits.iter().enumerate() {
        let mut r = receipt();
        edit(&mut r);
        assert_eq!(r.check().map_err(|reason| reason.code), Err("receipt-malformed"), "edit {n}");
    }
}

#[test]
fn a_receipt_is_closed() {
    let text = r#"{"adapterOperationId":"a","acceptedAt":"b","evidenceRefs":["c"],"extra":1}"#;
    assert!(serde_json::from_str::<Receipt>(text).is_err());
}
