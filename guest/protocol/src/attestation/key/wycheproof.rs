//! Project Wycheproof's signatures, through the loader and the verifier that attestations use.

use super::Key;
use crate::attestation::algorithm::Algorithm;
use crate::{Rule, rules::Broken};
use std::{println, vec::Vec};
use wycheproof::{ecdsa, eddsa};

/// What became of the cases of a set.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    keys: usize,
    keys_refused: usize,
    accepted: usize,
    refused: usize,
    refused_as_form: usize,
}

/// A case: its number, message, signature, and whether it must be accepted.
type Case = (usize, Vec<u8>, Vec<u8>, bool);

fn run(count: &mut Count, algorithm: Algorithm, pem: &str, cases: &[Case], expected: impl Fn(bool) -> bool) {
    count.keys += 1;
    let Ok(key) = Key::from_pem(algorithm, pem) else {
        count.keys_refused += 1;
        return;
    };
    for (id, message, signature, valid) in cases {
        let verdict = key.verify(message, signature);
        assert_eq!(verdict.is_ok(), expected(*valid), "case {id}: {verdict:?}");
        match verdict {
            Ok(()) => count.accepted += 1,
            Err(Broken(Rule::AT29)) => count.refused_as_form += 1,
            Err(_) => count.refused += 1,
        }
    }
}

fn ecdsa_cases(group: &ecdsa::TestGroup) -> Vec<Case> {
    let case = |test: &ecdsa::Test| (test.tc_id, test.msg.to_vec(), test.sig.to_vec(), !test.result.must_fail());
    group.tests.iter().map(case).collect()
}

#[test]
fn ed25519() {
    let mut count = Count::default();
    for group in eddsa::TestSet::load(eddsa::TestName::Ed25519).unwrap().test_groups {
        let case = |test: &eddsa::Test| (test.tc_id, test.msg.to_vec(), test.sig.to_vec(), !test.result.must_fail());
        let cases: Vec<Case> = group.tests.iter().map(case).collect();
        run(&mut count, Algorithm::Ed25519, &group.pem, &cases, |valid| valid);
    }
    println!("wycheproof ed25519: {count:?}");
    assert_eq!(count, Count { keys: 78, keys_refused: 0, accepted: 88, refused: 51, refused_as_form: 12 });
}

#[test]
fn ecdsa_p256_der() {
    let mut count = Count::default();
    for group in ecdsa::TestSet::load(ecdsa::TestName::EcdsaSecp256r1Sha256).unwrap().test_groups {
        run(&mut count, Algorithm::EcdsaP256Sha256, &group.pem, &ecdsa_cases(&group), |valid| valid);
    }
    println!("wycheproof ecdsa p256 der: {count:?}");
    assert_eq!(count, Count { keys: 113, keys_refused: 0, accepted: 174, refused: 23, refused_as_form: 287 });
}

#[test]
fn ecdsa_p256_in_the_other_form_is_refused() {
    let mut count = Count::default();
    for group in ecdsa::TestSet::load(ecdsa::TestName::EcdsaSecp256r1Sha256P1363).unwrap().test_groups {
        run(&mut count, Algorithm::EcdsaP256Sha256, &group.pem, &ecdsa_cases(&group), |_| false);
    }
    println!("wycheproof ecdsa p256 r||s: {count:?}");
    assert_eq!(count, Count { keys: 112, keys_refused: 0, accepted: 0, refused: 0, refused_as_form: 262 });
}
