//! What a call is about, as targets read it: a message by its own members, everything else by its holder.

use serde::Serialize;
use serde_json::value::RawValue;
use threadmesh_runtime::adapter::{ENVELOPE, Holder, Payload};

/// Members of a request to a target.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Subject<'a> {
    /// A message.
    #[serde(rename_all = "camelCase")]
    Message {
        message_id: &'a str,
        sender_incarnation_id: &'a str,
        envelope_digest: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        envelope: Option<&'a RawValue>,
    },
    /// Any other record: what it is, what every attempt is made for, and what is handed over.
    Other { holder: Record<'a>, scope: &'a str, payload: Handed<'a> },
}

/// A record that carries an attempt.
#[derive(Serialize)]
pub(crate) struct Record<'a> {
    kind: &'a str,
    id: &'a str,
}

/// What is handed over; of a question the digest alone.
#[derive(Serialize)]
pub(crate) struct Handed<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
    digest: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a RawValue>,
}

impl<'a> Subject<'a> {
    /// Of a call, whose payload was parsed as `raw`.
    pub fn of_call(holder: &'a Holder, scope: &'a str, payload: &'a Payload, raw: &'a RawValue) -> Self {
        match holder {
            Holder::Message { id, sender_incarnation_id } if payload.kind == ENVELOPE => Self::Message {
                message_id: id,
                sender_incarnation_id,
                envelope_digest: &payload.digest,
                envelope: Some(raw),
            },
            holder => {
                let handed = Handed { kind: Some(&payload.kind), digest: &payload.digest, value: Some(raw) };
                Self::Other { holder: record(holder), scope, payload: handed }
            }
        }
    }

    /// Of a question.
    pub fn of_query(holder: &'a Holder, scope: &'a str, digest: &'a str) -> Self {
        match holder {
            Holder::Message { id, sender_incarnation_id } => {
                Self::Message { message_id: id, sender_incarnation_id, envelope_digest: digest, envelope: None }
            }
            holder => {
                Self::Other { holder: record(holder), scope, payload: Handed { kind: None, digest, value: None } }
            }
        }
    }
}

fn record(holder: &Holder) -> Record<'_> {
    match holder {
        Holder::Message { id, .. } => Record { kind: "message", id },
        Holder::Other { kind, id } => Record { kind, id },
    }
}
