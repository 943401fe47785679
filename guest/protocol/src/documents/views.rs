//! Documents as records, for the operations. They are read from accepted documents only, so that every member that a
//! schema requires is there; should a test have switched its rule off, it reads as empty.

use super::words::{DeliveryMode, Intent, Relationship};
use super::{Document, Kind, Part};

/// A task incarnation, named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskRef<'a> {
    /// The task.
    pub task_id: &'a str,
    /// Its incarnation.
    pub incarnation_id: &'a str,
    /// The label of its harness as the author of the document gives it; it identifies nothing.
    pub harness: Option<&'a str>,
}

impl<'a> TaskRef<'a> {
    /// The task reference at `path` of `part`.
    pub fn at(part: Part<'a>, path: &str) -> Self {
        let task = part.part(path);
        let text = |name: &str| task.and_then(|task| task.text_opt(name));
        Self {
            task_id: text("/taskId").unwrap_or_default(),
            incarnation_id: text("/incarnationId").unwrap_or_default(),
            harness: text("/harness"),
        }
    }

    /// Whether both name the same incarnation.
    pub fn same(&self, other: &TaskRef<'_>) -> bool {
        self.task_id == other.task_id && self.incarnation_id == other.incarnation_id
    }
}

/// What a message expects its receiver to be at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness<'a> {
    /// The run.
    pub run_id: Option<&'a str>,
    /// The version of the objective.
    pub objective_version: Option<i64>,
    /// The checkpoint.
    pub checkpoint: Option<&'a str>,
}

/// A coordination envelope.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a> {
    /// The message, unique for its sender incarnation.
    pub message_id: &'a str,
    /// What it asks.
    pub intent: Option<Intent>,
    /// How it should arrive.
    pub mode: Option<DeliveryMode>,
    /// From where.
    pub sender: TaskRef<'a>,
    /// Who wrote it: user, agent, service or policy.
    pub actor_type: &'a str,
    /// The user or policy that wrote it.
    pub actor_id: Option<&'a str>,
    /// To where.
    pub target: TaskRef<'a>,
    /// Under which relationship.
    pub relationship_id: &'a str,
    /// What the receiver must be at.
    pub freshness: Option<Freshness<'a>>,
    /// The message that caused it.
    pub parent_message_id: Option<&'a str>,
    /// How long the chain of causes is.
    pub hop_count: Option<i64>,
    /// When it was created, in milliseconds since the Unix epoch.
    pub created_at_ms: i64,
    /// From when on it is expired, in milliseconds since the Unix epoch.
    pub expires_at_ms: i64,
}

impl<'a> Envelope<'a> {
    /// The envelope that `document` is; nothing for another kind.
    pub fn of(document: &Document<'a>) -> Option<Self> {
        let part = of_kind(document, Kind::Envelope)?;
        let freshness = part.part("/freshness").map(|freshness| Freshness {
            run_id: freshness.text_opt("/expectedRunId"),
            objective_version: freshness.int("/expectedObjectiveVersion"),
            checkpoint: freshness.text_opt("/expectedCheckpoint"),
        });
        Some(Self {
            message_id: part.text("/messageId"),
            intent: Intent::from_name(part.text("/intent")),
            mode: DeliveryMode::from_name(part.text("/delivery/requestedMode")),
            sender: TaskRef::at(part, "/sender"),
            actor_type: part.text("/sender/actorType"),
            actor_id: part.text_opt("/sender/actorId"),
            target: TaskRef::at(part, "/target"),
            relationship_id: part.text("/relationshipId"),
            freshness,
            parent_message_id: part.text_opt("/causality/parentMessageId"),
            hop_count: part.int("/causality/hopCount"),
            created_at_ms: part.time("/createdAt").unwrap_or_default(),
            expires_at_ms: part.time("/expiresAt").unwrap_or_default(),
        })
    }
}

/// An effective grant.
#[derive(Clone, Copy, Debug)]
pub struct Grant<'a> {
    /// The grant.
    pub grant_id: &'a str,
    /// Its version.
    pub version: i64,
    /// The relationship.
    pub relationship_id: &'a str,
    /// What the source is to the target.
    pub relationship: Option<Relationship>,
    /// Who may act.
    pub source: TaskRef<'a>,
    /// Towards whom.
    pub target: TaskRef<'a>,
    /// From when on it is expired, in milliseconds since the Unix epoch.
    pub expires_at_ms: Option<i64>,
    /// Whether it says of itself that it is revoked.
    pub revoked: bool,
    part: Part<'a>,
}

impl<'a> Grant<'a> {
    /// The grant that `document` is; nothing for another kind.
    pub fn of(document: &Document<'a>) -> Option<Self> {
        let part = of_kind(document, Kind::Grant)?;
        Some(Self {
            grant_id: part.text("/grantId"),
            version: part.int("/grantVersion").unwrap_or_default(),
            relationship_id: part.text("/relationshipId"),
            relationship: Relationship::from_name(part.text("/relationshipType")),
            source: TaskRef::at(part, "/source"),
            target: TaskRef::at(part, "/target"),
            expires_at_ms: part.time("/expiresAt"),
            revoked: part.has("/revokedAt"),
            part,
        })
    }

    /// Whether it lists `intent`.
    pub fn allows(&self, intent: Intent) -> bool {
        self.part.lists("/allowedIntents", intent.name())
    }

    /// Whether it lists `mode`.
    pub fn allows_mode(&self, mode: DeliveryMode) -> bool {
        self.part.lists("/allowedDeliveryModes", mode.name())
    }
}

/// What an adapter declares.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities<'a>(Part<'a>);

impl<'a> Capabilities<'a> {
    /// The capabilities that `document` declares; nothing for another kind.
    pub fn of(document: &Document<'a>) -> Option<Self> {
        of_kind(document, Kind::Capabilities).map(Self)
    }

    /// Whether it takes messages of `intent`.
    pub fn takes(&self, intent: Intent) -> bool {
        self.0.lists("/intents", intent.name())
    }

    /// Whether it delivers in `mode`.
    pub fn delivers(&self, mode: DeliveryMode) -> bool {
        self.0.lists("/deliveryModes", mode.name())
    }

    /// Whether it can be asked for the receipt of an attempt.
    pub fn is_queryable(&self) -> bool {
        self.0.is("/features/durableSubmissionIdempotency", &["queryable-receipt"])
    }
}

fn of_kind<'a>(document: &Document<'a>, kind: Kind) -> Option<Part<'a>> {
    (document.kind() == kind).then(|| document.part())
}
