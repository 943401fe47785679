//! The `http` adapter: posts the message with an idempotency key, and asks by the key what became of it.
//!
//! Every call has a connection of its own, so that a pooled connection that died meanwhile makes no outcome unknown. There
//! are no redirects, no proxies from the environment, no cookies. "Not submitted" is only what failed before the first
//! byte of the request was handed to the connection, and status codes that the operator named.

pub(crate) mod client;
mod url;

pub(crate) use url::is_this_machine;
pub use url::{Template, UrlError};

use crate::{answer::Expected, private, subject::Subject};
use client::{Client, Failure, Reply};
use serde::Serialize;
use serde_json::value::RawValue;
use std::{collections::BTreeMap, path::PathBuf, time::Instant};
use threadmesh_runtime::adapter::{Absence, Adapter, Outcome, Query, QueryOutcome, Reason, Submission};

/// What the operator configured.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Where calls are posted to.
    pub submit_url: Template,
    /// Where is asked about them, if the service can answer.
    pub query_url: Option<Template>,
    /// The header that carries the idempotency key.
    pub idempotency_header: String,
    /// Fixed headers.
    pub headers: BTreeMap<String, String>,
    /// Headers whose values are read from private files at each call.
    pub secret_headers: BTreeMap<String, PathBuf>,
    /// Status codes of the submission that prove that nothing was done.
    pub refusal_status: Vec<u16>,
    /// Status codes of the query that prove that nothing was done and nothing will be.
    pub absent_final_status: Vec<u16>,
    /// The most bytes of a response body.
    pub response_bytes_max: u64,
    /// Trusted certificates in PEM instead of the built-in ones.
    pub tls_ca_pem: Option<String>,
    /// Whether a service that says `not-submitted` is believed.
    pub trust_not_submitted: bool,
}

/// Posts and asks.
pub struct HttpAdapter {
    settings: HttpSettings,
    client: Client,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    contract: &'static str,
    operation: &'static str,
    submission_id: &'a str,
    idempotency_key: &'a str,
    tenant: &'a str,
    profile: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(flatten)]
    subject: Subject<'a>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    context: &'a BTreeMap<String, String>,
}

type Headers = Vec<(String, String)>;

/// The name of what is posted and answered.
const CONTRACT: &str = "threadmesh-http/1";

impl HttpAdapter {
    /// An adapter with these settings. The error says which certificate or header is unusable.
    pub fn new(settings: HttpSettings) -> Result<Self, String> {
        for (name, value) in settings.headers.iter().map(|(name, value)| (name, value.as_str())) {
            client::check_header(name, value)?;
        }
        for name in settings.secret_headers.keys().chain([&settings.idempotency_header]) {
            client::check_header(name, "")?;
        }
        let client = Client::new(settings.tls_ca_pem.as_deref(), settings.response_bytes_max)?;
        Ok(Self { settings, client })
    }

    /// The headers of a call or a query, secrets included.
    fn headers(&self, key: &str) -> Result<Headers, Reason> {
        let settings = &self.settings;
        let mut headers: Vec<_> = settings.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        for (name, path) in &settings.secret_headers {
            let unreadable = |detail: String| Reason::new("secret-unreadable", detail);
            let value = private::secret(path).map_err(|error| unreadable(error.to_string()))?;
            client::check_header(name, &value).map_err(unreadable)?;
            headers.push((name.clone(), value));
        }
        headers.push((settings.idempotency_header.clone(), key.to_owned()));
        Ok(headers)
    }

    fn judge_submission(&self, expected: &Expected<'_>, reply: &Reply) -> Outcome {
        if self.settings.refusal_status.contains(&reply.status) {
            return Outcome::NotSubmitted(Reason::new("status-refused", status(reply)));
        }
        match (&reply.body, reply.status) {
            (Ok(body), 200..=299) => expected.submitted(body),
            (Err(detail), 200..=299) => Outcome::Unknown(Reason::new("body-unreadable", detail.clone())),
            (_, 300..=399) => Outcome::Unknown(Reason::new("redirect-refused", status(reply))),
            _ => Outcome::Unknown(Reason::new("status", status(reply))),
        }
    }

    fn judge_query(&self, expected: &Expected<'_>, reply: &Reply) -> QueryOutcome {
        if self.settings.absent_final_status.contains(&reply.status) {
            let reason = Reason::new("status-absent-final", status(reply));
            return QueryOutcome::AbsentFinal(Absence { reason, evidence_refs: Vec::new() });
        }
        match (&reply.body, reply.status) {
            (Ok(body), 200) => expected.queried(body),
            (Err(detail), 200) => QueryOutcome::Unanswerable(Reason::new("body-unreadable", detail.clone())),
            // Settled point 3: not to know a key now proves nothing.
            (_, 404 | 410) => QueryOutcome::AbsentNow(Reason::new("status-absent-now", status(reply))),
            _ => QueryOutcome::Unanswerable(Reason::new("status", status(reply))),
        }
    }
}

impl Adapter for HttpAdapter {
    fn submit(&self, call: &Submission, deadline: Instant) -> Outcome {
        let (body, url, headers) = match self.prepare(call) {
            Ok(prepared) => prepared,
            Err(reason) => return Outcome::NotSubmitted(reason),
        };
        let expected = Expected {
            key: &call.idempotency_key,
            session: call.session.as_deref(),
            trust_not_submitted: self.settings.trust_not_submitted,
        };
        match self.client.post(&url, &headers, &body, deadline) {
            Ok(reply) => self.judge_submission(&expected, &reply),
            Err(Failure { sent: false, detail }) => Outcome::NotSubmitted(Reason::new("not-connected", detail)),
            Err(Failure { sent: true, detail }) => Outcome::Unknown(Reason::new("connection-lost", detail)),
        }
    }

    fn query(&self, query: &Query, deadline: Instant) -> QueryOutcome {
        let unanswerable = QueryOutcome::Unanswerable;
        let Some(template) = &self.settings.query_url else {
            return unanswerable(Reason::new("no-query", "the profile has no query_url"));
        };
        let values = values(&query.idempotency_key, &query.submission_id, query.session.as_deref());
        let url = match template.fill(&values) {
            Ok(url) => url,
            Err(error) => return unanswerable(Reason::new("url", error.to_string())),
        };
        let headers = match self.headers(&query.idempotency_key) {
            Ok(headers) => headers,
            Err(reason) => return unanswerable(reason),
        };
        let session = query.session.as_deref();
        let expected = Expected { key: &query.idempotency_key, session, trust_not_submitted: false };
        match self.client.get(&url, &headers, deadline) {
            Ok(reply) => self.judge_query(&expected, &reply),
            Err(failure) => unanswerable(Reason::new("connection-lost", failure.detail)),
        }
    }
}

impl HttpAdapter {
    fn prepare(&self, call: &Submission) -> Result<(String, String, Headers), Reason> {
        let unreadable = |error: serde_json::Error| Reason::new("envelope-unreadable", error.to_string());
        let envelope = RawValue::from_string(call.payload.text.clone()).map_err(unreadable)?;
        let request = Request {
            contract: CONTRACT,
            operation: "submit",
            submission_id: &call.submission_id,
            idempotency_key: &call.idempotency_key,
            tenant: &call.tenant,
            profile: &call.profile,
            session: call.session.as_deref(),
            subject: Subject::of_call(&call.holder, &call.scope, &call.payload, &envelope),
            context: &call.context,
        };
        let body = serde_json::to_string(&request).map_err(unreadable)?;
        let values = values(&call.idempotency_key, &call.submission_id, call.session.as_deref());
        let url = self.settings.submit_url.fill(&values).map_err(|error| Reason::new("url", error.to_string()))?;
        let mut headers = self.headers(&call.idempotency_key)?;
        // Nobody has judged these texts: what cannot be a header field stays in the body.
        let fits = |(name, value): &(&String, &String)| client::check_header(name, value).is_ok();
        let context = call.context.iter().filter(fits);
        headers.extend(context.map(|(name, value)| (name.clone(), value.clone())));
        Ok((body, url, headers))
    }
}

fn values<'a>(key: &'a str, submission_id: &'a str, session: Option<&'a str>) -> [(&'static str, Option<&'a str>); 3] {
    [("idempotencyKey", Some(key)), ("submissionId", Some(submission_id)), ("session", session)]
}

fn status(reply: &Reply) -> String {
    format!("status {}", reply.status)
}
