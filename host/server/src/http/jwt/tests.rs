//! Access tokens: what is let in, as whom, and everything that is not.

use super::*;
use jsonwebtoken::{EncodingKey, encode};
use serde_json::json;
use std::path::PathBuf;

const ISSUER: &str = "https://id.example/";
const CONFIG: &str = r#"
issuer = "https://id.example/"
audience = "threadmesh"
algorithms = ["ES256", "EdDSA"]
jwks = "jwks.json"

[user]
id = "sub"

[task]
id = "task"
incarnation = "incarnation"
owner = "sub"
worker = "worker"
"#;

/// An issuer with two keys, and a stranger with a third.
struct Rig {
    folder: tempfile::TempDir,
    curve: EncodingKey,
    edwards: EncodingKey,
    stranger: EncodingKey,
}

fn curve() -> EncodingKey {
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
    EncodingKey::from_ec_der(&pair.serialize_der())
}

/// A seed as PKCS #8 has it (RFC 8410).
fn edwards() -> EncodingKey {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).unwrap();
    let head = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    EncodingKey::from_ed_der(&[&head[..], &seed].concat())
}

fn public(key: &EncodingKey, algorithm: Algorithm, kid: &str) -> Value {
    let mut jwk = serde_json::to_value(Jwk::from_encoding_key(key, algorithm).unwrap()).unwrap();
    jwk["kid"] = kid.into();
    jwk
}

/// An id that the rules do not take.
const REFUSED: &str = "refused";
/// An id of which the rules do not say now whether they do.
const UNKNOWN: &str = "unknown";

fn check() -> CheckPrincipal {
    std::sync::Arc::new(|entry| match entry.principal.id.as_str() {
        UNKNOWN => Err("it does not say".to_owned()),
        id => Ok(![id, &entry.principal.tenant].contains(&REFUSED)),
    })
}

impl Rig {
    fn new() -> Self {
        let rig = Rig { folder: tempfile::tempdir().unwrap(), curve: curve(), edwards: edwards(), stranger: curve() };
        rig.write("jwt.toml", CONFIG);
        rig.publish(&[rig.public_curve(), public(&rig.edwards, Algorithm::EdDSA, "edwards")]);
        rig
    }

    fn public_curve(&self) -> Value {
        public(&self.curve, Algorithm::ES256, "curve")
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn publish(&self, keys: &[Value]) {
        self.write("jwks.json", &json!({"keys": keys}).to_string());
    }

    fn jwt(&self) -> Jwt {
        Jwt::load(&self.folder.path().join("jwt.toml"), check()).unwrap()
    }

    /// What a configuration comes to: why it is refused.
    fn refused(&self, config: &str) -> String {
        Jwt::load(&self.write("other.toml", config), check()).err().expect(config).to_string()
    }

    fn token(&self, claims: &Value) -> String {
        encode(&header(Algorithm::ES256, "curve"), claims, &self.curve).unwrap()
    }
}

fn header(algorithm: Algorithm, kid: &str) -> Header {
    Header { kid: Some(kid.to_owned()), ..Header::new(algorithm) }
}

/// Claims of alice that hold for ten minutes, with `more`.
fn claims(more: &Value) -> Value {
    let now = now();
    let mut claims = json!({"iss": ISSUER, "aud": "threadmesh", "sub": "alice", "iat": now, "exp": now + 600});
    for (name, value) in more.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}

/// base64url without padding.
fn digits(bytes: &[u8]) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let six = |part: &[u8]| usize::from_str_radix(&format!("{:0<6}", str::from_utf8(part).unwrap()), 2).unwrap();
    bits.as_bytes().chunks(6).map(|part| char::from(ALPHABET[six(part)])).collect()
}

#[test]
fn users_and_tasks_are_let_in_by_their_claims() {
    let rig = Rig::new();
    let jwt = rig.jwt();
    let (entry, proof) = jwt.admit(&rig.token(&claims(&json!({})))).unwrap();
    let user = Principal {
        tenant: "default".into(),
        kind: crate::tokens::Kind::User,
        id: "alice".into(),
        incarnation: None,
        owner: None,
        worker: None,
    };
    assert_eq!(entry.principal, user);
    assert!(jwt.holds(&proof));
    let task = json!({"task": "build-1", "incarnation": "inc_build_0001", "worker": "w1"});
    let token = encode(&header(Algorithm::EdDSA, "edwards"), &claims(&task), &rig.edwards).unwrap();
    let (other, _) = jwt.admit(&token).unwrap();
    let task = Principal {
        kind: crate::tokens::Kind::Task,
        id: "build-1".into(),
        incarnation: Some("inc_build_0001".into()),
        owner: Some("user:alice".into()),
        worker: Some("w1".into()),
        ..user
    };
    assert_eq!(other.principal, task);
    assert_ne!(entry.authentication_id, other.authentication_id, "every token is a credential of its own");
    assert!(jwt.admit(&rig.token(&claims(&json!({"aud": ["x", "threadmesh"], "iat": null})))).is_ok());
    let typed = Header { typ: Some("at+jwt".into()), ..header(Algorithm::ES256, "curve") };
    assert!(jwt.admit(&encode(&typed, &claims(&json!({})), &rig.curve).unwrap()).is_ok());
}

#[test]
fn claims_that_do_not_hold_let_nobody_in() {
    let rig = Rig::new();
    let jwt = rig.jwt();
    let now = now();
    for more in [
        json!({"exp": now - 31}),
        json!({"exp": null}),
        json!({"exp": "tomorrow"}),
        json!({"exp": now + 3_700}),
        json!({"iat": now - 3_500, "exp": now + 600}),
        json!({"iat": now + 60}),
        json!({"iat": null, "exp": now + 3_700}),
        json!({"nbf": now + 60}),
        json!({"iss": "https://id.example"}),
        json!({"iss": null}),
        json!({"iss": [ISSUER]}),
        json!({"aud": "other"}),
        json!({"aud": ["other"]}),
        json!({"aud": null}),
        json!({"sub": null}),
        json!({"sub": 7}),
        json!({"sub": REFUSED}),
        json!({"task": "build-1"}),
        json!({"incarnation": "inc_build_0001"}),
        json!({"worker": "w1"}),
        json!({"task": "build-1", "incarnation": ["inc_build_0001"]}),
        json!({"task": "build-1", "incarnation": "inc_build_0001", "worker": 1}),
    ] {
        assert_eq!(jwt.admit(&rig.token(&claims(&more))).err(), Some(Denied::Invalid), "{more}");
    }
    let unknown = jwt.admit(&rig.token(&claims(&json!({"sub": UNKNOWN}))));
    assert_eq!(unknown.err(), Some(Denied::Unavailable), "a good token is not called a bad one");
    assert!(jwt.admit(&rig.token(&claims(&json!({"exp": now - 5})))).is_ok(), "clocks may differ a little");
}

#[test]
fn no_claim_makes_anybody_more_than_a_user_or_a_task() {
    let rig = Rig::new();
    let jwt = rig.jwt();
    let claims = claims(
        &json!({"kind": "operator", "tenant": "other", "roles": ["operator", "policy", "host"], "scope": "host"}),
    );
    let (entry, _) = jwt.admit(&rig.token(&claims)).unwrap();
    assert_eq!((entry.principal.kind, entry.principal.tenant.as_str()), (crate::tokens::Kind::User, "default"));
    let task = json!({"task": "t", "incarnation": "i", "sub": "policy:x", "iss": ISSUER, "aud": "threadmesh", "exp": now() + 60});
    let (entry, _) = jwt.admit(&rig.token(&task)).unwrap();
    assert_eq!(entry.principal.owner.as_deref(), Some("user:policy:x"), "an owner is always a user");
}

#[test]
fn tokens_that_nobody_known_signed_as_allowed_let_nobody_in() {
    let rig = Rig::new();
    let jwt = rig.jwt();
    let claims = claims(&json!({}));
    let sign = |header: Header, key: &EncodingKey| encode(&header, &claims, key).unwrap();
    let good = sign(header(Algorithm::ES256, "curve"), &rig.curve);
    let parts: Vec<&str> = good.split('.').collect();
    let (body, signature) = (parts[1], parts[2]);
    let forged = digits(
        serde_json::to_string(&{
            let mut all = claims.clone();
            all["sub"] = "mallory".into();
            all
        })
        .unwrap()
        .as_bytes(),
    );
    let head = |text: &str| digits(text.as_bytes());
    let x = rig.public_curve()["x"].as_str().unwrap().to_owned();
    let hmac = |secret: &[u8]| sign(header(Algorithm::HS256, "curve"), &EncodingKey::from_secret(secret).unwrap());
    let mut bad = vec![
        ("another key under a known id", sign(header(Algorithm::ES256, "curve"), &rig.stranger)),
        ("an unknown id", sign(header(Algorithm::ES256, "other"), &rig.curve)),
        ("no id", sign(Header::new(Algorithm::ES256), &rig.curve)),
        ("the id of a key of another kind", sign(header(Algorithm::ES256, "edwards"), &rig.curve)),
        ("the public key as a secret", hmac(x.as_bytes())),
        ("the published key as a secret", hmac(rig.public_curve().to_string().as_bytes())),
        ("another body", format!("{}.{forged}.{signature}", parts[0])),
        ("no signature", format!("{}.{body}.", parts[0])),
        ("two parts", format!("{}.{body}", parts[0])),
        ("a fourth part", format!("{good}.x")),
        ("alg none", format!("{}.{body}.", head(r#"{"alg":"none","kid":"curve"}"#))),
        ("alg None", format!("{}.{body}.", head(r#"{"alg":"None","kid":"curve"}"#))),
        ("alg none with a signature", format!("{}.{body}.{signature}", head(r#"{"alg":"none","kid":"curve"}"#))),
        ("no header", format!(".{body}.{signature}")),
        ("nothing", "..".to_owned()),
        ("no token at all", "x".to_owned()),
    ];
    for (what, change) in [
        ("critical extensions", json!({"crit": ["b64"], "b64": true})),
        ("another type", json!({"typ": "JOSE"})),
        ("an identity token", json!({"typ": "id+jwt"})),
        ("a nested token", json!({"cty": "JWT"})),
    ] {
        let mut changed = serde_json::to_value(header(Algorithm::ES256, "curve")).unwrap();
        changed.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        bad.push((what, sign(serde_json::from_value(changed).unwrap(), &rig.curve)));
    }
    for (what, token) in bad {
        assert_eq!(jwt.admit(&token).err(), Some(Denied::Invalid), "{what}: {token}");
    }
    assert!(jwt.admit(&good).is_ok());
    rig.write("jwt.toml", &CONFIG.replace("\"ES256\", ", ""));
    assert_eq!(rig.jwt().admit(&good).err(), Some(Denied::Invalid), "an algorithm that is not allowed");
}

#[test]
fn a_key_that_is_withdrawn_ends_what_it_signed() {
    let rig = Rig::new();
    let jwt = rig.jwt();
    let token = rig.token(&claims(&json!({})));
    let (_, proof) = jwt.admit(&token).unwrap();
    assert!(jwt.holds(&proof));
    let mut other = public(&rig.stranger, Algorithm::ES256, "curve");
    rig.publish(&[other.clone()]);
    assert!(!jwt.holds(&proof), "the id is that of another key now");
    assert_eq!(jwt.admit(&token).err(), Some(Denied::Invalid));
    other["kid"] = "other".into();
    rig.publish(&[rig.public_curve(), other]);
    assert!(jwt.holds(&proof) && jwt.admit(&token).is_ok(), "it is back");
    std::fs::remove_file(rig.folder.path().join("jwks.json")).unwrap();
    assert!(!jwt.holds(&proof));
    assert_eq!(jwt.admit(&token).err(), Some(Denied::Unavailable), "nobody is let in by an old copy");
}

#[test]
fn a_token_ends_with_its_time() {
    let rig = Rig::new();
    rig.write("jwt.toml", &format!("leeway-seconds = 0\n{CONFIG}"));
    let jwt = rig.jwt();
    let (_, proof) = jwt.admit(&rig.token(&claims(&json!({})))).unwrap();
    assert!(jwt.holds(&proof));
    assert!(!jwt.holds(&Proof { until: now(), ..proof }));
}

#[test]
fn keys_that_must_not_be_there_are_refused() {
    let rig = Rig::new();
    let refused = |keys: &[Value]| {
        rig.publish(keys);
        rig.refused(CONFIG)
    };
    assert!(refused(&[json!({"kty": "oct", "kid": "a", "k": "c2VjcmV0"})]).contains("secret key"));
    assert!(refused(&[json!({"kty": "RSA", "kid": "a", "n": digits(&[0xc1; 128]), "e": "AQAB"})]).contains("2048"));
    assert!(refused(&[rig.public_curve(), rig.public_curve()]).contains("two keys"));
    assert!(refused(&[]).contains("no key"));
    let mut sealing = rig.public_curve();
    sealing["use"] = "enc".into();
    assert!(refused(&[sealing]).contains("no key"), "a key for another use is none for signatures");
    assert!(refused(&[json!({"kty": "OKP", "crv": "X25519", "x": "AA"})]).contains("no"));
    let rsa = json!({"kty": "RSA", "kid": "rsa", "n": digits(&[0xc1; 256]), "e": "AQAB"});
    rig.publish(&[rig.public_curve(), rsa]);
    rig.write("jwt.toml", &CONFIG.replace("\"EdDSA\"", "\"RS256\""));
    let jwt = rig.jwt();
    let modulus = [0xc1; 256];
    let hmac =
        encode(&header(Algorithm::HS256, "rsa"), &claims(&json!({})), &EncodingKey::from_secret(&modulus).unwrap());
    assert_eq!(jwt.admit(&hmac.unwrap()).err(), Some(Denied::Invalid), "an RSA key is no secret");
}

/// With a key that was made for this test and is used nowhere else.
#[test]
fn rsa_signatures_of_both_paddings_let_in() {
    let rig = Rig::new();
    let key = EncodingKey::from_rsa_der(include_bytes!("rsa.der"));
    rig.publish(&[public(&key, Algorithm::RS256, "rsa")]);
    let token = |algorithm| encode(&header(algorithm, "rsa"), &claims(&json!({})), &key).unwrap();
    for (algorithm, name) in [(Algorithm::RS256, "RS256"), (Algorithm::PS256, "PS256")] {
        rig.publish(&[public(&key, algorithm, "rsa")]);
        rig.write("jwt.toml", &CONFIG.replace("\"EdDSA\"", &format!("{name:?}")));
        let (entry, _) = rig.jwt().admit(&token(algorithm)).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(entry.principal.id, "alice");
        let other = if name == "RS256" { Algorithm::PS256 } else { Algorithm::RS256 };
        assert_eq!(rig.jwt().admit(&token(other)).err(), Some(Denied::Invalid), "{name} is not the other one");
    }
}

#[test]
fn configurations_that_would_let_in_too_much_are_refused() {
    let rig = Rig::new();
    for (from, to, word) in [
        ("[\"ES256\", \"EdDSA\"]", "[\"HS256\"]", "public keys"),
        ("[\"ES256\", \"EdDSA\"]", "[\"none\"]", "none"),
        ("[\"ES256\", \"EdDSA\"]", "[]", "public keys"),
        ("\"https://id.example/\"", "\"\"", "empty"),
        ("\"threadmesh\"", "\"\"", "empty"),
        ("audience = \"threadmesh\"\n", "", "audience"),
        ("issuer", "isuer", "isuer"),
        ("[user]", "[operator]", "operator"),
        ("owner = \"sub\"\n", "", "owner"),
        ("jwks.json", "missing.json", "missing.json"),
        ("\n[user]", "leeway-seconds = 301\n[user]", "leeway-seconds"),
        ("\n[user]", "max-lifetime-seconds = 86401\n[user]", "max-lifetime-seconds"),
        ("\n[user]", "max-lifetime-seconds = 0\n[user]", "max-lifetime-seconds"),
    ] {
        let refused = rig.refused(&CONFIG.replace(from, to));
        assert!(refused.contains(word), "{to}: {refused}");
    }
    let nobody = CONFIG.split("[user]").next().unwrap();
    assert!(rig.refused(nobody).contains("nobody"));
    use std::os::unix::fs::PermissionsExt;
    let keys = rig.folder.path().join("jwks.json");
    std::fs::set_permissions(keys, std::fs::Permissions::from_mode(0o666)).unwrap();
    assert!(rig.refused(CONFIG).contains("written by others"));
}

#[test]
fn a_tenant_that_nobody_can_have_is_said_at_the_start() {
    let rig = Rig::new();
    assert!(rig.refused(&format!("tenant = \"{REFUSED}\"\n{CONFIG}")).contains("OP-1"));
}
