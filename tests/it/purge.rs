//! A secret is planted wherever content can be, the whole life is lived, and then it is purged: nothing of it is left in any
//! file, in any answer or in the log; and while somebody in another process holds an old state of the database, the answer
//! is `pending` and says so.

use crate::program::world::World;
use crate::program::{Client, Rig, Server};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use threadmesh_runtime::client::operations;

/// What must not be found.
const SECRET: &str = "Zugvogel4711";
/// How long something that happens soon is waited for.
const SOON: Duration = Duration::from_secs(60);
const HOUR_MS: u64 = 3_600_000;

/// The secret as a text may hold it, in quotes and letters that encodings treat differently.
fn words() -> String {
    format!("\"{SECRET}\" – {SECRET}\\é")
}

/// Every form in which bytes may hold the secret, by name.
fn forms() -> Vec<(&'static str, Vec<u8>)> {
    let units: Vec<u16> = SECRET.encode_utf16().collect();
    let escaped = |hex: fn(u16) -> String| units.iter().map(|unit| format!("\\u{}", hex(*unit))).collect::<String>();
    let mut forms = vec![
        ("raw", SECRET.as_bytes().to_vec()),
        ("JSON escapes", escaped(|unit| format!("{unit:04x}")).into_bytes()),
        ("JSON escapes in capitals", escaped(|unit| format!("{unit:04X}")).into_bytes()),
        ("UTF-16, little end first", units.iter().flat_map(|unit| unit.to_le_bytes()).collect()),
        ("UTF-16, big end first", units.iter().flat_map(|unit| unit.to_be_bytes()).collect()),
        ("hexadecimal", SECRET.bytes().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes()),
    ];
    // Base64 at each of the three places in a group; what depends on the neighbours is left away.
    forms.extend([0, 1, 2].map(|before| ("base64", base64(&[&vec![0; before], SECRET.as_bytes()].concat(), before))));
    forms
}

/// The characters of the base64 of `bytes` that say nothing of the first `before` bytes or of what follows.
fn base64(bytes: &[u8], before: usize) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = |at: usize| -> u32 {
        let byte = |place: usize| u32::from(bytes.get(place).copied().unwrap_or(0));
        let (byte_at, shift) = (at * 6 / 8, at * 6 % 8);
        ((byte(byte_at) << 8 | byte(byte_at + 1)) >> (10 - shift)) & 63
    };
    let (first, last) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    (first..last).map(|at| ALPHABET[bits(at) as usize]).collect()
}

/// The forms that `bytes` hold.
fn found(bytes: &[u8]) -> Vec<&'static str> {
    let holds = |form: &[u8]| bytes.windows(form.len()).any(|window| window == form);
    forms().into_iter().filter(|(_, form)| holds(form)).map(|(name, _)| name).collect()
}

/// Every file below `folder` that holds the secret, and how.
fn traces(folder: &Path) -> Vec<String> {
    let mut open = vec![folder.to_owned()];
    let mut traces = Vec::new();
    while let Some(path) = open.pop() {
        let kind = fs::symlink_metadata(&path).expect("it is there").file_type();
        if kind.is_dir() {
            open.extend(fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
        } else if kind.is_file() {
            let forms = found(&fs::read(&path).expect("a file"));
            if !forms.is_empty() {
                traces.push(format!("{}: {forms:?}", path.display()));
            }
        }
    }
    traces.sort();
    traces
}

#[test]
fn the_search_finds_every_form() {
    let base64_of = |text: &str| base64(text.as_bytes(), 0);
    for (name, bytes) in [
        ("raw", words().into_bytes()),
        ("JSON escapes", forms()[1].1.clone()),
        ("UTF-16, little end first", words().encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("UTF-16, big end first", words().encode_utf16().flat_map(u16::to_be_bytes).collect()),
        ("base64", base64_of(&format!("{SECRET}xyz"))),
        ("base64", base64_of(&format!("a{SECRET}xyz"))),
        ("base64", base64_of(&format!("ab{SECRET}xyz"))),
    ] {
        assert!(found(&bytes).contains(&name), "{name}");
    }
    assert_eq!(base64_of("Man"), b"TWFu");
    assert_eq!(found(b"Zugvogel4712"), Vec::<&str>::new());
}

/// A server that keeps texts in replay files and writes its log to a file, and its clock.
struct Stage {
    world: World,
    server: Server,
    now: u64,
}

impl Stage {
    fn new() -> Self {
        let world = World::new();
        let made = world.rig.json(&["token", "create", "retention", "--db", "mesh.db", "--kind", "policy"]);
        assert_eq!(made.0, 0, "{made:?}");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_millis() as u64 + 1000;
        fs::create_dir(world.rig.path("tmp")).expect("a folder");
        world.rig.write("clock", now.to_string());
        let server = serve(&world.rig);
        Self { world, server, now }
    }

    fn pass(&mut self, by: u64) {
        self.now += by;
        // Whole or not at all: the server may be reading it.
        self.world.rig.write("clock.new", self.now.to_string());
        fs::rename(self.world.rig.path("clock.new"), self.world.rig.path("clock")).expect("a clock");
    }

    fn client(&self, name: &str) -> Client {
        Client::authenticated(&self.world.rig.path("mesh.db.run/socket"), &self.world.token(name))
    }

    /// Calls as `name`; the operation's own value.
    fn call(&self, name: &str, method: &str, mut params: Value) -> Value {
        let keyed = operations::find(method).expect("an operation").keyed;
        if keyed && params.get("idempotencyKey").is_none() {
            params["idempotencyKey"] = json!(format!("idem_{}", unique()));
        }
        let answer = self.client(name).call(method, params);
        assert!(answer["error"].is_null(), "{method} as {name}: {answer}");
        let value = &answer["result"]["value"];
        if keyed { value["value"].clone() } else { value.clone() }
    }
}

/// A text that no call had yet.
fn unique() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    format!("purge-{:06}", NUMBER.fetch_add(1, Ordering::Relaxed))
}

fn serve(rig: &Rig) -> Server {
    let mut command = rig.command(&["--json", "serve", "--db", "mesh.db", "--test-clock", "clock", "--keep-content"]);
    let log = File::options().create(true).append(true).open(rig.path("server.log")).expect("a log");
    command.env("TMPDIR", rig.path("tmp")).env("SQLITE_TMPDIR", rig.path("tmp"));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("it speaks");
    assert!(line.contains("serving"), "{line:?}");
    Server::of(child)
}

fn named(number: u32) -> Value {
    json!({"senderIncarnationId": "inc_plan_0001", "messageId": format!("msg_purge_{number:04}")})
}

fn with(mut base: Value, more: Value) -> Value {
    for (name, value) in more.as_object().expect("an object") {
        base[name] = value.clone();
    }
    base
}

/// An envelope that says the secret wherever its sender may write.
fn envelope(stage: &Stage, number: u32) -> Value {
    json!({
        "specVersion": "0.0-draft", "messageId": named(number)["messageId"], "messageType": "suggestion",
        "intent": "suggest", "claimStatus": "evidence-referenced", "relationshipId": "rel_plan_build",
        "sender": {"taskId": "plan-1", "incarnationId": "inc_plan_0001", "actorType": "agent", "harness": words()
            .replace(['"', '\\', '–'], "-")},
        "target": {"taskId": "build-1", "incarnationId": "inc_build_0001", "harness": SECRET},
        "content": words(), "reason": words(), "evidenceRefs": [words()],
        "causality": {"traceId": SECRET}, "freshness": {"expectedRunId": SECRET},
        "delivery": {"requestedMode": "checkpoint-offer", "requiresDisposition": true},
        "createdAt": rfc3339(stage.now), "expiresAt": rfc3339(stage.now + HOUR_MS),
    })
}

fn rfc3339(ms: u64) -> String {
    let (days, second) = (ms / 86_400_000, ms / 1000 % 86_400);
    // The test runs for minutes: the day is that of the clock of the machine, as SQLite tells it.
    let memory = Connection::open_in_memory().expect("SQLite");
    let day: String =
        memory.query_row("SELECT date(?1 * 86400, 'unixepoch')", [days as i64], |row| row.get(0)).expect("a date");
    format!("{day}T{:02}:{:02}:{:02}.{:03}Z", second / 3600, second / 60 % 60, second % 60, ms % 1000)
}

/// Every way that a message goes, with the secret in everything that anybody can write on it.
fn live(stage: &Stage) {
    let caller = json!({
        "profile": "own", "digest": format!("sha256:{:064}", 1), "executor": "caller", "deadlineMs": 1, "settleMs": 0,
        "canQuery": false, "absentFinal": false,
        "capabilities": {
            "specVersion": "0.0-draft", "adapterName": "own", "adapterVersion": "1.0.0", "intents": ["suggest"],
            "deliveryModes": ["checkpoint-offer"],
            "features": {
                "relatedTaskDiscovery": "none", "taskIncarnation": true, "objectiveVersioning": false,
                "checkpointEvents": true, "idleWake": false, "contextAdmission": "none", "provenanceRendering": "none",
                "modelTurnCancellation": false, "subprocessCancellation": false, "dispositionCallbacks": false,
                "structuredGateResponses": "none", "durableSubmissionIdempotency": "none",
                "typedInterruptionResults": false,
            },
        },
    });
    stage.call("operator", "adapters.declare", caller);
    let task = json!({"taskId": "build-1", "incarnationId": "inc_build_0001"});
    let attach = json!({"task": task, "adapterRef": {"kind": "own", "session": SECRET}, "expectedRevision": 0});
    stage.call("builder", "tasks.attach", attach);
    for number in 1..=5 {
        stage.call("planner", "messages.send", json!({"envelope": envelope(stage, number)}));
        let decided = json!({"expectedRevision": 0, "decision": "accepted"});
        stage.call("builder", "messages.respond", with(named(number), decided));
    }
    let at = |number: u32| with(named(number), json!({"expectedRevision": 1}));
    stage.call("builder", "adapter.admitContext", with(at(1), json!({"session": SECRET, "toolCallId": SECRET})));
    stage.call("builder", "messages.failDelivery", with(at(2), json!({"failureReason": words()})));
    let begun = |number: u32| {
        let prepared = stage.call("builder", "adapter.prepareSubmission", at(number));
        let submission = prepared["submission"]["submissionId"].clone();
        let begin = json!({"submissionId": submission, "expectedRevision": 1});
        stage.call("builder", "adapter.beginSubmission", begin);
        submission
    };
    let receipt = json!({"adapterOperationId": SECRET, "acceptedAt": rfc3339(stage.now), "evidenceRefs": [words()]});
    let recorded = json!({"submissionId": begun(3), "expectedRevision": 1, "receipt": receipt});
    stage.call("builder", "adapter.recordReceipt", recorded);
    let failed = json!({"expectedRevision": 2, "outcome": "failed", "evidenceRefs": [words()]});
    stage.call("builder", "messages.recordOutcome", with(named(3), failed));
    let submission = begun(4);
    let manual = json!({"resolution": "manual-required", "evidenceRefs": [words()]});
    let reconcile = json!({"submissionId": submission, "expectedRevision": 1, "reconciliation": manual});
    stage.call("builder", "adapter.reconcileSubmission", reconcile);
    let none = json!({"resolution": "confirmed-not-submitted", "evidenceRefs": [words()]});
    let reconcile = json!({"submissionId": submission, "expectedRevision": 1, "reconciliation": none});
    stage.call("operator", "adapter.reconcileSubmission", reconcile);
    // A file as a server writes it that was told to keep texts, when its core fails.
    let folder = stage.world.rig.path("mesh.db.replay");
    assert!(fs::metadata(&folder).expect("a folder").permissions().mode() & 0o077 == 0);
    let kept = folder.join("trap-0000000000000001-1-0.json");
    let file = File::options().create_new(true).write(true).mode(0o600).open(&kept).expect("a file");
    serde_json::to_writer(file, &json!({"contentKept": true, "args": {"params": words()}})).expect("it is written");
}

/// Everything that the parties can ask about the messages, as one text.
fn answers(stage: &Stage) -> String {
    let mut all = String::new();
    for name in ["planner", "builder", "alice", "retention", "operator"] {
        for number in 1..=5 {
            for method in ["messages.getDisposition", "audit.list", "inspector.snapshot"] {
                let answer = stage.call(name, method, named(number));
                for event in answer.as_array().into_iter().flatten() {
                    if let Some(id) = event["detail"]["submissionId"].as_str() {
                        all += &stage.call(name, "adapter.getSubmission", json!({"submissionId": id})).to_string();
                    }
                }
                all += &answer.to_string();
            }
        }
    }
    for (name, task, incarnation) in [("planner", "plan-1", "inc_plan_0001"), ("builder", "build-1", "inc_build_0001")]
    {
        let task = json!({"taskId": task, "incarnationId": incarnation});
        all += &stage.call(name, "tasks.wait", json!({"task": task, "limit": 100, "timeoutMs": 0})).to_string();
        all += &stage.call(name, "mailbox.listPending", json!({"receiver": task})).to_string();
    }
    all
}

#[test]
fn nothing_is_left_of_a_secret_that_was_purged() {
    let mut stage = Stage::new();
    live(&stage);
    let folder = stage.world.rig.path("");
    let before = traces(&folder);
    assert!(before.iter().any(|trace| trace.contains("mesh.db")), "the search finds what is there: {before:?}");
    assert!(before.iter().any(|trace| trace.contains("trap-")), "{before:?}");
    assert!(!found(answers(&stage).as_bytes()).is_empty(), "answers show the content while it may be acted on");
    let sent = envelope(&stage, 1);
    // The live adapter reference of a live task is no content of a message that is over: it is given up first.
    let task = json!({"taskId": "build-1", "incarnationId": "inc_build_0001"});
    let attach = json!({"task": task, "adapterRef": {"kind": "own"}, "expectedRevision": 1});
    stage.call("builder", "tasks.attach", attach);
    stage.pass(HOUR_MS);

    // Another process holds an old state.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let reader = Connection::open_with_flags(stage.world.rig.path("mesh.db"), flags).expect("the file");
    reader.execute_batch("BEGIN").expect("a transaction");
    let _: i64 = reader.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).expect("a snapshot");
    let before = rfc3339(stage.now);
    let command =
        ["purge", "--before", &before, "--timeout", "2s", "--socket", "mesh.db.run/socket", "--as", "retention"];
    let (code, told) = stage.world.rig.json(&command);
    assert_eq!((code, &told[0]["pendingReason"]), (1, &json!("log-held")), "{told:?}");
    assert_eq!(told[0]["messages"].as_array().map(Vec::len), Some(5), "{told:?}");
    assert!(!traces(&folder).is_empty(), "it is true that something is left");
    let answered = answers(&stage);
    assert_eq!(found(answered.as_bytes()), Vec::<&str>::new(), "answers tell nothing any more: {answered}");
    let snapshot = stage.call("alice", "inspector.snapshot", named(1));
    assert_eq!((&snapshot["content"]["reason"], &snapshot["evidence"]["count"]), (&json!("purged"), &json!(0)));
    assert!(snapshot["lifecycle"]["contentPurgedAt"].is_null(), "not while it is pending: {snapshot}");

    // The snapshot ends, and so does the waiting.
    reader.execute_batch("ROLLBACK").expect("the end of the snapshot");
    drop(reader);
    let until = Instant::now() + SOON;
    loop {
        stage.pass(60_000);
        let snapshot = stage.call("alice", "inspector.snapshot", named(5));
        if snapshot["lifecycle"]["contentPurgedAt"].is_string() {
            break;
        }
        assert!(Instant::now() < until, "it is never purged: {snapshot}");
        thread::sleep(Duration::from_millis(100));
    }
    let replay = stage.call("planner", "messages.send", json!({"envelope": sent}));
    assert_eq!(replay["replay"], true, "the digest still stands: {replay}");
    let (code, told) = stage.world.rig.json(&command);
    assert_eq!((code, &told[0]["messages"]), (0, &json!([])), "a second purge does nothing: {told:?}");
    let shown = stage.world.rig.run(&["show", "msg_purge_0001", "--socket", "mesh.db.run/socket", "--as", "planner"]);
    assert!(shown.out.contains("content            content-purged"), "{shown:?}");
    assert_eq!(found(format!("{replay}{}", answers(&stage)).as_bytes()), Vec::<&str>::new());
    assert_eq!(traces(&folder), Vec::<String>::new(), "while the server runs");
    let Stage { world, server, .. } = stage;
    assert_eq!(server.terminate(), 0);
    assert_eq!(traces(&world.rig.path("")), Vec::<String>::new(), "and after it ended");
    let again = serve(&world.rig);
    assert_eq!(again.terminate(), 0);
    assert_eq!(traces(&world.rig.path("")), Vec::<String>::new(), "and after a restart");
}

#[test]
fn a_purge_in_this_process_is_over_when_the_command_ends() {
    let world = World::new();
    let made = world.rig.json(&["token", "create", "retention", "--db", "mesh.db", "--kind", "policy"]);
    assert_eq!(made.0, 0, "{made:?}");
    let (code, told) = world.at("retention", &["purge"]);
    assert_eq!((code, &told[0]["messages"], &told[0]["pendingReason"]), (0, &json!([]), &Value::Null), "{told:?}");
    let send =
        [&["send", SECRET][..], World::ROUTE, &["--message-id", "msg_brief_0001", "--expires-in", "1s"]].concat();
    let (code, sent) = world.at("planner", &send);
    assert_eq!(code, 0, "{sent:?}");
    let until = Instant::now() + SOON;
    loop {
        let (code, told) = world.at("retention", &["purge"]);
        assert_eq!(code, 0, "{told:?}");
        if told[0]["messages"] == json!([{"senderIncarnationId": "inc_plan_0001", "messageId": "msg_brief_0001"}]) {
            break;
        }
        assert!(Instant::now() < until, "it never expires: {told:?}");
    }
    assert_eq!(traces(&world.rig.path("")), Vec::<String>::new());
    let refused = world.at("alice", &["purge"]);
    assert_eq!((refused.0, &refused.1[0]["error"]["code"]), (1, &json!("policy-required")), "{refused:?}");
}
