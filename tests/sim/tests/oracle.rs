//! The oracle bites: with a rule switched off, a life is found in which something happens that must never be. So does the
//! model checker.
//!
//! The switch is one for the whole process, so this is a test program of its own with a single test.

use serde_json::Value;
use std::sync::Arc;
use threadmesh_native::NativeCore;
use threadmesh_protocol::{Rule, generated::rules::ALL, rules};
use threadmesh_runtime::{
    Core, driver,
    vectors::{Verdict, judge},
};
use threadmesh_sim::{
    life::{Keep, Life},
    minimise::minimise,
    model::{Action, World, pair::Pair},
    scenario::scenario,
};

/// The rules that are switched off in turn.
const RULES: &[&str] = &[
    "OP-4", "OP-6", "MS-3", "MB-1", "MB-3", "MB-4", "AD-2", "SU-6", "SU-9", "SU-12", "PO-1", "PO-3", "PO-4", "PO-5",
    "PO-6", "PO-12", "TK-4", "TK-5", "TK-6", "GA-6", "SM-1", "SM-2", "PP-3", "PP-9", "IN-1", "OC-1", "OC-6", "AT-31",
    "CX-1", "FW-2", "FW-3",
];
/// Those that are switched off in every order of everything as well: the message, its grant, its objective, and that nothing
/// is called over before somebody knows.
const MODELLED: &[&str] = &["MS-3", "PO-3", "PO-7", "SU-1"];
/// In how many lives the fault must be seen.
const LIVES: u64 = 1500;

fn rule(id: &str) -> Rule {
    *ALL.iter().find(|rule| rule.id() == id && rule.toggles()).expect("a rule with a switch")
}

fn violated(life: &Life, core: &Arc<dyn Core>) -> Option<String> {
    life.live(core, Keep::default()).violations.into_iter().next()
}

fn performs(vector: &Value) -> bool {
    let mut session = NativeCore.session().expect("a session");
    judge(vector, &driver::answer(session.as_mut(), "scenario", &vector["args"])) == Verdict::Passed
}

#[test]
fn switching_a_rule_off_is_seen() {
    let core: Arc<dyn Core> = Arc::new(NativeCore);
    let mut unseen = Vec::new();
    for id in RULES {
        rules::disable(Some(rule(id)));
        let seen = (1..=LIVES).find_map(|seed| violated(&Life::draw(seed), &core).map(|violation| (seed, violation)));
        match seen {
            Some((seed, violation)) => println!("without {id}, life {seed}: {violation:.120}"),
            None => unseen.push(id),
        }
    }
    assert!(unseen.is_empty(), "nothing is seen of these in {LIVES} lives: {unseen:?}");
    shortened(&core);
    modelled();
    rules::disable(None);
}

/// Looking through two messages that each are attempted once notices it too.
fn modelled() {
    let common = &[Action::Revoke, Action::MoveOn, Action::Wait];
    let world = World { messages: 2, pairs: 1, tries: 0, common, leaps: 1, planted: None };
    for id in MODELLED {
        rules::disable(Some(rule(id)));
        let wrong = Pair::new(world).look().wrong;
        let told = wrong.unwrap_or_else(|| panic!("nothing is seen of {id} where two messages are looked through"));
        println!("without {id}, of two messages: {told:.120}");
    }
}

/// A failing life is made short, and becomes a vector that passes only as long as the rule is off.
fn shortened(core: &Arc<dyn Core>) {
    rules::disable(Some(rule("PO-3")));
    let failing = (1..=LIVES).map(Life::draw).find(|life| violated(life, core).is_some()).expect("seen before");
    let short = minimise(&failing, |life| violated(life, core).is_some());
    assert!(short.actions.len() * 4 <= failing.actions.len(), "{} actions are left", short.actions.len());
    let outcome = short.live(core, Keep { calls: true, ..Keep::default() });
    assert!(!outcome.violations.is_empty(), "the short life fails too");
    let vector = scenario("a revoked grant", &outcome.recorded);
    assert!(performs(&vector), "the scenario does what the life did: {vector}");
    rules::disable(None);
    assert!(violated(&short, core).is_none(), "with the rule on, nothing is wrong");
    assert!(!performs(&vector), "with the rule on, the scenario is not performed: {vector}");
}
