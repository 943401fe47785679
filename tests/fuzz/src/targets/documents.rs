//! Documents of every kind: the first byte chooses the kind, the rest is the text.

use serde_json::Value as Other;
use threadmesh_protocol::{
    Code,
    documents::{self, Kind},
    json,
};

/// The byte that stands for the first kind.
pub const HEAD: u8 = b'a';

/// One document.
pub fn run(data: &[u8]) -> bool {
    let Some((head, rest)) = data.split_first() else { return false };
    let Ok(text) = json::text(rest) else { return false };
    let kinds: Vec<&str> = documents::kinds().collect();
    let name = kinds[usize::from(head.wrapping_sub(HEAD)) % kinds.len()];
    let checked = documents::check(name, text);
    assert_eq!(checked, documents::check(name, text), "another answer to the same text");
    match checked {
        Ok(checked) => {
            accepted(name, text, &checked);
            true
        }
        Err(error) => {
            refused(name, text, &error);
            false
        }
    }
}

fn accepted(name: &str, text: &str, checked: &documents::Checked) {
    let tree = json::parse_document(text).expect("an accepted document is JSON");
    assert_eq!(checked.canonical, tree.canonical());
    assert_eq!(checked.digest, tree.digest());
    let canonical = documents::check(name, &checked.canonical).expect("the canonical form is accepted");
    assert_eq!(canonical, *checked);
    let kind = Kind::from_name(name).expect("a known kind");
    let parsed = documents::parse(kind, text).expect("accepted before");
    assert_eq!(parsed.document().digest(), checked.digest);
    // White space, escapes and the order of members are no part of a document.
    let other: Other = serde_json::from_str(text).expect("an accepted document is JSON");
    let pretty = serde_json::to_string_pretty(&other).expect("a value has a text");
    if pretty.len() <= json::Limits::default().bytes_max {
        let same = documents::check(name, &pretty).expect("another text of the same document is accepted");
        assert_eq!(same.digest, checked.digest);
    }
    // A member that nobody knows is accepted in no document but where any object may stand.
    if let Other::Object(mut members) = other {
        members.insert("zz-unknown".into(), Other::Null);
        assert!(documents::check(name, &Other::Object(members).to_string()).is_err(), "an unknown member in {name}");
    }
}

fn refused(name: &str, text: &str, error: &threadmesh_protocol::Error) {
    assert_ne!(error.code, Code::UnknownKind);
    assert_ne!(error.code, Code::HostMisuse);
    assert!(!error.detail.is_empty());
    let Ok(tree) = json::parse_document(text) else { return };
    assert!(!error.code.name().starts_with("json-") || name.starts_with("jsonrpc"), "{error:?} for JSON");
    let whole: Other = serde_json::from_str(tree.text()).expect("read before");
    // The pointer names a value, or one that is missing in a container that is there.
    let (container, _) = error.pointer.rsplit_once('/').unwrap_or(("", ""));
    let leads = |pointer: &str| whole.pointer(pointer).is_some();
    assert!(leads(&error.pointer) || leads(container), "{error:?} leads nowhere");
}
