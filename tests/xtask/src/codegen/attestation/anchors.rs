//! Vectors of the list of anchors: its form, and the keys in it.

use super::{
    Expected, Vector,
    documents::{KEY_ID, P256_KEY_ID, anchor, anchors, p256_verifier, verifier, with},
    keys::{self, ED25519_PREFIX, P256_PREFIX, Signer, pem, spki},
    rules,
};
use serde_json::{Value, json};

/// The public key that the fixtures of the draft are signed with.
const DRAFT_PEM: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEARAm0fFqBscj2CVMevgBvs47+qutcqHz7L9apNsePGCQ=\n-----END PUBLIC KEY-----\n";
/// The rules that every good anchor passes.
const FORM: std::ops::RangeInclusive<u32> = 3..=14;

pub(super) fn vectors() -> Vec<Vector> {
    let mut all = accepted();
    all.extend(texts());
    all.extend(members());
    all.extend(pem_forms());
    all.extend(spki_forms());
    all.extend(points());
    all
}

fn vector(name: impl Into<String>, rules: Vec<String>, text: String, expected: Expected) -> Vector {
    Vector { name: name.into(), rules, function: "check-anchors", args: json!({"anchors": text}), expected }
}

fn refused(name: impl Into<String>, rule: u32, list: &Value, pointer: &str) -> Vector {
    vector(name, rules([rule]), list.to_string(), Expected::error("anchor-invalid", pointer))
}

fn accepted() -> Vec<Vector> {
    let ok = |name: &str, rules: Vec<String>, list: Value| {
        let count = list.as_array().map_or(0, Vec::len);
        vector(name, rules, list.to_string(), Expected::Ok(json!(count)))
    };
    let window = json!([with(
        with(
            with(
                with(anchor(&verifier(), KEY_ID), "/notBefore", "2026-01-01T00:00:00Z"),
                "/notAfter",
                "2026-01-01T00:00:00.001Z"
            ),
            "/revokedAt",
            "2025-01-01T02:00:00+02:00"
        ),
        "/claimTypes",
        json!(["resource-state", "external-effect"])
    )]);
    let same_key = json!([anchor(&verifier(), "one"), anchor(&verifier(), "two")]);
    let longest = with(
        with(json!([anchor(&verifier(), &"é".repeat(500))]), "/0/trustDomain", "d".repeat(500)),
        "/0/actorId",
        "a".repeat(200),
    );
    let draft =
        with(json!([anchor(&verifier(), "https://verifier.example/keys/2026-08")]), "/0/publicKeyPem", DRAFT_PEM);
    let many: Vec<Value> = (0..256).map(|at| anchor(&p256_verifier(), &format!("key-{at}"))).collect();
    vec![
        ok("no anchors", rules(3..=4), json!([])),
        ok("an Ed25519 key and a P-256 key", rules(3..=16), anchors()),
        ok("a window, a revocation and claim types", rules(3..=16), window),
        ok("one key under two ids", rules(FORM), same_key),
        ok("the longest names, counted in characters", rules([6]), longest),
        ok("the key of the draft's own fixtures", rules(12..=16), draft),
        ok("as many as allowed", rules([4, 11]), Value::Array(many)),
        ok(
            "a PEM block without its last line feed",
            rules([12]),
            json!([with(anchor(&verifier(), KEY_ID), "/publicKeyPem", pem(&verifier().spki()).trim_end())]),
        ),
    ]
}

/// The list as a text.
fn texts() -> Vec<Vector> {
    let duplicate = anchors().to_string().replacen("\"actorId\"", "\"actorId\":\"first\",\"actorId\"", 1);
    let fault = |name: &str, text: &str, pointer: &str| {
        vector(name, rules([3]), text.into(), Expected::error("anchor-invalid", pointer))
    };
    let many = Value::Array(vec![json!({}); 257]);
    vec![
        fault("no text", "", ""),
        fault("an object instead of a list", &anchor(&verifier(), KEY_ID).to_string(), ""),
        fault("null instead of a list", "null", ""),
        fault("text after the list", "[] []", ""),
        fault("a member twice in an anchor", &duplicate, "/0/actorId"),
        refused("more than allowed", 4, &many, ""),
    ]
}

fn members() -> Vec<Vector> {
    let good = || json!([anchor(&verifier(), KEY_ID)]);
    let set = |pointer: &str, value: Value| with(good(), pointer, value);
    let mut all = vec![
        refused("a string instead of an anchor", 5, &json!(["key"]), "/0"),
        refused("a member that no anchor has", 5, &set("/0/purpose", json!("all")), "/0/purpose"),
        refused(
            "a member whose name differs in case",
            5,
            &set("/0/notafter", json!("2026-01-01T00:00:00Z")),
            "/0/notafter",
        ),
        refused("a fault in the second anchor", 5, &json!([anchor(&verifier(), KEY_ID), {}]), "/1/keyId"),
    ];
    for name in ["keyId", "algorithm", "actorId", "trustDomain", "policyId", "publicKeyPem"] {
        let mut list = good();
        list[0].as_object_mut().expect("an anchor is an object").remove(name);
        all.push(refused(format!("no {name}"), 5, &list, &format!("/0/{name}")));
    }
    for (name, longest) in [("keyId", 500), ("actorId", 200), ("trustDomain", 500), ("policyId", 500)] {
        let pointer = format!("/0/{name}");
        all.push(refused(format!("an empty {name}"), 6, &set(&pointer, json!("")), &pointer));
        all.push(refused(
            format!("a {name} that is too long"),
            6,
            &set(&pointer, json!("x".repeat(longest + 1))),
            &pointer,
        ));
        all.push(refused(format!("a {name} that is a number"), 6, &set(&pointer, json!(1)), &pointer));
    }
    for algorithm in [json!("none"), json!("Ed25519"), json!("rsa-pss-sha256"), json!("ed448"), json!(""), json!(null)]
    {
        all.push(refused(format!("algorithm {algorithm}"), 7, &set("/0/algorithm", algorithm), "/0/algorithm"));
    }
    all.extend(optional_members(&set));
    all
}

fn optional_members(set: &dyn Fn(&str, Value) -> Value) -> Vec<Vector> {
    let mut all = Vec::new();
    for name in ["notBefore", "notAfter", "revokedAt"] {
        let pointer = format!("/0/{name}");
        for time in [
            json!("2026-01-01 00:00:00Z"),
            json!("2026-01-01T00:00:00"),
            json!("2026-02-30T00:00:00Z"),
            json!(1_772_366_400_000_i64),
            json!(null),
        ] {
            all.push(refused(format!("{name} {time}"), 8, &set(&pointer, time), &pointer));
        }
    }
    for (name, end) in
        [("an empty window", "2026-01-01T00:00:00Z"), ("a window that ends before it begins", "2025-12-31T23:59:59Z")]
    {
        let list = with(set("/0/notBefore", json!("2026-01-01T01:00:00+01:00")), "/0/notAfter", end);
        all.push(refused(name, 9, &list, "/0/notAfter"));
    }
    for (name, types, place) in [
        ("no claim types", json!([]), ""),
        ("claim types that are no list", json!("external-effect"), ""),
        ("a claim type that there is not", json!(["external-effect", "everything"]), "/1"),
        ("a claim type twice", json!(["external-effect", "artifact-state", "external-effect"]), "/2"),
    ] {
        all.push(refused(name, 10, &set("/0/claimTypes", types), &format!("/0/claimTypes{place}")));
    }
    let twice =
        json!([anchor(&verifier(), KEY_ID), anchor(&p256_verifier(), P256_KEY_ID), anchor(&p256_verifier(), KEY_ID)]);
    all.push(refused("a key id twice", 11, &twice, "/2/keyId"));
    all
}

/// A list of one anchor with another text for its key.
fn keyed(signer: &Signer, text: impl Into<String>) -> Value {
    with(json!([anchor(signer, KEY_ID)]), "/0/publicKeyPem", text.into())
}

fn pem_forms() -> Vec<Vector> {
    let good = pem(&verifier().spki());
    let wide = pem(&p256_verifier().spki());
    let body = good.lines().nth(1).unwrap_or_default().to_owned();
    // The last two bytes of the key, in three digits whose last holds two bits too many.
    let (head, tail) = good.split_at(good.find("=\n").unwrap_or(0) - 1);
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let next = tail.chars().next().and_then(|digit| digits.chars().nth(digits.find(digit)? + 1)).unwrap_or_default();
    let one_line = wide.replacen('\n', "\0", 1).replacen('\n', "", 1).replace('\0', "\n");
    let short_line = wide.replacen('\n', "\0", 1).replacen('\n', "", 1).replace('\0', "\n");
    let short_line = format!("{}\n{}", &short_line[..67], &short_line[67..]);
    let faults = [
        ("no text", String::new()),
        ("the base64 alone", body),
        ("CRLF line ends", good.replace('\n', "\r\n")),
        ("two line feeds at the end", format!("{good}\n")),
        ("a space before the block", format!(" {good}")),
        ("text before the block", format!("Verifier key:\n{good}")),
        ("text after the block", format!("{good}# verifier\n")),
        ("the block twice", format!("{good}{good}")),
        ("two different blocks", format!("{good}{wide}")),
        ("the label of a private key", good.replace("PUBLIC", "PRIVATE")),
        ("the label of another public key", good.replace("PUBLIC KEY", "RSA PUBLIC KEY")),
        ("a header before the base64", good.replacen('\n', "\nComment: key\n\n", 1)),
        ("base64 broken in the middle", good.replacen("MCow", "MCow\n", 1)),
        ("a space in the base64", good.replacen("MCow", "MCow ", 1)),
        ("124 characters in one line", one_line),
        ("lines of other lengths", short_line),
        ("no padding", good.replace("=\n", "\n")),
        ("too much padding", good.replace("=\n", "==\n")),
        ("trailing bits that are not zero", format!("{head}{next}{}", &tail[1..])),
        ("the URL alphabet", DRAFT_PEM.replace('+', "-")),
        ("no base64 at all", "-----BEGIN PUBLIC KEY-----\n\n-----END PUBLIC KEY-----\n".into()),
    ];
    let text = |(name, text): (&str, String)| {
        let signer = if text.contains("MFkw") { p256_verifier() } else { verifier() };
        refused(format!("PEM: {name}"), 12, &keyed(&signer, text), "/0/publicKeyPem")
    };
    let other = keyed(&verifier(), "");
    let number = with(other, "/0/publicKeyPem", 7);
    faults.into_iter().map(text).chain([refused("PEM: a number", 12, &number, "/0/publicKeyPem")]).collect()
}

fn spki_forms() -> Vec<Vector> {
    let (ed25519, p256) = (verifier().spki(), p256_verifier().spki());
    let changed = |der: &[u8], at: usize, byte: u8| {
        let mut der = der.to_vec();
        der[at] = byte;
        der
    };
    let longer = |der: &[u8]| [der, &[0]].concat();
    let shorter = |der: &[u8]| der[..der.len() - 1].to_vec();
    let compressed = [&[0x30, 0x39], &P256_PREFIX[2..24], &[0x22, 0x00, 0x02], &p256[27..59]].concat();
    let secp256k1_id: &[u8] = &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x0a];
    let secp256k1 = [&[0x30, 0x56, 0x30, 0x10], &P256_PREFIX[4..13], secp256k1_id, &p256[23..]].concat();
    let p384_id: &[u8] = &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22];
    let p384 =
        [&[0x30, 0x76, 0x30, 0x10], &P256_PREFIX[4..13], p384_id, &[0x03, 0x62, 0x00, 0x04], &[0x55; 96]].concat();
    let rsa_head: &[u8] = &[
        0x30, 0x81, 0x9f, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
        0x03, 0x81, 0x8d, 0x00, 0x30, 0x81, 0x89, 0x02, 0x81, 0x81, 0x00,
    ];
    let rsa = [rsa_head, &[0xc5; 128], &[0x02, 0x03, 0x01, 0x00, 0x01]].concat();
    let null_parameters =
        [&[0x30, 0x2c, 0x30, 0x07], &ED25519_PREFIX[4..9], &[0x05, 0x00, 0x03, 0x21, 0x00], &ed25519[12..]].concat();
    let mut all = Vec::new();
    for (name, signer, der) in [
        ("a P-256 key as ed25519", verifier(), p256.clone()),
        ("an RSA key as ed25519", verifier(), rsa.clone()),
        ("an X25519 key as ed25519", verifier(), changed(&ed25519, 8, 0x6e)),
        ("an Ed448 identifier as ed25519", verifier(), changed(&ed25519, 8, 0x71)),
        ("ed25519 with NULL parameters", verifier(), null_parameters),
        ("ed25519 with a byte too many", verifier(), longer(&ed25519)),
        ("ed25519 with a byte too few", verifier(), shorter(&ed25519)),
        ("ed25519 with unused bits", verifier(), changed(&ed25519, 11, 1)),
        ("a raw ed25519 key", verifier(), ed25519[12..].to_vec()),
        ("an Ed25519 key as ecdsa-p256-sha256", p256_verifier(), ed25519.clone()),
        ("an RSA key as ecdsa-p256-sha256", p256_verifier(), rsa),
        ("a P-384 key as ecdsa-p256-sha256", p256_verifier(), p384),
        ("a secp256k1 key as ecdsa-p256-sha256", p256_verifier(), secp256k1),
        ("a compressed P-256 point", p256_verifier(), compressed),
        ("a hybrid P-256 point", p256_verifier(), changed(&p256, 26, 6)),
        ("P-256 with a byte too many", p256_verifier(), longer(&p256)),
        ("P-256 with a byte too few", p256_verifier(), shorter(&p256)),
        ("P-256 with unused bits", p256_verifier(), changed(&p256, 25, 1)),
    ] {
        all.push(refused(format!("key: {name}"), 13, &keyed(&signer, pem(&der)), "/0/publicKeyPem"));
    }
    all
}

fn points() -> Vec<Vector> {
    let mut off_curve = p256_verifier().spki();
    off_curve[90] ^= 1;
    let mut above_p = P256_PREFIX.to_vec();
    above_p.push(4);
    above_p.extend([0xff; 64]);
    let mut all = Vec::new();
    for (name, signer, der) in [
        ("a P-256 point beside the curve", p256_verifier(), off_curve),
        ("P-256 coordinates of zero", p256_verifier(), spki(P256_PREFIX, &[&[4][..], &[0; 64]].concat())),
        ("P-256 coordinates above the field", p256_verifier(), above_p),
        ("an Ed25519 y of 2, which no point has", verifier(), spki(ED25519_PREFIX, &[&[2][..], &[0; 31]].concat())),
        ("an Ed25519 y of p + 2, which no point has", verifier(), spki(ED25519_PREFIX, &keys::above_p(2))),
    ] {
        all.push(refused(format!("key: {name}"), 14, &keyed(&signer, pem(&der)), "/0/publicKeyPem"));
    }
    for (name, key, rule) in keys::weak_ed25519() {
        let list = keyed(&verifier(), pem(&spki(ED25519_PREFIX, &key)));
        all.push(refused(format!("key: {name}"), rule, &list, "/0/publicKeyPem"));
    }
    all
}
