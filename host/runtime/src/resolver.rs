//! What looks at evidence outside: the contract between the host and a resolver.
//!
//! A resolver tells what it saw at one address, as a [`Fact`], and never fails: what cannot be looked at is a fact too. It
//! decides nothing, and a fact alone proves nothing; the core draws the verdict. See `spec/adapters.md` for the words.

use crate::adapter::Reason;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

/// Longest address, in bytes.
pub const ADDRESS_BYTES_MAX: usize = 2_000;
/// Longest pointer, in bytes.
pub const POINTER_BYTES_MAX: usize = 2_000;

/// The RFC 8785 form of a JSON text, or why it has none: the component's own judgement, which refuses duplicate members,
/// lone surrogates and numbers that are not what they seem.
pub type Canonical = Arc<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// Looks at one kind of source.
pub trait Resolver: Send + Sync {
    /// What is at the address, by `deadline`. Must have no effect on the source.
    fn look(&self, question: &Question, deadline: Instant) -> Fact;
}

/// Where to look, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Below the resolver's root or origin; what it may be is the resolver's to say.
    pub address: String,
    /// A JSON Pointer (RFC 6901) to the value that is wanted; none where the digest is all that matters.
    pub pointer: Option<String>,
    /// More bytes than this are too large.
    pub bytes_max: u64,
}

/// What was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// Something is there.
    Found(Found),
    /// The source says that nothing is there.
    Absent,
    /// More bytes than allowed are there; they were not read.
    TooLarge,
    /// Something is there that must not be looked at or cannot count: asking again changes nothing until the source or the
    /// configuration does.
    Refused(Reason),
    /// The source did not answer in time, or not whole.
    Unreachable(Reason),
}

/// What is at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// `sha256:…` over the bytes as they came.
    pub digest: String,
    /// How many bytes.
    pub length: u64,
    /// The value at the question's pointer, in its RFC 8785 form; none where no pointer was given or nothing is there.
    pub value: Option<String>,
}

impl Fact {
    /// The kebab-case word of it.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Found(_) => "found",
            Self::Absent => "absent",
            Self::TooLarge => "too-large",
            Self::Refused(_) => "refused",
            Self::Unreachable(_) => "unreachable",
        }
    }

    /// Why it is no find, where there is more to say than [`Fact::word`].
    pub const fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Refused(reason) | Self::Unreachable(reason) => Some(reason),
            _ => None,
        }
    }

    /// A refusal.
    pub fn refused(code: &'static str, detail: impl Into<String>) -> Self {
        Self::Refused(Reason::new(code, detail))
    }

    /// No answer.
    pub fn unreachable(code: &'static str, detail: impl Into<String>) -> Self {
        Self::Unreachable(Reason::new(code, detail))
    }

    /// The fact that these bytes are there. With a pointer they must be strict JSON: `content-not-json` otherwise, and
    /// `pointer-malformed` where the pointer is none.
    pub fn of(bytes: &[u8], pointer: Option<&str>, canonical: &Canonical) -> Self {
        let value = match pointer.map(|pointer| value(bytes, pointer, canonical)).transpose() {
            Ok(value) => value.flatten(),
            Err(reason) => return Self::Refused(reason),
        };
        let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Self::Found(Found { digest: format!("sha256:{hex}"), length: bytes.len() as u64, value })
    }
}

fn value(bytes: &[u8], pointer: &str, canonical: &Canonical) -> Result<Option<String>, Reason> {
    let no_json = |detail: String| Reason::new("content-not-json", detail);
    let steps = steps(pointer)?;
    let text = std::str::from_utf8(bytes).map_err(|error| no_json(error.to_string()))?;
    // Everything below reads the canonical form, where every reader sees the same members.
    let canonical = canonical(text).map_err(no_json)?;
    let unreadable = |error: serde_json::Error| no_json(error.to_string());
    let mut at: Box<RawValue> = RawValue::from_string(canonical).map_err(unreadable)?;
    for step in &steps {
        let next = match at.get().as_bytes().first() {
            Some(b'{') => serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(at.get())
                .map_err(unreadable)?
                .remove(step.as_str()),
            Some(b'[') => {
                let elements: Vec<Box<RawValue>> = serde_json::from_str(at.get()).map_err(unreadable)?;
                index(step).and_then(|index| elements.into_iter().nth(index))
            }
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => return Ok(None),
        }
    }
    Ok(Some(at.get().to_owned()))
}

/// The reference tokens of RFC 6901.
fn steps(pointer: &str) -> Result<Vec<String>, Reason> {
    let malformed = || Reason::new("pointer-malformed", "the pointer is none of RFC 6901");
    if pointer.is_empty() {
        return Ok(Vec::new());
    }
    let rest = pointer.strip_prefix('/').filter(|_| pointer.len() <= POINTER_BYTES_MAX).ok_or_else(malformed)?;
    rest.split('/')
        .map(|token| {
            let plain = token.replace("~1", "").replace("~0", "");
            if plain.contains('~') { Err(malformed()) } else { Ok(token.replace("~1", "/").replace("~0", "~")) }
        })
        .collect()
}

/// An index of RFC 6901: digits without a leading zero.
fn index(step: &str) -> Option<usize> {
    let digits = step.bytes().all(|byte| byte.is_ascii_digit()) && (step == "0" || !step.starts_with('0'));
    if digits { step.parse().ok() } else { None }
}

/// An operator-configured source, as the host needs it.
#[derive(Clone)]
pub struct DeclaredResolver {
    /// The name that checks and references name.
    pub name: String,
    /// `sha256:…` over the canonical form of the configuration. Inquiries are pinned to it.
    pub digest: String,
    /// What kind of source it is, for people.
    pub kind: &'static str,
    /// Who may have made what is found there: principals, or `*` for anybody. A producer's own word is no independent one.
    pub producers: Vec<String>,
    /// How long one look may take.
    pub deadline: Duration,
    /// The most bytes that are read.
    pub bytes_max: u64,
    /// What looks.
    pub resolver: Arc<dyn Resolver>,
}

impl DeclaredResolver {
    /// Looks, by `deadline` and within the bounds that the operator set, whichever are tighter. A panic of the resolver is
    /// `unreachable`, and so is an answer that comes after the deadline.
    pub fn look(&self, question: &Question, deadline: Instant) -> Fact {
        if question.address.is_empty() || question.address.len() > ADDRESS_BYTES_MAX {
            return Fact::refused("address-malformed", "an address has 1 to 2000 bytes");
        }
        let now = Instant::now();
        let deadline = deadline.min(now + self.deadline);
        if deadline <= now {
            return Fact::unreachable("deadline", "the deadline passed before the look");
        }
        let bounded = Question { bytes_max: question.bytes_max.min(self.bytes_max), ..question.clone() };
        let fact = catch_unwind(AssertUnwindSafe(|| self.resolver.look(&bounded, deadline)));
        match fact {
            Err(_) => Fact::unreachable("resolver-panicked", "the resolver panicked"),
            Ok(Fact::Found(_)) if Instant::now() > deadline => {
                Fact::unreachable("deadline", "the answer came after the deadline")
            }
            Ok(fact) => fact,
        }
    }
}

impl fmt::Debug for DeclaredResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeclaredResolver")
            .field("name", &self.name)
            .field("digest", &self.digest)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
