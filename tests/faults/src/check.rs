//! Compares what workers told with what is in the file and in the ledger.

use crate::campaign::{Campaign, Told};
use crate::ledger::{self, Entry};
use crate::lines::Try;
use crate::mesh::{self, Mesh, Opening};
use crate::script;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use threadmesh_runtime::wit::Principal;

/// What was found.
#[derive(Debug, Default)]
pub struct Report {
    /// What must not be.
    pub problems: Vec<String>,
    /// Kills of workers.
    pub kills: usize,
    /// Kills that left an attempt between begin and receipt.
    pub between_begin_and_receipt: usize,
    /// Kills that left an attempt that was committed and whose call never left.
    pub between_commit_and_call: usize,
    /// Those of them that were held at a pause point between commit and call.
    pub held_between_commit_and_call: usize,
    /// Kills at each point.
    pub points: BTreeMap<String, usize>,
    /// Acknowledged operations.
    pub acknowledged: usize,
    /// Answers to operations that were tried again after a kill, and how many of them were replays.
    pub retried: (usize, usize),
    /// Calls that arrived at the ledger, and effects.
    pub called: (usize, usize),
    /// Attempts by their state.
    pub states: BTreeMap<String, usize>,
    /// Acknowledged records of dispatchers by kind.
    pub recorded: BTreeMap<String, usize>,
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (retried, replayed) = self.retried;
        let (called, effects) = self.called;
        writeln!(f, "kills {} {:?}", self.kills, self.points)?;
        writeln!(
            f,
            "between begin and receipt {}, between commit and call {} ({} of them held there)",
            self.between_begin_and_receipt, self.between_commit_and_call, self.held_between_commit_and_call
        )?;
        writeln!(f, "acknowledged {}, tried again {retried} (replays {replayed})", self.acknowledged)?;
        writeln!(f, "calls {called}, effects {effects}, attempts {:?}, records {:?}", self.states, self.recorded)?;
        write!(f, "problems {}", self.problems.len())
    }
}

/// What is to be in the audit of one message.
#[derive(Default)]
struct Expected {
    kinds: BTreeSet<&'static str>,
    sender: String,
    target: String,
    /// The acknowledged decision.
    decision: Option<String>,
}

/// Audit events by attempt.
type Events = BTreeMap<String, Vec<String>>;

/// Everything the check needs at hand.
struct Checker<'a> {
    campaign: &'a Campaign,
    mesh: Mesh,
    report: Report,
    calls: BTreeMap<String, Vec<Entry>>,
    effects: BTreeMap<String, Vec<Entry>>,
    /// Who began an attempt, as an index into `told`.
    began: BTreeMap<String, usize>,
    /// The profile of each task.
    profiles: BTreeMap<String, String>,
    /// The receiver of each message.
    receivers: BTreeMap<String, String>,
    /// States and reason of each message.
    states: BTreeMap<String, (Value, String)>,
}

/// Checks a campaign whose workers are all gone. `settled`: no attempt may be unknown any more.
pub fn check(campaign: &Campaign, settled: bool) -> Report {
    let opening = Opening::plain(&campaign.db(), &format!("checker-{}", campaign.told.len()));
    let mesh = match Mesh::open(mesh::core(), &opening) {
        Ok(mesh) => mesh,
        Err(error) => {
            return Report { problems: vec![format!("lost: the file does not open: {error}")], ..Report::default() };
        }
    };
    let grouped = |name: &str| {
        let mut map: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        for entry in ledger::read(&campaign.folder, name) {
            map.entry(entry.submission.clone()).or_default().push(entry);
        }
        map
    };
    let mut checker = Checker {
        campaign,
        mesh,
        report: Report::default(),
        calls: grouped("calls"),
        effects: grouped("effects"),
        began: BTreeMap::new(),
        profiles: profiles(&campaign.told),
        receivers: BTreeMap::new(),
        states: BTreeMap::new(),
    };
    checker.run(settled);
    checker.report
}

impl Checker<'_> {
    fn problem(&mut self, text: String) {
        self.report.problems.push(text);
    }

    fn run(&mut self, settled: bool) {
        if let Err(error) = self.mesh.check_file() {
            self.problem(format!("lost: {error}"));
        }
        self.figures();
        self.ledger();
        let expected = self.expected();
        let receivers = expected.iter().map(|(message, expected)| (message.clone(), expected.target.clone()));
        self.receivers = receivers.collect();
        let mut submissions = BTreeMap::new();
        for (message, expected) in &expected {
            self.message(message, expected, &mut submissions);
        }
        for (submission, events) in &submissions {
            self.submission(submission, events, settled);
        }
        self.records(&submissions);
        let strange: Vec<String> = self.effects.keys().filter(|id| !submissions.contains_key(*id)).cloned().collect();
        strange.into_iter().for_each(|id| self.problem(format!("lost: an effect of {id}, which no record knows")));
        self.registrations();
        self.kills();
    }

    fn figures(&mut self) {
        let told = &self.campaign.told;
        for (index, one) in told.iter().enumerate() {
            self.report.acknowledged += one.acks.len() + one.recorded.len();
            for (number, fault) in &one.faults {
                let attempt = &one.tries[number];
                self.report.problems.push(format!("refused: {} of run {index}: {fault}", attempt.operation));
            }
            if let Some(killed) = &one.killed {
                self.report.kills += 1;
                *self.report.points.entry(killed.clone()).or_default() += 1;
            }
            for (_, what) in &one.recorded {
                *self.report.recorded.entry(what.clone()).or_default() += 1;
            }
            let retries = index.checked_sub(1).map_or(0, |before| told[before].unanswered().len()) as u64;
            for (_, (replayed, _)) in one.acks.range(..retries) {
                self.report.retried.0 += 1;
                self.report.retried.1 += usize::from(*replayed);
            }
        }
    }

    /// No key twice: neither an effect nor a call, and no message with two effects.
    fn ledger(&mut self) {
        let mut problems = Vec::new();
        for (name, map) in [("called", &self.calls), ("effective", &self.effects)] {
            let twice = map.iter().filter(|(_, entries)| entries.len() > 1);
            problems.extend(twice.map(|(id, entries)| format!("{id} is {} times {name}", entries.len())));
        }
        let mut messages = BTreeSet::new();
        let effects = self.effects.values().flatten();
        problems.extend(
            effects
                .filter(|one| !messages.insert(one.message.clone()))
                .map(|one| format!("two effects of {}", one.message)),
        );
        let count = |map: &BTreeMap<String, Vec<Entry>>| map.values().map(Vec::len).sum();
        self.report.called = (count(&self.calls), count(&self.effects));
        self.report.problems.extend(problems);
    }

    /// Per message, what acknowledgements promise; also for messages of which nothing was acknowledged.
    fn expected(&self) -> BTreeMap<String, Expected> {
        let mut all: BTreeMap<String, Expected> = BTreeMap::new();
        // Begin names the submission only.
        let mut messages: BTreeMap<String, String> = BTreeMap::new();
        for told in &self.campaign.told {
            for (number, attempt) in &told.tries {
                let ack = told.acks.get(number).map(|(_, value)| value);
                let Some(message) = message_of(attempt, &messages) else { continue };
                let entry = all.entry(message.clone()).or_default();
                let envelope = &attempt.params["envelope"];
                if let Some(sender) = envelope["sender"]["incarnationId"].as_str() {
                    entry.sender = sender.to_owned();
                    entry.target = envelope["target"]["taskId"].as_str().unwrap_or_default().to_owned();
                }
                let Some(value) = ack else { continue };
                entry.kinds.extend(events_of(&attempt.operation));
                if events_of(&attempt.operation).contains(&"receiver-decided") {
                    entry.decision = Some(attempt.params["decision"].as_str().unwrap_or("accepted").to_owned());
                }
                if let Some(submission) = value["submission"]["submissionId"].as_str() {
                    messages.insert(submission.to_owned(), message);
                }
            }
        }
        all
    }

    /// One message: what was acknowledged is there, and every record of it can be read.
    fn message(&mut self, message: &str, expected: &Expected, submissions: &mut Events) {
        let named = json!({"senderIncarnationId": expected.sender, "messageId": message});
        let receiver = script::task(&expected.target);
        let disposition = match self.mesh.call(&receiver, "messages.getDisposition", &named) {
            Ok(done) => done.value,
            Err(fault) if expected.kinds.is_empty() && fault.code == "not-visible" => return,
            Err(fault) => {
                let kinds = expected.kinds.len();
                return self.problem(format!("lost: {message} with {kinds} acknowledged events: {fault:?}"));
            }
        };
        self.states(message, &disposition, expected);
        let events = match self.audit(&receiver, &named) {
            Ok(events) => events,
            Err(error) => return self.problem(format!("lost: the audit of {message}: {error}")),
        };
        let kinds: BTreeSet<&str> = events.iter().filter_map(|event| event["eventType"].as_str()).collect();
        for missing in expected.kinds.difference(&kinds) {
            self.problem(format!("lost: {message} has no {missing}"));
        }
        for event in &events {
            let kind = event["eventType"].as_str().unwrap_or_default().to_owned();
            if let Some(submission) = event["detail"]["submissionId"].as_str() {
                submissions.entry(submission.to_owned()).or_default().push(kind);
            }
        }
    }

    /// What the disposition says can be, and is what was acknowledged.
    fn states(&mut self, message: &str, disposition: &Value, expected: &Expected) {
        let mut states = json!({});
        for machine in ["delivery", "decision", "outcome"] {
            states[machine] = disposition[machine].clone();
        }
        let reason = disposition["decisionReasonCode"].as_str().unwrap_or_default();
        if let Err(error) = self.mesh.check_states(&states, reason) {
            self.problem(format!("impossible: {message}: {error}: {disposition}"));
        }
        if expected.decision.as_ref().is_some_and(|decision| disposition["decision"] != **decision) {
            self.problem(format!("lost: the decision on {message}: {disposition}"));
        }
        self.states.insert(message.to_owned(), (states, reason.to_owned()));
    }

    fn audit(&self, receiver: &Principal, named: &Value) -> Result<Vec<Value>, String> {
        let params = script::with(named.clone(), json!({"limit": 100}));
        let page = self.mesh.call(receiver, "audit.list", &params).map_err(|fault| format!("{fault:?}"))?.value;
        page.as_array().cloned().ok_or_else(|| format!("no list: {page}"))
    }

    /// One attempt: its state is one that the ledger allows, and nothing contradicted it.
    fn submission(&mut self, id: &str, events: &[String], settled: bool) {
        let read = self.mesh.call(&script::user(), "adapter.getSubmission", &json!({"submissionId": id}));
        let value = match read {
            Ok(done) => done.value["submission"].clone(),
            Err(fault) => return self.problem(format!("lost: {id}: {fault:?}")),
        };
        if let Err(error) = self.mesh.check_document("adapter-submission", &value) {
            self.problem(format!("impossible: {id}: {error}"));
        }
        let state = value["state"].as_str().unwrap_or_default().to_owned();
        let message = value["messageId"].as_str().unwrap_or_default();
        if let Some((states, reason)) = self.states.get(message) {
            let states = script::with(states.clone(), json!({"submission": state}));
            if let Err(error) = self.mesh.check_states(&states, reason) {
                self.problem(format!("impossible: {message}: {error}: {states}"));
            }
        }
        let count = |kind: &str| events.iter().filter(|event| *event == kind).count();
        let (called, effect) = (self.calls.contains_key(id), self.effects.contains_key(id));
        let receiver = self.receivers.get(message);
        let profile = receiver.and_then(|task| self.profiles.get(task)).map_or("", String::as_str);
        let fits = match state.as_str() {
            "receipt-recorded" => effect && count("adapter-receipt-recorded") == 1,
            // Without a final absence only the process that never made the call can know.
            "confirmed-not-submitted" => {
                count("adapter-submission-reconciled") == 1 && !effect && (profile == "final" || !called)
            }
            "manual-reconciliation" => count("adapter-submission-reconciled") == 1 && profile != "final",
            "outcome-unknown" => !settled && count("adapter-attempt-started") == 1,
            "prepared" => !called && count("adapter-attempt-started") == 0,
            _ => false,
        };
        let started = count("adapter-attempt-started");
        if !fits || started > 1 || count("adapter-receipt-contradicts") > 0 {
            self.problem(format!(
                "impossible: {id} ({profile}) is {state}, called {called}, effect {effect}, audit {events:?}"
            ));
        }
        *self.report.states.entry(state).or_default() += 1;
    }

    /// The dispatchers' acknowledged records are there.
    fn records(&mut self, submissions: &Events) {
        for told in &self.campaign.told {
            for (submission, what) in &told.recorded {
                let kind = match what.as_str() {
                    "receipt" | "found" => "adapter-receipt-recorded",
                    "absent-now" => "adapter-queried",
                    _ => "adapter-submission-reconciled",
                };
                let events = submissions.get(submission);
                if !events.is_some_and(|events| events.iter().any(|event| event == kind)) {
                    self.report.problems.push(format!("lost: {what} of {submission}"));
                }
            }
        }
    }

    /// What made tasks and grants was acknowledged: the same again is a replay.
    fn registrations(&mut self) {
        let operations = ["tasks.register", "relationships.grant"];
        for told in &self.campaign.told {
            for number in told.acks.keys() {
                let attempt = &told.tries[number];
                if operations.contains(&attempt.operation.as_str()) {
                    let again = self.mesh.call(&script::user(), &attempt.operation, &attempt.params);
                    if !again.as_ref().is_ok_and(|done| done.replayed) {
                        let (operation, key) = (&attempt.operation, &attempt.params["idempotencyKey"]);
                        self.report.problems.push(format!("lost: {operation} {key}: {again:?}"));
                    }
                }
            }
        }
    }

    /// Where the kills landed, and that no call was made by another process than the one that began the attempt.
    fn kills(&mut self) {
        let told = &self.campaign.told;
        let index: BTreeMap<&str, usize> =
            told.iter().enumerate().map(|(at, one)| (one.instance.as_str(), at)).collect();
        let (mut begun, mut uncalled) = (BTreeSet::new(), BTreeSet::new());
        for unresolved in told.iter().flat_map(|one| one.unresolved.iter().flatten()) {
            let Some(owner) = index.get(unresolved.instance.as_str()) else { continue };
            self.began.insert(unresolved.submission_id.clone(), *owner);
            begun.insert(*owner);
            if !self.calls.contains_key(&unresolved.submission_id) {
                uncalled.insert(*owner);
            }
        }
        self.report.between_begin_and_receipt = begun.iter().filter(|at| told[**at].killed.is_some()).count();
        self.report.between_commit_and_call = uncalled.iter().filter(|at| told[**at].killed.is_some()).count();
        let held = |at: &&usize| told[**at].killed.as_ref().is_some_and(|point| point.starts_with("after-commit"));
        self.report.held_between_commit_and_call = uncalled.iter().filter(held).count();
        self.began.extend(begins(told));
        for (submission, entries) in &self.calls {
            let Some(owner) = self.began.get(submission) else { continue };
            if entries.iter().any(|entry| entry.caller != told[*owner].pid) {
                let text = format!("{submission} was begun by run {owner} and called by another process");
                self.report.problems.push(text);
            }
        }
    }
}

/// The adapter profile of every task that somebody tried to register.
fn profiles(told: &[Told]) -> BTreeMap<String, String> {
    let registered = told.iter().flat_map(|one| one.tries.values()).filter_map(|attempt| {
        let task = &attempt.params["task"];
        Some((task["taskId"].as_str()?.to_owned(), task["adapterRef"]["kind"].as_str()?.to_owned()))
    });
    registered.collect()
}

/// Attempts whose begin was acknowledged for the first time, and by whom.
fn begins(told: &[Told]) -> Vec<(String, usize)> {
    let mut all = Vec::new();
    for (at, one) in told.iter().enumerate() {
        for (number, (replayed, value)) in &one.acks {
            let begin =
                matches!(one.tries[number].operation.as_str(), "adapter.acceptAndBegin" | "adapter.beginSubmission");
            if let (true, false, Some(id)) = (begin, *replayed, value["submission"]["submissionId"].as_str()) {
                all.push((id.to_owned(), at));
            }
        }
    }
    all
}

/// The message that an operation is about.
fn message_of(attempt: &Try, messages: &BTreeMap<String, String>) -> Option<String> {
    let params = &attempt.params;
    let direct = params["messageId"].as_str().or_else(|| params["envelope"]["messageId"].as_str());
    let begun = || messages.get(params["submissionId"].as_str()?).cloned();
    direct.map(str::to_owned).or_else(begun)
}

/// The audit events that an acknowledged operation promises.
fn events_of(operation: &str) -> &'static [&'static str] {
    match operation {
        "messages.send" => &["message-durably-received"],
        "mailbox.claim" => &["mailbox-claimed"],
        "mailbox.ack" => &["receiver-decided"],
        "adapter.prepareSubmission" => &["adapter-submission-prepared"],
        "adapter.beginSubmission" => &["adapter-attempt-started"],
        "adapter.acceptAndBegin" => &["receiver-decided", "adapter-submission-prepared", "adapter-attempt-started"],
        _ => &[],
    }
}
