//! What was deployed, in a SQLite file.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value, json};
use std::{
    fmt,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The states of deployments.
pub struct Ledger(Mutex<Connection>);

/// Why nothing was put or found.
#[derive(Debug)]
pub enum LedgerError {
    /// What the caller gave, in words.
    Malformed(&'static str),
    /// The file.
    File(rusqlite::Error),
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(what) => f.write_str(what),
            Self::File(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LedgerError {}

impl From<rusqlite::Error> for LedgerError {
    fn from(error: rusqlite::Error) -> Self {
        Self::File(error)
    }
}

impl Ledger {
    /// Opens a file, or makes it.
    pub fn open(file: &Path) -> Result<Self, LedgerError> {
        let connection = Connection::open(file)?;
        connection.busy_timeout(Duration::from_secs(10))?;
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS deployment (
                 number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, revision TEXT NOT NULL, state TEXT NOT NULL,
                 UNIQUE (name, revision)
             ) STRICT",
        )?;
        Ok(Self(Mutex::new(connection)))
    }

    /// Puts the state of a revision, a JSON object; whether there was none.
    pub fn put(&self, name: &str, revision: &str, state: &str) -> Result<bool, LedgerError> {
        check(name)?;
        check(revision)?;
        if !matches!(serde_json::from_str(state), Ok(Value::Object(_))) {
            return Err(LedgerError::Malformed("the state must be a JSON object"));
        }
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        let old =
            transaction.execute("DELETE FROM deployment WHERE name = ?1 AND revision = ?2", params![name, revision])?;
        let insert = "INSERT INTO deployment (name, revision, state) VALUES (?1, ?2, ?3)";
        transaction.execute(insert, params![name, revision, state])?;
        transaction.commit()?;
        Ok(old == 0)
    }

    /// The state of a revision, or of what was put last, as a JSON text.
    pub fn get(&self, name: &str, revision: Option<&str>) -> Result<Option<String>, LedgerError> {
        check(name)?;
        revision.map_or(Ok(()), check)?;
        let query = "SELECT number, revision, state FROM deployment
             WHERE name = ?1 AND (?2 IS NULL OR revision = ?2) ORDER BY number DESC LIMIT 1";
        let row = self.lock().query_row(query, params![name, revision], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
        });
        let Some((number, revision, state)) = row.optional()? else { return Ok(None) };
        let state: Value = serde_json::from_str(&state).unwrap_or_default();
        Ok(Some(json!({"name": name, "revision": revision, "number": number, "state": state}).to_string()))
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check(word: &str) -> Result<(), LedgerError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    match !word.is_empty() && word.len() <= 100 && word.bytes().all(fits) {
        true => Ok(()),
        false => Err(LedgerError::Malformed("names and revisions are 1 to 100 characters of A-Z a-z 0-9 . _ -")),
    }
}
