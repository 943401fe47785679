//! Operations that make a call outside: in process and by a server, with the demo's ledger as the outside.

use crate::program::world::World;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

/// A world whose builder hands what it accepts to a ledger, and one suggestion that waits for it.
struct Outside {
    world: World,
}

impl Outside {
    fn new() -> Self {
        let world = World::new();
        let ledger = world.rig.path("ledger.jsonl");
        let text = format!(
            "[profile.ledger]\nkind = \"command\"\nprogram = {:?}\nargs = [\"demo\", \"--target\", {:?}]\ncan_query = true\n",
            env!("CARGO_BIN_EXE_threadmesh"),
            ledger.display().to_string()
        );
        let profiles = world.rig.write("profiles.toml", text);
        fs::set_permissions(profiles, fs::Permissions::from_mode(0o600)).expect("a mode");
        let task = json!({"taskId": "build-1", "incarnationId": "inc_build_0001"});
        let attach = json!({"task": task, "adapterRef": {"kind": "ledger"}, "expectedRevision": 0});
        let attached =
            world.at("builder", &["call", "tasks.attach", &attach.to_string(), "--profiles", "profiles.toml"]);
        assert_eq!(attached.0, 0, "{attached:?}");
        let send = ["send", "Do it.", "--mode", "checkpoint-offer", "--message-id", "msg_call_0001"];
        let sent = world.at("planner", &[&send[..], World::ROUTE].concat());
        assert_eq!(sent.0, 0, "{sent:?}");
        Outside { world }
    }

    /// The params that claim the message for `adapter.acceptAndBegin`.
    fn claim(&self) -> String {
        let about =
            json!({"senderIncarnationId": "inc_plan_0001", "messageId": "msg_call_0001", "expectedRevision": 0});
        let claimed = self.world.at("builder", &["call", "mailbox.claim", &about.to_string()]);
        let mut params = about;
        params["claimToken"] = claimed.1[0]["result"]["value"]["value"]["claimToken"].clone();
        assert!(params["claimToken"].is_string(), "{claimed:?}");
        params.to_string()
    }

    fn begin(&self, more: &[&str]) -> (i32, Vec<Value>) {
        let params = self.claim();
        self.world.at("builder", &[&["call", "adapter.acceptAndBegin", &params][..], more].concat())
    }

    fn shown(&self) -> Value {
        self.world.at("planner", &["show", "msg_call_0001"]).1.remove(0)
    }

    fn effects(&self) -> usize {
        fs::read_to_string(self.world.rig.path("ledger.jsonl")).unwrap_or_default().lines().count()
    }
}

#[test]
fn a_call_in_process_is_made_once_and_its_receipt_is_on_record() {
    let outside = Outside::new();
    let (code, values) = outside.begin(&["--profiles", "profiles.toml"]);
    assert_eq!(code, 0, "{values:?}");
    assert_eq!(outside.effects(), 1);
    let shown = outside.shown();
    assert_eq!(shown["submissions"][0]["state"], "receipt-recorded", "{shown}");
    assert_eq!(shown["submissions"][0]["receipt"]["adapterOperationId"], "ledger-line-1");
    assert_eq!(shown["disposition"]["delivery"], "adapter-submitted");
}

#[test]
fn without_the_profile_it_is_recorded_that_no_call_was_made() {
    let outside = Outside::new();
    let (code, values) = outside.begin(&[]);
    assert_eq!(code, 0, "{values:?}");
    assert_eq!(outside.effects(), 0);
    assert_eq!(outside.shown()["submissions"][0]["state"], "confirmed-not-submitted");
}

#[test]
fn a_server_makes_the_call_after_the_answer() {
    let outside = Outside::new();
    let server = outside.world.rig.serve(&["--db", "mesh.db", "--profiles", "profiles.toml"]);
    let params = outside.claim();
    let begun = outside.world.rig.json(&[
        "call",
        "adapter.acceptAndBegin",
        &params,
        "--socket",
        "mesh.db.run/socket",
        "--as",
        "builder",
    ]);
    assert_eq!(begun.0, 0, "{begun:?}");
    let wait = ["wait", "msg_call_0001", "--for", "delivery=adapter-submitted", "--timeout", "30s"];
    assert_eq!(outside.world.at("planner", &wait).0, 0);
    assert_eq!(outside.effects(), 1);
    assert_eq!(server.terminate(), 0);
    assert_eq!(outside.shown()["submissions"][0]["state"], "receipt-recorded");
}

#[test]
fn a_server_that_is_told_to_end_finishes_the_call_under_way() {
    let outside = Outside::new();
    // The target holds back its answer for a moment: the server is told to end in the middle of the call.
    let hold = outside.world.rig.write("ledger.jsonl.hold", "");
    let server = outside.world.rig.serve(&["--db", "mesh.db", "--profiles", "profiles.toml"]);
    let params = outside.claim();
    let begun = ["call", "adapter.acceptAndBegin", &params, "--socket", "mesh.db.run/socket", "--as", "builder"];
    assert_eq!(outside.world.rig.json(&begun).0, 0);
    let deadline = Instant::now() + Duration::from_secs(20);
    while outside.effects() == 0 {
        assert!(Instant::now() < deadline, "the effect came");
        std::thread::sleep(Duration::from_millis(10));
    }
    let ending = std::thread::spawn(move || server.terminate());
    std::thread::sleep(Duration::from_millis(200));
    fs::remove_file(hold).expect("the target goes on");
    assert_eq!(ending.join().expect("it ends"), 0);
    assert_eq!(outside.effects(), 1);
    assert_eq!(outside.shown()["submissions"][0]["state"], "receipt-recorded");
}

#[test]
fn a_profile_file_that_is_open_to_others_is_not_used() {
    let outside = Outside::new();
    let rig = &outside.world.rig;
    fs::set_permissions(rig.path("profiles.toml"), fs::Permissions::from_mode(0o644)).expect("a mode");
    let (code, values) = rig.json(&["serve", "--db", "mesh.db", "--profiles", "profiles.toml"]);
    assert_eq!((code, &values[0]["error"]["code"]), (2, &json!("profiles-unusable")));
}
