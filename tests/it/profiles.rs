//! Every feature that a profile of the operator's file can declare, through the dispatcher that serves it: what is declared
//! reaches the rules, and works there.

use crate::embedded::{Mesh, message};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use threadmesh_adapters::profiles::{Surroundings, parse};
use threadmesh_native::NativeCore;
use threadmesh_runtime::adapter::Profile;
use threadmesh_runtime::dispatcher::{Caller, Config, Dispatcher, Refusal};
use threadmesh_runtime::host::itself;
use threadmesh_runtime::store::MemoryStore;
use threadmesh_runtime::wit::Status;
use threadmesh_runtime::{Core, Host, rpc};

/// The host as the dispatcher sees it; keeps what was declared.
struct AsHost(Host, Mutex<Vec<Value>>);

impl Caller for AsHost {
    fn call(&self, tenant: &str, method: &str, params: &str) -> Result<String, Refusal> {
        let reply = self.0.call(Some(&itself(tenant)), method, params).expect("an answer");
        if method == "adapters.declare" {
            self.1.lock().expect("the list").push(serde_json::from_str(params).expect("JSON"));
        }
        match reply.status {
            Status::Refused => {
                let rpc::Refusal { code, detail, retryable, .. } = rpc::Refusal::read(&reply.body);
                Err(Refusal { code, detail, retryable })
            }
            Status::Accepted | Status::Replayed => Ok(reply.body),
        }
    }

    fn digest(&self, text: &str) -> Result<String, Refusal> {
        Ok(digest(text).expect("a digest"))
    }

    fn now_ms(&self) -> u64 {
        self.0.now_ms().map_or(0, i64::cast_unsigned)
    }
}

fn digest(text: &str) -> Result<String, String> {
    let digest = NativeCore.session().map_err(|error| error.to_string())?.digest(text);
    digest.map_err(|error| error.to_string())?.map_err(|error| error.detail)
}

/// The profile `loop` of a file, whose calls the receiver makes itself.
fn profile(settings: &str, features: &str) -> Result<Profile, String> {
    let surroundings = Surroundings { digest: &digest, carrier: None };
    let text = format!(
        "[profile.loop]\nkind = \"caller\"\n{settings}\n[profile.loop.capabilities]\nintents = [\"suggest\"]\n\
         [profile.loop.capabilities.features]\n{features}\n"
    );
    parse(&text, &surroundings).map(|mut all| all.remove(0)).map_err(|error| error.to_string())
}

/// A mesh whose dispatcher serves `profile`, and what was declared.
fn served(profile: Profile) -> (Mesh, Value) {
    let mesh = Mesh::over(Arc::new(MemoryStore::new()));
    let caller = Arc::new(AsHost(mesh.host(), Mutex::default()));
    let dispatcher = Dispatcher::by_hand(Arc::clone(&caller) as Arc<dyn Caller>, vec![profile], Config::new("one"));
    drop(dispatcher.expect("the core takes the profile"));
    let declared = caller.1.lock().expect("the list").remove(0);
    (mesh, declared)
}

#[test]
fn what_a_profile_declares_of_context_admissions_works() {
    let digest = format!("sha256:{:064}", 7);
    for (evidence, snapshot) in
        [("mcp-session", false), ("acp-session", true), ("codex-app-server", true), ("gemini-headless", true)]
    {
        for feature in ["receiver-mediated", "native"] {
            let snapshot = if snapshot { format!("snapshot_digest = \"{digest}\"") } else { String::new() };
            let settings = format!("[profile.loop.context_admission]\nevidence = \"{evidence}\"\n{snapshot}");
            let features = format!("context_admission = \"{feature}\"\nprovenance_rendering = \"model-visible\"");
            let (mut mesh, declared) = served(profile(&settings, &features).expect("a profile"));
            assert_eq!(declared["contextAdmission"]["evidence"], evidence);
            let ends = mesh.pair("alice", 0);
            mesh.send(&ends, 0, 1);
            let at = |revision: u32, more: Value| {
                let mut params = message(0, 1);
                params["expectedRevision"] = revision.into();
                params.as_object_mut().expect("params").extend(more.as_object().cloned().unwrap_or_default());
                params
            };
            mesh.call(&ends.1, "messages.respond", at(0, json!({"decision": "accepted"})));
            let prepared = mesh.call(&ends.1, "adapter.prepareContextAdmission", at(1, json!({})));
            assert!(prepared["value"]["admissionToken"].is_string(), "{evidence}, {feature}: {prepared}");
        }
    }
}

#[test]
fn a_context_admission_without_evidence_is_refused_when_the_file_is_read() {
    let feature = "context_admission = \"native\"\nprovenance_rendering = \"model-visible\"";
    let evidence = "[profile.loop.context_admission]\nevidence = \"mcp-session\"";
    assert!(profile("", feature).expect_err("refused").contains("needs context_admission.evidence"));
    assert!(profile(evidence, "").expect_err("refused").contains("needs capabilities.features.context_admission"));
}

#[test]
fn every_feature_can_be_declared() {
    let cases = [
        ("relatedTaskDiscovery", "related_task_discovery = \"explicit-only\"", json!("explicit-only")),
        (
            "relatedTaskDiscovery",
            "related_task_discovery = \"relationship-scoped\"\ntask_incarnation = true",
            json!("relationship-scoped"),
        ),
        ("taskIncarnation", "task_incarnation = true", json!(true)),
        ("objectiveVersioning", "objective_versioning = true", json!(true)),
        ("checkpointEvents", "checkpoint_events = true", json!(true)),
        ("modelTurnCancellation", "model_turn_cancellation = true", json!(true)),
        ("subprocessCancellation", "subprocess_cancellation = true", json!(true)),
        ("dispositionCallbacks", "disposition_callbacks = true", json!(true)),
        ("typedInterruptionResults", "typed_interruption_results = true", json!(true)),
        ("provenanceRendering", "provenance_rendering = \"side-channel-only\"", json!("side-channel-only")),
        ("provenanceRendering", "provenance_rendering = \"model-visible\"", json!("model-visible")),
        ("durableSubmissionIdempotency", "durable_submission_idempotency = \"stable-key\"", json!("stable-key")),
        (
            "durableSubmissionIdempotency",
            "durable_submission_idempotency = \"queryable-receipt\"",
            json!("queryable-receipt"),
        ),
    ];
    let mut seen: BTreeSet<&str> = ["contextAdmission", "idleWake", "structuredGateResponses"].into();
    for (name, features, expected) in cases {
        let (_, declared) = served(profile("", features).expect("a profile"));
        assert_eq!(declared["capabilities"]["features"][name], expected, "{features}");
        seen.insert(name);
    }
    let wakes = "[profile.loop]\nkind = \"caller\"\n[profile.loop.capabilities]\ndelivery_modes = [\"wake-idle\"]\n\
                 [profile.loop.capabilities.features]\nidle_wake = true\n";
    let surroundings = Surroundings { digest: &digest, carrier: None };
    let (_, declared) = served(parse(wakes, &surroundings).expect("a profile").remove(0));
    assert_eq!(declared["capabilities"]["features"]["idleWake"], true);
    // One value alone is allowed: it is declared with all others.
    assert_eq!(declared["capabilities"]["features"]["structuredGateResponses"], "none");
    let schema: Value =
        serde_json::from_str(include_str!("../../spec/schema/capabilities.schema.json")).expect("a schema");
    let features = &schema["properties"]["features"]["properties"];
    let all: BTreeSet<&str> = features.as_object().expect("features").keys().map(String::as_str).collect();
    assert_eq!(seen, all, "a feature that no case here declares");
}
