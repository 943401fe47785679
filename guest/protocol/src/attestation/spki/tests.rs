use super::{from_pem, key_bytes};
use crate::{Rule, attestation::algorithm::Algorithm, rules::Broken};
use std::{format, string::String};

const ED25519: &str = "MCowBQYDK2VwAyEAfU0Of2FTpptiQrUiq77mhf2kQg+INLEIw72uNp71Sfo=";
const P256: [&str; 2] = [
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEKSexBRK64+3c/kZ4KBKLrSkDJpkZ",
    "9whgMjE32xzKHdj1SY84GLkMRVvUFNk4ZuClaT1G6g3BSMcOmhhDHHMOrg==",
];

fn block(body: &str) -> String {
    format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n")
}

#[test]
fn one_form_is_taken_with_or_without_its_last_line_feed() {
    for text in [block(ED25519), block(&P256.join("\n"))] {
        assert!(from_pem(&text).is_ok());
        assert_eq!(from_pem(text.trim_end()), from_pem(&text));
    }
}

#[test]
fn every_other_form_is_refused() {
    let good = block(ED25519);
    let bad = [
        String::new(),
        ED25519.into(),
        format!("{good}\n"),
        format!(" {good}"),
        format!("\n{good}"),
        format!("key:\n{good}"),
        format!("{good}{good}"),
        format!("{good}# comment"),
        format!("\u{feff}{good}"),
        good.replace('\n', "\r\n"),
        good.replace('\n', ""),
        good.replace("PUBLIC", "PRIVATE"),
        good.replace("PUBLIC KEY", "EC PUBLIC KEY"),
        good.replace("-----\nM", "-----\nProc-Type: 4\n\nM"),
        good.replace("-----BEGIN", "----BEGIN"),
        good.replace("Sfo=", "Sfo"),
        good.replace("Sfo=", "Sfo=="),
        good.replace("Sfo=", "Sfp="),
        good.replace("Sfo=", "Sfo=\n"),
        good.replace("Qg+I", "Qg-I"),
        good.replace("MCow", "MC\now"),
        good.replace("MCow", "MC ow"),
        block(&P256.concat()),
        block(&format!("{}\n{}", &P256[0][..60], &P256[1])),
        block(""),
    ];
    for text in bad {
        assert_eq!(from_pem(&text), Err(Broken(Rule::AT12)), "{text:?}");
    }
}

#[test]
fn only_the_info_of_the_algorithm_is_taken() {
    let ed25519 = from_pem(&block(ED25519)).unwrap();
    let p256 = from_pem(&block(&P256.join("\n"))).unwrap();
    assert_eq!(key_bytes(Algorithm::Ed25519, &ed25519).unwrap().len(), 32);
    assert_eq!(key_bytes(Algorithm::EcdsaP256Sha256, &p256).unwrap().len(), 65);
    for der in [&ed25519, &p256] {
        for algorithm in [Algorithm::Ed25519, Algorithm::EcdsaP256Sha256] {
            for end in 0..der.len() {
                assert_eq!(key_bytes(algorithm, &der[..end]), Err(Broken(Rule::AT13)));
            }
            let longer = [der.as_slice(), &[0]].concat();
            assert_eq!(key_bytes(algorithm, &longer), Err(Broken(Rule::AT13)));
        }
    }
    assert_eq!(key_bytes(Algorithm::Ed25519, &p256), Err(Broken(Rule::AT13)));
    assert_eq!(key_bytes(Algorithm::EcdsaP256Sha256, &ed25519), Err(Broken(Rule::AT13)));
    let mut hybrid = p256;
    hybrid[26] = 0x06;
    assert_eq!(key_bytes(Algorithm::EcdsaP256Sha256, &hybrid), Err(Broken(Rule::AT13)));
}
