//! What must hold in `transitions.json` before anything is written from it.

use super::{Combinations, Machine, Reasons, Side, Table};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;

/// Names are known and unique, terminal states and only those have no edge, every state is reached and has a way out.
pub(super) fn audit(table: &Table, rules: &[String]) -> Result<()> {
    let guards = unique("guard", table.guards.iter().map(|word| &word.name))?;
    let parties = unique("party", table.parties.iter().map(|word| &word.name))?;
    unique("machine", table.machines.iter().map(|machine| &machine.name))?;
    let rule = |id: &str| {
        ensure!(rules.iter().any(|known| known == id), "no rule {id}");
        Ok(())
    };
    let mut used = BTreeSet::new();
    for machine in &table.machines {
        words(machine, &parties, &guards).with_context(|| format!("machine {}", machine.name))?;
        shape(machine).with_context(|| format!("machine {}", machine.name))?;
        rule(&machine.rule)?;
        for edge in &machine.edges {
            rule(&edge.rule)?;
            used.extend(edge.guards.iter().map(String::as_str));
        }
        machine.refusals.iter().try_for_each(|refusal| rule(&refusal.rule))?;
    }
    ensure!(used == guards, "guards without use: {:?}", guards.difference(&used));
    reasons(&table.reasons, table.machine("decision").context("no machine decision")?)?;
    [&table.reasons.rule, &table.reasons.none_rule, &table.combinations.rule].iter().try_for_each(|id| rule(id))?;
    combinations(table, &table.combinations)?;
    table.combinations.forbidden.iter().try_for_each(|row| rule(&row.rule))
}

fn unique<'a>(kind: &str, names: impl Iterator<Item = &'a String>) -> Result<BTreeSet<&'a str>> {
    let mut seen = BTreeSet::new();
    for name in names {
        ensure!(seen.insert(name.as_str()), "{kind} {name} stands twice");
    }
    Ok(seen)
}

fn words(machine: &Machine, parties: &BTreeSet<&str>, guards: &BTreeSet<&str>) -> Result<()> {
    let states = unique("state", machine.states.iter().map(|state| &state.name))?;
    let events = unique("event", machine.events.iter().map(|event| &event.name))?;
    ensure!(states.contains(machine.initial.as_str()), "no state {}", machine.initial);
    for event in &machine.events {
        ensure!(!event.by.is_empty(), "nobody may cause {}", event.name);
        let stranger = event.by.iter().find(|name| !parties.contains(name.as_str()));
        ensure!(stranger.is_none(), "event {}: no party {stranger:?}", event.name);
    }
    let mut pairs = BTreeSet::new();
    for edge in &machine.edges {
        ensure!(states.contains(edge.from.as_str()) && states.contains(edge.to.as_str()), "edge of {}", edge.from);
        ensure!(events.contains(edge.event.as_str()), "no event {}", edge.event);
        ensure!(pairs.insert((&edge.from, &edge.event)), "two edges from {} by {}", edge.from, edge.event);
        let stranger = edge.guards.iter().find(|name| !guards.contains(name.as_str()));
        ensure!(stranger.is_none(), "no guard {stranger:?}");
    }
    for refusal in &machine.refusals {
        for (from, event) in refusal.from.iter().flat_map(|from| refusal.events.iter().map(move |event| (from, event)))
        {
            ensure!(states.contains(from.as_str()) && events.contains(event.as_str()), "refusal of {event} in {from}");
            ensure!(machine.edge(from, event).is_none(), "{event} in {from} is an edge and a refusal");
        }
    }
    Ok(())
}

fn shape(machine: &Machine) -> Result<()> {
    for state in &machine.states {
        let exits = machine.edges.iter().any(|edge| edge.from == state.name);
        ensure!(state.terminal != exits, "{}: terminal states and only those have no edge", state.name);
        let reached = reachable(machine, &machine.initial);
        ensure!(reached.contains(state.name.as_str()), "{} is never reached", state.name);
        let ends = machine.states.iter().filter(|end| end.terminal);
        let onward = reachable(machine, &state.name);
        ensure!(ends.into_iter().any(|end| onward.contains(end.name.as_str())), "{} has no way to an end", state.name);
    }
    Ok(())
}

fn reachable<'a>(machine: &'a Machine, start: &'a str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::from([start]);
    let mut open = vec![start];
    while let Some(state) = open.pop() {
        for edge in machine.edges.iter().filter(|edge| edge.from == state) {
            if seen.insert(&edge.to) {
                open.push(&edge.to);
            }
        }
    }
    seen
}

fn reasons(reasons: &Reasons, decision: &Machine) -> Result<()> {
    let codes = unique("reason", reasons.codes.iter())?;
    let states: Vec<&str> = decision.states.iter().map(|state| state.name.as_str()).collect();
    let listed: Vec<&str> = reasons.by_decision.iter().map(|row| row.state.as_str()).collect();
    ensure!(states == listed, "the reasons are listed for every decision, in order");
    for row in &reasons.by_decision {
        ensure!(row.codes.iter().all(|code| codes.contains(code.as_str())), "a reason of {}", row.state);
        let default = row.default.iter().all(|code| row.codes.contains(code));
        ensure!(default && row.default.is_none() == row.codes.is_empty(), "the default reason of {}", row.state);
    }
    Ok(())
}

fn combinations(table: &Table, combinations: &Combinations) -> Result<()> {
    let known = |side: &Side| {
        let machine = table.machine(&side.machine).with_context(|| format!("no machine {}", side.machine))?;
        for name in &side.states {
            ensure!(machine.states.iter().any(|state| state.name == *name), "no state {name}");
        }
        Ok(())
    };
    for row in &combinations.forbidden {
        known(&row.when)?;
        known(&row.never)?;
        ensure!(row.when.machine != row.never.machine, "{}: two machines", row.rule);
    }
    for (machine, state) in combinations.groups.iter().flat_map(|group| &group.pinned) {
        known(&Side { machine: machine.clone(), states: vec![state.clone()] })?;
    }
    let grouped = combinations.groups.iter().flat_map(|group| &group.machines);
    let listed: BTreeSet<&String> = combinations.required.iter().chain(&combinations.optional).chain(grouped).collect();
    let machines: BTreeSet<&String> =
        table.machines.iter().filter(|it| !it.apart).map(|machine| &machine.name).collect();
    ensure!(listed == machines, "a combination speaks of every machine");
    Ok(())
}
