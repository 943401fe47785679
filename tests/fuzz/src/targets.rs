//! The targets by name.

pub mod attestation;
pub mod canonical_json;
pub mod decide;
pub mod documents;
pub mod jsonrpc;

/// A target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Panics where a property does not hold. Whether the input was accepted, as far as that can be said of it.
    pub run: fn(&[u8]) -> bool,
    /// How many bytes at the start are no JSON.
    pub head: usize,
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target { name: "canonical-json", run: canonical_json::run, head: 0 },
    Target { name: "documents", run: documents::run, head: 1 },
    Target { name: "decide", run: decide::run, head: 0 },
    Target { name: "jsonrpc", run: jsonrpc::run, head: 0 },
    Target { name: "attestation", run: attestation::run, head: 0 },
];

/// The target of that name.
pub fn find(name: &str) -> Option<Target> {
    TARGETS.iter().copied().find(|target| target.name == name)
}
