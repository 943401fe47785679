//! Errors and verdicts across the boundary, one to one; in both worlds, and for the rules without the sandbox.

use crate::{Error, Group, Verdict};
use threadmesh_protocol as protocol;

pub(crate) fn error(error: protocol::Error) -> Error {
    let protocol::Error { code, pointer, detail } = error;
    Error { group: group(code.group()), code: code.name().into(), retryable: code.retryable(), pointer, detail }
}

fn group(group: protocol::Group) -> Group {
    match group {
        protocol::Group::Input => Group::Input,
        protocol::Group::Authority => Group::Authority,
        protocol::Group::State => Group::State,
        protocol::Group::Budget => Group::Budget,
        protocol::Group::Unsupported => Group::Unsupported,
        protocol::Group::Outside => Group::Outside,
        protocol::Group::Host => Group::Host,
        protocol::Group::Store => Group::Store,
        protocol::Group::Core => Group::Core,
        protocol::Group::Unknown => Group::Unknown,
    }
}

pub(crate) fn verdict(verdict: protocol::attestation::Verdict) -> Verdict {
    Verdict {
        attestation_id: verdict.attestation_id,
        key_id: verdict.key_id,
        algorithm: verdict.algorithm,
        actor_id: verdict.actor_id,
        trust_domain: verdict.trust_domain,
        policy_id: verdict.policy_id,
        signed_payload_digest: verdict.signed_payload_digest,
        subject: verdict.subject,
    }
}
