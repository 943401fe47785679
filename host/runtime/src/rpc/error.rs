//! The one maker and the one reader of `error` members on the side of the host. The core makes those of its refusals, in
//! the same form to the byte.

use crate::{HostError, codes, driver::group_name, wit};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The longest detail, in code points, as `spec/schema/jsonrpc-response.schema.json` has it.
const DETAIL_MAX: usize = 2_000;

/// The `error` member for a fault that a transport found itself. `code` is one of those that hosts give; one that is not is
/// told as an internal error.
pub fn error(code: &str, detail: &str) -> String {
    let error = codes::known(code).unwrap_or(&codes::CORE_TRAP).error(detail);
    object(&wit::Error { code: code.to_owned(), ..error })
}

/// The `error` member for `error`. A code that is not in spec/errors.md has the number of an internal error; its group, and
/// whether it may be retried, say what a caller can do.
pub fn object(error: &wit::Error) -> String {
    let (public, number) = codes::wire(&error.code).unwrap_or((codes::CORE_TRAP.public, codes::CORE_TRAP.rpc));
    let detail = match error.detail.char_indices().nth(DETAIL_MAX) {
        Some((end, _)) => &error.detail[..end],
        None => &error.detail,
    };
    let data = Data {
        threadmesh_code: public.into(),
        group: group_name(error.group).into(),
        retryable: error.retryable,
        code: error.code.as_str().into(),
        pointer: error.pointer.as_str().into(),
        detail: detail.into(),
    };
    let member = Member { code: number.into(), message: public.into(), data };
    // Texts, a number and a truth value always have a JSON form.
    serde_json::to_string(&member).unwrap_or_default()
}

/// The `error` member for an operation that the host could not carry out. What the host knows of the cause is for its log
/// and not for the caller.
pub fn failed(fault: &HostError) -> String {
    object(&fault.told())
}

/// An `error` member.
#[derive(Serialize, Deserialize)]
struct Member<'a> {
    #[serde(default)]
    code: i64,
    #[serde(default, borrow)]
    message: Cow<'a, str>,
    #[serde(default, borrow)]
    data: Data<'a>,
}

/// Its data.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Data<'a> {
    #[serde(borrow)]
    threadmesh_code: Cow<'a, str>,
    #[serde(borrow)]
    group: Cow<'a, str>,
    retryable: bool,
    #[serde(borrow)]
    code: Cow<'a, str>,
    #[serde(borrow)]
    pointer: Cow<'a, str>,
    #[serde(borrow)]
    detail: Cow<'a, str>,
}

/// The `error` member of a response, as its receiver reads it.
#[derive(Clone, Debug, Default, PartialEq, thiserror::Error)]
#[error("{code}: {detail}")]
pub struct Refusal {
    /// The code, as in spec/errors.md; the public one where a server of another make tells no other.
    pub code: String,
    /// By whose fault, as in spec/errors.md; empty where the other end does not say.
    pub group: String,
    /// The public code, `threadmesh_…`.
    pub public_code: String,
    /// The JSON-RPC number.
    pub number: i64,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// A JSON Pointer into the params; empty for the whole of them.
    pub pointer: String,
    /// What is wrong, as a sentence.
    pub detail: String,
}

impl Refusal {
    /// Reads the text of an `error` member; what it lacks is empty.
    pub fn read(error: &str) -> Self {
        let Ok(Member { code: number, message, data }) = serde_json::from_str(error) else {
            return Refusal::default();
        };
        let code = if data.code.is_empty() { &message } else { &data.code };
        Refusal {
            code: code.to_string(),
            group: data.group.into(),
            public_code: message.to_string(),
            number,
            retryable: data.retryable,
            pointer: data.pointer.into(),
            detail: data.detail.into(),
        }
    }

    /// Whether the other end could not do its part, and may be able to later.
    pub fn passing(&self) -> bool {
        matches!(self.group.as_str(), "host" | "store") && self.retryable
    }

    /// Whether the other end or its core is at fault, and will be next time.
    pub fn lasting(&self) -> bool {
        matches!(self.group.as_str(), "host" | "store" | "core") && !self.retryable
    }
}
