//! OAuth 2 access tokens: JWTs of one issuer, checked against a file of its public keys.
//!
//! A token stands for a user or for a task, by the claims that the operator named; for nothing else (settled: network, 48).
//! Whether the task incarnation is live is asked of the core with every request. Deliberately not here: fetching keys over
//! the network, and opaque tokens.

mod config;
mod keys;
#[cfg(test)]
mod tests;

pub use config::JwtError;

use super::gate::Denied;
use crate::tokens::{self, CheckPrincipal, Entry, Principal};
use config::Config;
use jsonwebtoken::{Algorithm, Header, Validation, decode, decode_header, jwk::Jwk};
use keys::KeyFile;
use serde_json::{Map, Value};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Who may sign, for whom, and what the claims mean.
pub struct Jwt {
    config: Config,
    keys: KeyFile,
    check: CheckPrincipal,
}

/// What a token proved, and how long it counts.
#[derive(Debug)]
pub(super) struct Proof {
    /// Seconds since the Unix epoch.
    until: u64,
    kid: String,
    key: Jwk,
}

impl Jwt {
    /// Reads a configuration file and the key file that it names. Nobody is let in who does not pass `check`.
    pub fn load(path: &Path, check: CheckPrincipal) -> Result<Self, JwtError> {
        let config = Config::load(path)?;
        let keys = KeyFile::open(config.key_file(path))?;
        let somebody = config.user("somebody".to_owned());
        if check(&entry("", somebody)) == Ok(false) {
            let reason = "tenant is no id that a caller can have (OP-1)".to_owned();
            return Err(JwtError::Invalid { path: path.to_owned(), reason });
        }
        Ok(Jwt { config, keys, check })
    }

    /// Who proves itself with `token`.
    pub(super) fn admit(&self, token: &str) -> Result<(Entry, Proof), Denied> {
        let header = decode_header(token).map_err(|_| Denied::Invalid)?;
        let kid = self.plain(&header).ok_or(Denied::Invalid)?;
        let found = self.keys.find(kid).map_err(|_| Denied::Unavailable)?;
        let (jwk, key) = found.ok_or(Denied::Invalid)?;
        if !keys::fits(&jwk, header.alg) {
            return Err(Denied::Invalid);
        }
        let data = decode::<Map<String, Value>>(token, &key, &self.validation(header.alg));
        let claims = data.map_err(|_| Denied::Invalid)?.claims;
        // One issuer: a list of several is none.
        if claims.get("iss").and_then(Value::as_str) != Some(self.config.issuer.as_str()) {
            return Err(Denied::Invalid);
        }
        let until = self.lifetime(&claims, now()).ok_or(Denied::Invalid)?;
        let principal = self.config.principal(&claims).ok_or(Denied::Invalid)?;
        let entry = entry(token, principal);
        match (self.check)(&entry) {
            Ok(true) => {}
            Ok(false) => return Err(Denied::Invalid),
            Err(_) => return Err(Denied::Unavailable),
        }
        Ok((entry, Proof { until, kid: kid.to_owned(), key: jwk }))
    }

    /// Whether a token that was let in would be let in now.
    pub(super) fn holds(&self, proof: &Proof) -> bool {
        let known = self.keys.find(&proof.kid).is_ok_and(|found| found.is_some_and(|(jwk, _)| jwk == proof.key));
        known && now() < proof.until
    }

    /// The key id of a header that asks for nothing beyond a signature by a known key, with an allowed algorithm.
    fn plain<'h>(&self, header: &'h Header) -> Option<&'h str> {
        let kind = header.typ.as_deref().unwrap_or("JWT");
        let known = ["JWT", "at+jwt", "application/at+jwt"].iter().any(|known| kind.eq_ignore_ascii_case(known));
        let bare = header.crit.is_none() && header.enc.is_none() && header.zip.is_none() && header.cty.is_none();
        let allowed = self.config.algorithms.contains(&header.alg);
        header.kid.as_deref().filter(|_| known && bare && allowed)
    }

    fn validation(&self, algorithm: Algorithm) -> Validation {
        let mut validation = Validation::new(algorithm);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation.set_issuer(&[&self.config.issuer]);
        validation.set_audience(&[&self.config.audience]);
        validation.validate_nbf = true;
        validation.leeway = self.config.leeway_seconds;
        validation
    }

    /// Until when a token counts, if it does not claim to live longer than it may.
    fn lifetime(&self, claims: &Map<String, Value>, now: u64) -> Option<u64> {
        let Config { leeway_seconds: leeway, max_lifetime_seconds: most, .. } = &self.config;
        let expires = claims.get("exp")?.as_u64()?;
        let issued = match claims.get("iat") {
            None => now,
            Some(time) => time.as_u64().filter(|time| *time <= now.saturating_add(*leeway))?,
        };
        let short =
            expires.saturating_sub(issued) <= *most && expires <= now.saturating_add(*most).saturating_add(*leeway);
        short.then(|| expires.saturating_add(*leeway))
    }
}

/// An entry as of the token file, for a token that is in no file: the digest of the token names the credential.
fn entry(token: &str, principal: Principal) -> Entry {
    let token_digest = tokens::digest(token);
    let id = token_digest.chars().skip("sha256:".len()).take(32).collect::<String>();
    Entry { name: "jwt".to_owned(), token_digest, principal, authentication_id: format!("authn_jwt-{id}") }
}

/// Seconds since the Unix epoch. A clock before it lets nobody in: everything is expired then.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(u64::MAX, |since| since.as_secs())
}
