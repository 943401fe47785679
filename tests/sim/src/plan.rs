//! What goes wrong during one action: drawn from its salt before it begins, and spent as it goes on.

use crate::random::Random;

/// What can happen to the store under one operation.
pub const STORE: &[&str] = &[
    "store-busy",
    "store-read-failed",
    "store-full",
    "commit-failed",
    "commit-lost-before",
    "commit-lost-after",
    "crash-before-commit",
    "crash-after-commit",
];

/// Places in the dispatcher where its process may end.
pub const PAUSES: &[(&str, &str)] = &[
    ("after-commit-before-call", "crash-before-call"),
    ("after-call-before-record", "crash-after-call"),
    ("after-query-before-record", "crash-after-query"),
];

/// What an adapter may do with a call.
pub const SUBMITS: &[&str] = &[
    "call-refused",
    "call-lost-before",
    "call-lost-after",
    "call-late",
    "receipt-malformed",
    "receipt-refused",
    "call-hangs",
    "call-crashes-before",
    "call-crashes-after",
    "call-panics-before",
    "call-panics-after",
];

/// What a target may do with a question.
pub const QUERIES: &[&str] = &["query-silent", "query-malformed", "query-panics", "query-forgets", "query-hangs"];

/// What may keep a host from emptying its store.
pub const SCRUBS: &[&str] = &["scrub-held", "scrub-failed"];

/// Other faults, with actions of their own; and what else must happen now and then: that a call is woken by what others
/// commit, that they read what was committed, and that the store is asked for what it must refuse.
pub const OTHERS: &[&str] = &[
    "crash",
    "race",
    "race-in-read",
    "call-handed-twice",
    "clock-forward",
    "clock-back",
    "clock-leaps",
    "receipt-repeated",
    "request-repeated",
    "operator-wrong",
    "effect-after-query",
    "evidence-flawed",
    "attestation-flawed",
    "revoked",
    "rotated",
    "expired",
    "purged",
    "woken",
    "read-back",
    "store-probed",
    "lease-probed",
];

/// Every kind of fault.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    let lists = [STORE, SUBMITS, QUERIES, SCRUBS, OTHERS];
    lists.into_iter().flatten().copied().chain(PAUSES.iter().map(|(_, kind)| *kind))
}

/// The faults of one action. Each happens at most once.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// What the store does, and at which of its chances.
    pub store: Option<(&'static str, u32)>,
    /// Somebody else commits between what is read and what is written; the salt of what he does.
    pub race: Option<u64>,
    /// Somebody else commits between two readings of one decision: the salt of what he does, and before which reading.
    pub race_in_read: Option<(u64, u32)>,
    /// The dispatcher is handed the same call once more.
    pub again: bool,
    /// The point at which the process ends.
    pub pause: Option<&'static str>,
    /// What an adapter does with the next call.
    pub submit: Option<&'static str>,
    /// What a target does with the next question.
    pub query: Option<&'static str>,
    /// What keeps the host from emptying its store.
    pub scrub: Option<&'static str>,
    /// What happens while an adapter is at work.
    pub meanwhile: u64,
}

impl Plan {
    /// Draws a plan. In a calm one nothing goes wrong.
    pub fn draw(random: &mut Random, calm: bool) -> Self {
        let meanwhile = random.draw();
        if calm {
            return Self { meanwhile, ..Self::default() };
        }
        let some = |random: &mut Random, percent, list: &[&'static str]| {
            if random.chance(percent) { Some(random.pick(list)) } else { None }
        };
        Self {
            store: some(random, 12, STORE).map(|fault| (fault, random.below(3) as u32)),
            race: random.chance(10).then(|| random.draw()),
            race_in_read: random.chance(25).then(|| (random.draw(), random.below(3) as u32)),
            again: random.chance(25),
            pause: some(random, 14, &PAUSES.iter().map(|(point, _)| *point).collect::<Vec<_>>()),
            // What comes late is what most rests on being asked about; it is drawn more often than the rest.
            submit: if random.chance(15) { Some("call-late") } else { some(random, 80, SUBMITS) },
            query: some(random, 65, QUERIES),
            scrub: some(random, 50, SCRUBS),
            meanwhile,
        }
    }
}
