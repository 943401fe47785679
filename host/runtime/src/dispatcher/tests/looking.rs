//! Looking at evidence: at once, again after a restart, never more often than allowed, and in turns.

use super::*;
use crate::resolver::{DeclaredResolver, Fact, Found, Question, Resolver};
use std::sync::mpsc::{Receiver, channel};

struct Scripted(Box<dyn Fn(&Question) -> Fact + Send + Sync>);

impl Resolver for Scripted {
    fn look(&self, question: &Question, _: Instant) -> Fact {
        (self.0)(question)
    }
}

fn resolver(name: &str, look: impl Fn(&Question) -> Fact + Send + Sync + 'static) -> DeclaredResolver {
    DeclaredResolver {
        name: name.into(),
        digest: fake::digest(name),
        kind: "scripted",
        producers: vec!["*".into()],
        deadline: SOON,
        bytes_max: 100,
        resolver: Arc::new(Scripted(Box::new(look))),
    }
}

fn found() -> Fact {
    Fact::Found(Found { digest: fake::digest("bytes"), length: 5, value: Some("true".into()) })
}

/// A dispatcher over `core` with these resolvers and no profile.
fn looking(core: &FakeCore, instance: &str, resolvers: &[DeclaredResolver]) -> Dispatcher {
    let config = Config { resolvers: resolvers.to_vec(), ..config(instance) };
    Dispatcher::start(core.host(instance), Vec::new(), config).unwrap()
}

fn wait_fact(core: &FakeCore, id: &str) -> serde_json::Value {
    core.wait(|core| core.wanted(id).fact.is_some(), || format!("a fact about {id}"));
    core.wanted(id).fact.unwrap()
}

#[test]
fn an_effect_is_looked_at_at_once_and_its_fact_is_on_record() {
    let core = FakeCore::new();
    let source = resolver("source", |question| {
        assert_eq!((question.address.as_str(), question.pointer.as_deref()), ("one", Some("/a")));
        assert_eq!(question.bytes_max, 100, "the tighter bound");
        found()
    });
    let dispatcher = looking(&core, "one", std::slice::from_ref(&source));
    dispatcher.perform(core.want("one", "owner", &source));
    let fact = wait_fact(&core, "one");
    assert_eq!(fact, json!({"result": "found", "value": true}));
    assert_eq!((core.count("inquiries.begin", ""), core.wanted("one").asked), (0, 1), "the commit counted it");
    assert_eq!(core.count("resolvers.declare", ""), 1);
    assert_eq!(dispatcher.stats().looks, 1);
}

#[test]
fn facts_that_are_no_find_carry_no_text_of_the_source() {
    let core = FakeCore::new();
    let source = resolver("source", |question| match question.address.as_str() {
        "a" => Fact::Absent,
        "b" => Fact::TooLarge,
        "c" => Fact::refused("redirect", "the source wrote this"),
        _ => panic!("as the test says"),
    });
    let dispatcher = looking(&core, "one", std::slice::from_ref(&source));
    for (id, result) in [("a", "absent"), ("b", "too-large"), ("c", "refused")] {
        dispatcher.perform(core.want(id, "owner", &source));
        assert_eq!(wait_fact(&core, id), json!({"result": result, "value": null}));
    }
    dispatcher.perform(core.want("d", "owner", &source));
    core.wait(|core| core.count("inquiries.record", "unreachable") == 1, || "a fact about d".into());
    assert_eq!(core.wanted("d").fact, None, "it decides nothing");
    let told = core.operations().iter().any(|(_, _, params)| params.to_string().contains("the source wrote this"));
    assert!(!told);
}

#[test]
fn a_look_that_was_lost_is_made_again_by_whoever_comes_next_and_counted_before() {
    let core = FakeCore::new();
    let source = resolver("source", |_| found());
    drop(core.want("one", "owner", &source));
    let dispatcher = looking(&core, "two", std::slice::from_ref(&source));
    core.wait(|core| core.count("inquiries.listDue", "") >= 3, || "sweeps".into());
    assert_eq!(dispatcher.stats().looks, 0, "it is not due yet");
    core.advance(Duration::from_millis(fake::LOOK_AGAIN_MS));
    wait_fact(&core, "one");
    assert_eq!(core.wanted("one").asked, 2);
    assert_eq!((core.count("inquiries.begin", ""), dispatcher.stats().looks), (1, 1));
}

#[test]
fn it_is_never_looked_at_more_often_than_allowed() {
    let core = FakeCore::new();
    let source = resolver("source", |_| Fact::unreachable("connection", "as the test says"));
    let dispatcher = looking(&core, "one", std::slice::from_ref(&source));
    dispatcher.perform(core.want("one", "owner", &source));
    for look in 1..=fake::LOOKS_MAX as usize {
        core.wait(|core| core.count("inquiries.record", "unreachable") == look, || format!("look {look}"));
        assert_eq!(core.wanted("one").asked as usize, look);
        core.advance(Duration::from_millis(fake::LOOK_AGAIN_MS));
    }
    assert_eq!(wait_fact(&core, "one"), json!("unresolved"));
    let sweeps = core.count("inquiries.listDue", "");
    core.wait(|core| core.count("inquiries.listDue", "") > sweeps + 3, || "sweeps".into());
    assert_eq!(dispatcher.stats().looks, u64::from(fake::LOOKS_MAX));
}

#[test]
fn looks_of_two_hosts_are_counted_and_another_version_of_the_source_is_left_alone() {
    let core = FakeCore::new();
    let source = resolver("source", |_| found());
    let other = DeclaredResolver { digest: fake::digest("changed"), ..resolver("source", |_| panic!("not this one")) };
    drop(core.want("one", "owner", &source));
    core.advance(Duration::from_millis(fake::LOOK_AGAIN_MS));
    let foreign = looking(&core, "foreign", &[other]);
    core.wait(|core| core.count("inquiries.listDue", "") >= 3, || "sweeps".into());
    assert_eq!((foreign.stats().looks, core.wanted("one").fact), (0, None));
    let hosts = ["two", "three"].map(|instance| looking(&core, instance, std::slice::from_ref(&source)));
    wait_fact(&core, "one");
    let looks = || hosts.iter().map(|host| host.stats().looks).sum::<u64>();
    // Each was counted before it was made, besides the one that was lost.
    core.wait(|core| looks() + 1 == u64::from(core.wanted("one").asked), || format!("{} looks", looks()));
}

#[test]
fn a_slow_source_of_one_pair_keeps_nobody_waiting() {
    let core = FakeCore::new();
    let (release, held): (_, Receiver<()>) = channel();
    let held = Mutex::new(held);
    let slow = resolver("slow", move |_| {
        let _ = lock(&held).recv();
        found()
    });
    let quick = resolver("quick", |_| found());
    let dispatcher = looking(&core, "one", &[slow.clone(), quick.clone()]);
    for n in 0..20 {
        dispatcher.perform(core.want(&format!("slow-{n:02}"), "greedy", &slow));
    }
    for n in 0..20 {
        let id = format!("quick-{n:02}");
        dispatcher.perform(core.want(&id, "modest", &quick));
        wait_fact(&core, &id);
    }
    drop(release);
    wait_fact(&core, "slow-19");
}
