//! A task summary: what a task lets the source of a grant know of it.

pub(crate) use crate::generated::records::summary::{COLLECTION, Summary};

use crate::json::{Value, Writer};
use crate::kernel::{
    Entry, Query, Stored,
    fields::Fields,
    flow::Flow,
    keys,
    records::{Party, Row, parse},
};
use alloc::{string::String, vec, vec::Vec};

/// The members that every reader sees, as [`Summary::show`] writes them: ids, states and classes.
const METADATA: &[&str] = &[
    "specVersion",
    "summaryId",
    "summaryVersion",
    "task",
    "projection",
    "state",
    "coordination",
    "sensitivity",
    "audience",
    "updatedAt",
];
/// What `coordination` shows besides.
const COORDINATION: &[&str] = &["activeRunId", "blockerHint", "dependencyHints"];
/// What `objective-hint` shows besides all of that.
const OBJECTIVE: &[&str] = &["objective"];

/// How much of a summary a reader sees.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Everything.
    Whole,
    /// What the projection shows to the source of its grant.
    Projection,
    /// No hint.
    Metadata,
}

impl Summary {
    /// The record of a row. Error: `record-damaged`, for what the core did not write.
    pub(crate) fn read(row: &Stored) -> Flow<Row<Self>> {
        Row::read(row, Self::parse)
    }

    /// The row of the summary of a task for the source of a relationship.
    pub fn id(tenant: &str, task: &Party, relationship: &str, reader: &Party) -> String {
        let Party { task: name, incarnation, owner } = task;
        let parts = [tenant, incarnation, name, owner, relationship];
        keys::key(&[&parts[..], &[&reader.incarnation, &reader.task, &reader.owner]].concat())
    }

    /// The summaries of a task for the sources of relationships with this id.
    pub fn find(tenant: &str, task: &Party, relationship: &str) -> Query {
        let Party { task: name, incarnation, owner } = task;
        keys::under(COLLECTION, "", &[tenant, incarnation, name, owner, relationship], 8)
    }

    /// The summary that an owner calls by this id.
    pub fn find_named(tenant: &str, owner: &str, summary_id: &str) -> Query {
        keys::under(COLLECTION, "named", &[tenant, owner, summary_id], 1)
    }

    /// Those with hints that were published by `cutoff`.
    pub fn find_purge(tenant: &str, cutoff: i64, limit: u32) -> Query {
        keys::numbered(COLLECTION, "purge", &[tenant], 0, Some(cutoff.saturating_add(1)), limit)
    }

    /// Removes the hints.
    pub fn purge(&mut self) -> Flow<()> {
        let mut w = Writer::new();
        w.begin_object();
        for (name, value) in parse(&self.document)?.root().members().filter(|(name, _)| METADATA.contains(name)) {
            w.member_raw(name, value.raw());
        }
        w.end_object();
        self.document = w.finish();
        Ok(())
    }

    /// The index keys: by its name in the owner's scope, and by the time of its publication while it has hints.
    pub fn entries(&self, tenant: &str) -> Flow<Vec<Entry>> {
        let named = keys::key(&[tenant, &self.task.owner, &self.summary_id, &self.task.incarnation]);
        let mut entries = vec![Entry { index: "named".into(), key: named }];
        if parse(&self.document)?.root().members().any(|(name, _)| !METADATA.contains(&name)) {
            let key = keys::key(&[tenant, &keys::number(self.published)]);
            entries.push(Entry { index: "purge".into(), key });
        }
        Ok(entries)
    }

    /// What a reader sees of it: members are listed one by one, so that nothing is shown that nobody thought of. The
    /// source of a grant does not learn of the owner's other relationships.
    pub fn show(&self, reach: Reach) -> Flow<String> {
        let tree = parse(&self.document)?;
        let document = tree.root();
        let projected = document.member("projection")?.text("summaryVisibility")?;
        let shown = |name: &str| {
            let coordination = matches!(projected, "coordination" | "objective-hint") && COORDINATION.contains(&name);
            let objective = projected == "objective-hint" && OBJECTIVE.contains(&name);
            reach == Reach::Whole
                || METADATA.contains(&name)
                || (reach == Reach::Projection && (coordination || objective))
        };
        let mut w = Writer::new();
        w.begin_object();
        for (name, value) in document.members().filter(|(name, _)| shown(name)) {
            match (name, reach) {
                ("audience", Reach::Projection) => self.audience(&mut w, value)?,
                _ => w.member_raw(name, value.raw()),
            }
        }
        w.end_object();
        Ok(w.finish())
    }

    /// The audience as the source of its grant sees it: its own relationship, where any are listed.
    fn audience(&self, w: &mut Writer, audience: Value<'_>) -> Flow<()> {
        w.key("audience");
        w.begin_object();
        w.member_str("visibility", audience.text("visibility")?);
        if audience.get("relationshipIds").is_some() {
            w.key("relationshipIds");
            w.begin_array();
            w.string(&self.relationship);
            w.end_array();
        }
        w.end_object();
        Ok(())
    }

    /// Whether the source of its grant is among its audience.
    pub fn for_source(&self) -> Flow<bool> {
        let tree = parse(&self.document)?;
        let audience = tree.root().member("audience")?;
        let listed = audience.get("relationshipIds").map(|list| list.items());
        Ok(match audience.text("visibility")? {
            "public" => true,
            "relationship-scoped" => listed.into_iter().flatten().any(|item| item.as_str() == Some(&self.relationship)),
            _ => false,
        })
    }
}
