//! Attestations, anchors and signatures: the arguments of the vectors, or the bytes of a key.

mod forge;

use serde_json::Value as Other;
use threadmesh_protocol::{
    Code,
    attestation::{Verdict, check_anchors, verify, verify_disposition},
    documents::{self, verification_attestation::payload_digest},
    json,
};

/// One set of arguments.
pub fn run(data: &[u8]) -> bool {
    let args = match serde_json::from_slice::<Other>(data) {
        Ok(args) if args.is_object() => args,
        _ => return forge::key(data),
    };
    let text = |name: &str| match &args[name] {
        Other::String(text) => text.clone(),
        Other::Null => "{}".into(),
        value => value.to_string(),
    };
    let call = Call {
        document: text("document"),
        anchors: text("anchors"),
        expected: text("expected"),
        now: args["now"].as_f64().unwrap_or(1_777_881_600_000.0),
    };
    let verified = call.verify();
    let loaded = check_anchors(&call.anchors);
    assert_eq!(loaded, check_anchors(&call.anchors));
    match (&verified, &loaded) {
        (Ok(_), Err(error)) => panic!("verified against a list that is refused: {error:?}"),
        (Err(found), Err(error)) => assert!(found == error || found.code == Code::HostMisuse, "{found:?} {error:?}"),
        (Err(found), Ok(_)) => assert_ne!(found.code, Code::AnchorInvalid),
        (Ok(verdict), Ok(_)) => call.proven(verdict),
    }
    let disposition = call.disposition();
    forge::sealed(&call.document);
    verified.is_ok() || disposition
}

struct Call {
    document: String,
    anchors: String,
    expected: String,
    now: f64,
}

impl Call {
    fn verify(&self) -> Result<Verdict, threadmesh_protocol::Error> {
        let verdict = verify(&self.document, &self.anchors, &self.expected, self.now);
        assert_eq!(verdict, verify(&self.document, &self.anchors, &self.expected, self.now));
        verdict
    }

    /// What a verdict rests on.
    fn proven(&self, verdict: &Verdict) {
        let checked = documents::check("verification-attestation", &self.document).expect("verified means sound");
        let tree = json::parse(&self.document).expect("sound means JSON");
        assert_eq!(verdict.signed_payload_digest, payload_digest(tree.root()));
        let again = |document: &str, anchors: &str, expected: &str| verify(document, anchors, expected, self.now);
        assert_eq!(again(&checked.canonical, &self.anchors, &self.expected).as_ref(), Ok(verdict));
        assert_eq!(again(&self.document, &self.anchors, "{}").as_ref(), Ok(verdict));
        assert!(again(&self.document, "[]", "{}").is_err(), "trusted by nobody");
        let whole: Other = serde_json::from_str(&self.document).expect("sound means JSON");
        let subject: Other = serde_json::from_str(&verdict.subject).expect("a subject is JSON");
        assert_eq!(whole["subject"], subject);
        for pointer in ["/attestationId", "/evidenceDigest", "/subject/messageId", "/proof/signature", "/verifiedAt"] {
            let mut other = whole.clone();
            let Some(Other::String(text)) = other.pointer_mut(pointer) else { continue };
            tamper(text);
            assert!(again(&other.to_string(), &self.anchors, "{}").is_err(), "verified with another {pointer}");
            // Also where the digest follows: then the signature is one of something else.
            if let Some(sealed) = forge::with_digest(other).filter(|_| pointer != "/proof/signature") {
                assert!(again(&sealed, &self.anchors, "{}").is_err(), "verified with another {pointer} and digest");
            }
        }
    }

    /// Every attestation of a verified disposition verifies alone.
    fn disposition(&self) -> bool {
        let verdicts = verify_disposition(&self.document, &self.anchors, self.now);
        assert_eq!(verdicts, verify_disposition(&self.document, &self.anchors, self.now));
        let Ok(verdicts) = verdicts else { return false };
        let whole: Other = serde_json::from_str(&self.document).expect("verified means JSON");
        let parts = whole["outcome"]["verificationAttestations"].as_array().expect("verified means attested");
        assert!(!parts.is_empty() && parts.len() == verdicts.len());
        for (part, verdict) in parts.iter().zip(&verdicts) {
            assert_eq!(verify(&part.to_string(), &self.anchors, "{}", self.now).as_ref(), Ok(verdict));
        }
        true
    }
}

/// Changes the last letter or digit that can be another one.
fn tamper(text: &mut String) {
    let place = text.rfind(|letter: char| letter.is_ascii_alphanumeric());
    let Some(place) = place else { return };
    let other = if text[place..].starts_with('1') { "2" } else { "1" };
    // A signature ends in bits that must be 0: its first letter has none.
    let place = if text.len() > 80 { 0 } else { place };
    let other = if text[place..].starts_with(other) { "2" } else { other };
    text.replace_range(place..=place, other);
}
