//! Operations in this process, on a database.

use crate::command::token;
use crate::failure::Failure;
use crate::mesh::{Mesh, Reply, reply};
use crate::open::{Opened, Opening};
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use threadmesh_runtime::rpc::{self, Answer};
use threadmesh_runtime::wit::Status;
use threadmesh_server::functions;
use threadmesh_server::hosted::principal;
use threadmesh_server::tokens::{Entry, Principal, Secret, TokenBook};

/// How long the calls of one operation are waited for. They have their own deadlines; this only bounds the program.
const PATIENCE: Duration = Duration::from_secs(3600);

/// How long the program stays without a word for what an operation left to do.
const QUIET: Duration = Duration::from_secs(2);
/// How long it stays in all. What is not done by then is stored, for whoever comes next.
const STAY: Duration = Duration::from_secs(30);

/// A database, opened as one principal. What its operations left to do is done before it is dropped, after their answers
/// were printed: it belongs to them, and this process ends soon. Who only reads does nothing else.
pub struct Local {
    opened: Opened,
    book: TokenBook,
    entry: Entry,
    wrote: bool,
}

impl Local {
    /// Opens it as the principal that `secret` proves. Whoever can read the database can read all of it: the token says
    /// in whose name something is done, and is asked for here as it is by a server (settled: day one, 53).
    pub fn open(opening: &Opening<'_>, tokens: &Path, secret: &Secret) -> Result<Self, Failure> {
        let book = TokenBook::open(tokens).map_err(|error| token::failure(&error))?;
        let entry = entry(&book, secret)?.ok_or_else(|| {
            let detail = format!("the token is not in {}", tokens.display());
            Failure::unusable(
                "token-unusable",
                detail,
                "make one with `threadmesh task add` or `threadmesh token create`",
            )
        })?;
        let opened = Opened::open(opening)?;
        if opening.profiles.is_some() {
            // Only a declared profile is one that an operation can begin a call of.
            opened.dispatch(|_| {})?;
        }
        Ok(Local { opened, book, entry, wrote: false })
    }
}

impl Local {
    /// The open database.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// The entry of the caller.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }
}

fn entry(book: &TokenBook, secret: &Secret) -> Result<Option<Entry>, Failure> {
    book.resolve(secret.text()).map_err(|error| token::failure(&error))
}

impl Mesh for Local {
    fn principal(&self) -> &Principal {
        &self.entry.principal
    }

    fn switch(&mut self, secret: &Secret) -> Result<(), Failure> {
        self.entry = entry(&self.book, secret)?.ok_or_else(|| {
            Failure::unusable("token-unusable", "the token is not in the token file", "see `threadmesh token list`")
        })?;
        Ok(())
    }

    fn call(&mut self, method: &str, params: &str) -> Result<Reply, Failure> {
        let host = self.opened.host();
        if let Some(answer) = functions::answer(host.core(), method, params) {
            return Ok(match answer {
                Answer::Result(text) => Ok(text),
                Answer::Error(error) => Err(reply(&error)),
            });
        }
        let done = match host.call(Some(&principal(&self.entry)), method, params) {
            Ok(done) => done,
            // Whoever runs this may see the cause: the database is theirs.
            Err(error) => return Ok(Err(Failure { detail: error.to_string(), ..reply(&rpc::failed(&error)) })),
        };
        if !self.opened.perform_now(done.calls, PATIENCE)? {
            return Err(Failure::unusable(
                "calls-open",
                "a call is still under way",
                "its outcome is asked for by a server",
            ));
        }
        if done.status == Status::Refused {
            host.record_denials();
        }
        if !host.operations().any(|known| known.read_only && known.name == method) {
            // What cannot be done now is due again later, for whoever is there then.
            host.perform_soon();
            self.wrote = true;
        }
        Ok(match done.status {
            Status::Refused => Err(reply(&done.body)),
            Status::Accepted | Status::Replayed => Ok(done.body),
        })
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        let host = self.opened.host();
        if self.wrote && !host.settle(QUIET) {
            let told =
                "threadmesh: the answer stands; what is left to do takes longer, and goes on later if this is ended";
            // Nobody may be there to read it.
            let _ = writeln!(std::io::stderr(), "{told}");
            host.settle(STAY);
        }
    }
}
