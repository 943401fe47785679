//! The interfaces of both worlds.

use crate::Component;
use crate::exports::threadmesh::core::{about, attestation, canonical_json, types};
use crate::verdicts::{error, verdict};
use alloc::{string::String, vec::Vec};
use threadmesh_protocol as protocol;

impl about::Guest for Component {
    fn describe() -> String {
        protocol::about::DESCRIPTION.into()
    }
}

impl canonical_json::Guest for Component {
    fn canonicalize(text: String) -> Result<String, types::Error> {
        protocol::json::parse(&text).map(|tree| tree.canonical()).map_err(error)
    }

    fn digest(text: String) -> Result<String, types::Error> {
        protocol::json::parse(&text).map(|tree| tree.digest()).map_err(error)
    }

    fn parse_time(text: String) -> Result<f64, types::Error> {
        protocol::time::parse(&text).map(|ms| ms as f64).map_err(error)
    }
}

impl attestation::Guest for Component {
    fn verify(
        document: String,
        anchors: String,
        expected: String,
        now: f64,
    ) -> Result<attestation::Verdict, types::Error> {
        protocol::attestation::verify(&document, &anchors, &expected, now).map(verdict).map_err(error)
    }

    fn check_anchors(anchors: String) -> Result<u32, types::Error> {
        protocol::attestation::check_anchors(&anchors).map_err(error)
    }

    fn verify_disposition(
        document: String,
        anchors: String,
        now: f64,
    ) -> Result<Vec<attestation::Verdict>, types::Error> {
        protocol::attestation::verify_disposition(&document, &anchors, now)
            .map(|verdicts| verdicts.into_iter().map(verdict).collect())
            .map_err(error)
    }
}
