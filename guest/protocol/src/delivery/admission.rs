//! The admission of a message to a model's context: the one that is in flight, and what is known of one that happened.

use crate::digest::sha256_text;
use crate::json::{Value, Writer};
use crate::kernel::{fields::Fields, flow::Flow, records::put_text};
use alloc::string::String;

/// An admission in flight: the rendering was handed out, and nobody said yet what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    /// The request that began it, so that only its own replay answers the token.
    pub id: String,
    /// The secret of whoever shows the rendering.
    pub token: String,
    /// The secret that evidence repeats.
    pub nonce: String,
    /// The worker that holds it.
    pub worker: String,
    /// The adapter profile.
    pub profile: String,
    /// The digest of the adapter reference.
    pub adapter_ref_digest: String,
    /// Which evidence the profile gives.
    pub kind: String,
    /// The session that the rendering is for.
    pub session: String,
    /// The digest of what the harness says of itself.
    pub snapshot: Option<String>,
    /// The digest of the rendered text.
    pub digest: String,
    /// Its length in bytes.
    pub bytes: i64,
    /// When others than its holder may say what became of it.
    pub until: i64,
}

impl Admission {
    pub(crate) fn read(value: Value<'_>) -> Flow<Self> {
        Ok(Self {
            id: value.text("id")?.into(),
            token: value.text("token")?.into(),
            nonce: value.text("nonce")?.into(),
            worker: value.text("worker")?.into(),
            profile: value.text("profile")?.into(),
            adapter_ref_digest: value.text("adapterRefDigest")?.into(),
            kind: value.text("kind")?.into(),
            session: value.text("session")?.into(),
            snapshot: value.maybe_text("snapshot"),
            digest: value.text("digest")?.into(),
            bytes: value.int("bytes")?,
            until: value.int("until")?,
        })
    }

    pub(crate) fn put(&self, w: &mut Writer) {
        w.key("admission");
        w.begin_object();
        w.member_str("id", &self.id);
        w.member_str("token", &self.token);
        w.member_str("nonce", &self.nonce);
        w.member_str("worker", &self.worker);
        w.member_str("profile", &self.profile);
        w.member_str("adapterRefDigest", &self.adapter_ref_digest);
        w.member_str("kind", &self.kind);
        w.member_str("session", &self.session);
        put_text(w, "snapshot", self.snapshot.as_deref());
        w.member_str("digest", &self.digest);
        w.member_int("bytes", self.bytes);
        w.member_int("until", self.until);
        w.end_object();
    }
}

/// That a rendering was put before a model, and how that is known.
#[derive(Clone, Debug)]
pub(crate) struct Admitted {
    /// `confirmed` by whoever showed it, `recovered` by somebody else or without the token, `read` by a pull client.
    pub how: String,
    /// The digest of the rendered text.
    pub digest: String,
    /// Its length in bytes.
    pub bytes: i64,
    /// The members of the evidence that its kind has, raw.
    pub evidence: String,
    /// When it was recorded.
    pub at: i64,
}

impl Admitted {
    pub(crate) fn read(value: Value<'_>) -> Flow<Self> {
        Ok(Self {
            how: value.text("how")?.into(),
            digest: value.text("digest")?.into(),
            bytes: value.int("bytes")?,
            evidence: value.member("evidence")?.raw().into(),
            at: value.int("at")?,
        })
    }

    /// Leaves the digest of the evidence in its place.
    pub fn purge(&mut self) {
        let mut w = Writer::new();
        w.begin_object();
        w.member_str("evidenceDigest", &sha256_text(self.evidence.as_bytes()));
        w.end_object();
        self.evidence = w.finish();
    }

    pub(crate) fn put(&self, w: &mut Writer) {
        w.key("admitted");
        w.begin_object();
        w.member_str("how", &self.how);
        w.member_str("digest", &self.digest);
        w.member_int("bytes", self.bytes);
        w.member_raw("evidence", &self.evidence);
        w.member_int("at", self.at);
        w.end_object();
    }
}
