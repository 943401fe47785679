//! What a backlog of others costs: the same questions about one task while the mailboxes of others fill.
//!
//! The backlog is made by the core itself, message by message, in batches of many senders; only the flushes are left out.

use crate::load::times;
use crate::world::{self, Pair};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use threadmesh_native::NativeCore;
use threadmesh_runtime::wit::{Principal, PrincipalKind};
use threadmesh_runtime::{Core, Host, WasmCore};
use threadmesh_store_sqlite::{Options, SqliteStore, Synchronous};

/// Messages of others at each point.
const POINTS: [usize; 4] = [1_000, 10_000, 50_000, 200_000];
/// Pairs of others. Each receiver's mailbox and each sender's rate has room for its share.
const OTHERS: usize = 100;
/// Threads that fill.
const THREADS: usize = 16;
/// How often each question is asked at a point.
const ASKED: usize = 200;
/// How much longer a question may take at the last point than at the first.
const FLAT: f64 = 2.0;

/// A question: its name, who asks and the params.
type Question = (&'static str, Principal, Value);

/// Prints microseconds per question at every point, and the ratio of the last to the first.
pub fn run(directory: &Path) -> Result<()> {
    let folder = tempfile::tempdir_in(directory)?;
    let options = Options { synchronous: Synchronous::Off, ..Options::default() };
    let store = Arc::new(SqliteStore::open(folder.path().join("bench.db"), options)?);
    let filler = Host::builder(Arc::new(NativeCore), Arc::<SqliteStore>::clone(&store)).instance("filler").build()?;
    let core: Arc<dyn Core> = Arc::new(WasmCore::new()?);
    let host = Host::builder(core, store).instance("bench").build()?;
    let own = world::pair(&host, 0)?;
    (0..3).try_for_each(|number| send(&host, &own, number))?;
    let others: Vec<Pair> = (1..=OTHERS).map(|number| world::pair(&host, number)).collect::<Result<_>>()?;
    let questions = questions(&host, &own)?;
    let mut table: Vec<Vec<f64>> = vec![Vec::new(); questions.len()];
    let mut filled = 0;
    for point in POINTS {
        let began = Instant::now();
        fill(&filler, &others, filled, point)?;
        println!("{point:>8} messages of others ({:.1?} to fill)", began.elapsed());
        filled = point;
        for (times, question) in table.iter_mut().zip(&questions) {
            times.push(ask(&host, question)?);
        }
    }
    println!("median microseconds at {POINTS:?} messages of others, and the last to the first:");
    for ((name, ..), times) in questions.iter().zip(&table) {
        let ratio = times.last().context("a time")? / times.first().context("a time")?;
        let row: Vec<String> = times.iter().map(|time| format!("{time:>9.1}")).collect();
        let verdict = if ratio <= FLAT { "flat" } else { "NOT FLAT" };
        println!("  {name:<26} {}  {ratio:>6.2}x {verdict}", row.join(" "));
    }
    Ok(())
}

fn send(host: &Host, pair: &Pair, number: usize) -> Result<()> {
    let (now, expires) = times();
    let reply = host.call(Some(&pair.sender), "messages.send", &pair.message(&now, &expires, number))?;
    world::value("messages.send", &reply).map(|_| ())
}

/// Sends until there are `to` messages of others, where there are `from` already.
fn fill(host: &Host, others: &[Pair], from: usize, to: usize) -> Result<()> {
    std::thread::scope(|scope| -> Result<()> {
        let part = |thread: usize| (from + thread..to).step_by(THREADS);
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn(move || {
                    part(thread).try_for_each(|message| send(host, &others[message % OTHERS], message / OTHERS))
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().ok().context("a thread panicked")?)
    })
}

/// What is asked about the first pair, and what a policy sweeps.
fn questions(host: &Host, own: &Pair) -> Result<Vec<Question>> {
    let policy = Principal { kind: PrincipalKind::Policy, id: "guard".into(), ..world::owner() };
    let task = |task: &Principal| json!({"taskId": task.id, "incarnationId": task.incarnation});
    let message = json!({
        "senderIncarnationId": own.sender.incarnation, "messageId": format!("msg_{}-{:08}", own.sender.id, 1),
    });
    let all = vec![
        ("mailbox.listPending", own.receiver.clone(), json!({"receiver": task(&own.receiver)})),
        ("inspector.snapshot", own.sender.clone(), message.clone()),
        ("audit.list", own.sender.clone(), message.clone()),
        ("messages.getDisposition", own.sender.clone(), message),
        ("tasks.wait", own.sender.clone(), json!({"task": task(&own.sender)})),
        ("maintenance.expireDue", policy, json!({})),
    ];
    let known: Vec<String> = host.operations().map(|operation| operation.name.clone()).collect();
    let (asked, absent): (Vec<Question>, Vec<Question>) =
        all.into_iter().partition(|(name, ..)| known.iter().any(|known| known == name));
    for (name, ..) in absent {
        println!("there is no operation {name}: not measured");
    }
    ensure!(!asked.is_empty(), "there is nothing to ask");
    Ok(asked)
}

/// Median microseconds of an answer.
fn ask(host: &Host, (name, who, params): &Question) -> Result<f64> {
    let mut took: Vec<Duration> = Vec::with_capacity(ASKED);
    for turn in 0..ASKED {
        let mut params = params.clone();
        if *name == "maintenance.expireDue" {
            params["idempotencyKey"] = format!("idem_sweep-{turn}-{}", host.now_ms()?).into();
        }
        let text = params.to_string();
        let began = Instant::now();
        let reply = host.call(Some(who), name, &text)?;
        took.push(began.elapsed());
        ensure!(reply.status == threadmesh_runtime::wit::Status::Accepted, "{name}: {}", reply.body);
    }
    took.sort_unstable();
    Ok(took[took.len() / 2].as_secs_f64() * 1e6)
}
