use super::*;

#[test]
fn urls_that_lead_elsewhere_or_tell_secrets_are_refused() {
    let cases = [
        ("ftp://example.com/", UrlError::Scheme),
        ("example.com", UrlError::Scheme),
        ("HTTPS://example.com", UrlError::Scheme),
        ("https://", UrlError::Host),
        ("https:///path", UrlError::Host),
        ("https://:80/", UrlError::Host),
        ("https://{session}.example.com/", UrlError::Host),
        ("https://user:secret@example.com/", UrlError::Credentials),
        ("http://example.com/", UrlError::Plaintext),
        ("http://127.0.0.1.example.com/", UrlError::Plaintext),
        ("http://localhost.example.com/", UrlError::Plaintext),
        ("https://example.com/a b", UrlError::Character),
        ("https://example.com/#part", UrlError::Character),
        ("https://example.com/\u{e9}", UrlError::Character),
        ("https://example.com/{key}", UrlError::Gap),
        ("https://example.com/{session", UrlError::Gap),
        ("https://example.com/session}", UrlError::Gap),
    ];
    for (text, error) in cases {
        assert_eq!(Template::parse(text, false), Err(error), "{text}");
    }
    for text in ["http://127.0.0.1:8080/a", "http://[::1]/a?b={session}", "http://localhost", "https://example.com"] {
        assert!(Template::parse(text, false).is_ok(), "{text}");
    }
    assert!(Template::parse("http://example.com/", true).is_ok());
}

#[test]
fn what_fills_a_gap_stays_in_it() {
    let template = Template::parse("https://example.com/s/{session}/op?key={idempotencyKey}", false).unwrap();
    let fill = |session| template.fill(&[("idempotencyKey", Some("adp_1:a.b")), ("session", session)]);
    assert_eq!(fill(Some("a-1_~")).unwrap(), "https://example.com/s/a-1_~/op?key=adp_1%3Aa.b");
    assert_eq!(
        fill(Some("../x?y#z%00&\u{e9}")).unwrap(),
        "https://example.com/s/..%2Fx%3Fy%23z%2500%26%C3%A9/op?key=adp_1%3Aa.b"
    );
    assert_eq!(fill(None), Err(UrlError::Missing("session")));
    for dots in ["", ".", ".."] {
        assert_eq!(fill(Some(dots)), Err(UrlError::Dots("session")));
    }
}
