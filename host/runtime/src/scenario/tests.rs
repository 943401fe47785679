use super::*;

/// Answers with what it was called with.
struct Echo(Vec<String>);

impl Target for Echo {
    fn start(&mut self, text: &str) -> Result<i64, String> {
        text.parse().map_err(|_| "no time".into())
    }

    fn call(&mut self, call: &Call<'_>) -> Result<Option<Reply>, String> {
        let name = call.principal.as_ref().map_or("nobody", |principal| principal["name"].as_str().unwrap());
        self.0.push(format!("{name} {} {} {} {}", call.method, call.params, call.now, call.instance));
        if name == "host" {
            return Ok(None);
        }
        let response = if call.method == "fail" { Err("{\"code\":1}".into()) } else { Ok(call.params.clone()) };
        Ok(Some(Reply { response, effects: None }))
    }
}

fn run(args: Value) -> (Result<Value, String>, Vec<String>) {
    let mut echo = Echo(Vec::new());
    let transcript = perform(&args, &mut echo);
    (transcript, echo.0)
}

#[test]
fn the_clock_moves_only_where_a_step_says_so_and_variables_stand_for_what_was_kept() {
    let (transcript, calls) = run(json!({"start": "100", "principals": {"a": {}, "host": {}}, "steps": [
        {"as": "a", "method": "m", "params": {"x": [1]}, "keep": {"v": "/x", "none": "/y"}},
        {"as": null, "at": 5, "method": "fail", "params": {"p": {"$var": "v"}}, "keep": {"c": "/code"}},
        {"as": "a", "method": "m", "params": {"c": {"$var": "c"}}, "instance": "host-2"},
        {"as": "a", "method": "m", "params": {"$var": "none"}},
        {"as": "host", "method": "m", "params": {}},
        {"as": "a", "at": 1, "method": "m", "text": "raw"},
    ]}));
    let expected = [
        "a m {\"x\":[1]} 100 host-1",
        "nobody fail {\"p\":[1]} 105 host-1",
        "a m {\"c\":1} 105 host-2",
        "host m {} 105 host-1",
        "a m raw 101 host-1",
    ];
    assert_eq!(calls, expected);
    assert_eq!(transcript, Err("the answer is not JSON: expected value at line 1 column 1".into()));
}

#[test]
fn a_transcript_has_an_entry_for_every_step() {
    let (transcript, _) = run(json!({"start": "0", "principals": {"a": {}, "host": {}}, "steps": [
        {"as": "a", "method": "m", "params": {"x": 1}},
        {"as": "a", "method": "fail", "params": {}},
        {"as": "host", "method": "m", "params": {}},
        {"as": "a", "method": "m", "params": {"$var": "x"}},
    ]}));
    let expected = json!([
        {"result": "{\"x\":1}"},
        {"error": "{\"code\":1}"},
        {"skipped": "there is no way to make this call"},
        {"skipped": "nothing was kept as x"},
    ]);
    assert_eq!(transcript, Ok(expected));
}

#[test]
fn what_is_no_scenario_is_said() {
    assert_eq!(run(json!({})).0, Err("a scenario has a start".into()));
    assert_eq!(run(json!({"start": "x", "steps": []})).0, Err("no time".into()));
    assert_eq!(run(json!({"start": "0"})).0, Err("a scenario has steps".into()));
    let unknown = json!({"start": "0", "principals": {}, "steps": [{"as": "a", "method": "m", "params": {}}]});
    assert_eq!(run(unknown).0, Err("there is no principal a".into()));
}

#[test]
fn responses_are_cut_as_they_stand() {
    let result = response_text("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\": {\"a\" :1.0} }");
    assert_eq!(result, Ok(Ok("{\"a\" :1.0}".into())));
    assert_eq!(response_text("{\"error\":{},\"id\":null}"), Ok(Err("{}".into())));
    assert!(response_text("{\"id\":1}").is_err());
}
