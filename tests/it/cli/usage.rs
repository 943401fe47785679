//! Help, completions, bad usage, and what never reaches a terminal.

use crate::program::Rig;
use crate::program::world::World;

/// The commands that the help lists.
fn commands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // What does not begin in the third column goes on with a description.
    let named = listed.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    named.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

#[test]
fn every_command_has_help_with_examples() {
    let rig = Rig::new();
    let top = rig.run(&["--help"]);
    assert_eq!(top.code, 0);
    for text in ["0  accepted", "1  refused", "2  unusable"] {
        assert!(top.out.contains(text), "{text}");
    }
    let commands = commands(&top.out);
    assert!(commands.len() > 20 && commands.contains(&"purge"), "{commands:?}");
    for command in commands {
        let help = rig.run(&[command, "--help"]);
        assert_eq!(help.code, 0, "{command}");
        assert!(help.out.contains("Examples:") && help.out.contains(&format!("threadmesh {command}")), "{command}");
        assert!(help.err.is_empty(), "{command}");
    }
    assert_eq!(rig.run(&["--version"]).out, format!("threadmesh {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_shell_has_completions() {
    let rig = Rig::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = rig.run(&["completions", shell]);
        assert_eq!(script.code, 0);
        assert!(script.out.contains("threadmesh") && script.out.contains("canonicalize"), "{shell}");
    }
}

#[test]
fn bad_usage_is_unusable_and_says_what_to_do() {
    let rig = Rig::new();
    for arguments in [&["bogus"][..], &[], &["check"], &["check", "envelope"], &["digest", "--wrong", "x"], &["token"]]
    {
        let plain = rig.run(arguments);
        assert_eq!(plain.code, 2, "{arguments:?}");
        assert!(!plain.err.is_empty() && plain.out.is_empty(), "{plain:?}");
        let (code, values) = rig.json(arguments);
        assert_eq!((code, values[0]["error"]["code"].as_str()), (2, Some("usage")), "{arguments:?}");
        assert!(values[0]["error"]["detail"].is_string() && values[0]["error"]["pointer"] == "");
    }
    let (_, missing) = rig.json(&["token", "create", "x", "--db", "mesh.db"]);
    let detail = missing[0]["error"]["detail"].as_str().expect("a sentence");
    assert!(detail.contains("--kind <KIND>") && !detail.contains("Usage"), "all of it, and nothing else: {detail}");
}

#[test]
fn what_needs_a_database_says_so() {
    let rig = Rig::new();
    for arguments in [
        &["call", "tasks.get"][..],
        &["inbox"],
        &["show", "msg_0000001"],
        &["wait", "--inbox"],
        &["ack", "msg_0000001", "--decision", "accepted"],
        &["send", "text", "--to", "a@inc_0000001", "--relationship", "rel_1", "--reason", "why"],
    ] {
        let plain = rig.run(arguments);
        assert_eq!(plain.code, 2, "{arguments:?}");
        assert!(
            plain.err.contains("database-missing") && plain.err.contains("next: make one with `threadmesh init`"),
            "{plain:?}"
        );
        let (code, values) = rig.json(arguments);
        assert_eq!((code, values[0]["error"]["code"].as_str()), (2, Some("database-missing")), "{arguments:?}");
    }
}

#[test]
fn a_slip_says_what_to_do_next() {
    let world = World::new();
    let rig = &world.rig;
    let send = ["send", "text", "--db", "mesh.db", "--as", "planner", "--intent", "steer"];
    let odd_id = r#"{"task": {"taskId": "plan-1", "incarnationId": "plan_0001"}}"#;
    let task = ["token", "create", "x", "--db", "mesh.db", "--kind", "task", "--owner", "user:alice"];
    let get = ["call", "--db", "mesh.db", "--as", "alice", "tasks.get", odd_id];
    for (arguments, code, next) in [
        (&["inbox", "--db", "mesh.db", "--as", "mesh.db.tokens/builder"][..], "usage", "--token-file FILE"),
        (&["inbox", "--db", "mesh.db", "--token-file", "/dev/null"], "token-unusable", "FILE.tokens/NAME"),
        (&["inbox", "--db", "mesh.db", "--token-file", "mesh.db.tokens"], "token-unusable", "FILE.tokens/NAME"),
        (
            &["mcp", "--socket", "none", "--token-file", "mesh.db.tokens/builder"],
            "server-unreachable",
            "threadmesh serve",
        ),
        (&["mcp", "--socket", "none", "--token-file", "/dev/null"], "token-unusable", "FILE.tokens/NAME"),
        (&["token", "create", "x", "--db", "mesh.db", "--kind", "task"], "usage", "--incarnation ID and --owner"),
        (&["token", "create", "a name", "--db", "mesh.db", "--kind", "user"], "usage", "1 to 64 letters"),
        (&[&task[..], &["--incarnation", "build-2"]].concat(), "usage", "inc_build_0001"),
        (&["inbox", "--db", "nosuch.db", "--as", "nobody"], "database-missing", "threadmesh init"),
        (&[&send[..], World::ROUTE].concat(), "envelope-invalid", "--expect-run ID"),
        (&get, "params-invalid", "inc_build_0001"),
    ] {
        let ran = rig.run(arguments);
        assert!(ran.code > 0 && ran.err.contains(code), "{arguments:?}: {ran:?}");
        let told = ran.err.lines().find_map(|line| line.trim().strip_prefix("next: ")).unwrap_or_default();
        assert!(told.contains(next) && !told.contains("--db FILE,"), "{arguments:?}: {ran:?}");
    }
    let maybe = rig.run(&["ack", "msg_0000001", "--decision", "maybe", "--db", "mesh.db", "--as", "builder"]);
    assert!(maybe.code == 2 && maybe.err.contains("accepted, rejected, deferred"), "{maybe:?}");
    let owner = rig.run(&["show", "msg_0000001", "--owner", "alice", "--db", "mesh.db", "--as", "operator"]);
    assert!(owner.code == 2 && owner.err.contains("user:alice"), "{owner:?}");
}

#[test]
fn nothing_that_acts_on_a_terminal_is_printed() {
    let rig = Rig::new();
    let name = "a\u{1b}[2J\u{202e}b.json";
    rig.write(name, "{\"\u{202e}\": 1}");
    for arguments in [&["check", "envelope", name][..], &["digest", name], &["digest", "no\u{7}such\u{200b}"]] {
        for json in [false, true] {
            let mut all = arguments.to_vec();
            all.extend(json.then_some("--json"));
            let ran = rig.run(&all);
            let acts = |sign: char| (sign.is_control() && sign != '\n') || ('\u{200b}'..='\u{202e}').contains(&sign);
            assert!(!ran.out.contains(acts) && !ran.err.contains(acts), "{ran:?}");
        }
    }
    let told = rig.run(&["bogus\u{202e}"]);
    assert!(told.err.contains("bogus\\u202e"), "{told:?}");
}

#[test]
fn an_answer_that_cannot_be_written_is_unusable() {
    use std::process::{Command, Stdio};
    let world = World::new();
    let run = |out: Stdio, arguments: &[&str]| {
        let mut command: Command = world.rig.command(arguments);
        let done = command.stdin(Stdio::null()).stdout(out).stderr(Stdio::piped()).output().expect("it runs");
        (done.status.code(), String::from_utf8(done.stderr).expect("text"))
    };
    let show = ["token", "create", "shown", "--db", "mesh.db", "--kind", "user", "--show"];
    let each: [&[&str]; 6] = [
        &["openrpc"],
        &["--json", "openrpc"],
        &["completions", "bash"],
        &["--help"],
        &["doctor", "--db", "mesh.db"],
        &show,
    ];
    for arguments in each {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a full disk");
        let (code, told) = run(full.into(), arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {told}");
        assert!(told.contains("output-failed"), "{arguments:?}: {told}");
        let (closed, out) = std::io::pipe().expect("a pipe");
        drop(closed);
        let (code, told) = run(out.into(), &["openrpc"]);
        assert_eq!(code, Some(2), "{told}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_argument_that_is_no_text_is_bad_usage() {
    use std::os::unix::ffi::OsStrExt;
    let rig = Rig::new();
    let odd = std::ffi::OsStr::from_bytes(b"\xff");
    for arguments in [
        vec![odd],
        vec!["--json".as_ref(), odd],
        vec!["send".as_ref(), odd],
        vec!["--json".as_ref(), "call".as_ref(), odd, odd],
    ] {
        let ran = rig.run(&arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {ran:?}");
        assert!(!ran.err.contains("panicked"), "{ran:?}");
    }
}
