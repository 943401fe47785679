//! Vectors of signatures: what libraries disagree about, and every form but the one.

use super::{
    Expected, NOW, Vector,
    documents::{
        KEY_ID, P256_KEY_ID, anchors, canonical, message, p256_verifier, payload, proven, sealed_with, verifier, with,
    },
    keys::{Signer, base64url, ed25519_key, torsion},
    rules,
    trust::vector,
};
use curve25519_dalek::{EdwardsPoint, Scalar};
use p256::ecdsa::Signature;
use serde_json::Value;
use sha2::{Digest, Sha256, Sha512};

pub(super) fn vectors() -> Vec<Vector> {
    let mut all = texts();
    all.extend(ed25519());
    all.extend(p256());
    all
}

/// The payload with a signature given as text.
fn sealed_text(algorithm: &str, signature: &str) -> Value {
    let key_id = if algorithm == "ed25519" { KEY_ID } else { P256_KEY_ID };
    sealed_with(payload(), algorithm, key_id, signature)
}

fn refused(name: &str, rule: u32, algorithm: &str, signature: &[u8]) -> Vector {
    let document = sealed_text(algorithm, &base64url(signature));
    let expected = Expected::error("verification-proof-invalid", "/proof/signature");
    vector(format!("{algorithm}: {name}"), rules([rule]), &document, &anchors(), NOW, expected)
}

fn texts() -> Vec<Vector> {
    let message = message(&payload());
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut all = Vec::new();
    for signer in [verifier(), p256_verifier()] {
        let algorithm = signer.algorithm();
        let good = base64url(&signer.sign(message.as_bytes()));
        let (head, last) = good.split_at(good.len() - 1);
        let next = digits.find(last).and_then(|at| digits.get(at + 1..at + 2)).unwrap_or("A");
        // Only where digits hold more bits than bytes is there something to get wrong.
        let trailing = (!good.len().is_multiple_of(4)).then(|| format!("{head}{next}"));
        let forms = [
            ("trailing bits that are not zero", trailing.as_deref()),
            ("padding", Some(&*format!("{good}=="))),
            ("the standard alphabet", Some(&*format!("+{}", &good[1..]))),
            ("a line feed at the end", Some(&*format!("{good}\n"))),
            ("a space at the end", Some(&*format!("{good} "))),
            ("a length that no bytes have", Some(&*"A".repeat(45))),
        ];
        for (name, text) in forms.into_iter().filter_map(|(name, text)| Some((name, text?))) {
            let document = sealed_text(algorithm, text);
            let expected = Expected::error("verification-attestation-invalid", "/proof/signature");
            all.push(vector(
                format!("{algorithm}: {name}"),
                vec!["SH-10".into()],
                &document,
                &anchors(),
                NOW,
                expected,
            ));
        }
    }
    all
}

fn ed25519() -> Vec<Vector> {
    let signer = verifier();
    let text = message(&payload());
    let good = signer.sign(text.as_bytes());
    let raw: [u8; 32] = Sha256::digest(canonical(&payload())).into();
    let scalar = ed25519_key("verifier").to_scalar();
    let nonce = Scalar::from_bytes_mod_order_wide(&Sha512::digest("nonce of the vectors").into());
    let base = EdwardsPoint::mul_base(&nonce);
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        bytes
    };
    let mut all = Vec::new();
    for (name, rule, signature) in [
        (
            "R is the identity, which the equation allows",
            30,
            signed(EdwardsPoint::default(), Scalar::ZERO, scalar, &text),
        ),
        (
            "R is of small order, which only cofactored verifiers take",
            30,
            signed(torsion(), Scalar::ZERO, scalar, &text),
        ),
        (
            "R has a torsion component, which only cofactored verifiers take",
            30,
            signed(base + torsion(), nonce, scalar, &text),
        ),
        ("R is not canonical", 30, [&super::keys::above_p(1)[..], &good[32..]].concat()),
        ("S plus the group order", 30, with_order_added(&good)),
        ("S is zero", 30, [&good[..32], &[0; 32]].concat()),
        ("all bytes are zero", 30, vec![0; 64]),
        ("a bit of R changed", 30, flipped(0)),
        ("a bit of S changed", 30, flipped(32)),
        ("by another key", 30, Signer::ed25519("stranger").sign(text.as_bytes())),
        ("over the bytes of the digest", 30, signer.sign(&raw)),
        ("over the payload", 30, signer.sign(canonical(&payload()).as_bytes())),
        ("over the digest without its prefix", 30, signer.sign(text.trim_start_matches("sha256:").as_bytes())),
        ("a byte too many", 29, [&good[..], &[0]].concat()),
        ("half of it", 29, good[..33].to_vec()),
        ("a P-256 signature", 29, p256_verifier().sign(text.as_bytes())),
    ] {
        all.push(refused(name, rule, "ed25519", &signature));
    }
    // The honest path of the construction above, to show that it signs.
    let honest = sealed_text("ed25519", &base64url(&signed(base, nonce, scalar, &text)));
    all.push(vector(
        "ed25519: a nonce of the signer's choice",
        rules(29..=30),
        &honest,
        &anchors(),
        NOW,
        proven(&honest),
    ));
    let other = with(payload(), "/subject/messageId", "msg_vector-0002");
    let moved = sealed_with(other, "ed25519", KEY_ID, &base64url(&good));
    let expected = Expected::error("verification-proof-invalid", "/proof/signature");
    all.push(vector("ed25519: a signature of another attestation", rules([30]), &moved, &anchors(), NOW, expected));
    all
}

/// A signature with the given R = `nonce`·B plus whatever; S = nonce + k·a.
fn signed(r: EdwardsPoint, nonce: Scalar, scalar: Scalar, message: &str) -> Vec<u8> {
    let r = r.compress();
    let public = EdwardsPoint::mul_base(&scalar).compress();
    let hash = Sha512::new().chain_update(r.0).chain_update(public.0).chain_update(message).finalize();
    let s = nonce + Scalar::from_bytes_mod_order_wide(&hash.into()) * scalar;
    [r.0, s.to_bytes()].concat()
}

/// The signature with S + L, the same scalar in other bytes.
fn with_order_added(signature: &[u8]) -> Vec<u8> {
    let order: [u8; 32] = {
        let mut bytes = (Scalar::ZERO - Scalar::ONE).to_bytes();
        bytes[0] += 1;
        bytes
    };
    let mut carry = 0u16;
    let mut bytes = signature.to_vec();
    for (byte, add) in bytes[32..].iter_mut().zip(order) {
        carry += u16::from(*byte) + u16::from(add);
        *byte = carry.to_le_bytes()[0];
        carry >>= 8;
    }
    bytes
}

fn p256() -> Vec<Vector> {
    const ALGORITHM: &str = "ecdsa-p256-sha256";
    let signer = p256_verifier();
    let text = message(&payload());
    let good = signer.sign_p256(text.as_bytes());
    let (r, s) = (good.r().to_bytes(), good.s().to_bytes());
    let (low, high) = {
        let low = good.normalize_s();
        (low, Signature::from_scalars(low.r(), -low.s()).expect("both are in range"))
    };
    let mut all = Vec::new();
    for (name, signature) in [("S in the lower half", low), ("S in the upper half: P-256 is malleable", high)] {
        let document = sealed_text(ALGORITHM, &base64url(signature.to_der().as_bytes()));
        all.push(vector(format!("{ALGORITHM}: {name}"), rules(29..=30), &document, &anchors(), NOW, proven(&document)));
    }
    let der = good.to_der().as_bytes().to_vec();
    let long_form = [&[0x30, 0x81], &der[1..]].concat();
    let indefinite = [&[0x30, 0x80], &der[2..], &[0, 0]].concat();
    let order = hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");
    let raw: [u8; 32] = Sha256::digest(canonical(&payload())).into();
    for (name, rule, signature) in [
        ("r and s side by side", 29, [r, s].concat()),
        ("a byte after it", 29, [&der[..], &[0]].concat()),
        ("a byte after it, inside the sequence", 29, sequence(&[&integer(&r), &integer(&s), &[0x05, 0x00]])),
        ("a leading zero that is not needed", 29, sequence(&[&padded(&r), &integer(&s)])),
        ("a negative r", 29, sequence(&[&negative(&r), &integer(&s)])),
        ("the length in the long form", 29, long_form),
        ("no definite length", 29, indefinite),
        ("a byte too few", 29, der[..der.len() - 1].to_vec()),
        ("r is zero", 29, sequence(&[&[0x02, 0x01, 0x00], &integer(&s)])),
        ("s is zero", 29, sequence(&[&integer(&r), &[0x02, 0x01, 0x00]])),
        ("r is the group order", 29, sequence(&[&integer(&order), &integer(&s)])),
        ("s is the group order", 29, sequence(&[&integer(&r), &integer(&order)])),
        ("r alone", 29, sequence(&[&integer(&r)])),
        ("a set instead of a sequence", 29, [&[0x31], &der[1..]].concat()),
        ("an Ed25519 signature", 29, verifier().sign(text.as_bytes())),
        ("r and s exchanged", 30, sequence(&[&integer(&s), &integer(&r)])),
        ("by another key", 30, Signer::p256("stranger").sign(text.as_bytes())),
        ("over the bytes of the digest", 30, signer.sign(&raw)),
        ("over the payload", 30, signer.sign(canonical(&payload()).as_bytes())),
    ] {
        all.push(refused(name, rule, ALGORITHM, &signature));
    }
    all
}

/// DER of an unsigned integer from its 32 bytes.
fn integer(bytes: &[u8]) -> Vec<u8> {
    let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len() - 1);
    let digits = &bytes[start..];
    let sign: &[u8] = if digits[0] < 0x80 { &[] } else { &[0] };
    tagged(0x02, &[sign, digits].concat())
}

/// The same with one zero byte too many.
fn padded(bytes: &[u8]) -> Vec<u8> {
    let short = integer(bytes);
    tagged(0x02, &[&[0], &short[2..]].concat())
}

/// A 32-byte integer whose highest bit is its sign.
fn negative(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[0] |= 0x80;
    tagged(0x02, &bytes)
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    tagged(0x30, &parts.concat())
}

fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).expect("a short content");
    [&[tag, length], content].concat()
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex digits")).collect()
}
