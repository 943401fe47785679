//! No statement looks at more rows than it answers with: SQLite's plan of each is a search.

use std::fs;
use std::path::Path;

use rusqlite::types::Null;
use rusqlite::{Connection, params_from_iter};

use super::place;
use crate::query;
use crate::schema::MIGRATIONS;

/// Sources whose statements run when a file is opened or checked as a whole, and not for a request.
const APART: &[(&str, &str)] = &[
    ("schema.rs", "reads the few rows that say how the file was made"),
    ("check.rs", "checks the whole file, for the doctor"),
];

/// Verbs that a statement about rows begins with.
const VERBS: &[&str] = &["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "REPLACE ", "WITH "];

/// All string literals of a Rust source, outside of comments.
fn literals(source: &str) -> Vec<String> {
    let code: String =
        source.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let (mut found, mut rest) = (Vec::new(), code.as_str());
    while let Some(start) = rest.find('"') {
        let text = &rest[start + 1..];
        let end = text.char_indices().scan(false, |escaped, (at, letter)| {
            let ends = letter == '"' && !*escaped;
            *escaped = letter == '\\' && !*escaped;
            Some((at, ends))
        });
        let Some((end, _)) = end.into_iter().find(|(_, ends)| *ends) else { break };
        found.push(text[..end].replace("\\\n", " "));
        rest = &text[end + 1..];
    }
    found
}

/// The statements in the sources of this crate, each with its file. Those that are put together from parts come from
/// where they are put together.
fn statements() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() || name == "tests.rs" || APART.iter().any(|(apart, _)| *apart == name) {
            continue;
        }
        for literal in literals(&fs::read_to_string(&path).unwrap()) {
            if VERBS.iter().any(|verb| literal.starts_with(verb)) {
                all.push((name.clone(), literal));
            }
        }
    }
    let parts = |(name, sql): &(String, String)| name == "query.rs" && query::PARTS.contains(&sql.as_str());
    assert!(all.iter().any(parts), "the parts of the selects have another text");
    all.retain(|statement| !parts(statement));
    all.extend(query::all().map(|sql| ("query.rs".into(), sql.into())));
    all
}

/// The lines of SQLite's plan.
fn plan(conn: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
    let nothing = vec![Null; statement.parameter_count()];
    statement.query_map(params_from_iter(nothing), |row| row.get(3)).and_then(Iterator::collect)
}

#[test]
fn no_statement_of_the_store_scans() {
    let (_directory, path) = place();
    let conn = Connection::open(path).unwrap();
    for migration in MIGRATIONS {
        conn.execute_batch(migration.sql).unwrap();
    }
    let statements = statements();
    assert!(statements.len() > 20, "{} statements", statements.len());
    let mut searches = 0;
    for (name, sql) in &statements {
        let plan = plan(&conn, sql).unwrap_or_else(|error| panic!("{name}: {sql}: {error}"));
        let all_of_it = |step: &&String| step.starts_with("SCAN") || step.contains("TEMP B-TREE");
        assert_eq!(plan.iter().find(all_of_it), None, "{name}: {sql}: {plan:?}");
        searches += usize::from(plan.iter().any(|step| step.starts_with("SEARCH")));
    }
    println!("{} statements, {searches} of them search", statements.len());
    // The test sees a scan where there is one.
    let scan = plan(&conn, "SELECT 1 FROM facts WHERE body = ?1").unwrap();
    assert!(scan.iter().any(|step| step.starts_with("SCAN")), "{scan:?}");
}
