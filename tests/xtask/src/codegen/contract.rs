//! The public operations as callers see them: what each takes, answers and is refused with. Read from
//! `spec/operations.json`, `spec/schema/params/` and `spec/schema/results/`.

mod catalogue;
mod client;
mod openrpc;
mod types;

use super::Output;
use super::operations::{Operation, Table};
use anyhow::Result;
use std::path::Path;

pub(super) fn generate(root: &Path) -> Result<Vec<Output>> {
    let table = Table::load(root)?;
    let mut outputs = vec![("spec/openrpc.json".into(), openrpc::document(root, &table)?)];
    outputs.extend(client::generate(root, &table)?);
    Ok(outputs)
}
