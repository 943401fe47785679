use super::*;

#[test]
fn digests_have_their_text_form() {
    let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(sha256_text(b""), empty);
    let mut hasher = Hasher::new();
    hasher.update(b"nu");
    hasher.update(b"ll");
    assert_eq!(hasher.finish_text(), sha256_text(b"null"));
    assert_eq!(hex(&[0, 1, 0xab, 0xff]), "0001abff");
}

#[test]
fn only_the_exact_form_is_a_digest() {
    assert!(is_digest(&sha256_text(b"x")));
    assert!(!is_digest(&sha256_text(b"x").to_uppercase()));
    assert!(!is_digest("sha256:"));
    assert!(!is_digest(&hex(&sha256(b"x"))));
}
