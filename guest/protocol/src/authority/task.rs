//! A task incarnation.

pub(crate) use crate::generated::records::task::{COLLECTION, Task};

use crate::digest::sha256_text;
use crate::json::{Value, Writer};
use crate::kernel::{
    Entry, Query, Stored,
    fields::Fields,
    flow::Flow,
    keys,
    records::{Party, Row, put_int, put_raw, put_text},
};
use alloc::{string::String, vec, vec::Vec};

impl Task {
    /// The record of a row. Error: `record-damaged`, for what the core did not write.
    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        Row::read(row, Self::parse)
    }

    /// All incarnations with this reference, whoever owns them.
    pub fn find(tenant: &str, task: &str, incarnation: &str) -> Query {
        keys::under(COLLECTION, "", &[tenant, incarnation, task], 8)
    }

    /// All incarnations with this incarnation id.
    pub fn find_incarnation(tenant: &str, incarnation: &str) -> Query {
        keys::under(COLLECTION, "", &[tenant, incarnation], 8)
    }

    /// The incarnation with this id in an owner's scope, live or not.
    pub fn find_own(tenant: &str, owner: &str, incarnation: &str) -> Query {
        keys::under(COLLECTION, "own", &[tenant, owner, incarnation], 1)
    }

    /// The live incarnation of a task of an owner.
    pub fn find_live(tenant: &str, owner: &str, task: &str) -> Query {
        keys::under(COLLECTION, "live", &[tenant, owner, task], 1)
    }

    /// Incarnations that were retired by `cutoff` and still name an adapter.
    pub fn find_retired(tenant: &str, cutoff: i64, limit: u32) -> Query {
        keys::numbered(COLLECTION, "retired", &[tenant], 0, Some(cutoff.saturating_add(1)), limit)
    }

    /// Whether it is not retired.
    pub fn live(&self) -> bool {
        self.retired_at.is_none()
    }

    /// An incarnation as a wire TaskInput registers it for `owner`.
    pub fn from_input(input: Value<'_>, owner: String) -> Flow<Self> {
        let mut task = Self {
            party: Party {
                task: input.text("taskId")?.into(),
                incarnation: input.text("incarnationId")?.into(),
                owner,
            },
            harness: input.text("harness")?.into(),
            agent: input.maybe_text("agentId"),
            role: input.maybe_text("role"),
            state: input.maybe_text("state").unwrap_or_else(|| "idle".into()),
            adapter_ref: input.maybe_raw("adapterRef"),
            run: None,
            objective: None,
            checkpoint: None,
            mute: false,
            quiet_until: None,
            registered: String::new(),
            revision: 0,
            retired_at: None,
        };
        if let Some(runtime) = input.get("runtime") {
            task.take_runtime(runtime);
        }
        task.registered = task.content(input);
        Ok(task)
    }

    /// The digest of the canonical form of a registration, with the default state where it names none.
    fn content(&self, input: Value<'_>) -> String {
        let canonical = |name: &str| input.get(name).map(|value| value.canonical());
        let mut w = Writer::new();
        w.begin_object();
        put_raw(&mut w, "adapterRef", canonical("adapterRef").as_deref());
        put_text(&mut w, "agentId", self.agent.as_deref());
        w.member_str("harness", &self.harness);
        w.member_str("incarnationId", &self.party.incarnation);
        put_text(&mut w, "role", self.role.as_deref());
        put_raw(&mut w, "runtime", canonical("runtime").as_deref());
        w.member_str("state", &self.state);
        w.member_str("taskId", &self.party.task);
        w.end_object();
        sha256_text(w.finish().as_bytes())
    }

    /// The index keys: every incarnation is found by its id in its owner's scope, only a live one by its task, and a
    /// retired one by the time, as long as there is an adapter reference to remove.
    pub fn entries(&self, tenant: &str) -> Vec<Entry> {
        let Party { task, incarnation, owner } = &self.party;
        let mut entries = vec![Entry { index: "own".into(), key: keys::key(&[tenant, owner, incarnation, task]) }];
        if self.live() {
            entries.push(Entry { index: "live".into(), key: keys::key(&[tenant, owner, task, incarnation]) });
        }
        if let (Some(at), true) = (self.retired_at, self.adapter_ref.is_some()) {
            let key = keys::key(&[tenant, &keys::number(at), incarnation, task, owner]);
            entries.push(Entry { index: "retired".into(), key });
        }
        entries
    }

    /// Takes the runtime members of a wire `runtime` object; members that are absent keep their value.
    pub fn take_runtime(&mut self, runtime: Value<'_>) {
        if let Some(run) = runtime.maybe_text("runId") {
            self.run = Some(run);
        }
        if let Some(objective) = runtime.maybe_int("objectiveVersion") {
            self.objective = Some(objective);
        }
        if let Some(checkpoint) = runtime.maybe_text("checkpoint") {
            self.checkpoint = Some(checkpoint);
        }
    }

    /// The wire form of `tasks.get`.
    pub fn view(&self, w: &mut Writer) {
        w.member_str("taskId", &self.party.task);
        w.member_str("incarnationId", &self.party.incarnation);
        w.member_str("harness", &self.harness);
        put_text(w, "agentId", self.agent.as_deref());
        put_text(w, "role", self.role.as_deref());
        w.member_str("state", &self.state);
        w.member_raw("adapterRef", self.adapter_ref.as_deref().unwrap_or("null"));
        w.key("runtime");
        w.begin_object();
        put_text(w, "runId", self.run.as_deref());
        put_int(w, "objectiveVersion", self.objective);
        put_text(w, "checkpoint", self.checkpoint.as_deref());
        w.end_object();
        w.key("consent");
        w.begin_object();
        w.member_bool("mute", self.mute);
        put_text(w, "doNotDisturbUntil", self.quiet_until.map(crate::time::format).as_deref());
        w.end_object();
        w.member_int("revision", self.revision);
        put_text(w, "retiredAt", self.retired_at.map(crate::time::format).as_deref());
    }
}
