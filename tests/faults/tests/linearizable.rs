//! One mailbox, several processes: whatever they were told fits one order of their operations, in which each takes place
//! between its call and its answer, and a mailbox as simple as the one below says the same.
//!
//! `THREADMESH_ROUNDS` is how many mailboxes are tried.

use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};
use std::path::Path;
use std::time::Instant;
use threadmesh_faults::campaign::{Process, SOON};
use threadmesh_faults::lines::Line;
use threadmesh_faults::mesh::{Mesh, Opening, core};
use threadmesh_faults::rival::{self, Act, Event, Orders, Said};
use threadmesh_faults::{random, script};

const PROGRAM: &str = env!("CARGO_BIN_EXE_threadmesh-faults");
const RIVALS: u64 = 4;
/// Operations in a history that is made wrong.
const BEGINNING_MAX: usize = 10;

/// A message of the reference.
#[derive(Clone, Debug, Default)]
struct Message {
    id: String,
    holder: Option<u64>,
    decided: bool,
}

/// The reference: a mailbox that does one thing after the other.
#[derive(Clone, Debug, Default)]
struct Mailbox(Vec<Message>);

impl SequentialSpec for Mailbox {
    type Op = (u64, Act);
    type Ret = Said;

    fn invoke(&mut self, (rival, act): &Self::Op) -> Said {
        match act {
            Act::Send(id) => {
                self.0.push(Message { id: id.clone(), ..Message::default() });
                Said::Sent
            }
            Act::List => {
                let open = self.0.iter().filter(|message| !message.decided);
                Said::Listed(open.map(|message| (message.id.clone(), message.holder.is_some())).collect())
            }
            Act::Claim(id) => match self.0.iter_mut().find(|message| message.id == *id) {
                None => Said::Missing,
                Some(message) if message.decided => Said::Decided,
                Some(message) => match *message.holder.get_or_insert(*rival) == *rival {
                    true => Said::Claimed(1),
                    false => Said::Busy,
                },
            },
            Act::Ack(id) => match self.0.iter_mut().find(|message| message.id == *id) {
                Some(message) if message.holder == Some(*rival) && !message.decided => {
                    message.decided = true;
                    Said::Accepted
                }
                _ => Said::Refused,
            },
        }
    }
}

/// Whether there is an order that explains the history.
fn explained(history: &[Event]) -> bool {
    // What ends in the moment in which another begins may be taken for concurrent.
    let mut moments: Vec<(i64, bool, &Event)> = history.iter().map(|event| (event.from, false, event)).collect();
    moments.extend(history.iter().map(|event| (event.to, true, event)));
    moments.sort_by_key(|(time, ends, _)| (*time, *ends));
    let mut tester = LinearizabilityTester::new(Mailbox::default());
    for (_, ends, event) in moments {
        let fed = match ends {
            false => tester.on_invoke(event.rival, (event.rival, event.act.clone())).map(drop),
            true => tester.on_return(event.rival, event.said.clone()).map(drop),
        };
        fed.expect("a history of processes that do one thing at a time");
    }
    tester.is_consistent()
}

/// Lets the rivals play so many rounds; their histories.
fn play(db: &Path, rounds: u64, seed: u64) -> Vec<Vec<Event>> {
    let mesh = Mesh::open(core(), &Opening::plain(db, "referee")).expect("it opens");
    let user = |operation: &str, params| mesh.call(&script::user(), operation, &params).expect("prepared");
    let start = |rival| {
        let opening = Opening::plain(db, &format!("host-{rival}"));
        let orders = Orders { opening, rival, rivals: RIVALS, seed };
        Process::start(Path::new(PROGRAM), "rival", &serde_json::to_string(&orders).expect("JSON"), None)
    };
    let mut rivals: Vec<Process> = (0..RIVALS).map(start).collect();
    for rival in 0..RIVALS {
        user("tasks.register", script::register(&rival::sender(rival), "final"));
    }
    for process in &mut rivals {
        assert!(process.listen(SOON, |line| matches!(line, Line::Loaded)), "{}", process.told.errors);
    }
    let mut histories = Vec::new();
    for round in 0..rounds {
        user("tasks.register", script::register(&rival::target(round), "final"));
        for rival in 0..RIVALS {
            user("relationships.grant", script::grant(&rival::sender(rival), &rival::target(round)));
        }
        let start = rival::clock() + 2_000_000;
        rivals.iter_mut().for_each(|process| process.tell(&format!("{round} {start}")));
        for process in &mut rivals {
            assert!(process.listen(SOON, |line| matches!(line, Line::Round { .. })), "{}", process.told.errors);
        }
        histories.push(rivals.iter_mut().flat_map(|process| std::mem::take(&mut process.told.events)).collect());
    }
    rivals.into_iter().for_each(|process| drop(process.finish()));
    mesh.check_file().expect("it is sound");
    histories
}

#[test]
fn a_mailbox_is_linearizable() {
    let rounds = std::env::var("THREADMESH_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let (folder, seed) = (tempfile::tempdir().expect("a folder"), random::seed());
    let histories = play(&folder.path().join("mesh.db"), rounds, seed);
    let begun = Instant::now();
    let mut overlapping = 0;
    for (round, history) in histories.iter().enumerate() {
        assert!(explained(history), "seed {seed}, round {round}: {history:#?}");
        let meets = |one: &Event| {
            history.iter().any(|other| other.rival != one.rival && other.from < one.to && one.from < other.to)
        };
        overlapping += history.iter().filter(|event| meets(event)).count();
    }
    let all: Vec<&Event> = histories.iter().flatten().collect();
    let counted = |said: &Said| all.iter().filter(|event| event.said == *said).count();
    println!(
        "{} operations in {rounds} histories, {overlapping} of them concurrent; claimed {}, busy {}, decided {}, missing \
         {}, accepted {}, refused {}; checked in {:?}",
        all.len(),
        counted(&Said::Claimed(1)),
        counted(&Said::Busy),
        counted(&Said::Decided),
        counted(&Said::Missing),
        counted(&Said::Accepted),
        counted(&Said::Refused),
        begun.elapsed()
    );
    assert!(overlapping * 4 > all.len(), "processes that wait for each other prove nothing");
    assert!(counted(&Said::Busy) > 0 && counted(&Said::Accepted) > 0 && counted(&Said::Decided) > 0);
    planted(&histories);
}

/// What one of the rivals was told is exchanged for what it would be told if something were lost. A history that no order
/// explains is gone through in every order, so that only short beginnings of histories are taken.
fn planted(histories: &[Vec<Event>]) {
    let (mut doubled, mut lost) = (0, 0);
    for event in histories.iter().flatten() {
        let history = histories.iter().find(|history| history.contains(event)).expect("it is from one of them");
        let mut begun: Vec<Event> = history.iter().filter(|other| other.from < event.to).cloned().collect();
        if begun.len() > BEGINNING_MAX {
            continue;
        }
        let said = match &event.said {
            Said::Busy => Said::Claimed(1),
            Said::Listed(listed) if !listed.is_empty() => Said::Listed(listed[1..].to_vec()),
            _ => continue,
        };
        let count = if said == Said::Claimed(1) { &mut doubled } else { &mut lost };
        if !is_sure(&begun, event) {
            continue;
        }
        begun.iter_mut().filter(|other| *other == event).for_each(|other| other.said = said.clone());
        assert!(!explained(&begun), "{event:?} exchanged for {said:?}: {history:#?}");
        *count += 1;
    }
    println!("{doubled} doubled claims and {lost} lost messages were planted and found");
    assert!(doubled + lost > 0);
}

/// Whether nothing that happened could explain another answer: the claim that is in the way was answered before, and the
/// message that is left out was sent before, and nobody has decided on it.
fn is_sure(begun: &[Event], event: &Event) -> bool {
    let earlier = |act: &Act, said: &Said| {
        begun.iter().any(|other| {
            other.act == *act && other.said == *said && other.to < event.from && other.rival != event.rival
        })
    };
    match (&event.act, &event.said) {
        (Act::Claim(_), _) => earlier(&event.act, &Said::Claimed(1)),
        (_, Said::Listed(listed)) => {
            let id = || listed[0].0.clone();
            earlier(&Act::Send(id()), &Said::Sent) && !begun.iter().any(|other| other.act == Act::Ack(id()))
        }
        _ => false,
    }
}

fn event(rival: u64, from: i64, to: i64, act: Act, said: Said) -> Event {
    Event { rival, from, to, act, said }
}

#[test]
fn the_tester_refuses_what_no_order_explains() {
    let id = || "msg_1".to_owned();
    let sent = event(0, 0, 10, Act::Send(id()), Said::Sent);
    let claim = |rival, from, to| event(rival, from, to, Act::Claim(id()), Said::Claimed(1));
    let list = |rival, from, to, claimed| event(rival, from, to, Act::List, Said::Listed(vec![(id(), claimed)]));
    let ack = |rival, from, to, said| event(rival, from, to, Act::Ack(id()), said);

    assert!(explained(&[sent.clone(), claim(1, 5, 20), list(2, 11, 30, false)]), "the list may be first");
    assert!(!explained(&[sent.clone(), claim(1, 20, 30), claim(2, 25, 35)]), "a claim twice");
    assert!(!explained(&[sent.clone(), claim(1, 20, 30), list(2, 31, 40, false)]), "a claim that is lost");
    assert!(!explained(&[sent.clone(), event(1, 11, 20, Act::List, Said::Listed(vec![]))]), "a message that is lost");
    assert!(!explained(&[claim(1, 0, 5), event(0, 6, 10, Act::Send(id()), Said::Sent)]), "claimed before it was sent");
    let (first, second) = (ack(1, 31, 40, Said::Accepted), ack(1, 41, 50, Said::Accepted));
    assert!(!explained(&[sent.clone(), claim(1, 20, 30), first.clone(), second]), "decided twice");
    assert!(!explained(&[sent, claim(1, 20, 30), first, list(2, 41, 50, true)]), "decided, and pending again");
}
