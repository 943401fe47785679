//! A cross-thread event as its sender wrote it.

use crate::delivery::life::{self, EventPart};
use crate::documents::Document;
use crate::json::Value;
use crate::kernel::{Query, fields::Fields, flow::Flow, keys};
use crate::{Error, time};
use alloc::string::{String, ToString};

/// Types whose payload may become accepted state.
const STATE: &[&str] = &["RESULT", "STATE_UPDATE", "COMPLETION"];
/// Types that ask for something to be done.
const REQUESTS: &[&str] = &["ACTION_REQUEST", "HANDOFF"];

/// The members that the stages work with.
pub(crate) struct Event<'a> {
    /// The whole.
    pub value: Value<'a>,
    /// Its digest.
    pub digest: String,
    /// `event_id`.
    pub id: &'a str,
    /// The thread that it comes from.
    pub source: &'a str,
    /// The agent that its sender claims to be.
    pub agent: &'a str,
    /// The role that it claims.
    pub role: &'a str,
    /// `continuation_id`.
    pub continuation: &'a str,
    /// The thread that it is for.
    pub target: &'a str,
    /// `event_type`.
    pub kind: &'a str,
    /// `trajectory_id`.
    pub trajectory: &'a str,
    /// `subject`.
    pub subject: &'a str,
    /// `created_at`.
    pub created: Option<i64>,
    /// `expires_at`.
    pub expires: Option<i64>,
}

impl<'a> Event<'a> {
    /// The members of a checked event.
    pub fn read(document: &Document<'a>) -> Flow<Self> {
        let value = document.value();
        let source = value.member("source")?;
        let at = |name: &str| -> Result<Option<i64>, Error> {
            value.maybe_text(name).map(|text| time::parse(&text)).transpose()
        };
        Ok(Self {
            value,
            digest: document.digest().to_string(),
            id: value.text("event_id")?,
            source: source.text("thread_id")?,
            agent: source.text("agent_id")?,
            role: source.text("role")?,
            continuation: value.text("continuation_id")?,
            target: value.member("target")?.text("thread_id")?,
            kind: value.text("event_type")?,
            trajectory: value.text("trajectory_id")?,
            subject: value.text("subject")?,
            created: at("created_at")?,
            expires: at("expires_at")?,
        })
    }

    /// Whether its payload may become accepted state.
    pub fn bears_state(&self) -> bool {
        STATE.contains(&self.kind)
    }

    /// Whether it asks for something to be done.
    pub fn requests(&self) -> bool {
        REQUESTS.contains(&self.kind)
    }

    /// The message type that it goes as.
    pub fn message_type(&self) -> &'static str {
        match self.kind {
            "QUESTION" => "question",
            "OBSERVATION" => "observation",
            "PROPOSAL" => "suggestion",
            "RESULT" | "COMPLETION" => "result",
            "STATE_UPDATE" | "BLOCKER" => "state-update",
            _ => "action-request",
        }
    }

    /// Whether it claims this authority.
    pub fn claims(&self, authority: &str) -> bool {
        self.value.get("authority").is_some_and(|claimed| claimed.flag(authority))
    }
}

/// The lives of the events with an id, of threads with an id, whoever owns them.
pub(crate) fn find(tenant: &str, source: &str, event: &str) -> Query {
    keys::under(life::COLLECTION, "event", &[tenant, source, event], 8)
}

/// The undecided events that were sent under a capability.
pub(crate) fn find_under(tenant: &str, capability: &str, limit: u32) -> Query {
    keys::under(life::COLLECTION, "capability", &[tenant, capability], limit)
}

/// The events from and to a thread, in the order in which they were sent.
pub(crate) fn find_trail(tenant: &str, owner: &str, thread: &str, limit: u32) -> Query {
    keys::under(life::COLLECTION, "trail", &[tenant, owner, thread], limit)
}

impl EventPart {
    /// Notes what a stage came to.
    pub fn note(&mut self, stage: &str, status: &str, why: Option<&str>, now: i64) {
        self.stage = stage.into();
        self.status = status.into();
        self.why = why.map(Into::into);
        self.recorded = now;
    }
}
