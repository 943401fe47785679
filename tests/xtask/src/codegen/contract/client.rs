//! The typed client of `host/runtime`: a type for every schema, and a method for every public operation.

use super::super::{HEADER, Output, ordered::Json};
use super::types::Types;
use super::{Path, Table};
use anyhow::Result;
use std::fmt::Write;

const FOLDER: &str = "host/runtime/src/client/generated";

pub(super) fn generate(root: &Path, table: &Table) -> Result<Vec<Output>> {
    let mut types = Types::new(root);
    let mut methods = String::from(HEADER);
    methods += "//! One method for every public operation.\n\n";
    methods += "use super::types;\nuse crate::client::{Call, Client, Done, Transport};\n\n";
    methods += "impl<T: Transport> Client<T> {";
    for operation in table.public().filter(|operation| operation.answers(root)) {
        let params = types.root(&operation.params(), &pascal(&operation.name), operation.keyed)?;
        let result = types.root(&operation.result(), &(pascal(&operation.name) + "Result"), false)?;
        let answer = match operation.keyed {
            true => format!("Done<types::{result}>"),
            false => format!("types::{result}"),
        };
        let (name, method) = (super::types::snake(&operation.name), Json::from(operation.name.as_str()).compact());
        let make = if operation.keyed { "keyed" } else { "plain" };
        write!(
            methods,
            "\n    /// `{}`: {}\n    pub fn {name}(&self, params: &types::{params}) -> Call<'_, T, {answer}> {{\n        \
             self.{make}({method}, params)\n    }}\n",
            operation.name, operation.summary
        )?;
    }
    methods += "}\n";
    Ok(vec![(format!("{FOLDER}/methods.rs"), methods), (format!("{FOLDER}/types.rs"), types.text())])
}

/// A type's name: every part and every word of it starts with a capital.
pub(super) fn pascal(name: &str) -> String {
    super::super::pascal(name)
}
