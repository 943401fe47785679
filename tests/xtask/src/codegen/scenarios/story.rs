//! A scenario under construction, and its text.

use super::time;
use anyhow::Result;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The operations that never write: they take no idempotency key, and their answer is not wrapped.
const READS: &[&str] = &[
    "adapter.getSubmission",
    "adapter.listUnresolved",
    "audit.list",
    "capabilities.list",
    "events.get",
    "events.list",
    "inquiries.listDue",
    "inspector.snapshot",
    "mailbox.listPending",
    "messages.getDisposition",
    "policy.evaluate",
    "relationships.list",
    "relationships.listProposals",
    "state.get",
    "state.history",
    "state.wait",
    "tasks.get",
    "tasks.getSummary",
    "tasks.listRelated",
    "tasks.wait",
    "threads.list",
    "threads.read",
];

/// A scenario.
pub(super) struct Story {
    name: String,
    principals: Map<String, Value>,
    steps: Vec<Step>,
    /// How many messages were written; numbers the next one.
    pub messages: u32,
}

/// One call and what is expected of it. Absent members are not written.
#[derive(Serialize)]
pub(super) struct Step {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(rename = "as")]
    caller: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
    method: String,
    params: Value,
    #[serde(skip_serializing_if = "Map::is_empty")]
    keep: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    records: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    same_as: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effects: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    context: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evaluated: Vec<Value>,
}

impl Story {
    /// An empty scenario.
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), principals: super::cast::principals(), steps: Vec::new(), messages: 0 }
    }

    /// Adds somebody to the cast.
    pub fn principal(&mut self, name: &str, principal: Value) {
        self.principals.insert(name.into(), principal);
    }

    /// Adds a call by `caller`. A keyed operation without a key gets one of its own.
    pub fn call(&mut self, caller: &str, method: &str, mut params: Value) -> &mut Step {
        let keyed = !READS.contains(&method) && params.get("idempotencyKey").is_none();
        if let (true, Some(members)) = (keyed, params.as_object_mut()) {
            members.insert("idempotencyKey".into(), format!("idem_step-{:04}", self.steps.len() + 1).into());
        }
        self.steps.push(Step {
            name: None,
            caller: Some(caller.into()),
            at: None,
            instance: None,
            method: method.into(),
            params,
            keep: Map::new(),
            rules: Vec::new(),
            records: Vec::new(),
            ok: None,
            error: None,
            same_as: None,
            effects: None,
            context: Vec::new(),
            evaluated: Vec::new(),
        });
        self.steps.last_mut().expect("just added")
    }

    /// The vector: one step a line. Only the principals that take part are named.
    pub fn text(&self) -> Result<String> {
        let mut principals = self.principals.clone();
        principals.retain(|name, _| self.steps.iter().any(|step| step.caller.as_ref() == Some(name)));
        let steps: Vec<String> = self.steps.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
        Ok(format!(
            "{{\"name\":{},\"rules\":[],\"function\":\"scenario\",\"args\":{{\"start\":{},\"principals\":{},\"steps\":[\n  {}\n]}},\"ok\":true}}",
            json!(self.name),
            json!(time(0)),
            Value::Object(principals),
            steps.join(",\n  ")
        ))
    }
}

impl Step {
    /// Gives the step a name, for `same_as`.
    pub fn named(&mut self, name: &str) -> &mut Self {
        self.name = Some(name.into());
        self
    }

    /// Moves the clock to `offset` milliseconds after the start before the call.
    pub fn at(&mut self, offset: i64) -> &mut Self {
        self.at = Some(offset);
        self
    }

    /// Nobody calls.
    pub fn anonymous(&mut self) -> &mut Self {
        self.caller = None;
        self
    }

    /// Another running host.
    pub fn instance(&mut self, name: &str) -> &mut Self {
        self.instance = Some(name.into());
        self
    }

    /// Where the call belongs in a trace: facts.
    pub fn context(&mut self, facts: &[Value]) -> &mut Self {
        self.context = facts.to_vec();
        self
    }

    /// Evaluations that have ended before the call.
    pub fn evaluated(&mut self, evaluated: &[Value]) -> &mut Self {
        self.evaluated = evaluated.to_vec();
        self
    }

    /// The rules that the step is about.
    pub fn rules(&mut self, rules: &[&str]) -> &mut Self {
        self.rules = rules.iter().map(|rule| (*rule).into()).collect();
        self
    }

    /// The step is accepted, and what it records is that this rule does not hold.
    pub fn records(&mut self, rule: &str) -> &mut Self {
        self.records.push(rule.into());
        self.rules.push(rule.into());
        self
    }

    /// Keeps what the answer has at `pointer` of the operation's own value.
    pub fn keep(&mut self, name: &str, pointer: &str) -> &mut Self {
        self.keep.insert(name.into(), format!("{}{pointer}", self.place()).into());
        self
    }

    /// Done now, with a value that has at least these members.
    pub fn ok(&mut self, value: Value) -> &mut Self {
        self.succeeds(false, value)
    }

    /// Done before: a replay of the operation, with a value that has at least these members.
    pub fn replayed(&mut self, value: Value) -> &mut Self {
        self.succeeds(true, value)
    }

    /// Refused with this code.
    pub fn error(&mut self, code: &str) -> &mut Self {
        self.fails(json!({"code": code}))
    }

    /// Refused with this code by a rule that the caller is told.
    pub fn refused(&mut self, code: &str, rule: &str) -> &mut Self {
        self.fails(json!({"code": code, "rule": rule})).rules(&[rule])
    }

    /// Refused with this code at a place.
    pub fn error_at(&mut self, code: &str, pointer: &str) -> &mut Self {
        self.fails(json!({"code": code, "pointer": pointer}))
    }

    /// The answer is, byte for byte, that of an earlier step.
    pub fn same_as(&mut self, name: &str) -> &mut Self {
        self.same_as = Some(name.into());
        self
    }

    /// The effects that the host is handed.
    pub fn effects(&mut self, effects: Value) -> &mut Self {
        self.effects = Some(effects);
        self
    }

    /// Expects an answer, and no error: a step that expects either would pass whatever comes.
    fn succeeds(&mut self, replay: bool, value: Value) -> &mut Self {
        (self.ok, self.error) = (Some(self.wrap(replay, value)), None);
        self
    }

    fn fails(&mut self, error: Value) -> &mut Self {
        (self.ok, self.error) = (None, Some(error));
        self
    }

    fn keyed(&self) -> bool {
        !READS.contains(&self.method.as_str())
    }

    fn place(&self) -> &'static str {
        if self.keyed() { "/value/value" } else { "/value" }
    }

    fn wrap(&self, replay: bool, value: Value) -> Value {
        match self.keyed() {
            true => json!({"value": {"operationReplay": replay, "value": value}}),
            false => json!({"value": value}),
        }
    }
}

/// What an earlier step kept.
pub(super) fn var(name: &str) -> Value {
    json!({"$var": name})
}

/// Anything but `value`, where something is.
pub(super) fn not(value: Value) -> Value {
    json!({"$not": value})
}

/// Nothing is there.
pub(super) fn absent() -> Value {
    json!({"$absent": true})
}
