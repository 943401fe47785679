//! Who has how many of the places that a server has for one kind of thing: calls, waits, sessions, connections.
//!
//! A task costs its owner nothing, so that a limit for each principal is none for whoever owns many. Places are counted by
//! owner too, and the last of them are kept for owners who have few: nobody can take them all.

use crate::tokens::{Kind, Principal};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One part in so many of the places is kept for owners who have few.
const KEPT: usize = 4;
/// Who has fewer places has few.
const FEW: usize = 4;

/// How many places there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// All together.
    pub all: usize,
    /// Of these, those of one owner: a user, and every task of that user.
    pub owner: usize,
    /// Of these, those of one principal.
    pub principal: usize,
}

/// Where there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// This principal, or its owner, has too much under way.
    Caller,
    /// All together have.
    Server,
}

/// The places of one kind. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct Shares {
    places: Places,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_owner: HashMap<String, usize>,
    by_principal: HashMap<String, usize>,
}

/// A place; free again when it is dropped.
#[derive(Debug)]
pub struct Share {
    owner: String,
    principal: String,
    taken: Arc<Mutex<Taken>>,
}

impl Shares {
    /// All of them free.
    pub fn new(places: Places) -> Self {
        Shares { places, taken: Arc::default() }
    }

    /// A place for `who`, at once or not at all: whoever is turned away knows when to come again.
    pub fn enter(&self, who: &Principal) -> Result<Share, Full> {
        let (owner, principal) = (owner(who), principal(who));
        let mut taken = lock(&self.taken);
        let count = |map: &HashMap<String, usize>, key: &str| map.get(key).copied().unwrap_or(0);
        let of_owner = count(&taken.by_owner, &owner);
        if of_owner >= self.places.owner || count(&taken.by_principal, &principal) >= self.places.principal {
            return Err(Full::Caller);
        }
        let left = self.places.all.saturating_sub(taken.all);
        if left == 0 || (left <= self.places.all / KEPT && of_owner >= FEW) {
            return Err(Full::Server);
        }
        taken.all += 1;
        *taken.by_owner.entry(owner.clone()).or_default() += 1;
        *taken.by_principal.entry(principal.clone()).or_default() += 1;
        drop(taken);
        Ok(Share { owner, principal, taken: Arc::clone(&self.taken) })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        taken.all -= 1;
        leave(&mut taken.by_owner, &self.owner);
        leave(&mut taken.by_principal, &self.principal);
    }
}

fn leave(map: &mut HashMap<String, usize>, key: &str) {
    match map.get_mut(key) {
        Some(count) if *count > 1 => *count -= 1,
        _ => drop(map.remove(key)),
    }
}

/// The user that a principal is, or that a task belongs to.
fn owner(who: &Principal) -> String {
    let own = || format!("{}:{}", who.kind.as_str(), who.id);
    let owner = who.owner.clone().filter(|_| who.kind == Kind::Task).unwrap_or_else(own);
    [who.tenant.as_str(), owner.as_str()].join("\u{0}")
}

/// A principal, whatever its worker and its credential.
fn principal(who: &Principal) -> String {
    let (incarnation, owner) = (who.incarnation.as_deref().unwrap_or(""), who.owner.as_deref().unwrap_or(""));
    [who.tenant.as_str(), who.kind.as_str(), who.id.as_str(), incarnation, owner].join("\u{0}")
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(owner: &str, id: usize) -> Principal {
        Principal {
            tenant: "default".into(),
            kind: Kind::Task,
            id: format!("t-{id}"),
            incarnation: Some(format!("inc_task{id:04}")),
            owner: Some(format!("user:{owner}")),
            worker: None,
        }
    }

    fn user(id: &str) -> Principal {
        Principal { kind: Kind::User, id: id.into(), incarnation: None, owner: None, ..task("", 0) }
    }

    /// As many places as `who` gets, and why no more.
    fn fill(shares: &Shares, who: impl Fn(usize) -> Principal) -> (Vec<Share>, Full) {
        let mut held = Vec::new();
        loop {
            match shares.enter(&who(held.len())) {
                Ok(share) => held.push(share),
                Err(full) => return (held, full),
            }
        }
    }

    #[test]
    fn an_owner_has_one_share_however_many_tasks_it_makes() {
        let shares = Shares::new(Places { all: 64, owner: 40, principal: 32 });
        let (one, full) = fill(&shares, |_| task("alice", 0));
        assert_eq!((one.len(), full), (32, Full::Caller));
        let (more, full) = fill(&shares, |number| task("alice", number + 1));
        assert_eq!((more.len(), full), (8, Full::Caller));
        assert_eq!(shares.enter(&user("alice")).err(), Some(Full::Caller), "the user and its tasks are one");
        drop(one);
        assert!(shares.enter(&user("alice")).is_ok());
        drop(more);
        assert!(lock(&shares.taken).by_owner.is_empty() && lock(&shares.taken).by_principal.is_empty());
    }

    #[test]
    fn the_last_places_are_for_owners_who_have_few() {
        let shares = Shares::new(Places { all: 64, owner: 40, principal: 32 });
        let (alice, _) = fill(&shares, |number| task("alice", number));
        let (bob, full) = fill(&shares, |number| task("bob", number));
        assert_eq!((alice.len(), bob.len(), full), (40, 8, Full::Server));
        let mut others = Vec::new();
        for name in ["carol", "dave", "erin", "frank"] {
            let (held, full) = fill(&shares, |number| task(name, number));
            assert_eq!((held.len(), full), (4, Full::Server), "{name}");
            others.extend(held);
        }
        assert_eq!(shares.enter(&user("grace")).err(), Some(Full::Server), "that was the last one");
        drop(others.pop());
        assert!(shares.enter(&user("grace")).is_ok());
    }
}
