//! The list of operations.

use crate::operations::{operations, table::TABLE};
use alloc::vec::Vec;

/// What is listed is the table, in its order, which is that of the names.
#[test]
fn every_operation_is_listed_in_order() {
    let listed: Vec<&str> = operations().iter().map(|operation| operation.name).collect();
    let known: Vec<&str> = TABLE.iter().map(|entry| entry.operation.name).collect();
    assert_eq!(listed, known);
    assert!(known.is_sorted(), "the table is sorted by name");
}
