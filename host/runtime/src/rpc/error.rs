//! The one maker and the one reader of `error` members on the side of the host. The core makes those of its refusals, in
//! the same form to the byte.

use crate::{HostError, codes};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::HashMap, sync::LazyLock};

/// The longest detail, in code points, as `spec/schema/jsonrpc-response.schema.json` has it.
const DETAIL_MAX: usize = 2_000;

/// The `error` member for a fault that a transport found itself. `code` is one of spec/errors.md; one that is not there is
/// told as an internal error.
pub fn error(code: &str, detail: &str) -> String {
    error_at(code, "", detail)
}

/// As [`error`], with a JSON Pointer into the params.
pub fn error_at(code: &str, pointer: &str, detail: &str) -> String {
    let row = CODES.get(code);
    let public = row.map_or("threadmesh_internal_error", |row| row.public.as_str());
    let detail = match detail.char_indices().nth(DETAIL_MAX) {
        Some((end, _)) => &detail[..end],
        None => detail,
    };
    let data = Data {
        threadmesh_code: public.into(),
        retryable: row.is_some_and(|row| row.retryable),
        code: code.into(),
        pointer: pointer.into(),
        detail: detail.into(),
    };
    let member = Member { code: row.map_or(-32603, |row| row.rpc), message: public.into(), data };
    // Texts, a number and a truth value always have a JSON form.
    serde_json::to_string(&member).unwrap_or_default()
}

/// The `error` member for an operation that the host could not carry out. What the host knows of the cause is for its log
/// and not for the caller.
pub fn failed(fault: &HostError) -> String {
    let code = fault.code();
    error(codes::name(code), codes::meaning(code))
}

/// The group of a code of spec/errors.md, which says whose fault it stands for; nothing for a code that is not there.
pub fn group(code: &str) -> Option<&'static str> {
    CODES.get(code).map(|row| row.group.as_str())
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
            public_code: message.to_string(),
            number,
            retryable: data.retryable,
            pointer: data.pointer.into(),
            detail: data.detail.into(),
        }
    }

    /// The group of the code; see [`group`].
    pub fn group(&self) -> Option<&'static str> {
        group(&self.code)
    }
}

/// What spec/errors.json says of a code.
#[derive(Deserialize)]
struct Row {
    code: String,
    group: String,
    public: String,
    rpc: i64,
    #[serde(default)]
    retryable: bool,
}

static CODES: LazyLock<HashMap<String, Row>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Table {
        codes: Vec<Row>,
    }
    let table: Table = serde_json::from_str(include_str!("../../../../spec/errors.json")).expect("a table of codes");
    table.codes.into_iter().map(|row| (row.code.clone(), row)).collect()
});
