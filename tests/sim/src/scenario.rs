//! A life as a scenario of `spec/conformance`: the calls that were made, with what earlier answers brought put in by name.
//!
//! A scenario has one clock and no faults. What a life shows that is not about faults of stores and hosts it shows too.

use crate::{cast, oracle::Context, time::START};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use threadmesh_protocol::time;
use threadmesh_runtime::{
    HostError, Reply,
    wit::{Fact, Principal, PrincipalKind, Status},
};

/// A call that was made.
#[derive(Clone, Debug)]
pub struct Recorded {
    process: u64,
    /// What the host's clock showed.
    at: i64,
    who: Principal,
    operation: String,
    params: Value,
    facts: Vec<Fact>,
    answer: Result<Value, String>,
}

impl Recorded {
    /// A call, which belonged to a trace by `facts`, and what came of it.
    pub fn new(process: u64, at: i64, context: &Context, facts: &[Fact], result: &Result<Reply, HostError>) -> Self {
        let answer = match result {
            Err(_) => Err("no-answer".into()),
            Ok(reply) => {
                let body: Value = serde_json::from_str(&reply.body).unwrap_or_default();
                let code = body["data"]["code"].as_str().unwrap_or_default().to_owned();
                if reply.status == Status::Refused { Err(code) } else { Ok(body) }
            }
        };
        let Context { who, operation, params, .. } = context;
        let (who, operation, params) = (who.clone(), operation.clone(), params.clone());
        Self { process, at, who, operation, params, facts: facts.to_vec(), answer }
    }
}

/// The scenario of `calls`, as a vector named `name`. What was not answered is left out.
pub fn scenario(name: &str, calls: &[Recorded]) -> Value {
    let calls: Vec<&Recorded> = calls.iter().filter(|call| call.answer != Err("no-answer".into())).collect();
    let mut places: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut keep: BTreeMap<usize, Map<String, Value>> = BTreeMap::new();
    let (mut principals, mut steps, mut latest) = (Map::new(), Vec::new(), 0);
    for (index, call) in calls.iter().enumerate() {
        let params = named(&call.params, &mut |text| {
            let (step, pointer) = places.get(text)?;
            let variable = format!("v{step}{}", pointer.replace('/', "-"));
            keep.entry(*step).or_default().insert(variable.clone(), pointer.clone().into());
            Some(json!({ "$var": variable }))
        });
        if let Ok(body) = &call.answer {
            leaves(body, String::new(), &mut |text, pointer| {
                places.entry(text.to_owned()).or_insert((index, pointer));
            });
        }
        principals.insert(cast::name(&call.who), principal(&call.who));
        // A scenario's clock does not go back.
        latest = latest.max(call.at - START);
        let mut step = json!({
            "as": cast::name(&call.who), "at": latest, "instance": format!("host-{}", call.process),
            "method": call.operation, "params": params,
        });
        if !call.facts.is_empty() {
            let facts = call.facts.iter().map(|fact| json!({"name": fact.name, "value": fact.value}));
            step["context"] = facts.collect();
        }
        match &call.answer {
            Ok(_) => step["ok"] = json!({}),
            Err(code) => step["error"] = json!({ "code": code }),
        }
        steps.push(step);
    }
    for (index, keep) in keep {
        steps[index]["keep"] = keep.into();
    }
    let args = json!({"start": time::format(START), "principals": principals, "steps": steps});
    json!({"name": name, "rules": [], "function": "scenario", "args": args, "ok": true})
}

fn principal(who: &Principal) -> Value {
    let kind = match who.kind {
        PrincipalKind::User => "user",
        PrincipalKind::Policy => "policy",
        PrincipalKind::Task => "task",
        PrincipalKind::Operator => "operator",
        PrincipalKind::Host => "host",
    };
    let mut principal = json!({"kind": kind, "id": who.id});
    for (name, value) in [("incarnation", &who.incarnation), ("owner", &who.owner), ("worker", &who.worker)] {
        if let Some(value) = value {
            principal[name] = value.clone().into();
        }
    }
    principal
}

/// Whether a text is one that the core makes anew each time.
fn made(text: &str) -> bool {
    ["sub_", "adp_", "sha256:"].iter().any(|start| text.starts_with(start))
}

/// Every text below `value` that the core made, with its pointer.
fn leaves(value: &Value, pointer: String, visit: &mut impl FnMut(&str, String)) {
    match value {
        Value::String(text) if made(text) => visit(text, pointer),
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| leaves(member, format!("{pointer}/{name}"), visit));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| leaves(item, format!("{pointer}/{at}"), visit));
        }
        _ => {}
    }
}

/// `value` with the texts replaced that `name` has something for.
fn named(value: &Value, name: &mut impl FnMut(&str) -> Option<Value>) -> Value {
    match value {
        Value::String(text) => name(text).unwrap_or_else(|| value.clone()),
        Value::Object(members) => members.iter().map(|(key, member)| (key.clone(), named(member, name))).collect(),
        Value::Array(items) => items.iter().map(|item| named(item, name)).collect(),
        _ => value.clone(),
    }
}
