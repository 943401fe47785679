//! How often the disk is waited for: per message alone, and with many callers.

use serde_json::{Value, json};
use std::path::Path;
use std::sync::Barrier;
use threadmesh_faults::mesh::{Mesh, Opening, core};
use threadmesh_faults::{script, vfs};

const INSTANCE: &str = "host-1";
/// Send, claim, accept and begin, receipt.
const OPERATIONS: u64 = 4;

fn life(mesh: &Mesh, id: &str) {
    let call = |who: &_, operation: &str, params: Value| {
        mesh.call(who, operation, &params).unwrap_or_else(|fault| panic!("{operation}: {fault:?}")).value
    };
    let (source, target) = (script::task("source0"), script::task("target0"));
    call(&source, "messages.send", script::send("source0", "target0", id, script::now_ms()));
    let claim = call(&target, "mailbox.claim", script::on("source0", id, "claim", &json!(0)));
    let params =
        script::with(script::on("source0", id, "begin", &json!(0)), json!({"claimToken": claim["claimToken"]}));
    let begun = call(&target, "adapter.acceptAndBegin", params);
    let receipt = json!({
        "submissionId": begun["submission"]["submissionId"], "expectedRevision": 1,
        "receipt": {"adapterOperationId": "turn-1", "acceptedAt": "2026-01-01T00:00:00Z"},
        "idempotencyKey": format!("idem_receipt-{id}"),
    });
    call(&script::host(INSTANCE), "adapter.recordReceipt", receipt);
}

fn mesh(db: &Path) -> Mesh {
    let opening = Opening { lossy: true, ..Opening::plain(db, INSTANCE) };
    let mesh = Mesh::open(core(), &opening).expect("it opens");
    let user = script::user();
    mesh.call(&script::host(INSTANCE), "adapters.declare", &script::declare("stub")).expect("declared");
    for task in ["source0", "target0"] {
        mesh.call(&user, "tasks.register", &script::register(task, "stub")).expect("registered");
    }
    mesh.call(&user, "relationships.grant", &script::grant("source0", "target0")).expect("granted");
    mesh
}

/// Writes and syncs of what `run` does.
fn counted(run: impl FnOnce()) -> (u64, u64) {
    let before = vfs::counters();
    run();
    let after = vfs::counters();
    (after.0 - before.0, after.1 - before.1)
}

#[test]
#[allow(clippy::cast_precision_loss)] // Small numbers.
fn a_life_alone_takes_four_syncs_and_many_share_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let mesh = mesh(&folder.path().join("mesh.db"));
    (0..10).for_each(|number| life(&mesh, &format!("msg_warm-{number:04}")));

    let lives = 20;
    let bytes = vfs::bytes();
    let (writes, syncs) = counted(|| (0..lives).for_each(|number| life(&mesh, &format!("msg_alone-{number:04}"))));
    let bytes = (vfs::bytes() - bytes) as f64 / lives as f64;
    println!(
        "alone: {:.2} syncs, {:.1} writes, {bytes:.0} bytes per life",
        syncs as f64 / lives as f64,
        writes as f64 / lives as f64
    );
    assert!(syncs <= OPERATIONS * lives, "{syncs} syncs of {lives} lives");

    let (callers, each) = (64, 8);
    let start = Barrier::new(callers);
    let (commits, bytes) = (mesh.commits(), vfs::bytes());
    let (writes, syncs) = counted(|| {
        std::thread::scope(|scope| {
            for caller in 0..callers {
                let (mesh, start) = (&mesh, &start);
                scope.spawn(move || {
                    start.wait();
                    (0..each).for_each(|number| life(mesh, &format!("msg_many-{caller:02}-{number:04}")));
                });
            }
        });
    });
    let (lives, commits) = ((callers * each) as u64, mesh.commits() - commits);
    let per = |count: u64| count as f64 / lives as f64;
    println!(
        "{callers} callers: {:.3} syncs per life ({:.4} per operation), {:.1} writes, {:.0} bytes, {commits} commits of {} operations",
        per(syncs),
        per(syncs) / OPERATIONS as f64,
        per(writes),
        per(vfs::bytes() - bytes),
        lives * OPERATIONS
    );
    assert!(syncs * 5 < OPERATIONS * lives, "{syncs} syncs of {lives} lives");
}
