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
