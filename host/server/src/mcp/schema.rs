//! Checks arguments against a tool's schema: exactly what clients are told is what is enforced.
//!
//! The keywords are the few that tools use; a test holds every schema to them.

use super::session::whole;
use serde_json::{Map, Value};

/// What a schema of a tool may say.
#[cfg(test)]
pub const KEYWORDS: &[&str] = &[
    "type",
    "properties",
    "required",
    "additionalProperties",
    "enum",
    "const",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "description",
    "title",
    "default",
];

/// Whether `value` is one that `schema` describes; where not, a JSON Pointer and what is wrong there.
pub fn check(schema: &Value, value: &Value) -> Result<(), (String, String)> {
    at(schema, value, String::new())
}

fn at(schema: &Value, value: &Value, place: String) -> Result<(), (String, String)> {
    let wrong = |what: String| Err((place.clone(), what));
    if let Some(word) = schema.get("const").filter(|word| *word != value) {
        return wrong(format!("must be {word}"));
    }
    if let Some(words) = schema["enum"].as_array().filter(|words| !words.contains(value)) {
        return wrong(format!("must be one of {}", Value::from(words.clone())));
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is(kind, value)) {
        return wrong(format!("must be {}", kinds.join(" or ")));
    }
    let limit = |name: &str| schema[name].as_i64();
    let (least, most) = match value {
        Value::String(_) => (limit("minLength"), limit("maxLength")),
        Value::Array(_) => (limit("minItems"), limit("maxItems")),
        Value::Number(_) => (limit("minimum"), limit("maximum")),
        _ => (None, None),
    };
    let size = match value {
        Value::String(text) => i64::try_from(text.chars().count()).ok(),
        Value::Array(items) => i64::try_from(items.len()).ok(),
        number => whole(number),
    };
    if size.is_some_and(|size| least.is_some_and(|least| size < least) || most.is_some_and(|most| size > most)) {
        let bound = |bound: Option<i64>| bound.map_or_else(|| "any".to_owned(), |bound| bound.to_string());
        return wrong(format!("is out of bounds: {} to {}", bound(least), bound(most)));
    }
    match value {
        Value::Object(members) => object(schema, members, &place),
        Value::Array(items) => {
            let twice = |(index, item): (usize, &Value)| items[..index].contains(item);
            if schema["uniqueItems"] == true && items.iter().enumerate().any(twice) {
                return wrong("has an item twice".to_owned());
            }
            let item = &schema["items"];
            items.iter().enumerate().try_for_each(|(index, value)| at(item, value, format!("{place}/{index}")))
        }
        _ => Ok(()),
    }
}

fn object(schema: &Value, members: &Map<String, Value>, place: &str) -> Result<(), (String, String)> {
    let known = &schema["properties"];
    for (name, value) in members {
        match known.get(name) {
            Some(schema) => at(schema, value, format!("{place}/{name}"))?,
            None if schema["additionalProperties"] == false => {
                let members = known.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect::<Vec<_>>();
                let members = match members.as_slice() {
                    [] => "nothing".to_owned(),
                    members => members.join(", "),
                };
                return Err((place.to_owned(), format!("there is no member {name:?}; there may be {members}")));
            }
            None => {}
        }
    }
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    match required.into_iter().find(|name| !members.contains_key(*name)) {
        Some(name) => Err((place.to_owned(), format!("needs the member {name:?}"))),
        None => Ok(()),
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => whole(value).is_some(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_schema_does_not_describe_is_refused_with_its_place() {
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": ["a"],
            "properties": {
                "a": {"type": "string", "minLength": 1, "maxLength": 3},
                "b": {"type": ["integer", "null"], "minimum": 0, "maximum": 9},
                "c": {"type": "array", "maxItems": 2, "uniqueItems": true, "items": {"enum": ["x", "y", "z"]}},
            },
        });
        for good in [
            json!({"a": "äöü"}),
            json!({"a": "x", "b": null}),
            json!({"a": "x", "b": 9, "c": ["x", "y"]}),
            json!({"a": "x", "b": 9.0}),
        ] {
            assert_eq!(check(&schema, &good), Ok(()), "{good}");
        }
        for (bad, place) in [
            (json!([]), ""),
            (json!({}), ""),
            (json!({"a": "x", "d": 1}), ""),
            (json!({"a": ""}), "/a"),
            (json!({"a": "xxxx"}), "/a"),
            (json!({"a": 1}), "/a"),
            (json!({"a": "x", "b": 10}), "/b"),
            (json!({"a": "x", "b": 1.5}), "/b"),
            (json!({"a": "x", "b": 10.0}), "/b"),
            (json!({"a": "x", "b": -1}), "/b"),
            (json!({"a": "x", "c": ["x", "x"]}), "/c"),
            (json!({"a": "x", "c": ["q"]}), "/c/0"),
            (json!({"a": "x", "c": ["x", "y", "z"]}), "/c"),
        ] {
            assert_eq!(check(&schema, &bad).map_err(|(at, _)| at), Err(place.to_owned()), "{bad}");
        }
    }
}
