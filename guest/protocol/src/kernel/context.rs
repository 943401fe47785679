//! What one step works with: the request, the facts that came back, and what it is going to commit.

use crate::kernel::{
    Answer, AuditRecord, Effect, Entry, Evaluated, Evaluation, Fact, Principal, PrincipalKind, Query, Request, Stored,
    Write,
    flow::{Flow, Stop},
    keys::{self, Names},
    replay::{self, Replay},
};
use crate::{
    Code, Error, Rule,
    digest::{hex, sha256, sha256_text},
    documents::Params,
    json::Value,
    rules,
};
use alloc::{format, string::String, vec::Vec};

/// Characters of a SHA-256 in base64url.
const DIGEST: usize = 43;

/// How many rows of other scopes under the same ids are looked through.
const CROWD_MAX: u32 = 1000;

/// What the host brought of what earlier steps asked for.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    /// Rows.
    pub answers: &'a [Answer],
    /// Verdicts of policies.
    pub evaluated: &'a [Evaluated],
}

/// The state of one operation.
pub(crate) struct Context<'a> {
    /// The request.
    pub request: &'a Request,
    /// The authenticated caller.
    pub principal: &'a Principal,
    /// The params, shape-checked.
    pub params: Value<'a>,
    /// The same, with the documents among them.
    pub shaped: Params<'a>,
    /// Milliseconds since the epoch.
    pub now: i64,
    /// 64 hex digits.
    pub entropy: &'a str,
    pub(super) given: Given<'a>,
    /// Whether the answers were looked at as a whole, and more rows may have been shown in them since.
    checked: bool,
    /// Queries without an answer.
    pub missing: Vec<Query>,
    /// Evaluations without a verdict.
    pub unevaluated: Vec<Evaluation>,
    /// What to commit.
    pub writes: Vec<Write>,
    /// What to do after the commit.
    pub effects: Vec<Effect>,
    /// Audit records.
    pub audit: Vec<AuditRecord>,
    /// Topics touched.
    pub topics: Vec<String>,
    /// Continuation.
    pub proceed: Option<String>,
    /// What it was about, for logs and traces.
    pub facts: Vec<Fact>,
    /// Whether this is a replay.
    pub replay: bool,
    /// Whether the caller holds a grant for the pair, so that reasons may be shown.
    pub disclose: bool,
    /// What a keyed operation made or changed: the row and the record's revision.
    pub resource: Option<(String, i64)>,
    keyed: Option<Keyed>,
    /// What stands for ids in keys of indexes.
    pub names: Names,
}

/// The idempotency key of this call: where its use is stored, and the digest of the content once it was needed.
struct Keyed {
    id: String,
    digest: Option<String>,
}

impl<'a> Context<'a> {
    /// A fresh context.
    pub fn new(
        request: &'a Request,
        principal: &'a Principal,
        shaped: Params<'a>,
        given: Given<'a>,
        now: i64,
        entropy: &'a str,
    ) -> Self {
        Self {
            request,
            principal,
            params: shaped.part().value(),
            shaped,
            now,
            entropy,
            given,
            checked: false,
            missing: Vec::new(),
            unevaluated: Vec::new(),
            writes: Vec::new(),
            effects: Vec::new(),
            audit: Vec::new(),
            topics: Vec::new(),
            proceed: None,
            facts: Vec::new(),
            replay: false,
            disclose: false,
            resource: None,
            keyed: None,
            names: Names::default(),
        }
    }

    /// The answers so far, each looked at for whether a store could give it.
    pub fn checked_answers(&self) -> Flow<&'a [Answer]> {
        self.given.answers.iter().try_for_each(check_shape)?;
        Ok(self.given.answers)
    }

    /// The same call over other answers, which are not looked at any more, with nothing to commit yet and without the idempotency key, which stands for
    /// the whole.
    pub fn over<'b>(&self, answers: &'b [Answer]) -> Context<'b>
    where
        'a: 'b,
    {
        let given = Given { answers, ..self.given };
        let context = Context::new(self.request, self.principal, self.shaped, given, self.now, self.entropy);
        Context { checked: true, ..context }
    }

    /// Reads the idempotency key: its scope is the principal and the operation, and the worker where `by_worker`.
    pub fn read_key(&mut self, by_worker: bool) -> Flow<()> {
        let key = self.params.get("idempotencyKey").and_then(|key| key.as_str()).unwrap_or("");
        let worker = self.principal.worker.as_deref().filter(|_| by_worker).unwrap_or("");
        let parts = [self.scope().as_str(), self.request.operation.as_str(), worker, key].join("\u{0}");
        let id = keys::key(&[self.tenant(), &keys::base64url(&sha256(parts.as_bytes()), DIGEST)]);
        self.keyed = Some(Keyed { id, digest: None });
        Ok(())
    }

    /// Takes the digest of a document for that of the params, where they hold nothing else beside the key: it is
    /// needed anyway, and means the same.
    pub fn content_digest(&mut self, digest: &str) {
        if let Some(keyed) = &mut self.keyed {
            keyed.digest = Some(digest.into());
        }
    }

    /// The digest that the use of the key is compared by.
    fn digest_of(&self, keyed: &Keyed) -> String {
        keyed.digest.clone().unwrap_or_else(|| self.params.digest())
    }

    /// Whether this call was made before with the same content. To be asked after authorisation, so that a replay
    /// passes today's.
    pub fn replayed(&mut self) -> Flow<bool> {
        Ok(self.past()?.is_some())
    }

    /// What this call came to when it was made before with the same content; see [`replayed`](Self::replayed).
    pub fn past(&mut self) -> Flow<Option<Replay>> {
        let Some(keyed) = &self.keyed else { return Ok(None) };
        let query = Replay::find(&keyed.id);
        let Some(row) = self.one(&query)? else { return Ok(None) };
        let past = Replay::read(row)?.record;
        let digest = self.keyed.as_ref().map(|keyed| self.digest_of(keyed));
        rules::check(Rule::OP6, Some(&past.digest) == digest.as_ref())?;
        self.replay = true;
        Ok(Some(past))
    }

    /// Stores the use of the idempotency key.
    pub fn close_key(&mut self) {
        let Some(keyed) = self.keyed.take().filter(|_| !self.replay) else { return };
        let (resource, revision) = self.resource.take().unwrap_or_default();
        let text = Replay { digest: self.digest_of(&keyed), resource, revision }.text();
        self.write(replay::COLLECTION, &keyed.id, 0, text, Vec::new());
    }

    /// The tenant of the caller.
    pub fn tenant(&self) -> &'a str {
        &self.principal.tenant
    }

    /// Stops with the missing queries among `queries`, so that one round brings them all.
    pub fn fetch(&mut self, queries: &[&Query]) -> Flow<()> {
        if let Some(query) = self.keyed.as_ref().map(|keyed| Replay::find(&keyed.id)) {
            self.hint(&query);
        }
        for query in queries {
            self.hint(query);
        }
        if self.lacks() { Err(Stop::Needs) } else { Ok(()) }
    }

    /// Tells logs and traces what the operation is about: an id, a code or a digest, never content.
    pub fn tell(&mut self, name: &str, value: &str) {
        if !self.facts.iter().any(|fact| fact.name == name && fact.value == value) {
            self.facts.push(Fact { name: name.into(), value: value.into() });
        }
    }

    /// Whether something was asked for that is not there yet.
    pub fn lacks(&self) -> bool {
        !self.missing.is_empty() || !self.unevaluated.is_empty()
    }

    /// Asks for `query` together with whatever is fetched next.
    pub fn hint(&mut self, query: &Query) {
        if self.answer(query).is_none() && !self.missing.contains(query) {
            self.missing.push(query.clone());
        }
    }

    /// The answer to `query`; asks for it where none is there yet. Only where it has no `more` is it the whole range.
    pub fn page(&mut self, query: &Query) -> Flow<&'a Answer> {
        self.fetch(&[query])?;
        let answer = self.answer(query).ok_or(Stop::Needs)?;
        self.check(answer)?;
        Ok(answer)
    }

    /// The rows for `query`; see [`page`](Self::page).
    pub fn rows(&mut self, query: &Query) -> Flow<&'a [Stored]> {
        Ok(&self.page(query)?.rows)
    }

    /// The rows for `query`, which has a small limit, for ids that other scopes may use too: where there are more, a
    /// second query brings the rest, so that nobody's row can be crowded out.
    pub fn crowd(&mut self, query: &Query) -> Flow<&'a [Stored]> {
        let page = self.page(query)?;
        if !page.more {
            return Ok(&page.rows);
        }
        self.rows(&Query { limit: CROWD_MAX, ..query.clone() })
    }

    /// The only row for `query`.
    pub fn one(&mut self, query: &Query) -> Flow<Option<&'a Stored>> {
        Ok(self.rows(query)?.first())
    }

    /// The row `id` of `collection`, from any answer that shows whether it is there; asks for it otherwise.
    pub fn lookup(&mut self, collection: &str, id: &str) -> Flow<Option<&'a Stored>> {
        for answer in self.given.answers.iter().filter(|answer| answer.query.collection == collection) {
            if let Some(row) = answer.rows.iter().find(|row| row.id == id) {
                self.check(answer)?;
                return Ok(Some(row));
            }
            if answer.covers(id) && !answer.more {
                self.check(answer)?;
                return Ok(None);
            }
        }
        self.one(&keys::row(collection, id))
    }

    /// Asks for the row `id` of `collection` together with whatever is fetched next, where no answer shows it.
    pub fn want(&mut self, collection: &str, id: &str) {
        // What is missing is noted; an answer of the wrong shape is found when the row is read.
        let _ = self.lookup(collection, id);
    }

    fn check(&self, answer: &Answer) -> Flow<()> {
        if self.checked { Ok(()) } else { check_shape(answer) }
    }

    fn answer(&self, query: &Query) -> Option<&'a Answer> {
        self.given.answers.iter().find(|answer| answer.query == *query)
    }

    /// Writes a row: `expected` is the revision that was read, 0 for a new row.
    pub fn write(&mut self, collection: &str, id: &str, expected: u32, body: String, entries: Vec<Entry>) {
        self.writes.push(Write { collection: collection.into(), id: id.into(), expected, body: Some(body), entries });
    }

    /// Removes a row that was read.
    pub fn remove(&mut self, collection: &str, row: &Stored) {
        let (collection, id) = (collection.into(), row.id.clone());
        self.writes.push(Write { collection, id, expected: row.revision, body: None, entries: Vec::new() });
    }

    /// 32 hex digits that depend on the caller, its worker and all of the request, for identifiers that the core makes.
    /// Whatever can be done twice with other effect differs in one of them: that is the scope of the idempotency key.
    pub fn request_hash(&self, purpose: &str) -> String {
        let (principal, worker) = (self.scope(), self.principal.worker.as_deref().unwrap_or(""));
        let text = [purpose, &principal, worker, &self.request.operation, &self.request.params].join("\u{0}");
        hex(&sha256(text.as_bytes())).chars().take(32).collect()
    }

    /// A secret from the entropy of this call.
    pub fn secret(&self, purpose: &str) -> String {
        sha256_text([purpose, "\u{0}", self.entropy].concat().as_bytes())
    }

    /// Who the caller is, as a key of idempotency and budgets: never the credential, so that rotating one loses nothing.
    pub fn scope(&self) -> String {
        let Principal { tenant, id, incarnation, owner, .. } = self.principal;
        let (incarnation, owner) = (incarnation.as_deref().unwrap_or(""), owner.as_deref().unwrap_or(""));
        crate::kernel::keys::key(&[tenant, self.principal.kind.name(), id, incarnation, owner])
    }

    /// The caller is a user or a policy.
    pub fn control_plane(&self) -> Flow<()> {
        let kind = self.principal.kind;
        Ok(rules::check(Rule::OP3, matches!(kind, PrincipalKind::User | PrincipalKind::Policy))?)
    }
}

impl Answer {
    /// Whether the row with this id would be found by the query.
    pub(crate) fn covers(&self, id: &str) -> bool {
        let Query { index, start, end, .. } = &self.query;
        let inside = match end {
            None => start == id,
            Some(end) => id >= start.as_str() && id < end.as_str(),
        };
        index.is_empty() && inside
    }
}

/// Refuses answers that no store could give: they are misuse by the host.
fn check_shape(answer: &Answer) -> Flow<()> {
    let Answer { query, rows, .. } = answer;
    let fits = |row: &Stored| match &query.end {
        None => row.key == query.start,
        Some(end) => row.key >= query.start && row.key < *end,
    };
    let ordered = |pair: &[Stored]| match pair {
        [first, second] if query.reverse => first.key >= second.key,
        [first, second] => first.key <= second.key,
        _ => true,
    };
    let count = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    let bodies = rows.iter().fold(0_usize, |sum, row| sum.saturating_add(row.body.len()));
    let bounded = query.bytes == 0 || rows.len() <= 1 || bodies <= usize::try_from(query.bytes).unwrap_or(usize::MAX);
    let sound = count <= query.limit
        && bounded
        && rows.iter().all(|row| fits(row) && row.revision > 0)
        && rows.windows(2).all(ordered);
    if sound {
        return Ok(());
    }
    let detail = format!("the answer for collection {} does not fit its query", query.collection);
    Err(Stop::Misuse(Error::new(Code::HostMisuse, "", detail)))
}

impl PrincipalKind {
    /// The kind as text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Policy => "policy",
            Self::Task => "task",
            Self::Operator => "operator",
            Self::Host => "host",
        }
    }
}
