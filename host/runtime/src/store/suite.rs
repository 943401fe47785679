//! What every store must do, as functions that panic where it does not. Behind the feature `suite`; not for production.
//!
//! A store's test calls [`run`] with a function that makes an empty store, and [`compare`] with its store and a
//! [`super::MemoryStore`], which is the model.

mod help;
mod outbox;
mod races;
mod random;
mod reads;
mod writes;

use std::sync::Arc;

use super::Store;

pub use random::{Random, Seen, compare};

/// Makes a new, empty store; each call another one. All of them live until the suite ends.
pub type Factory<'a> = &'a dyn Fn() -> Arc<dyn Store>;

/// One demand on a store.
pub type Case = fn(Factory<'_>);

/// All demands by name.
pub const CASES: &[(&str, Case)] = &[
    ("a new store is empty", reads::new_store_is_empty),
    ("point reads and absences", reads::points_and_absences),
    ("ranges by id", reads::ranges_by_id),
    ("ranges by index", reads::ranges_by_index),
    ("exact index keys", reads::exact_index_keys),
    ("pages by rows and by bytes", reads::pages),
    ("keys compare by bytes", reads::keys_compare_by_bytes),
    ("odd keys and texts", reads::odd_keys_and_texts),
    ("a snapshot stays as it is", reads::snapshots),
    ("large texts", reads::large_texts),
    ("many queries, one snapshot", reads::one_snapshot),
    ("index keys are replaced", writes::index_keys_are_replaced),
    ("removal", writes::removal),
    ("expected revisions", writes::expected_revisions),
    ("several writes of one row", writes::several_writes_of_one_row),
    ("a failed apply leaves nothing", writes::failed_apply_leaves_nothing),
    ("dropping rolls back", writes::dropping_rolls_back),
    ("audit positions are dense", writes::audit_positions_are_dense),
    ("time never goes back", writes::time_never_goes_back),
    ("changes are counted", writes::changes_are_counted),
    ("misuse is refused", writes::misuse_is_refused),
    ("a scrub leaves what stands", writes::scrub_leaves_what_stands),
    ("revoked between read and commit", races::revoked_between_read_and_commit),
    ("insertion into an empty range", races::insertion_into_an_empty_range),
    ("two sends for the last slot", races::two_sends_for_the_last_slot),
    ("removal inside a limited range", races::removal_inside_a_limited_range),
    ("removed and made again", races::removed_and_made_again),
    ("no false conflicts", races::no_false_conflicts),
    ("reads of a batch", races::reads_of_a_batch),
    ("many threads", races::many_threads),
    ("outbox: lease and complete", outbox::lease_and_complete),
    ("outbox: expired lease", outbox::expired_lease),
    ("outbox: two leasers", outbox::two_leasers),
    ("outbox: release", outbox::release),
    ("outbox: a clock that was set back", outbox::set_back),
    ("outbox: finished with a commit", outbox::finished_with_a_commit),
    ("outbox: order", outbox::order),
    ("outbox: rollback", outbox::rollback),
];

/// Runs every case. Panics with the case's message at the first one that fails; prints the name of each.
pub fn run(factory: Factory<'_>) {
    for (name, case) in CASES {
        println!("store suite: {name}");
        case(factory);
    }
}
