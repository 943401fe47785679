use super::*;

/// Takes every text as canonical, but for one that says it has a member twice.
fn canonical() -> Canonical {
    Arc::new(|text| if text.contains("twice") { Err("member twice".into()) } else { Ok(text.to_owned()) })
}

fn at(text: &str, pointer: &str) -> Result<Option<String>, &'static str> {
    match Fact::of(text.as_bytes(), Some(pointer), &canonical()) {
        Fact::Found(found) => Ok(found.value),
        Fact::Refused(reason) => Err(reason.code),
        other => panic!("{other:?}"),
    }
}

#[test]
fn pointers_lead_where_rfc_6901_says() {
    let text = r#"{"":0,"a/b":1,"c":[{"d":"x"},1e+21],"m~n":8,"s":null}"#;
    let cases = [
        ("", Ok(Some(text))),
        ("/", Ok(Some("0"))),
        ("/a~1b", Ok(Some("1"))),
        ("/m~0n", Ok(Some("8"))),
        ("/s", Ok(Some("null"))),
        ("/c/0/d", Ok(Some(r#""x""#))),
        ("/c/1", Ok(Some("1e+21"))),
        ("/c/2", Ok(None)),
        ("/c/00", Ok(None)),
        ("/c/-", Ok(None)),
        ("/c/+1", Ok(None)),
        ("/none", Ok(None)),
        ("/s/deeper", Ok(None)),
        ("c", Err("pointer-malformed")),
        ("/~2", Err("pointer-malformed")),
        ("/~", Err("pointer-malformed")),
    ];
    for (pointer, expected) in cases {
        let expected = expected.map(|value: Option<&str>| value.map(str::to_owned));
        assert_eq!(at(text, pointer), expected, "{pointer:?}");
    }
}

#[test]
fn a_value_needs_strict_json_and_a_digest_does_not() {
    assert_eq!(at("twice", "/a"), Err("content-not-json"));
    assert_eq!(at("no json", ""), Err("content-not-json"));
    let bytes = [0xff, 0x00];
    assert_eq!(Fact::of(&bytes, Some(""), &canonical()).reason().map(|r| r.code), Some("content-not-json"));
    let empty = Fact::of(b"", None, &canonical());
    let digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(empty, Fact::Found(Found { digest: digest.into(), length: 0, value: None }));
    assert!(matches!(Fact::of(&bytes, None, &canonical()), Fact::Found(Found { length: 2, value: None, .. })));
}

struct Scripted(fn(&Question, Instant) -> Fact);

impl Resolver for Scripted {
    fn look(&self, question: &Question, deadline: Instant) -> Fact {
        (self.0)(question, deadline)
    }
}

fn declared(look: fn(&Question, Instant) -> Fact, deadline: Duration) -> DeclaredResolver {
    DeclaredResolver {
        name: "r".into(),
        digest: "sha256:0".into(),
        kind: "scripted",
        producers: vec!["*".into()],
        deadline,
        bytes_max: 10,
        resolver: Arc::new(Scripted(look)),
    }
}

#[test]
fn the_operators_bounds_hold_whatever_is_asked_and_whatever_a_resolver_does() {
    let question = Question { address: "a".into(), pointer: None, bytes_max: 1_000 };
    let far = Instant::now() + Duration::from_secs(3_600);
    let bounded = declared(
        |question, deadline| {
            assert!(deadline <= Instant::now() + Duration::from_secs(60));
            Fact::refused("seen", question.bytes_max.to_string())
        },
        Duration::from_secs(60),
    );
    assert_eq!(bounded.look(&question, far), Fact::refused("seen", "10"));
    let code = |fact: Fact| fact.reason().map_or("none", |reason| reason.code);
    let panicking = declared(|_, _| panic!("as the test says"), Duration::from_secs(60));
    assert_eq!(code(panicking.look(&question, far)), "resolver-panicked");
    let late = declared(
        |_, deadline| {
            while Instant::now() <= deadline {
                std::thread::yield_now();
            }
            Fact::Found(Found { digest: String::new(), length: 0, value: None })
        },
        Duration::from_millis(1),
    );
    assert_eq!(code(late.look(&question, far)), "deadline");
    assert_eq!(code(bounded.look(&question, Instant::now())), "deadline");
    for address in [String::new(), "a".repeat(2_001)] {
        assert_eq!(code(bounded.look(&Question { address, ..question.clone() }, far)), "address-malformed");
    }
}
