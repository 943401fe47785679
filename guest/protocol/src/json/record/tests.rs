use super::{Damage, Reader, Writer, parse, text};
use alloc::{format, string::String, vec, vec::Vec};

/// A member of each kind.
#[derive(Clone, Debug, PartialEq)]
struct Sample {
    text: String,
    maybe: Option<String>,
    integer: i64,
    flag: bool,
    document: String,
    word: bool,
    inner: Option<Inner>,
    texts: Vec<String>,
    list: Vec<Inner>,
}

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    integer: Option<i64>,
}

impl Inner {
    fn take(from: &mut Reader<'_>) -> Result<Self, Damage> {
        Ok(Self { integer: from.maybe_integer(",\"integer\":")? })
    }

    fn put(&self, to: &mut Writer) {
        to.maybe_integer(",\"integer\":", self.integer);
    }
}

impl Sample {
    fn take(from: &mut Reader<'_>) -> Result<Self, Damage> {
        Ok(Self {
            text: from.text(",\"text\":")?,
            maybe: from.maybe_text(",\"maybe\":")?,
            integer: from.integer(",\"integer\":")?,
            flag: from.flag(",\"flag\":")?,
            document: from.document(",\"document\":")?,
            word: from.word(",\"word\":", |word| (word == "yes").then_some(true))?,
            inner: from.maybe_object(",\"inner\":", Inner::take)?,
            texts: from.texts(",\"texts\":")?,
            list: from.objects(",\"list\":", Inner::take)?,
        })
    }

    fn put(&self, to: &mut Writer) {
        to.text(",\"text\":", &self.text);
        to.maybe_text(",\"maybe\":", self.maybe.as_deref());
        to.integer(",\"integer\":", self.integer);
        to.flag(",\"flag\":", self.flag);
        to.document(",\"document\":", &self.document);
        to.word(",\"word\":", "yes");
        to.maybe_object(",\"inner\":", self.inner.as_ref(), Inner::put);
        to.texts(",\"texts\":", &self.texts);
        to.objects(",\"list\":", &self.list, Inner::put);
    }
}

fn sample() -> Sample {
    Sample {
        text: "a \"quoted\" \\ line\n and \u{1f} and \u{8} and \u{20ac}".into(),
        maybe: Some(String::new()),
        integer: -9_007_199_254_740_991,
        flag: true,
        document: "{ \"a\" : [ 1.5e+3, \"\\ud83d\\ude00\", null, {} , [] ] }".into(),
        word: true,
        inner: Some(Inner { integer: None }),
        texts: vec!["one".into(), String::new()],
        list: vec![Inner { integer: Some(0) }, Inner { integer: Some(7) }],
    }
}

fn read(row: &str) -> Result<Sample, Damage> {
    parse(row, Sample::take)
}

#[test]
fn what_is_written_is_read() {
    let bare = Sample { maybe: None, inner: None, texts: vec![], list: vec![], document: "0".into(), ..sample() };
    for sample in [sample(), bare] {
        let row = text(&sample, Sample::put);
        assert_eq!(read(&row), Ok(sample), "{row}");
        crate::json::parse(&row).expect("a row is JSON");
    }
}

/// Every row that reads is the one that would be written: nothing is misread, wherever a byte is lost, doubled or changed.
#[test]
fn a_byte_that_is_lost_doubled_or_changed_is_seen_or_says_something_else() {
    let row = text(&sample(), Sample::put);
    let mut seen = 0;
    for at in (0..row.len()).filter(|at| row.is_char_boundary(*at)) {
        let rest = &row[at..];
        let first = rest.chars().next().expect("a character");
        let after = &rest[first.len_utf8()..];
        let mut others: Vec<String> = vec![format!("{}{after}", &row[..at]), format!("{}{first}{rest}", &row[..at])];
        others.extend(["\"", ",", "}", "]", "0", " ", "x", "\\"].map(|other| format!("{}{other}{after}", &row[..at])));
        others.push(row[..at].into());
        for other in others.iter().filter(|other| **other != row) {
            match read(other) {
                Ok(found) => {
                    // Inside a text or a document anything may stand; what stands there is what was read.
                    assert_eq!(text(&found, Sample::put), *other);
                    assert_ne!(found, sample(), "{other}");
                }
                Err(_) => seen += 1,
            }
        }
    }
    assert!(seen > 1_000, "only {seen} of the damaged rows were seen");
}

#[test]
fn documents_are_skipped_by_their_grammar() {
    for good in [
        "null",
        "true",
        "-0",
        "1E5",
        "0.10",
        "\"\\u00e9\\/\"",
        "[]",
        "{}",
        "[ [ ] , { \"a\" : 1 , \"b\" : [ ] } ]",
        "\"\\ud83d\\ude00\"",
    ] {
        let row = format!("{{\"integer\":{good}}}");
        let read = parse(&row, |from| from.document(",\"integer\":"));
        assert_eq!(read.as_deref(), Ok(good));
    }
    for bad in [
        "",
        "nul",
        "01",
        "1.",
        ".5",
        "1e",
        "+1",
        "-",
        "\"",
        "\"\\x\"",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\u12\"",
        "[1,]",
        "[1 2]",
        "[",
        "]",
        "{\"a\"}",
        "{\"a\":}",
        "{a:1}",
        "{\"a\":1,}",
        "{\"a\":1]",
        "[1}",
        "1 ",
        " 1",
        "\"\n\"",
    ] {
        let row = format!("{{\"integer\":{bad}}}");
        assert!(parse(&row, |from| from.document(",\"integer\":")).is_err(), "{bad}");
    }
    let nested = |depth: usize| format!("{{\"integer\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(&nested(64), |from| from.document(",\"integer\":")).is_ok());
    assert!(parse(&nested(65), |from| from.document(",\"integer\":")).is_err());
}

#[test]
fn integers_are_read_as_they_are_written() {
    for integer in [0, 1, -1, 10, 1_700_000_000_000, 9_007_199_254_740_991, -9_007_199_254_740_991] {
        let row = text(&Inner { integer: Some(integer) }, Inner::put);
        assert_eq!(row, format!("{{\"integer\":{integer}}}"));
        assert_eq!(parse(&row, Inner::take), Ok(Inner { integer: Some(integer) }));
    }
    for bad in ["00", "-0", "1.0", "1e3", "9007199254740992", "99999999999999999999", "-", "\"1\"", "+1", " 1", "1 "] {
        assert!(parse(&format!("{{\"integer\":{bad}}}"), Inner::take).is_err(), "{bad}");
    }
}

#[test]
fn a_fault_names_the_member() {
    let row = text(&sample(), Sample::put);
    assert_eq!(read(&row.replace("\"flag\":true", "\"flag\":1")).map_err(Damage::member), Err("flag"));
    assert_eq!(read(&row.replace("\"flag\":true,", "")).map_err(Damage::member), Err("flag"));
    assert_eq!(read(&row.replace("yes", "no")).map_err(Damage::member), Err("word"));
}
