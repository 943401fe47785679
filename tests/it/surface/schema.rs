//! Values that a schema of the OpenRPC document allows.

use crate::differential::logs::Random;
use crate::program::world::time_from_now;
use serde_json::{Map, Value, json};

/// Something from the world that fits: asked with the name of the member and the name of its schema, before a value is
/// made up.
pub type Pool<'a> = dyn FnMut(&str, &str, &mut Random) -> Option<Value> + 'a;

/// The document.
pub struct Schemas {
    document: Value,
}

impl Schemas {
    /// The one of this repository.
    pub fn load() -> Self {
        let path = xtask::root().join("spec/openrpc.json");
        let text = std::fs::read_to_string(path).expect("the document");
        Schemas { document: serde_json::from_str(&text).expect("JSON") }
    }

    /// A document without methods, to stand where another was taken away for a while.
    pub fn none() -> Self {
        Schemas { document: Value::Null }
    }

    /// The names of all methods.
    pub fn methods(&self) -> Vec<String> {
        let methods = self.document["methods"].as_array().expect("methods").iter();
        methods.map(|method| method["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// Params for a method.
    pub fn params(&self, method: &str, random: &mut Random, pool: &mut Pool<'_>) -> Value {
        let methods = self.document["methods"].as_array().expect("methods");
        let method = methods.iter().find(|known| known["name"] == method).expect("a method");
        let mut params = Map::new();
        for param in method["params"].as_array().expect("params") {
            let name = param["name"].as_str().expect("a name");
            if param["required"] == true || random.once_in(3) {
                params.insert(name.to_owned(), self.value(name, &param["schema"], random, pool));
            }
        }
        Value::Object(params)
    }

    fn value(&self, member: &str, schema: &Value, random: &mut Random, pool: &mut Pool<'_>) -> Value {
        let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        if let Some(known) = pool(member, name, random) {
            return known;
        }
        if !name.is_empty() {
            return self.value(member, &self.document["components"]["schemas"][name], random, pool);
        }
        if let Some(only) = schema.get("const") {
            return only.clone();
        }
        if let Some(words) = schema["enum"].as_array() {
            return random.pick(words).clone();
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => random.pick(kinds).clone(),
            kind => kind.clone(),
        };
        match kind.as_str().unwrap_or_default() {
            "string" => text(schema, random).into(),
            "integer" => number(schema, random).into(),
            "boolean" => random.once_in(2).into(),
            "array" => self.array(member, schema, random, pool),
            "object" => self.object(schema, random, pool),
            "null" => Value::Null,
            // Any JSON at all.
            "" if schema.as_object().is_some_and(Map::is_empty) => match random.below(4) {
                0 => Value::Null,
                1 => random.below(1000).into(),
                2 => json!([{"a": "b"}]),
                _ => json!({"value": "https://service.example"}),
            },
            _ => panic!("no value for {member}: {schema}"),
        }
    }

    fn array(&self, member: &str, schema: &Value, random: &mut Random, pool: &mut Pool<'_>) -> Value {
        let (least, most) = (bound(schema, "minItems", 0), bound(schema, "maxItems", 4));
        let count = (least + random.below(3)).min(most);
        let mut items: Vec<Value> = Vec::new();
        while items.len() < count {
            let item = self.value(member, &schema["items"], random, pool);
            if schema["uniqueItems"] != true || !items.contains(&item) {
                items.push(item);
            }
        }
        items.into()
    }

    fn object(&self, schema: &Value, random: &mut Random, pool: &mut Pool<'_>) -> Value {
        let least = bound(schema, "minProperties", 0);
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let Some(properties) = schema["properties"].as_object() else {
            return json!({"kind": "made-up", "number": random.below(9)});
        };
        let mut object = Map::new();
        for (name, schema) in properties {
            if required.contains(&name.as_str()) || random.once_in(3) || object.len() < least {
                object.insert(name.clone(), self.value(name, schema, random, pool));
            }
        }
        Value::Object(object)
    }
}

fn bound(schema: &Value, name: &str, usual: usize) -> usize {
    schema[name].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(usual)
}

fn number(schema: &Value, random: &mut Random) -> u64 {
    let least = schema["minimum"].as_u64().unwrap_or(0);
    let most = schema["maximum"].as_u64().unwrap_or((1 << 53) - 1);
    match random.below(10) {
        0 => least,
        1 => most,
        _ => least + random.next() % (most - least).clamp(1, 20),
    }
}

/// Text for a pattern of the documents: an id with its prefix, a digest, a time, or words.
fn text(schema: &Value, random: &mut Random) -> String {
    let pattern = schema["pattern"].as_str().unwrap_or_default();
    if schema["format"] == "date-time" {
        return time_from_now(i64::try_from(random.below(7_200_000)).expect("small") - 3_600_000);
    }
    if pattern.starts_with("^sha256:") {
        return format!(
            "sha256:{:016x}{:016x}{:016x}{:016x}",
            random.next(),
            random.next(),
            random.next(),
            random.next()
        );
    }
    if pattern.contains("[AQgw]") {
        return "A".repeat(86);
    }
    if let Some((prefix, _)) = pattern.trim_start_matches('^').split_once("_[") {
        return format!("{prefix}_{:016x}", random.next());
    }
    let (least, most) = (bound(schema, "minLength", 0), bound(schema, "maxLength", 2000));
    let length = match random.below(12) {
        0 => least,
        1 => most,
        _ => least + random.below((most - least).min(40) + 1),
    };
    let signs: Vec<char> = "abcdefghijklmnopqrstuvwxyzäß世🙂é\u{301}-._\"\\/".chars().collect();
    (0..length.max(usize::from(!pattern.is_empty()))).map(|_| *random.pick(&signs)).collect()
}
