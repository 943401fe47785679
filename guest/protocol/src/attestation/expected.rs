//! What an attestation must be about, as the caller says it.
//!
//! The members are those of the subject, with evidenceDigest. A misspelt one is misuse: leaving it out of the
//! comparison would accept what the caller meant to refuse.

use super::judge::pointer;
use crate::{
    Code, Error, Rule,
    documents::Part,
    json::{self, Kind, Tree, Value},
    rules::check_at,
};
use alloc::{format, vec::Vec};

/// Members that are strings, and where an attestation has them. The order is that of the comparison.
const MEMBERS: [(&str, &str); 5] = [
    ("messageId", "/subject/messageId"),
    ("senderIncarnationId", "/subject/senderIncarnationId"),
    ("claimType", "/subject/claimType"),
    ("claimDigest", "/subject/claimDigest"),
    ("evidenceDigest", "/evidenceDigest"),
];
/// Members of `receiver`, likewise.
const RECEIVER: [(&str, &str); 2] =
    [("taskId", "/subject/receiver/taskId"), ("incarnationId", "/subject/receiver/incarnationId")];

/// The texts to compare with.
pub(super) struct Expected<'a>(Vec<(&'static str, &'a str)>);

/// Parses the text of `expected`. Error: `host-misuse`, with the place and the reason. Rule AT-2.
pub(super) fn parse(text: &str) -> Result<Tree<'_>, Error> {
    json::parse_document(text).map_err(|fault| {
        Error::new(Code::HostMisuse, fault.pointer, format!("{}: expected: {}", Rule::AT2.id(), fault.detail))
    })
}

impl<'a> Expected<'a> {
    /// Takes the members of a parsed `expected`. Rule AT-2.
    pub(super) fn load(root: Value<'a>) -> Result<Self, Error> {
        check_at(Rule::AT2, root.kind() == Kind::Object, || root.pointer())?;
        let mut wanted = Vec::new();
        for (name, value) in root.members() {
            if name == "receiver" {
                receiver(value, &mut wanted)?;
            } else {
                take(&MEMBERS, name, value, &mut wanted)?;
            }
        }
        Ok(Self(wanted))
    }

    /// Compares with a checked attestation; `verification-subject-mismatch` at the first member that differs. Rule
    /// AT-31.
    pub(super) fn compare(&self, attestation: Part<'_>) -> Result<(), Error> {
        let order = MEMBERS.iter().chain(&RECEIVER);
        for (path, wanted) in order.flat_map(|(_, path)| self.0.iter().filter(move |(taken, _)| taken == path)) {
            let equal = attestation.text(path) == *wanted;
            check_at(Rule::AT31, equal, || pointer(attestation, path))?;
        }
        Ok(())
    }
}

fn receiver<'a>(value: Value<'a>, wanted: &mut Vec<(&'static str, &'a str)>) -> Result<(), Error> {
    check_at(Rule::AT2, value.kind() == Kind::Object && value.len() == RECEIVER.len(), || value.pointer())?;
    for (name, value) in value.members() {
        take(&RECEIVER, name, value, wanted)?;
    }
    Ok(())
}

fn take<'a>(
    known: &[(&str, &'static str)],
    name: &str,
    value: Value<'a>,
    wanted: &mut Vec<(&'static str, &'a str)>,
) -> Result<(), Error> {
    let path = known.iter().find(|(known, _)| *known == name).map(|(_, path)| *path);
    let found = path.zip(value.as_str());
    check_at(Rule::AT2, found.is_some(), || value.pointer())?;
    wanted.extend(found);
    Ok(())
}
