//! What happens in the demo, step by step.

use super::stage::{Stage, principal};
use super::target;
use crate::command::show;
use crate::failure::{Exit, Failure};
use crate::mesh::{Mesh, fresh_key};
use crate::terminal::Printer;
use crate::{time, words};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use threadmesh_server::tokens::Kind;

/// The suggestion that is accepted and submitted.
pub const SUGGESTION: &str = "msg_suggestion_1";
/// The steer that comes too late.
pub const STEER: &str = "msg_steer_0001";

const PLANNER: (&str, &str) = ("plan-1", "inc_plan_0001");
const BUILDER: (&str, &str) = ("build-1", "inc_build_0001");
const RELATIONSHIP: &str = "rel_plan_build";

/// How long a step may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Tells it. Every step is checked: a demo that only looks right would be worse than none.
pub fn tell(stage: &mut Stage, printer: Printer) -> Result<(), Failure> {
    let mut teller = Teller { printer, step: 0 };
    cast(stage, &mut teller)?;
    grant(stage, &mut teller)?;
    suggest(stage, &mut teller)?;
    stale(stage, &mut teller)?;
    let submission = crash(stage, &mut teller)?;
    recover(stage, &mut teller, &submission)?;
    trail(stage, &mut teller)
}

/// Numbers the steps and prints them.
struct Teller {
    printer: Printer,
    step: u32,
}

impl Teller {
    fn say(&mut self, step: &str, data: &Value, lines: &[String]) {
        self.step += 1;
        let (number, mut report) = (self.step, json!({"step": step}));
        report["data"] = data.clone();
        self.printer.show(&report, || {
            let mut all = vec![String::new(), format!("{number}. {}", lines.first().map_or("", String::as_str))];
            all.extend(lines.iter().skip(1).map(|line| format!("   {line}")));
            all
        });
    }
}

fn task(of: (&str, &str)) -> Value {
    json!({"taskId": of.0, "incarnationId": of.1})
}

fn about(message: &str) -> Value {
    json!({"senderIncarnationId": PLANNER.1, "messageId": message})
}

/// Runs an operation that changes something, under a new idempotency key.
fn act(mesh: &mut dyn Mesh, method: &str, mut params: Value) -> Result<Value, Failure> {
    params["idempotencyKey"] = json!(fresh_key());
    mesh.value(method, &params)
}

fn cast(stage: &mut Stage, teller: &mut Teller) -> Result<(), Failure> {
    stage.token("operator", principal(Kind::Operator, "operator", None))?;
    stage.token("alice", principal(Kind::User, "alice", None))?;
    stage.token("planner", principal(Kind::Task, PLANNER.0, Some(PLANNER.1)))?;
    stage.token("builder", principal(Kind::Task, BUILDER.0, Some(BUILDER.1)))?;
    stage.profile()?;
    let pid = stage.start()?;
    let mut alice = stage.connect("alice")?;
    let mut planner = task(PLANNER);
    planner["harness"] = json!("demo");
    act(&mut alice, "tasks.register", json!({"task": planner}))?;
    let mut builder = task(BUILDER);
    builder["harness"] = json!("demo");
    builder["runtime"] = json!({"objectiveVersion": 3});
    builder["adapterRef"] = json!({"kind": "ledger"});
    act(&mut alice, "tasks.register", json!({"task": builder}))?;
    let lines = [
        "A server runs on a new database, and Alice registers two tasks.".to_owned(),
        format!("database  {}", stage.db().display()),
        format!("server    process {pid}, on a private socket"),
        "planner   may only speak for itself, by its own token".to_owned(),
        "builder   works on objective version 3; what it accepts goes to a ledger, by another program".to_owned(),
    ];
    teller.say("cast", &json!({"database": stage.db().display().to_string(), "server": pid}), &lines);
    Ok(())
}

fn grant(stage: &Stage, teller: &mut Teller) -> Result<(), Failure> {
    let early = suggestion(stage);
    let refusal = match early {
        Err(failure) if failure.exit == Exit::Refused => failure,
        Err(failure) => return Err(failure),
        Ok(_) => return Err(broken("a message was taken without a grant")),
    };
    let mut alice = stage.connect("alice")?;
    let draft = json!({
        "specVersion": "0.0-draft",
        "grantId": "grant_demo_0001",
        "grantVersion": 1,
        "relationshipId": RELATIONSHIP,
        "relationshipType": "supervisor",
        "source": task(PLANNER),
        "target": task(BUILDER),
        "allowedIntents": ["suggest", "steer"],
        "allowedDeliveryModes": ["checkpoint-offer", "active-steer"],
        "summaryVisibility": "none",
        "structuredGateResponses": false,
        "createdAt": time::format(time::now_ms()),
    });
    let decision = json!({"decisionId": "decision_demo_0001"});
    let granted = act(&mut alice, "relationships.grant", json!({"grant": draft, "decision": decision}))?;
    let lines = [
        "Without a grant the planner may send nothing; Alice gives one.".to_owned(),
        format!("before    refused: {}", refusal.line()),
        "grant     planner → builder, as supervisor: it may suggest and steer".to_owned(),
    ];
    teller.say("grant", &json!({"before": refusal.members(), "grant": granted}), &lines);
    Ok(())
}

/// Sends the suggestion.
fn suggestion(stage: &Stage) -> Result<Value, Failure> {
    send(stage, SUGGESTION, "suggest", "checkpoint-offer", "Use the cached index for the nightly build.", None)
}

fn send(
    stage: &Stage,
    id: &str,
    intent: &str,
    mode: &str,
    text: &str,
    objective: Option<u32>,
) -> Result<Value, Failure> {
    let now = time::now_ms();
    let mut sender = task(PLANNER);
    sender["actorType"] = json!("agent");
    sender["harness"] = json!("demo");
    let mut envelope = json!({
        "specVersion": "0.0-draft",
        "messageId": id,
        "messageType": if objective.is_some() { "action-request" } else { "suggestion" },
        "intent": intent,
        "claimStatus": "sender-asserted",
        "sender": sender,
        "target": task(BUILDER),
        "relationshipId": RELATIONSHIP,
        "content": text,
        "reason": "part of the demo",
        "delivery": {"requestedMode": mode, "requiresDisposition": true},
        "createdAt": time::format(now),
        "expiresAt": time::format(now + 600_000),
    });
    if let Some(version) = objective {
        envelope["freshness"] = json!({"expectedObjectiveVersion": version});
    }
    let mut planner = stage.connect("planner")?;
    act(&mut planner, "messages.send", json!({"envelope": envelope}))
}

fn suggest(stage: &Stage, teller: &mut Teller) -> Result<(), Failure> {
    let sent = suggestion(stage)?;
    let mut builder = stage.connect("builder")?;
    let page = builder.value("mailbox.listPending", &json!({"receiver": task(BUILDER)}))?;
    let item = &page["items"][0];
    if item["envelope"]["messageId"] != SUGGESTION {
        return Err(broken("the suggestion is not in the inbox"));
    }
    let mut lines = vec![
        "The planner sends a suggestion; it is in the builder's inbox, on the disk.".to_owned(),
        words::queued(SUGGESTION, BUILDER.0, false),
        format!("text      {}", item["envelope"]["content"].as_str().unwrap_or_default()),
    ];
    lines.extend(words::states(&sent["disposition"]).iter().map(|line| line.trim().to_owned()));
    teller.say("suggest", &sent, &lines);
    Ok(())
}

fn stale(stage: &Stage, teller: &mut Teller) -> Result<(), Failure> {
    send(stage, STEER, "steer", "active-steer", "Stop, and build the release branch.", Some(3))?;
    let mut builder = stage.connect("builder")?;
    let known = builder.value("tasks.get", &json!({"task": task(BUILDER)}))?;
    let update = json!({
        "task": task(BUILDER),
        "runtime": {"objectiveVersion": 4},
        "expectedRevision": known["revision"],
    });
    act(&mut builder, "tasks.updateRuntime", update)?;
    let mut planner = stage.connect("planner")?;
    let disposition = planner.value("messages.getDisposition", &about(STEER))?;
    if !words::decided(&disposition) {
        return Err(broken("the steer is still waiting though the objective has moved on"));
    }
    let again = match send(stage, "msg_steer_0002", "steer", "active-steer", "Stop.", Some(3)) {
        Err(failure) if failure.exit == Exit::Refused => failure,
        Err(failure) => return Err(failure),
        Ok(_) => return Err(broken("a steer for an objective that is gone was taken")),
    };
    let mut lines = vec![
        "A steer is meant for objective version 3; meanwhile the builder has moved on to 4.".to_owned(),
        "The steer that was waiting is not silently dropped: its sender can see what became of it.".to_owned(),
    ];
    lines.extend(words::states(&disposition).iter().map(|line| line.trim().to_owned()));
    lines.push(format!("a second one is refused at once: {}", again.line()));
    teller.say("stale-steer", &json!({"disposition": disposition, "second": again.members()}), &lines);
    Ok(())
}

/// The builder accepts, the call is made, and everything dies before the receipt. The submission id.
fn crash(stage: &mut Stage, teller: &mut Teller) -> Result<String, Failure> {
    let (ledger, hold) = (stage.ledger(), target::hold(&stage.ledger()));
    std::fs::write(&hold, "").map_err(|error| Failure::unusable("file-unwritable", error, ""))?;
    let mut builder = stage.connect("builder")?;
    let current = builder.value("messages.getDisposition", &about(SUGGESTION))?;
    let mut params = about(SUGGESTION);
    params["expectedRevision"] = current["revision"].clone();
    let claim = act(&mut builder, "mailbox.claim", params.clone())?;
    params["claimToken"] = claim["claimToken"].clone();
    let begun = act(&mut builder, "adapter.acceptAndBegin", params)?;
    let submission = begun["submission"].clone();
    let id = submission["submissionId"].as_str().unwrap_or_default().to_owned();
    until("the effect", || Ok(!target::lines(&ledger).is_empty()))?;
    stage.kill();
    let lines = [
        "The builder accepts. The record says \"outcome unknown\" before the call is made; then the call is made."
            .to_owned(),
        format!("attempt   {id}"),
        format!("ledger    {} line: the effect has happened", target::lines(&ledger).len()),
        "and now, before any receipt, the server is killed (kill -9).".to_owned(),
    ];
    teller.say("crash", &json!({"submission": submission, "ledger": target::lines(&ledger)}), &lines);
    Ok(id)
}

fn recover(stage: &mut Stage, teller: &mut Teller, submission: &str) -> Result<(), Failure> {
    let pid = stage.start()?;
    let mut builder = stage.connect("builder")?;
    let get = json!({"submissionId": submission});
    let before = builder.value("adapter.getSubmission", &get)?["submission"].clone();
    let lines = [
        format!(
            "A new server (process {pid}) starts. Was it done? Sending again could do it twice; so nothing is sent."
        ),
        format!("attempt   {}", before["state"].as_str().unwrap_or("?")),
        "Once the old attempt can no longer act, the ledger is asked. That takes a few seconds.".to_owned(),
    ];
    teller.say("restart", &before, &lines);
    let mut after = Value::Null;
    until("the receipt", || {
        after = builder.value("adapter.getSubmission", &get)?["submission"].clone();
        Ok(after["receipt"].is_object())
    })?;
    let _ = std::fs::remove_file(target::hold(&stage.ledger()));
    let effects = target::lines(&stage.ledger());
    if effects.len() != 1 {
        return Err(broken("the ledger has not exactly one line"));
    }
    let disposition = builder.value("messages.getDisposition", &about(SUGGESTION))?;
    let mut lines = vec![
        "The ledger knows the attempt's key; its receipt is on record now.".to_owned(),
        format!("attempt   {}", after["state"].as_str().unwrap_or("?")),
        format!("receipt   {}", after["receipt"]["adapterOperationId"].as_str().unwrap_or("?")),
        format!("ledger    {} line: exactly one effect", effects.len()),
    ];
    lines.extend(words::states(&disposition).iter().map(|line| line.trim().to_owned()));
    teller.say("reconciled", &json!({"submission": after, "disposition": disposition, "ledger": effects}), &lines);
    Ok(())
}

fn trail(stage: &Stage, teller: &mut Teller) -> Result<(), Failure> {
    let mut alice = stage.connect("alice")?;
    let events = show::trail(&mut alice, &about(SUGGESTION))?;
    if events.is_empty() {
        return Err(broken("there is no audit trail"));
    }
    let mut lines = vec!["Everything that happened to the suggestion is on record:".to_owned()];
    lines.extend(events.iter().map(|event| show::event_line(event).trim().to_owned()));
    teller.say("trail", &Value::Array(events), &lines);
    Ok(())
}

/// Waits until `there` says so.
fn until(what: &str, mut there: impl FnMut() -> Result<bool, Failure>) -> Result<(), Failure> {
    let deadline = Instant::now() + PATIENCE;
    while !there()? {
        if Instant::now() >= deadline {
            return Err(broken(&format!("{what} did not come in time")));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// The demo saw something that must not be.
fn broken(what: &str) -> Failure {
    Failure::unusable("demo-failed", what, "this is a defect: the folder of the demo has everything to look at")
}
