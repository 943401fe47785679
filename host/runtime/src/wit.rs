//! The records of `wit/world.wit`, flat.

/// What `bindgen!` makes of the world `core`.
#[allow(missing_docs, clippy::all)]
pub(crate) mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "core",
        additional_derives: [PartialEq],
    });
}

pub use bindings::exports::threadmesh::core::{
    attestation::Verdict,
    coordinator::{
        Answer, AuditRecord, Call, Decision, Effect, EffectKind, Entry, Evaluated, Evaluation, Found, Frame, Operation,
        Principal, PrincipalKind, Query, Request, Status, Step, StepKind, Stored, Waiting, Write,
    },
    documents::Checked,
    types::{Error, Fact, Group},
};

/// The answer of a host that has no engine for policies: it denies.
pub fn unavailable(asked: Evaluation) -> Evaluated {
    let Evaluation { policy, hook, input } = asked;
    Evaluated { policy, hook, input, end: "unavailable".into(), verdict: None, facts: Vec::new() }
}
