use super::*;
use crate::Code;
use alloc::string::{String, ToString};

fn canonical(text: &str) -> String {
    parse(text).unwrap().canonical()
}

fn fault(text: &str) -> (Code, String) {
    let error = parse(text).unwrap_err();
    (error.code, error.pointer)
}

#[test]
fn canonical_form() {
    assert_eq!(canonical(r#" { "b" : 1 , "a" : [ true , null , "é" ] } "#), r#"{"a":[true,null,"é"],"b":1}"#);
    assert_eq!(
        canonical(r#"[[],{},[{}],{"a":{}},-0,-0.0,10.0,1e21,1E-7,0.000001]"#),
        r#"[[],{},[{}],{"a":{}},0,0,10,1e+21,1e-7,0.000001]"#
    );
    assert_eq!(canonical(r#""\u20ac\/\u000f\u000A\u0008\"\u0041""#), "\"€/\\u000f\\n\\b\\\"A\"");
    assert_eq!(canonical("{\"\u{fb33}\":1,\"\u{1f600}\":2}"), "{\"\u{1f600}\":2,\"\u{fb33}\":1}");
}

#[test]
fn faults_have_a_place() {
    assert_eq!(fault(r#"{"a":1,"b":{"c":1,"\u0063":2}}"#), (Code::JsonDuplicateMember, "/b/c".to_string()));
    assert_eq!(fault(r#"{"a":1,"a":2 x"#), (Code::JsonDuplicateMember, "/a".to_string()));
    assert_eq!(fault(r#"[1,{"a/b~":[2,"\ud800"]}]"#), (Code::JsonSurrogate, "/1/a~1b~0/1".to_string()));
    assert_eq!(fault("[1,9007199254740993]"), (Code::JsonNumber, "/1".to_string()));
    assert_eq!(fault("[1,2"), (Code::JsonSyntax, String::new()));
    assert_eq!(fault(&"[".repeat(65)).0, Code::JsonDepth);
    assert_eq!(fault("").0, Code::JsonSyntax);
}

#[test]
fn values_are_found() {
    let tree = parse_document(r#"{"s":"x\ny","n":1e2,"a":[1,{"k":false}],"z":null}"#).unwrap();
    let root = tree.root();
    assert_eq!(root.get("s").unwrap().as_str(), Some("x\ny"));
    assert_eq!(root.get("n").unwrap().as_int(), Some(100));
    assert_eq!(root.get("n").unwrap().raw(), "1e2");
    let inner = root.get("a").unwrap().item(1).unwrap();
    assert_eq!(inner.get("k").unwrap().as_bool(), Some(false));
    assert_eq!(inner.get("k").unwrap().pointer(), "/a/1/k");
    assert_eq!(inner.raw(), r#"{"k":false}"#);
    assert_eq!(inner.canonical(), r#"{"k":false}"#);
    assert!(root.get("z").unwrap().is_null());
    assert_eq!(root.len(), 4);
    let other = parse(r#"{"z":null,"a":[1.0,{"k":false}],"n":100,"s":"x\u000ay"}"#).unwrap();
    assert!(root.same(other.root()));
    assert_eq!(tree.digest(), other.digest());
}

#[test]
fn the_writer_sets_commas() {
    let mut writer = Writer::new();
    writer.begin_object();
    writer.member_str("a", "x\"\u{1}");
    writer.member_int("b", -3);
    writer.key("c");
    writer.begin_array();
    writer.f64(1e21);
    writer.begin_object();
    writer.end_object();
    writer.null();
    writer.end_array();
    writer.member_bool("d", true);
    writer.member_raw("e", "[]");
    writer.end_object();
    assert_eq!(writer.finish(), r#"{"a":"x\"\u0001","b":-3,"c":[1e+21,{},null],"d":true,"e":[]}"#);
}

#[test]
fn of_several_faults_the_first_in_the_text_is_reported() {
    let duplicate = |pointer: &str| (Code::JsonDuplicateMember, pointer.to_string());
    assert_eq!(fault(r#"{"a":{"b":1,"b":2},"a":3}"#), duplicate("/a/b"));
    assert_eq!(fault(r#"{"a":1,"a":{"b":1,"b":2}}"#), duplicate("/a"));
    assert_eq!(fault(r#"{"a":1,"a""#), duplicate("/a"));
    assert_eq!(fault(r#"{"a":1,"b":!,"a":2}"#), (Code::JsonSyntax, "/b".to_string()));
    // Open containers inside of each other, none of which has a name twice.
    assert_eq!(fault(r#"[{"":[{"":[{"":!"#), (Code::JsonSyntax, "/0//0//0/".to_string()));
}

#[test]
fn limits_are_those_of_the_caller() {
    let limits = Limits { bytes_max: 8, depth_max: 1, members_max: 3 };
    let code = |text: &str| parse_with(text, &limits, false).err().map(|error| error.code);
    assert_eq!(code("[1,2,3]"), None);
    assert_eq!(code("[1,2,3 ]"), None);
    assert_eq!(code("[1,2,3  ]"), Some(Code::JsonSize));
    assert_eq!(code("[0,0,0,]"), Some(Code::JsonMembers));
    assert_eq!(code("[[]]"), Some(Code::JsonDepth));
    assert_eq!(code("{\"a\":{}"), Some(Code::JsonDepth));
    let none = Limits { depth_max: 0, ..limits };
    assert_eq!(parse_with("7", &none, false).unwrap().root().as_int(), Some(7));
    assert_eq!(parse_with("[]", &none, false).unwrap_err().code, Code::JsonDepth);
}

#[test]
fn nothing_recurses_on_depth() {
    let depth = 200_000;
    let limits = Limits { bytes_max: usize::MAX, depth_max: depth, members_max: usize::MAX };
    let text = "[".repeat(depth) + &"]".repeat(depth);
    let tree = parse_with(&text, &limits, true).unwrap();
    let again = tree.clone();
    assert!(tree.root().same(again.root()));
    assert_eq!(tree.canonical(), text);
    let mut inner = tree.root();
    while let Some(item) = inner.item(0) {
        inner = item;
    }
    assert_eq!(inner.pointer().len(), 2 * (depth - 1));
    let objects = "{\"a\":".repeat(depth);
    assert_eq!(parse_with(&objects, &limits, true).unwrap_err().pointer, "/a".repeat(depth));
}

#[test]
fn integers_are_whole_and_in_range() {
    let int = |text: &str| parse(text).unwrap().root().as_int();
    assert_eq!(int("9007199254740991"), Some(INTEGER_MAX));
    assert_eq!(int("-9007199254740991.0"), Some(-INTEGER_MAX));
    assert_eq!(int("9007199254740992"), None);
    assert_eq!(int("1e300"), None);
    assert_eq!(int("0.5"), None);
    assert_eq!(int("-0"), Some(0));
    assert_eq!(int("\"1\""), None);
    let document = |text: &str| parse_document(text).err().map(|error| error.code);
    assert_eq!(document("9007199254740991"), None);
    assert_eq!(document("[1e16]"), Some(Code::JsonIntegerRange));
    assert_eq!(document("9007199254740993"), Some(Code::JsonNumber));
    assert_eq!(document("1.5e-300"), None);
}

#[test]
fn bytes_are_text_only_as_utf_8_without_a_mark() {
    assert_eq!(text(b"{}"), Ok("{}"));
    assert_eq!(text(b"\xef\xbb\xbf{}").unwrap_err().code, Code::JsonEncoding);
    assert_eq!(parse("\u{feff}{}").unwrap_err().code, Code::JsonEncoding);
    let error = text(b"[\"\xed\xa0\x80\"]").unwrap_err();
    assert_eq!(error.code, Code::JsonEncoding);
    assert_eq!(error.detail, "CJ-2: A text is UTF-8. At byte 2.");
}

#[test]
fn other_kinds_have_nothing_inside() {
    let tree = parse(r#"{"a":"x"}"#).unwrap();
    let value = tree.root().get("a").unwrap();
    assert_eq!((value.len(), value.is_empty(), value.items().count(), value.members().count()), (0, true, 0, 0));
    assert!(value.get("a").is_none() && value.item(0).is_none() && tree.root().get("b").is_none());
    assert!(value.as_bool().is_none() && value.as_f64().is_none() && !value.is_null());
    assert_eq!(value.parent().unwrap().pointer(), "");
    assert!(tree.root().parent().is_none());
    assert_eq!(std::format!("{value:?}"), "\"x\"");
}

#[test]
fn the_writer_has_a_form_for_every_value() {
    let mut writer = Writer::new();
    writer.begin_array();
    for double in [f64::NAN, f64::INFINITY, -0.0, 1e-7, 1e21] {
        writer.f64(double);
    }
    writer.begin_object();
    writer.member_opt_str("absent", None);
    writer.member_opt_str("é\u{2028}/", Some("\u{7f}\u{b}"));
    writer.member_null("n");
    writer.member_f64("f", 0.5);
    writer.end_object();
    writer.int(i64::MIN);
    writer.end_array();
    let expected =
        "[null,null,0,1e-7,1e+21,{\"é\u{2028}/\":\"\u{7f}\\u000b\",\"n\":null,\"f\":0.5},-9223372036854775808]";
    assert_eq!(writer.finish(), expected);
}
