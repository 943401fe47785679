//! Verifiers vouch for what happened, and the operator says whom to believe.

use super::{host, request, unsure, with};
use crate::{
    cast,
    oracle::{Sound, attempts, text},
    outside::Truth,
    random::Random,
    world::World,
};
use ed25519_dalek::{Signer, SigningKey};
use serde_json::{Value, json};
use threadmesh_protocol::{json as documents, time};

/// Keys of verifiers. The second one is believed only after the operator said so.
const KEYS: [[u8; 32]; 2] = [[11; 32], [22; 32]];

fn key_id(key: usize) -> String {
    format!("https://verifier.example/keys/sim-{key}")
}

/// The operator declares whom to believe: both, one, or nobody.
pub fn declare(world: &World, random: &mut Random) {
    let Some(slot) = host(world, random) else { return };
    let keys: &[usize] = match random.below(6) {
        0 => &[],
        1 => &[0, 1],
        _ => &[0],
    };
    let who = if random.chance(90) { cast::operator() } else { cast::policy() };
    let anchors: Vec<Value> = keys.iter().map(|key| anchor(*key)).collect();
    request(world, slot, &who, "anchors.declare", json!({ "anchors": anchors }));
}

fn anchor(key: usize) -> Value {
    let prefix = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    let der = [prefix.as_slice(), SigningKey::from_bytes(&KEYS[key]).verifying_key().as_bytes()].concat();
    let text = base64(&der, b"+/");
    json!({
        "keyId": key_id(key), "algorithm": "ed25519", "actorId": "verifier-service", "trustDomain": "verifier.example",
        "policyId": "policy-effects", "publicKeyPem": format!("-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n"),
    })
}

/// An outcome is said to be verified, with an attestation that is sound or not.
pub fn verify(world: &World, random: &mut Random) {
    let happened = |life: &Value| attempts(life).any(|attempt| world.truth(attempt) == Truth::Happened);
    let any = random.chance(10);
    let rows: Vec<Value> = world.oracle(|oracle| {
        let submitted = |life: &&Value| any || life["delivery"] == "adapter-submitted";
        oracle.rows("life").map(|(_, life)| life).filter(submitted).cloned().collect()
    });
    let known = random.one(&rows).filter(|life| any || happened(life));
    let (Some(slot), Some(life)) = (host(world, random), known) else { return };
    if random.chance(40) {
        declare(world, random);
    }
    let refs = json!([format!("resource:{}", random.below(3))]);
    let sound = random.chance(55) && happened(&life);
    let attestation = attestation(world, random, &life, &refs, sound);
    let who = match random.below(8) {
        0 => cast::host(),
        1 => cast::policy(),
        2 => cast::operator(),
        3 => cast::user("bob"),
        4 => cast::user("alice"),
        _ => cast::receiver(&life),
    };
    let params = json!({
        "outcome": "externally-verified", "evidenceRefs": refs, "verificationAttestations": [attestation],
    });
    request(world, slot, &who, "messages.recordOutcome", with(unsure(random, &life), params));
}

/// An attestation about the message and the evidence; the oracle knows the sound ones.
fn attestation(world: &World, random: &mut Random, life: &Value, refs: &Value, sound: bool) -> Value {
    let flaw = if sound { 9 } else { random.below(8) };
    if !sound {
        world.count("attestation-flawed");
    }
    let number = world.cast(|cast| {
        cast.vouched += 1;
        cast.vouched
    });
    let digest = |value: &Value| documents::parse(&value.to_string()).map(|tree| tree.digest()).unwrap_or_default();
    let urgent = life["intent"] == "interrupt";
    let claim = if urgent == (flaw != 0) { "interruption-target-state" } else { "external-effect" };
    let at = time::format(world.time.now() - if flaw == 1 { 7_000_000 } else { 0 });
    let message = if flaw == 2 { cast::message_id(0) } else { text(life, "messageId").to_owned() };
    let receiver = json!({
        "taskId": life["receiver"]["taskId"],
        "incarnationId": if flaw == 3 { json!("inc_other-0001") } else { life["receiver"]["incarnationId"].clone() },
    });
    let evidence = if flaw == 4 { digest(&json!(["resource:9"])) } else { digest(refs) };
    let payload = json!({
        "specVersion": "0.0-draft", "attestationId": format!("att_sim-{number:06}"),
        "verifier": {
            "actorType": "service", "actorId": "verifier-service", "authenticationId": "authn_verifier-01",
            "trustDomain": "verifier.example",
        },
        "subject": {
            "messageId": message, "senderIncarnationId": life["sender"]["incarnationId"], "receiver": receiver,
            "claimType": claim, "claimDigest": format!("sha256:{:064}", 3),
        },
        "method": "direct-resource-query", "evidenceDigest": evidence, "verifiedAt": at,
        "trustPolicy": {
            "policyId": "policy-effects", "decisionId": "decision_00003", "decision": "trusted", "decidedAt": at,
        },
    });
    let key = usize::from(random.chance(30));
    if sound {
        let about = |name: &str| life[name].clone();
        let sound = Sound {
            key: key_id(key),
            message: about("messageId"),
            sender: about("sender"),
            receiver: about("receiver"),
            evidence: refs.clone(),
            at: world.time.now(),
            interrupts: urgent,
        };
        world.oracle(|oracle| oracle.vouched(&payload["attestationId"], sound));
    }
    let signed = digest(&payload);
    let mut signature = SigningKey::from_bytes(&KEYS[key]).sign(signed.as_bytes()).to_bytes();
    if flaw == 5 {
        signature[7] ^= 1;
    }
    let named = if flaw == 6 { 1 - key } else { key };
    let proof = json!({
        "algorithm": "ed25519", "keyId": key_id(named), "signature": base64(&signature, b"-_").trim_end_matches('='),
    });
    let mut attestation = with(payload, json!({"signedPayloadDigest": signed, "proof": proof}));
    if flaw == 7 {
        attestation["method"] = "provider-signed-receipt".into();
    }
    attestation
}

/// Base64 with these two last digits, padded.
fn base64(bytes: &[u8], last: &[u8; 2]) -> String {
    let digits: Vec<u8> = (b'A'..=b'Z').chain(b'a'..=b'z').chain(b'0'..=b'9').chain(*last).collect();
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let word = (0..3).fold(0_usize, |word, at| word << 8 | usize::from(group.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let digit = digits[word >> (18 - 6 * at) & 63];
            text.push(if at <= group.len() { char::from(digit) } else { '=' });
        }
    }
    text
}
