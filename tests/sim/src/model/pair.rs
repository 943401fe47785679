//! Two messages that share everything: the grant, both tasks, the boxes, the workers, the hosts, the purge and time.
//!
//! Their situations together are many times more than the rules could be asked about one by one. What is left out is
//! asking the rules the same question again, and walking to the same pair of situations in several orders:
//!
//! - A situation is what both share (the rows of grant, tasks, profile and purge, and the moment) and what belongs to each
//!   message (its life and its content, its part of the boxes' counts, its calls and effects). What the rules make of a
//!   message in a situation is worked out once, over the real rows with the real rules, and remembered.
//! - Actions about one message depend on what is shared and on that message, and change nothing but that message. This is
//!   no assumption: an operation about one message that asks for a row that could be another's is a fault, whatever stands
//!   there (`Ran::strayed`), and so is one that changes what is shared. What it may read beside, the box, it counts in only.
//!   So actions about different messages commute, and between two actions about all, every situation that one message can
//!   get to goes with every one that the other can get to: a set for each stands for all their pairs.
//! - Actions about all (revoking, rotating, moving on, expiring, purging, scrubbing, time, the end of a host) are taken in
//!   every order. Each does to every message what it does to it alone. What becomes of what is shared can hang on both (a
//!   retired task keeps its adapter reference while either has a call that nobody knows about): the sets are split by what
//!   the action does to either alone (what is shared then, and whether the message changes), and the real rules over both
//!   say what both lead to. None of that is assumed: each situation of a message meets each action in the company of one
//!   situation of the other message of every such kind, with the real rules over the rows of both, and the outcome must be
//!   what the kinds have led to before, with the two single outcomes put together.
//! - A pair of sets within another pair of the same shared situation is dropped: whatever it leads to, the other does.
//!
//! Nothing is lost: the pairs in the sets are exactly the situations that stepping through one by one finds, which a test
//! confirms in a smaller world. The properties speak of one message each, or of a sum over both, and hold for a pair where
//! they hold for its parts.

use super::{Action, State, World, rows::Rows, set::Set};
use crate::{cast, oracle::text};
use stateright::{Model, Property};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    hash::Hash,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// What both messages share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Shared {
    rows: Rows,
    moment: usize,
}

/// What belongs to one message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Local {
    rows: Rows,
    waiting: BTreeSet<(usize, String)>,
    happened: BTreeSet<String>,
}

/// Numbers for what was met.
struct Known<T> {
    ids: HashMap<Arc<T>, u32>,
    all: Vec<Arc<T>>,
}

impl<T: Hash + Eq> Known<T> {
    fn new() -> Self {
        Self { ids: HashMap::new(), all: Vec::new() }
    }

    fn id(&mut self, thing: T) -> u32 {
        if let Some(id) = self.ids.get(&thing) {
            return *id;
        }
        let (id, thing) = (self.all.len() as u32, Arc::new(thing));
        self.ids.insert(Arc::clone(&thing), id);
        self.all.push(thing);
        id
    }

    fn get(&self, id: u32) -> Arc<T> {
        Arc::clone(&self.all[id as usize])
    }
}

/// Shared situations; both messages' numbers for them are the same.
type Common = Arc<Mutex<Known<Shared>>>;

fn shared_id(common: &Common, shared: Shared) -> u32 {
    common.lock().unwrap_or_else(PoisonError::into_inner).id(shared)
}

fn shared_of(common: &Common, id: u32) -> Arc<Shared> {
    common.lock().unwrap_or_else(PoisonError::into_inner).get(id)
}

fn belongs_to_one(collection: &str) -> bool {
    matches!(collection, "box" | "life" | "message")
}

/// What an action about all does to a message alone: the shared situation that it leads to, and whether the message
/// changes.
type Kind = (u32, bool);

/// What a message comes to by an action about all: the shared situation, and its own.
type Outcome = (u32, u32);

/// One message: what the rules make of it, as far as they were asked.
struct Side {
    world: World,
    message: usize,
    common: Common,
    locals: Known<Local>,
    /// Where it gets to by actions about it: in a shared situation without the purge, which those never ask for.
    steps: HashMap<(u32, u32), Arc<[u32]>>,
    outcomes: HashMap<(u32, u32), Arc<[Outcome]>>,
    /// Shared situations without their purge.
    without_purge: HashMap<u32, u32>,
    first: Outcome,
    seen: Flags,
    wrong: Option<String>,
}

/// What was seen to happen somewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// An effect was recorded.
    pub effect: bool,
    /// A call was left to people.
    pub manual: bool,
    /// Content was purged.
    pub purged: bool,
}

fn letters(world: World) -> Vec<Action> {
    world.common.iter().cloned().chain((0..world.pairs).map(Action::Crash)).collect()
}

impl Side {
    fn new(world: World, message: usize, start: &State, common: &Common) -> Self {
        let mut side = Self {
            world,
            message,
            common: Arc::clone(common),
            locals: Known::new(),
            steps: HashMap::new(),
            outcomes: HashMap::new(),
            without_purge: HashMap::new(),
            first: (0, 0),
            seen: Flags::default(),
            wrong: None,
        };
        let other = cast::message_id(1 - message as u32);
        let mut alone = start.clone();
        alone.rows = start.rows.part(|collection, id| !belongs_to_one(collection) || !id.contains(&other));
        side.first = side.take(alone);
        side
    }

    /// Numbers a situation.
    fn take(&mut self, state: State) -> Outcome {
        if let Some(fault) = &state.fault {
            self.wrong.get_or_insert_with(|| format!("something happens that must not: {fault}"));
        }
        let (shared, local) = split(state);
        (shared_id(&self.common, shared), self.locals.id(local))
    }

    fn state(&self, shared: u32, local: u32) -> State {
        put_together(&shared_of(&self.common, shared), &self.locals.get(local))
    }

    /// The shared situation without the purge.
    fn base(&mut self, shared: u32) -> u32 {
        let common = &self.common;
        *self.without_purge.entry(shared).or_insert_with(|| {
            let shared = shared_of(common, shared);
            let rows = shared.rows.part(|collection, _| collection != "purge");
            shared_id(common, Shared { rows, moment: shared.moment })
        })
    }

    /// Where actions about the message lead from here.
    fn steps(&mut self, shared: u32, local: u32) -> Arc<[u32]> {
        let base = self.base(shared);
        if let Some(steps) = self.steps.get(&(base, local)) {
            return Arc::clone(steps);
        }
        let state = self.state(base, local);
        self.look_at(&state);
        let mut actions = Vec::new();
        self.world.of_message(&state, self.message, &mut actions);
        let mut steps = BTreeSet::new();
        for action in actions {
            let mut next = state.clone();
            if self.world.act(&mut next, &action) && next != state {
                let (shared, local) = self.take(next);
                if shared != base {
                    self.wrong.get_or_insert_with(|| format!("{action:?} changes what is shared, in {state:?}"));
                }
                steps.insert(local);
            }
        }
        let steps: Arc<[u32]> = steps.into_iter().collect();
        self.steps.insert((base, local), Arc::clone(&steps));
        steps
    }

    /// Whether everything can be brought to its end from here, and nobody is shown what was purged.
    fn look_at(&mut self, state: &State) {
        if !self.world.keeps_quiet(state) {
            self.wrong.get_or_insert_with(|| format!("what is purged is shown in {state:?}"));
        }
        if !self.world.has_exit(state) {
            self.wrong.get_or_insert_with(|| format!("no stuck state: there is no way out of {state:?}"));
        }
        for life in state.rows.all("life") {
            self.seen.effect |= life["outcome"] == "effect-observed";
            self.seen.manual |= text(&life["attempt"], "state") == "manual-reconciliation";
            self.seen.purged |= life["purged"]["done"].is_number();
        }
    }

    /// What each action about all comes to here.
    fn outcomes(&mut self, shared: u32, local: u32) -> Arc<[Outcome]> {
        if let Some(outcomes) = self.outcomes.get(&(shared, local)) {
            return Arc::clone(outcomes);
        }
        let (world, state) = (self.world, self.state(shared, local));
        let mut one = |letter: &Action| match step(world, &state, letter) {
            Some(next) => self.take(next),
            None => (shared, local),
        };
        let outcomes: Arc<[Outcome]> = letters(world).iter().map(&mut one).collect();
        self.outcomes.insert((shared, local), Arc::clone(&outcomes));
        outcomes
    }

    /// Everything that the message gets to by actions about it.
    fn closure(&mut self, shared: u32, set: &Set) -> Set {
        let mut all = set.clone();
        let mut front: Vec<u32> = set.iter().collect();
        while let Some(local) = front.pop() {
            if self.wrong.is_some() {
                break;
            }
            front.extend(self.steps(shared, local).iter().filter(|next| all.add(**next)));
        }
        all
    }

    /// Asks the rules about all that the message gets to with nobody else there, until something is `wrong` on either side.
    fn explore(&mut self, wrong: &AtomicBool) {
        let (mut met, mut front) = (HashSet::from([self.first]), vec![self.first]);
        while let Some((shared, local)) = front.pop() {
            wrong.fetch_or(self.wrong.is_some(), Ordering::Relaxed);
            if wrong.load(Ordering::Relaxed) {
                return;
            }
            let steps = self.steps(shared, local);
            let next = steps.iter().map(|next| (shared, *next));
            let outcomes = self.outcomes(shared, local);
            front.extend(next.chain(outcomes.iter().copied()).filter(|next| met.insert(*next)));
        }
    }
}

/// What an action about all leads to; nothing where it does nothing.
fn step(world: World, state: &State, letter: &Action) -> Option<State> {
    let mut next = state.clone();
    (world.act(&mut next, letter) && next != *state).then_some(next)
}

fn split(state: State) -> (Shared, Local) {
    let State { rows, moment, waiting, happened, .. } = state;
    let shared = rows.part(|collection, _| !belongs_to_one(collection));
    let own = rows.part(|collection, _| belongs_to_one(collection));
    (Shared { rows: shared, moment }, Local { rows: own, waiting, happened })
}

fn put_together(shared: &Shared, local: &Local) -> State {
    let mut rows = shared.rows.clone();
    rows.add(&local.rows, &Rows::default());
    let (waiting, happened) = (local.waiting.clone(), local.happened.clone());
    State { rows, moment: shared.moment, waiting, happened, fault: None }
}

/// Situations of a message by what an action about all does to it alone: one of them, and what all of them come to.
type Groups = BTreeMap<Kind, (u32, Set)>;

/// A set of situations of each message, any of one with any of the other.
type Sets = [Set; 2];

/// Two messages.
pub struct Pair {
    world: World,
    sides: [Side; 2],
    start: State,
    letters: Vec<Action>,
    /// What is shared after an action about all, by what it does to either message alone.
    met: HashMap<(u32, usize, [Kind; 2]), u32>,
    /// Which situation of which message has met an action in the company of which kind of the other.
    checked: HashSet<(usize, u32, usize, u32, Kind)>,
    found: BTreeMap<u32, Vec<Sets>>,
}

/// What looking through two messages came to.
#[derive(Clone, Debug)]
pub struct Report {
    /// How many different situations of both together there are.
    pub situations: u64,
    /// About how many situations of one message the rules were asked.
    pub asked: usize,
    /// How many pairs of sets stand for them.
    pub sets: usize,
    /// What was seen.
    pub seen: [Flags; 2],
    /// The first thing that is not as it must be.
    pub wrong: Option<String>,
}

impl Pair {
    /// Two messages in `world`, with nothing looked at.
    pub fn new(world: World) -> Self {
        let world = World { messages: 2, ..world };
        let (start, common) = (world.start(), Arc::new(Mutex::new(Known::new())));
        let sides = [0, 1].map(|message| Side::new(world, message, &start, &common));
        let (met, checked, found) = (HashMap::new(), HashSet::new(), BTreeMap::new());
        Self { world, sides, start, letters: letters(world), met, checked, found }
    }

    /// Looks through everything.
    pub fn look(&mut self) -> Report {
        let wrong = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for side in &mut self.sides {
                scope.spawn(|| side.explore(&wrong));
            }
        });
        if self.wrong().is_none() {
            self.walk();
        }
        Report {
            situations: self.count(),
            asked: self.sides.iter().map(|side| side.outcomes.len()).sum(),
            sets: self.found.values().map(Vec::len).sum(),
            seen: [self.sides[0].seen, self.sides[1].seen],
            wrong: self.wrong(),
        }
    }

    fn wrong(&self) -> Option<String> {
        self.sides.iter().find_map(|side| side.wrong.clone())
    }

    /// Takes the actions about all in every order.
    fn walk(&mut self) {
        let shared = self.sides[0].first.0;
        let mut front = Vec::new();
        let mut first = [Set::default(), Set::default()];
        for (set, side) in first.iter_mut().zip(&self.sides) {
            set.add(side.first.1);
        }
        self.reach(shared, &first, &mut front);
        while let Some((shared, sets)) = front.pop() {
            for letter in 0..self.letters.len() {
                for (next, sets) in self.images(shared, letter, &sets) {
                    self.reach(next, &sets, &mut front);
                }
                if self.wrong().is_some() {
                    return;
                }
            }
        }
    }

    /// Notes what both get to from `sets`, unless it is known.
    fn reach(&mut self, shared: u32, sets: &Sets, front: &mut Vec<(u32, Sets)>) {
        let within = |one: &Sets, other: &Sets| one[0].within(&other[0]) && one[1].within(&other[1]);
        let known = self.found.entry(shared).or_default();
        if known.iter().any(|known| within(sets, known)) {
            return;
        }
        let sets = [0, 1].map(|place| self.sides[place].closure(shared, &sets[place]));
        known.retain(|known| !within(known, &sets));
        known.push(sets.clone());
        front.push((shared, sets));
    }

    /// What an action about all does to a message alone.
    fn kind(&mut self, place: usize, shared: u32, letter: usize, local: u32) -> Kind {
        let (next, to) = self.sides[place].outcomes(shared, local)[letter];
        (next, to != local)
    }

    /// What an action about all makes of `sets`.
    fn images(&mut self, shared: u32, letter: usize, sets: &Sets) -> Vec<(u32, Sets)> {
        let groups = [0, 1].map(|place| self.groups(place, shared, letter, &sets[place]));
        self.check(shared, letter, sets, &groups);
        let mut images = Vec::new();
        for (left, (_, first)) in &groups[0] {
            for (right, (_, second)) in &groups[1] {
                if let Some(next) = self.met.get(&(shared, letter, [*left, *right])) {
                    images.push((*next, [first.clone(), second.clone()]));
                }
            }
        }
        images
    }

    /// The situations of a message by what an action does to it: one of each kind, and what all of the kind come to.
    fn groups(&mut self, place: usize, shared: u32, letter: usize, set: &Set) -> Groups {
        let mut groups = Groups::new();
        for local in set.iter() {
            let kind = self.kind(place, shared, letter, local);
            let to = self.sides[place].outcomes(shared, local)[letter].1;
            groups.entry(kind).or_insert_with(|| (local, Set::default())).1.add(to);
        }
        groups
    }

    /// Lets every situation of either message meet the action in the company of one of each kind of the other.
    fn check(&mut self, shared: u32, letter: usize, sets: &Sets, groups: &[Groups; 2]) {
        for place in [0, 1] {
            let other = 1 - place;
            for local in sets[place].iter() {
                let own = self.kind(place, shared, letter, local);
                for (kind, (company, _)) in &groups[other] {
                    if !self.checked.insert((place, shared, letter, local, *kind)) {
                        continue;
                    }
                    let (mut locals, mut kinds) = ([local; 2], [own; 2]);
                    (locals[other], kinds[other]) = (*company, *kind);
                    self.meet(shared, letter, locals, kinds);
                    if self.wrong().is_some() {
                        return;
                    }
                }
            }
        }
    }

    /// The real rules over the rows of both. Each message must come to what it comes to alone, and what is shared to what
    /// it came to with others of the same kinds.
    fn meet(&mut self, shared: u32, letter: usize, locals: [u32; 2], kinds: [Kind; 2]) {
        let state = self.both(shared, locals);
        let action = &self.letters[letter];
        let real = step(self.world, &state, action).unwrap_or_else(|| state.clone());
        let next = shared_id(&self.sides[0].common, split(real.clone()).0);
        let ends = [0, 1].map(|side| self.sides[side].outcomes(shared, locals[side])[letter].1);
        let before = *self.met.entry((shared, letter, kinds)).or_insert(next);
        if before != next || real != self.both(next, ends) {
            let mixed = if before == next { "" } else { ", which depends on more than is looked at" };
            self.sides[0].wrong.get_or_insert_with(|| {
                format!(
                    "{action:?} does not do to both messages what it does to each{mixed}: {state:?} becomes {real:?}"
                )
            });
        }
    }

    /// The situation of both.
    fn both(&self, shared: u32, locals: [u32; 2]) -> State {
        let [one, other] = [0, 1].map(|side| self.sides[side].locals.get(locals[side]));
        let mut state = put_together(&shared_of(&self.sides[0].common, shared), &one);
        state.rows.add(&other.rows, &self.start.rows);
        state.waiting.extend(other.waiting.iter().cloned());
        state.happened.extend(other.happened.iter().cloned());
        state
    }

    /// How many different pairs the sets hold.
    fn count(&self) -> u64 {
        let of_shared = |all: &Vec<Sets>| {
            // Situations of the first message by the sets that they are in: they go with the same ones of the second.
            let mut groups: BTreeMap<Vec<usize>, u64> = BTreeMap::new();
            let mut union = Set::default();
            all.iter().for_each(|sets| union.unite(&sets[0]));
            for local in union.iter() {
                let holds = |place: &usize| all[*place][0].has(local);
                *groups.entry((0..all.len()).filter(holds).collect()).or_default() += 1;
            }
            let partners = |places: &[usize]| {
                let mut partners = Set::default();
                places.iter().for_each(|place| partners.unite(&all[*place][1]));
                partners.len()
            };
            groups.iter().map(|(places, count)| count * partners(places)).sum::<u64>()
        };
        self.found.values().map(of_shared).sum()
    }
}

/// Stepping through the situations of both one by one, in a world that was looked through: without sets.
impl Model for Pair {
    type State = (u32, [u32; 2]);
    /// Of one message, where to; or about all.
    type Action = Result<(usize, u32), usize>;

    fn init_states(&self) -> Vec<Self::State> {
        vec![(self.sides[0].first.0, [0, 1].map(|side| self.sides[side].first.1))]
    }

    fn actions(&self, (shared, locals): &Self::State, actions: &mut Vec<Self::Action>) {
        for (place, side) in self.sides.iter().enumerate() {
            let base = side.without_purge[shared];
            actions.extend(side.steps[&(base, locals[place])].iter().map(|next| Ok((place, *next))));
        }
        actions.extend((0..self.letters.len()).map(Err));
    }

    fn next_state(&self, (shared, locals): &Self::State, action: Self::Action) -> Option<Self::State> {
        let (mut shared, mut locals) = (*shared, *locals);
        match action {
            Ok((place, next)) => locals[place] = next,
            Err(letter) => {
                let ends = [0, 1].map(|side| self.sides[side].outcomes[&(shared, locals[side])][letter]);
                let kinds = [0, 1].map(|side| (ends[side].0, ends[side].1 != locals[side]));
                shared = self.met[&(shared, letter, kinds)];
                locals = ends.map(|(_, local)| local);
            }
        }
        Some((shared, locals))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("the sets hold it", |pair: &Pair, (shared, locals): &(u32, [u32; 2])| {
            let all = pair.found.get(shared).into_iter().flatten();
            all.clone().any(|sets| sets[0].has(locals[0]) && sets[1].has(locals[1]))
        })]
    }
}
