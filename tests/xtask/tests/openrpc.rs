//! The OpenRPC document, judged by a JSON Schema validator that is not ours.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};
use std::fs;

const ID: &str = "https://threadmesh.dev/core/0.0-draft/openrpc.json";

fn document() -> Value {
    serde_json::from_str(&fs::read_to_string(xtask::root().join("spec/openrpc.json")).unwrap()).unwrap()
}

/// The schema at `place` of the document, for `method`.
fn compile(schemas: &mut Schemas, method: &str, place: &str) -> SchemaIndex {
    let document = document();
    let number = document["methods"].as_array().unwrap().iter().position(|it| it["name"] == method).unwrap();
    let mut compiler = Compiler::new();
    compiler.add_resource(ID, document).unwrap();
    let place = format!("{ID}#/methods/{number}/{place}");
    compiler.compile(&place, schemas).unwrap_or_else(|error| panic!("{place}: {error:#}"))
}

#[test]
fn every_schema_in_it_compiles_on_its_own() {
    let document = document();
    let mut compiler = Compiler::new();
    compiler.add_resource(ID, document.clone()).unwrap();
    let mut schemas = Schemas::new();
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        let place = format!("{ID}#/components/schemas/{name}");
        compiler.compile(&place, &mut schemas).unwrap_or_else(|error| panic!("{place}: {error:#}"));
    }
    for (number, method) in document["methods"].as_array().unwrap().iter().enumerate() {
        let params = method["params"].as_array().unwrap();
        let of_params = (0..params.len()).map(|param| format!("params/{param}/schema"));
        for place in of_params.chain(["result/schema".to_owned(), "x-params".to_owned()]) {
            let place = format!("{ID}#/methods/{number}/{place}");
            compiler.compile(&place, &mut schemas).unwrap_or_else(|error| panic!("{place}: {error:#}"));
        }
    }
}

#[test]
fn params_and_answers_are_closed() {
    let mut schemas = Schemas::new();
    let params = compile(&mut schemas, "tasks.get", "x-params");
    let good = json!({"task": {"taskId": "plan-1", "incarnationId": "inc_plan_0001"}});
    assert!(schemas.validate(&good, params).is_ok());
    for bad in [json!({}), json!({"task": {"taskId": "plan-1"}}), json!({"task": good["task"], "tenant": "other"})] {
        assert!(schemas.validate(&bad, params).is_err(), "{bad}");
    }
    let result = compile(&mut schemas, "messages.send", "result/schema");
    let states =
        json!({"revision": 0, "delivery": "durably-received", "decision": "pending", "outcome": "not-observed"});
    let digest = format!("sha256:{}", "0".repeat(64));
    let value = json!({"replay": false, "envelopeDigest": digest, "disposition": states});
    let good = json!({"method": "messages.send", "value": {"operationReplay": false, "value": value}});
    assert!(schemas.validate(&good, result).is_ok());
    for (pointer, member, value) in [
        ("/value/value", "content", json!("text")),
        ("/value/value/disposition", "decision", json!("maybe")),
        ("/value", "operationReplay", json!("no")),
        ("", "method", json!("tasks.get")),
    ] {
        let mut bad = good.clone();
        bad.pointer_mut(pointer).unwrap()[member] = value;
        assert!(schemas.validate(&bad, result).is_err(), "{bad}");
    }
}
