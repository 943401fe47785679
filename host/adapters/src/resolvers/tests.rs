use super::*;
use std::{sync::Arc, time::Duration};

fn read(text: &str) -> Result<Vec<DeclaredResolver>, String> {
    let digest = |text: &str| Ok(format!("digest of {text}"));
    let judge = Judge { digest: &digest, canonical: Arc::new(|text| Ok(text.to_owned())) };
    parse(text, &judge).map_err(|error| error.to_string())
}

fn http(more: &str) -> Result<Vec<DeclaredResolver>, String> {
    read(&format!("[resolver.x]\nkind = \"http\"\norigin = \"https://example.com\"\n{more}"))
}

#[test]
fn defaults_promise_little() {
    let resolver = &http("").unwrap()[0];
    assert_eq!((resolver.name.as_str(), resolver.kind), ("x", "http"));
    assert_eq!(resolver.producers, ["*"], "anybody may have made it");
    assert_eq!((resolver.deadline, resolver.bytes_max), (Duration::from_secs(5), 1_048_576));
    let named = http("producers = [\"task:ci\", \"alice\"]\ndeadline_ms = 10000\nbytes_max = 1").unwrap();
    assert_eq!(named[0].producers, ["task:ci", "alice"]);
    assert_eq!((named[0].deadline, named[0].bytes_max), (Duration::from_secs(10), 1));
}

#[test]
fn the_digest_covers_what_is_written_and_nothing_else() {
    let digest = |more: &str| http(more).unwrap()[0].digest.clone();
    let one = digest("deadline_ms = 7");
    assert!(one.contains("threadmesh-resolver/1") && one.contains(r#""deadline_ms":7"#), "{one}");
    assert!(!one.contains("null") && !one.contains("bytes_max"), "{one}");
    assert_eq!(one, digest("'deadline_ms' = 7 # comment"));
    assert_ne!(one, digest("deadline_ms = 8"));
    assert_ne!(digest("producers = \"*\""), digest(""));
}

#[test]
fn what_does_not_go_together_is_refused_with_a_sentence() {
    let cases = [
        ("root = \"/\"", "root does not go with this kind"),
        ("surprise = 1", "unknown field `surprise`"),
        ("deadline_ms = 0", "deadline_ms must be from 1 to 10000"),
        ("deadline_ms = 10001", "deadline_ms must be from 1 to 10000"),
        ("bytes_max = 0", "bytes_max must be from 1 to 1048576"),
        ("bytes_max = 1048577", "bytes_max must be from 1 to 1048576"),
        ("producers = \"alice\"", "a list of principals"),
        ("producers = []", "1 to 16 principals"),
        ("producers = [\"\"]", "1 to 16 principals"),
        ("producers = [\" a\"]", "1 to 16 principals"),
        ("producers = [\"*\", \"a\"]", "stands alone"),
        ("producers = [\"a\", \"a\"]", "twice"),
        ("tls_ca_file = \"relative\"", "not an absolute path"),
        ("tls_ca_file = \"/none/such\"", "cannot read"),
    ];
    for (more, expected) in cases {
        let error = http(more).unwrap_err();
        assert!(error.contains(expected), "{more}: {error}");
    }
    let file = |more: &str| read(&format!("[resolver.x]\nkind = \"file\"\n{more}")).unwrap_err();
    assert!(file("").contains("root is missing"));
    assert!(file("root = \"relative\"").contains("not an absolute path"));
    assert!(file("root = \"/none/such\"").contains("there is no folder"));
    assert!(file("root = \"/\"\norigin = \"https://example.com\"").contains("origin does not go with this kind"));
}

#[test]
fn an_origin_is_a_scheme_and_a_host_and_nothing_more() {
    let origin = |text: &str| read(&format!("[resolver.x]\nkind = \"http\"\norigin = {text:?}"));
    let good = ["https://example.com", "https://example.com/", "https://example.com:8443", "http://127.0.0.1:80"];
    for text in good.iter().chain(&["http://localhost", "http://[::1]:8080", "https://[2606:4700::1]"]) {
        assert!(origin(text).is_ok(), "{text}: {:?}", origin(text));
    }
    let bad = [
        "example.com",
        "ftp://example.com",
        "https://",
        "https:///x",
        "https://:80",
        "https://example.com/path",
        "https://example.com?x",
        "https://example.com#x",
        "https://a@example.com",
        "https://a:b@example.com",
        "https://exa mple.com",
        "https://{session}.example.com",
        "https://example.com\\x",
        "http://example.com",
        "http://127.0.0.1.example.com",
        "https://[::1",
        "https://example.com:99999",
    ];
    for text in bad {
        assert!(origin(text).is_err(), "{text}");
    }
    assert!(read("[resolver.x]\nkind = \"http\"").unwrap_err().contains("origin is missing"));
    assert!(read("[resolver.x]\nkind = \"http\"\norigin = \"http://example.com\"\nallow_plaintext = true").is_ok());
}

#[test]
fn names_kinds_and_the_rest_of_the_file() {
    for name in ["\"\"", "\"A\"", "\"-a\"", "\"a b\"", "\"a/b\""] {
        assert!(
            read(&format!("[resolver.{name}]\nkind = \"http\"\norigin = \"https://a.example\"")).is_err(),
            "{name}"
        );
    }
    assert!(read("[resolver.a]\nkind = \"magic\"").unwrap_err().contains("no kind \"magic\", but file, http"));
    assert!(read("[resolver.a]").unwrap_err().contains("kind is missing"));
    assert!(read("[resolvers.a]").is_err());
    assert!(read("[profile.a]\nkind = \"magic\"").unwrap().is_empty(), "profiles are read elsewhere");
    let many = |count: usize| -> String {
        (0..count).map(|at| format!("[resolver.r{at}]\nkind = \"http\"\norigin = \"https://a.example\"\n")).collect()
    };
    assert_eq!(read(&many(64)).unwrap().len(), 64);
    assert!(read(&many(65)).unwrap_err().contains("more than 64"));
    let both = "[profile.own]\nkind = \"caller\"\n[resolver.a]\nkind = \"http\"\norigin = \"https://a.example\"";
    assert_eq!(read(both).unwrap().len(), 1);
    let digest = |text: &str| Ok(text.to_owned());
    let surroundings = crate::profiles::Surroundings { digest: &digest, carrier: None };
    assert_eq!(crate::profiles::parse(both, &surroundings).unwrap().len(), 1);
}
