//! The issuer's public keys: a JWKS file, re-read whenever it changes.

use super::config::{JwtError, read};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A modulus of 2048 bits has 342 or 343 digits of base64url.
const RSA_DIGITS_MIN: usize = 342;

/// A key file that follows its changes, so that a removed key ends what was let in with it.
pub(super) struct KeyFile {
    path: PathBuf,
    seen: Mutex<Option<(Stamp, Keys)>>,
}

type Keys = HashMap<String, (Jwk, DecodingKey)>;
/// What tells one state of the file from another.
type Stamp = (u64, u64, i64, i64, u64);

impl KeyFile {
    /// Opens the file. Fails where it is no JWKS, or holds a key that must not be there.
    pub fn open(path: PathBuf) -> Result<Self, JwtError> {
        let file = KeyFile { path, seen: Mutex::new(None) };
        file.find("")?;
        Ok(file)
    }

    /// The key with this id as it is in the file now. An unreadable file is an error: nobody is let in by an old copy.
    pub fn find(&self, kid: &str) -> Result<Option<(Jwk, DecodingKey)>, JwtError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.stamp()?;
        if let Some((then, keys)) = seen.as_ref()
            && *then == now
        {
            return Ok(keys.get(kid).cloned());
        }
        *seen = None;
        let keys = self.load()?;
        Ok(seen.insert((now, keys)).1.get(kid).cloned())
    }

    fn stamp(&self) -> Result<Stamp, JwtError> {
        let io = |source| JwtError::Io { path: self.path.clone(), source };
        let meta = std::fs::metadata(&self.path).map_err(io)?;
        Ok((meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec(), meta.size()))
    }

    fn load(&self) -> Result<Keys, JwtError> {
        let invalid = |reason: String| JwtError::Invalid { path: self.path.clone(), reason };
        let set: JwkSet =
            serde_json::from_str(&read(&self.path)?).map_err(|error| invalid(format!("is no JWKS: {error}")))?;
        let mut keys = Keys::new();
        for jwk in set.keys {
            if let Some((kid, key)) = usable(&jwk).map_err(invalid)?
                && keys.insert(kid.clone(), (jwk, key)).is_some()
            {
                return Err(invalid(format!("two keys have the id {kid:?}")));
            }
        }
        if keys.is_empty() {
            return Err(invalid("holds no key with an id that signatures can be checked with".to_owned()));
        }
        Ok(keys)
    }
}

/// The id and the key of what may have signed; nothing for keys of other uses and kinds. A secret key among public ones, or
/// a short one, is an error.
fn usable(jwk: &Jwk) -> Result<Option<(String, DecodingKey)>, String> {
    let signs = !matches!(jwk.common.public_key_use, Some(PublicKeyUse::Encryption | PublicKeyUse::Other(_)));
    match &jwk.algorithm {
        AlgorithmParameters::OctetKey(_) => return Err("holds a secret key: only public ones belong there".to_owned()),
        AlgorithmParameters::RSA(rsa) if rsa.n.len() < RSA_DIGITS_MIN => {
            return Err("holds an RSA key of less than 2048 bits".to_owned());
        }
        AlgorithmParameters::Other(_) => return Ok(None),
        _ => {}
    }
    let Some(kid) = jwk.common.key_id.clone().filter(|kid| signs && !kid.is_empty()) else { return Ok(None) };
    let key = DecodingKey::from_jwk(jwk).map_err(|error| format!("holds a key {kid:?} that is none: {error}"))?;
    Ok(Some((kid, key)))
}

/// Whether a key is one for this algorithm: by its kind and curve, and by what it says itself.
pub(super) fn fits(jwk: &Jwk, algorithm: Algorithm) -> bool {
    let said = jwk.common.key_algorithm.is_none_or(|known| known == KeyAlgorithm::from(algorithm));
    let kind = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => {
            use Algorithm::{PS256, PS384, PS512, RS256, RS384, RS512};
            matches!(algorithm, RS256 | RS384 | RS512 | PS256 | PS384 | PS512)
        }
        AlgorithmParameters::EllipticCurve(key) => match key.curve {
            EllipticCurve::P256 => algorithm == Algorithm::ES256,
            EllipticCurve::P384 => algorithm == Algorithm::ES384,
            _ => false,
        },
        AlgorithmParameters::OctetKeyPair(key) => key.curve == EllipticCurve::Ed25519 && algorithm == Algorithm::EdDSA,
        _ => false,
    };
    said && kind
}
