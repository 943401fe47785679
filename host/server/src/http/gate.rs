//! Who is calling: the bearer token of a request, and whether it still counts.

use super::jwt::{Jwt, Proof};
use crate::standing::Standing;
use crate::tokens::{Entry, TokenBook};
use axum::http::{HeaderMap, header};
use std::sync::Arc;

/// The longest token.
const TOKEN_BYTES_MAX: usize = 8 << 10;

/// Why nobody is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// There is no token.
    Missing,
    /// There is one, and it is not valid.
    Invalid,
    /// Whether it is valid cannot be said now.
    Unavailable,
}

/// What a request proved.
#[derive(Debug)]
pub struct Credential {
    entry: Entry,
    /// What an access token proved; nothing for a token of the token file.
    proof: Option<Proof>,
}

impl Credential {
    /// Who is calling, as an entry of the token file.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }
}

/// Who sent a request; an extension of every request that reaches a handler.
#[derive(Clone, Debug)]
pub struct Caller(Arc<Credential>);

impl Caller {
    /// What was proved.
    pub fn credential(&self) -> &Credential {
        &self.0
    }

    /// Who is calling.
    pub fn entry(&self) -> &Entry {
        &self.0.entry
    }
}

/// Decides who is let in. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Gate {
    book: Arc<TokenBook>,
    jwt: Option<Arc<Jwt>>,
}

impl Gate {
    /// Lets in the tokens of `book`, and the access tokens of an issuer if there is one.
    pub fn new(book: Arc<TokenBook>, jwt: Option<Jwt>) -> Self {
        Gate { book, jwt: jwt.map(Arc::new) }
    }

    /// Who sent a request with these header fields: exactly one `Authorization`, with a bearer token.
    pub fn admit_request(&self, headers: &HeaderMap) -> Result<Caller, Denied> {
        let mut fields = headers.get_all(header::AUTHORIZATION).iter();
        let Some(field) = fields.next() else { return Err(Denied::Missing) };
        if fields.next().is_some() {
            return Err(Denied::Invalid);
        }
        let token = field.to_str().ok().and_then(bearer).ok_or(Denied::Invalid)?;
        Ok(Caller(Arc::new(self.admit(token)?)))
    }

    /// Who proves itself with `token`.
    pub fn admit(&self, token: &str) -> Result<Credential, Denied> {
        match (self.book.resolve(token), &self.jwt) {
            (Ok(Some(entry)), _) => Ok(Credential { entry, proof: None }),
            (Ok(None), Some(jwt)) => {
                let (entry, proof) = jwt.admit(token)?;
                Ok(Credential { entry, proof: Some(proof) })
            }
            (Ok(None), None) => Err(Denied::Invalid),
            // An unreadable token file lets nobody in.
            (Err(_), _) => Err(Denied::Unavailable),
        }
    }

    /// The caller of a request, for as long as its credential would be let in.
    pub fn standing(&self, caller: &Caller) -> Standing {
        let (gate, known) = (self.clone(), caller.clone());
        Standing::new(caller.entry().clone(), Arc::new(move || gate.holds(known.credential())))
    }

    /// Whether a credential that was let in would be let in now.
    pub fn holds(&self, credential: &Credential) -> bool {
        match (&credential.proof, &self.jwt) {
            (None, _) => self.book.holds(&credential.entry).unwrap_or(false),
            (Some(proof), Some(jwt)) => jwt.holds(proof),
            (Some(_), None) => false,
        }
    }
}

/// The token of an `Authorization` field: the scheme `Bearer` and graphic ASCII of a bounded length.
fn bearer(field: &str) -> Option<&str> {
    let (scheme, token) = field.split_once(' ')?;
    let token = token.trim_matches(' ');
    let plain =
        !token.is_empty() && token.len() <= TOKEN_BYTES_MAX && token.bytes().all(|byte| byte.is_ascii_graphic());
    (scheme.eq_ignore_ascii_case("bearer") && plain).then_some(token)
}
