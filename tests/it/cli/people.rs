//! `init`, `task`, `link`, `unlink`, `up`, and names in place of ids: on the database of the account.

use crate::program::{Rig, Server};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

const DB: &str = ".local/share/threadmesh/mesh.db";

/// A rig with a database of the account, and the tasks `plan` and `build`.
fn two_tasks() -> Rig {
    let rig = Rig::new();
    for arguments in [&["init"][..], &["task", "add", "plan", "build"]] {
        let made = rig.run(arguments);
        assert_eq!(made.code, 0, "{made:?}");
    }
    rig
}

/// The one answer of a command that is carried out.
fn done(rig: &Rig, arguments: &[&str]) -> Value {
    let (code, mut values) = rig.json(arguments);
    assert_eq!((code, values.len()), (0, 1), "{arguments:?}: {values:?}");
    values.remove(0)
}

/// How a command that is not carried out ends: its exit code, the error's code and its sentence.
fn refused(rig: &Rig, arguments: &[&str]) -> (i32, String, String) {
    let (code, values) = rig.json(arguments);
    let text = |name: &str| values[0]["error"][name].as_str().unwrap_or_default().to_owned();
    assert!(code != 0 && values.len() == 1, "{arguments:?}: {values:?}");
    (code, text("code"), text("detail"))
}

#[test]
fn init_makes_a_database_and_its_user_once() {
    let rig = Rig::new();
    let first = done(&rig, &["init", "--user", "alice"]);
    assert_eq!((&first["created"], &first["user"], &first["replay"]), (&json!(true), &json!("alice"), &json!(false)));
    let file = rig.path(DB);
    assert_eq!(first["database"], file.display().to_string());
    let mode = fs::metadata(file.parent().expect("a folder")).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode, 0o700, "the folder is closed to other accounts");
    for arguments in [&["init"][..], &["init", "--user", "alice"]] {
        let again = done(&rig, arguments);
        assert_eq!(
            (&again["created"], &again["user"], &again["replay"]),
            (&json!(false), &json!("alice"), &json!(true))
        );
    }
    let (code, word, detail) = refused(&rig, &["init", "--user", "bob"]);
    assert_eq!((code, word.as_str()), (1, "stands-otherwise"));
    assert!(detail.contains("alice") && detail.contains("bob"), "{detail}");
    assert!(rig.run(&["doctor"]).out.contains(DB), "the doctor looks at the database of the account");
}

#[test]
fn the_user_has_the_login_name() {
    let rig = Rig::new();
    let ran = rig.command(&["init", "--json"]).env("USER", "Ann O'Neil").output().expect("the program runs");
    let value: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!(value["user"], "Ann-O-Neil");
}

#[test]
fn a_task_is_added_once_and_completed_where_it_was_half_there() {
    let rig = two_tasks();
    let first = done(&rig, &["task", "add", "review", "--harness", "codex"]);
    assert_eq!((&first["harness"], &first["replay"]), (&json!("codex"), &json!(false)));
    assert!(first["incarnationId"].as_str().is_some_and(|id| id.starts_with("inc_review_")), "{first}");
    for arguments in [&["task", "add", "review"][..], &["task", "add", "review", "--harness", "codex"]] {
        let again = done(&rig, arguments);
        assert_eq!((&again["incarnationId"], &again["replay"]), (&first["incarnationId"], &json!(true)));
    }
    let (code, word, detail) = refused(&rig, &["task", "add", "review", "--harness", "gemini"]);
    assert_eq!((code, word.as_str()), (1, "stands-otherwise"));
    assert!(detail.contains("codex") && detail.contains("gemini"), "{detail}");
    // As after a crash between the token and the registration.
    let half = ["token", "create", "half", "--kind", "task", "--incarnation", "inc_half_00001", "--owner"];
    let owner = first["owner"].as_str().expect("an owner").to_owned();
    assert_eq!(rig.json(&[&half[..], &[owner.as_str()]].concat()).0, 0);
    let completed = done(&rig, &["task", "add", "half"]);
    assert_eq!((&completed["incarnationId"], &completed["replay"]), (&json!("inc_half_00001"), &json!(false)));
}

#[test]
fn a_lost_token_is_made_anew_on_demand_alone() {
    let rig = two_tasks();
    let file = rig.path(DB).with_file_name("mesh.db.tokens").join("build");
    let old = rig.write("old", fs::read_to_string(&file).expect("the token"));
    fs::set_permissions(&old, fs::Permissions::from_mode(0o600)).expect("a mode");
    fs::remove_file(&file).expect("it was there");
    let (code, word, _) = refused(&rig, &["task", "add", "build"]);
    assert_eq!((code, word.as_str()), (1, "stands-otherwise"));
    assert_eq!(rig.run(&["inbox", "--token-file", "old"]).code, 0, "it only lies elsewhere");
    done(&rig, &["task", "add", "build", "--new-token"]);
    assert_eq!(rig.run(&["inbox", "--as", "build"]).code, 0);
    assert_eq!(refused(&rig, &["inbox", "--token-file", "old"]).1, "token-unusable");
}

#[test]
fn a_name_that_is_taken_says_by_whom() {
    let rig = two_tasks();
    assert_eq!(rig.run(&["token", "create", "bob", "--kind", "user"]).code, 0);
    let (_, word, detail) = refused(&rig, &["task", "add", "bob", "--as", "bob"]);
    assert_eq!(word, "stands-otherwise");
    assert!(detail.contains("user bob"), "{detail}");
    let (_, word, detail) = refused(&rig, &["task", "add", "build", "--as", "bob"]);
    assert_eq!(word, "stands-otherwise");
    assert!(detail.contains("task build"), "{detail}");
    let (code, word, _) = refused(&rig, &["task", "add", "more"]);
    assert_eq!((code, word.as_str()), (2, "token-missing"), "with two users it must be said who adds");
    let (code, word, _) = refused(&rig, &["task", "add", "more", "--as", "plan"]);
    assert_eq!((code, word.as_str()), (1, "control-plane-required"));
    for name in ["a b", "", "../x", "-x", "é", &"x".repeat(65)] {
        assert_eq!(rig.json(&["task", "add", "--as", "bob", "--", name]).0, 2, "{name:?}");
    }
    let listed = done(&rig, &["task", "list", "--as", "bob"]);
    assert_eq!(listed["tasks"], json!([]), "one user does not see the tasks of another");
}

#[test]
fn a_link_is_made_once_changed_on_demand_and_withdrawn() {
    let rig = two_tasks();
    let first = done(&rig, &["link", "plan", "build"]);
    let link = &first["links"][0];
    assert_eq!((&link["relationshipType"], &link["grantVersion"]), (&json!("peer"), &json!(1)));
    assert_eq!(link["allowedIntents"], json!(["notify", "suggest"]));
    let again = done(&rig, &["link", "plan", "build", "--may", "suggest,notify"]);
    assert_eq!((&again["links"][0]["grantId"], &again["links"][0]["replay"]), (&link["grantId"], &json!(true)));
    let steer = ["link", "plan", "build", "--may", "suggest,steer", "--as", "supervisor"];
    let (code, word, detail) = refused(&rig, &steer);
    assert_eq!((code, word.as_str()), (1, "stands-otherwise"));
    assert!(detail.contains("peer") && detail.contains("supervisor") && detail.contains("notify, suggest"), "{detail}");
    let changed = done(&rig, &[&steer[..], &["--change", "--both"]].concat());
    assert_eq!(changed["links"][0]["grantVersion"], 2);
    assert_eq!(
        (&changed["links"][1]["from"], &changed["links"][1]["relationshipType"]),
        (&json!("build"), &json!("child"))
    );
    let gone = done(&rig, &["unlink", "plan", "build", "--both"]);
    assert_eq!((gone["revoked"].as_array().map(Vec::len), &gone["replay"]), (Some(2), &json!(false)));
    let again = done(&rig, &["unlink", "plan", "build"]);
    assert_eq!((&again["revoked"], &again["replay"]), (&json!([]), &json!(true)));
    assert_eq!(done(&rig, &["link", "plan", "build"])["links"][0]["grantVersion"], 3);
}

#[test]
fn a_link_that_cannot_be_says_why() {
    let rig = two_tasks();
    let plain = rig.run(&["link", "plan", "build", "--may", "steer"]);
    assert_eq!(plain.code, 1);
    assert!(plain.err.contains("--as supervisor"), "{plain:?}");
    let unknown = rig.run(&["link", "plan", "bild"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("name-unknown") && unknown.err.contains("plan, build"), "{unknown:?}");
    assert_eq!(refused(&rig, &["link", "plan", "plan"]).1, "usage");
    assert_eq!(rig.run(&["token", "create", "bob", "--kind", "user"]).code, 0);
    assert_eq!(rig.run(&["task", "add", "other", "--as", "bob"]).code, 0);
    let foreign = rig.run(&["link", "plan", "other", "--by", "bob"]);
    assert_eq!(foreign.code, 1);
    assert!(foreign.err.contains("user:bob") && foreign.err.contains("next:"), "{foreign:?}");
}

/// One conversation by names: on a database, or on its server.
fn conversation(rig: &Rig, place: &[&str]) {
    let at = |arguments: &[&str]| done(rig, &[arguments, place].concat());
    let sent = at(&["send", "Line 40 fails.", "--as", "plan", "--to", "build", "--message-id", "msg_parser_0001"]);
    assert_eq!((&sent["target"]["taskId"], &sent["relationshipId"]), (&json!("build"), &json!("rel_build_plan")));
    let again = at(&["send", "Line 40 fails.", "--as", "plan", "--to", "build", "--message-id", "msg_parser_0001"]);
    assert_eq!((&again["replay"], &again["envelopeDigest"]), (&json!(true), &sent["envelopeDigest"]));
    let other = ["send", "Line 41 fails.", "--as", "plan", "--to", "build", "--message-id", "msg_parser_0001"];
    let (code, word, detail) = refused(rig, &[&other[..], place].concat());
    assert_eq!((code, word.as_str()), (1, "idempotency-conflict"));
    assert!(detail.contains("the text"), "{detail}");
    let listed = at(&["task", "list"]);
    let row =
        listed["tasks"].as_array().and_then(|rows| rows.iter().find(|row| row["name"] == "build")).expect("it is");
    assert_eq!((&row["undecided"], &row["harness"]), (&json!(1), &json!("shell")));
    let decided = at(&["ack", "--decision", "accepted", "--as", "build"]);
    assert_eq!((&decided["messageId"], &decided["replay"]), (&json!("msg_parser_0001"), &json!(false)));
    let again = at(&["ack", "msg_parser_0001", "--decision", "accepted", "--as", "build"]);
    assert_eq!((&again["replay"], &again["disposition"]), (&json!(true), &decided["disposition"]));
    let rejects = ["ack", "msg_parser_0001", "--decision", "rejected", "--as", "build"];
    assert_eq!(refused(rig, &[&rejects[..], place].concat()).1, "state-conflict");
    let answer = ["send", "Thanks.", "--as", "build", "--to", "plan", "--parent", "msg_parser_0001"];
    let answered = at(&[&answer[..], &["--message-id", "msg_answer_0001"]].concat());
    assert_eq!(answered["relationshipId"], "rel_build_plan");
    let by_sender = at(&["show", "msg_parser_0001", "--as", "plan"]);
    let by_receiver = at(&["show", "msg_parser_0001", "--as", "build"]);
    let by_owner = at(&["show", "msg_parser_0001", "--sender", "plan", "--as", "owner"]);
    for shown in [&by_sender, &by_receiver, &by_owner] {
        assert_eq!(shown["disposition"], decided["disposition"]);
        assert_eq!(shown["provenance"]["source"]["taskId"], "plan");
        assert!(shown.get("content").is_none(), "texts are shown on demand only");
    }
    assert_eq!(at(&["wait", "--inbox", "--as", "plan", "--timeout", "5s"])["pending"], true);
}

#[test]
fn tasks_talk_by_their_names_on_a_database() {
    let rig = named();
    conversation(&rig, &[]);
}

#[test]
fn tasks_talk_by_their_names_on_a_server() {
    let rig = named();
    let _server = rig.serve(&[]);
    conversation(&rig, &["--socket", &format!("{DB}.run/socket")]);
}

/// The user is called `owner`; both tasks may send to each other.
fn named() -> Rig {
    let rig = Rig::new();
    done(&rig, &["init", "--user", "owner"]);
    assert_eq!(rig.run(&["task", "add", "plan", "build"]).code, 0);
    done(&rig, &["link", "plan", "build", "--both"]);
    rig
}

#[test]
fn a_message_without_a_link_says_how_to_make_one() {
    let rig = two_tasks();
    let plain = rig.run(&["send", "text", "--as", "plan", "--to", "build"]);
    assert_eq!(plain.code, 1);
    assert!(plain.err.contains("no-link") && plain.err.contains("threadmesh link plan build"), "{plain:?}");
    let unknown = rig.run(&["send", "text", "--as", "plan", "--to", "bild"]);
    assert!(unknown.err.contains("no task is called") && unknown.err.contains("plan, build"), "{unknown:?}");
    let nobody = rig.run(&["inbox"]);
    assert_eq!(nobody.code, 2);
    assert!(nobody.err.contains("token-missing") && nobody.err.contains("build (task)"), "{nobody:?}");
}

#[test]
fn requests_are_shown_on_demand() {
    let rig = two_tasks();
    let ran = rig.run(&["link", "plan", "build", "-v", "--json"]);
    assert_eq!((ran.code, ran.values().len()), (0, 1), "standard output stays what it is: {ran:?}");
    let frames: Vec<Value> = ran
        .err
        .lines()
        .filter_map(|line| line.strip_prefix("> "))
        .map(|frame| serde_json::from_str(frame).expect("a frame"))
        .collect();
    assert!(frames.iter().all(|frame| frame["jsonrpc"] == "2.0" && frame["params"].is_object()), "{frames:?}");
    assert_eq!(frames.last().expect("one")["method"], "relationships.grant");
    assert!(rig.run(&["link", "plan", "build"]).err.is_empty());
}

#[test]
fn up_serves_and_a_second_one_says_so() {
    let rig = two_tasks();
    let mut command = rig.command(&["up", "--port", "0", "--json"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the server starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("the server speaks");
    let serving: Value = serde_json::from_str(&line).expect("JSON");
    assert!(serving["listening"].as_str().is_some_and(|url| url.starts_with("http://127.0.0.1:")), "{serving}");
    let server = Server::of(child);
    let second = done(&rig, &["up", "--port", "0"]);
    assert_eq!((&second["serving"], &second["replay"]), (&serving["serving"], &json!(true)));
    let setup = done(&rig, &["mcp", "setup", "--harness", "codex", "--as", "build"]);
    assert_eq!(setup["arguments"][2], serving["serving"]);
    assert_eq!(server.terminate(), 0);
    assert_eq!(refused(&Rig::new(), &["up"]).1, "database-missing");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let rig = Rig::new();
    rig.write(".local", "a file where a folder must be");
    let (code, word, detail) = refused(&rig, &["init"]);
    assert_eq!((code, word.as_str()), (2, "file-unwritable"));
    assert!(detail.contains(".local"), "{detail}");
    let homeless = rig.command(&["inbox", "--as", "build"]).env_remove("HOME").output().expect("the program runs");
    let text = String::from_utf8_lossy(&homeless.stderr).into_owned();
    assert!(homeless.status.code() == Some(2) && text.contains("database-missing") && text.contains("--db"), "{text}");
}
