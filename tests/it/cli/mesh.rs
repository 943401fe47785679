//! `call`, `send`, `inbox`, `ack`, `wait`, `show`: on a database and on a server, with the same answers.

use crate::program::world::World;
use serde_json::json;

/// What both places must do: the life of one suggestion.
fn life(world: &World, place: &[&str]) {
    let at = |arguments: &[&str], name: &str| {
        let all = [arguments, place, &["--as", name]].concat();
        world.rig.json(&all)
    };
    let (code, sent) =
        at(&[&["send", "Use the cache."][..], World::ROUTE, &["--message-id", "msg_cli_00001"]].concat(), "planner");
    assert_eq!(code, 0, "{sent:?}");
    assert_eq!((&sent[0]["messageId"], &sent[0]["disposition"]["revision"]), (&json!("msg_cli_00001"), &json!(0)));
    let (code, inbox) = at(&["inbox"], "builder");
    assert_eq!((code, inbox[0]["items"].as_array().map(Vec::len)), (0, Some(1)), "{inbox:?}");
    assert!(inbox[0]["items"][0]["envelope"].get("content").is_none(), "texts are shown on demand only");
    let (_, inbox) = at(&["inbox", "--content"], "builder");
    assert_eq!(inbox[0]["items"][0]["envelope"]["content"], "Use the cache.");
    assert_eq!(at(&["wait", "--inbox", "--timeout", "5s"], "builder").0, 0);
    let (code, waited) = at(&["wait", "msg_cli_00001", "--timeout", "50ms"], "planner");
    assert_eq!((code, &waited[0]["timedOut"]), (1, &json!(true)), "nobody has decided");
    let (code, decided) = at(&["ack", "msg_cli_00001", "--decision", "accepted"], "builder");
    assert_eq!((code, &decided[0]["disposition"]["decision"]), (0, &json!("accepted")), "{decided:?}");
    let (code, waited) = at(&["wait", "msg_cli_00001", "--timeout", "5s"], "planner");
    assert_eq!((code, &waited[0]["disposition"]), (0, &decided[0]["disposition"]));
    assert_eq!(at(&["wait", "msg_cli_00001", "--for", "decision=accepted"], "planner").0, 0);
    assert_eq!(at(&["wait", "msg_cli_00001", "--for", "decision=rejected", "--timeout", "50ms"], "planner").0, 1);
    let (code, shown) = at(&["show", "msg_cli_00001"], "planner");
    assert_eq!((code, &shown[0]["disposition"]), (0, &decided[0]["disposition"]));
    let kinds: Vec<_> =
        shown[0]["events"].as_array().expect("events").iter().map(|event| event["eventType"].clone()).collect();
    assert_eq!(json!(kinds), json!(["message-durably-received", "mailbox-claimed", "receiver-decided"]));
    let (code, foreign) = at(&["show", "msg_cli_00001", "--sender", "inc_plan_0001"], "stranger");
    assert_eq!((code, &foreign[0]["error"]["code"]), (1, &json!("not-visible")));
    let (code, again) = at(&["ack", "msg_cli_00001", "--decision", "accepted"], "builder");
    assert_eq!((code, &again[0]["replay"]), (0, &json!(true)), "it is decided so already");
    assert_eq!(at(&["ack", "msg_cli_00001", "--decision", "rejected"], "builder").0, 1, "and not otherwise");
    assert_eq!(at(&["wait", "--inbox", "--timeout", "50ms"], "builder").0, 1);
}

#[test]
fn the_life_of_a_suggestion_on_a_database() {
    let world = World::new();
    life(&world, &["--db", "mesh.db"]);
}

#[test]
fn the_life_of_a_suggestion_on_a_server() {
    let world = World::new();
    let _server = world.serve();
    life(&world, &["--socket", "mesh.db.run/socket"]);
}

#[test]
fn a_database_and_its_server_are_one_mesh() {
    let world = World::new();
    let _server = world.serve();
    let send = [&["send", "One."][..], World::ROUTE, &["--message-id", "msg_one_00001"]].concat();
    assert_eq!(world.at("planner", &send).0, 0);
    let inbox = world.rig.json(&["inbox", "--socket", "mesh.db.run/socket", "--as", "builder"]).1;
    assert_eq!(inbox[0]["items"][0]["envelope"]["messageId"], "msg_one_00001");
}

#[test]
fn queueing_is_never_worded_as_acceptance() {
    let world = World::new();
    let send = [&["send", "One.", "--db", "mesh.db", "--as", "planner"][..], World::ROUTE].concat();
    let sent = world.rig.run(&send);
    assert_eq!(sent.code, 0, "{sent:?}");
    for text in [&sent.out, &sent.err, &world.rig.json(&send).1[0].to_string()] {
        let text = text.to_lowercase();
        for word in ["accept", "agreed", "approved", "confirmed", "acknowledged", "success"] {
            assert!(!text.contains(word), "{word} in {text}");
        }
    }
    let inbox = world.rig.run(&["inbox", "--db", "mesh.db", "--as", "builder"]);
    let help = world.rig.run(&["send", "--help"]);
    assert!(!inbox.out.contains("accept") && !help.out.to_lowercase().contains("accept"), "{}", help.out);
}

#[test]
fn call_makes_a_key_where_one_is_missing_and_says_so() {
    let world = World::new();
    let params = json!({"task": {"taskId": "more-1", "incarnationId": "inc_more_0001", "harness": "t"}}).to_string();
    let plain = world.rig.run(&["call", "tasks.register", &params, "--db", "mesh.db", "--as", "alice"]);
    assert_eq!(plain.code, 0, "{plain:?}");
    assert!(plain.err.contains("idempotencyKey idem_"), "{plain:?}");
    let (code, values) = world.at("alice", &["call", "tasks.register", &params]);
    assert_eq!(code, 0, "the same again under a new key is a replay of the record: {values:?}");
    let key = values[0]["idempotencyKey"].as_str().expect("a key").to_owned();
    let keyed = format!("{{\"idempotencyKey\":\"{key}\",{}", &params[1..]);
    let (code, values) = world.at("alice", &["call", "tasks.register", &keyed]);
    assert_eq!((code, &values[0]["result"]["value"]["operationReplay"]), (0, &json!(true)));
    assert!(values[0].get("idempotencyKey").is_none(), "it was not made here");
    let other = keyed.replace("more-1", "more-2");
    let (code, values) = world.at("alice", &["call", "tasks.register", &other]);
    assert_eq!((code, &values[0]["error"]["code"]), (1, &json!("idempotency-conflict")));
    let get = json!({"task": {"taskId": "more-1", "incarnationId": "inc_more_0001"}}).to_string();
    let read =
        world.rig.feed(&["call", "tasks.get", "-", "--db", "mesh.db", "--as", "alice", "--json"], get.as_bytes());
    assert_eq!(read.values()[0]["result"]["value"]["taskId"], "more-1");
    assert!(read.values()[0].get("idempotencyKey").is_none(), "a read needs none");
}

#[test]
fn faults_of_a_call_keep_their_code_and_exit() {
    let world = World::new();
    for (method, params, code) in [
        ("no.such", "{}", "method-not-found"),
        ("adapter.recordQuery", "{}", "method-not-found"),
        ("tasks.get", "{}", "params-invalid"),
        ("tasks.get", "{\"task\":{\"taskId\":\"x\",\"incarnationId\":\"inc_none_0001\"}}", "not-visible"),
        ("tasks.get", "{\"a\":1,\"a\":2}", "json-duplicate-member"),
        ("tasks.get", "{", "json-syntax"),
    ] {
        let (exit, values) = world.at("alice", &["call", method, params]);
        assert_eq!((exit, values[0]["error"]["code"].as_str()), (1, Some(code)), "{method} {params}: {values:?}");
    }
    let listed = world.rig.json(&["call", "--list"]);
    let names: Vec<_> = listed.1[0]["operations"].as_array().expect("operations").clone();
    assert!(
        names.iter().any(|one| one["name"] == "messages.send")
            && names.iter().all(|one| one["name"] != "adapter.recordQuery")
    );
}

#[test]
fn without_a_database_or_a_token_nothing_is_done() {
    let world = World::new();
    let error = |arguments: &[&str]| {
        let (code, values) = world.rig.json(arguments);
        (code, values[0]["error"]["code"].as_str().unwrap_or_default().to_owned())
    };
    let missing = ["inbox", "--db", "missing.db", "--token-file", "mesh.db.tokens/builder"];
    assert_eq!(error(&missing).0, 2);
    assert!(!world.rig.path("missing.db").exists(), "a mistyped name makes no database");
    assert_eq!(error(&["inbox", "--db", "mesh.db"]), (2, "token-missing".to_owned()));
    assert_eq!(error(&["inbox", "--db", "mesh.db", "--as", "nobody"]), (2, "token-unusable".to_owned()));
    world.rig.write("junk.db", vec![7; 8192]);
    assert_eq!(error(&["inbox", "--db", "junk.db", "--token-file", "mesh.db.tokens/builder"]).0, 2);
    assert_eq!(std::fs::read(world.rig.path("junk.db")).expect("it is there"), vec![7; 8192], "it is left as it is");
    let away = ["inbox", "--socket", "mesh.db.run/socket", "--as", "builder"];
    assert_eq!(error(&away), (2, "server-unreachable".to_owned()));
    assert_eq!(error(&["inbox", "--db", "mesh.db", "--as", "alice"]).0, 2, "a user has no inbox");
}

#[test]
fn a_steer_for_an_objective_that_is_gone_is_refused() {
    let world = World::new();
    let steer = |version: &str| {
        world.at(
            "planner",
            &[&["send", "Stop.", "--intent", "steer", "--expect-objective", version][..], World::ROUTE].concat(),
        )
    };
    assert_eq!(steer("3").0, 0);
    let (code, values) = steer("2");
    assert_eq!((code, &values[0]["error"]["code"]), (1, &json!("policy-denied")), "{values:?}");
}

#[test]
fn text_from_others_does_not_act_on_the_terminal() {
    let world = World::new();
    let text = "red \u{1b}[31m, backwards \u{202e}, two\nlines";
    let send = [&["send", text, "--message-id", "msg_evil_0001"][..], World::ROUTE].concat();
    assert_eq!(world.at("planner", &send).0, 0);
    let inbox = world.rig.run(&["inbox", "--content", "--db", "mesh.db", "--as", "builder"]);
    assert!(inbox.out.contains("red \\u001b[31m, backwards \\u202e, two\\u000alines"), "{inbox:?}");
}
