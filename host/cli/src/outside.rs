//! The operator's file: what performs calls outside, and what looks at evidence there.

use crate::failure::Failure;
use std::path::Path;
use std::sync::Arc;
use threadmesh_adapters::carrier::CarrierCommand;
use threadmesh_adapters::profiles::{self, Surroundings};
use threadmesh_adapters::resolvers::{self, Judge};
use threadmesh_runtime::adapter::Profile;
use threadmesh_runtime::resolver::DeclaredResolver;
use threadmesh_runtime::{Core, Outcome, Session, WasmCore};

/// What the file configures.
#[derive(Debug, Default)]
pub struct Outside {
    /// Targets of calls.
    pub profiles: Vec<Profile>,
    /// Sources of evidence.
    pub resolvers: Vec<DeclaredResolver>,
}

/// Reads it. Unusable where others could, or where anything in it is: nothing of it is used then.
pub fn read(path: &Path, core: &Arc<WasmCore>) -> Result<Outside, Failure> {
    let unusable = |error: &dyn std::fmt::Display| {
        let detail = format!("{}: {error}", path.display());
        let next = "mend the profile file; adapters and resolvers are described in spec/adapters.md";
        Failure::unusable("profiles-unusable", detail, next)
    };
    let text = profiles::read(path).map_err(|error| unusable(&error))?;
    let digest = |text: &str| ask(core, |session| session.digest(text));
    let surroundings = Surroundings { digest: &digest, carrier: CarrierCommand::this_program().ok() };
    let canonical = Arc::clone(core);
    let canonical = Arc::new(move |text: &str| ask(&canonical, |session| session.canonicalize(text)));
    let judge = Judge { digest: &digest, canonical };
    Ok(Outside {
        profiles: profiles::parse(&text, &surroundings).map_err(|error| unusable(&error))?,
        resolvers: resolvers::parse(&text, &judge).map_err(|error| unusable(&error))?,
    })
}

fn ask(core: &WasmCore, question: impl FnOnce(&mut dyn Session) -> Outcome<String>) -> Result<String, String> {
    let mut session = core.session().map_err(|error| error.to_string())?;
    question(session.as_mut()).map_err(|error| error.to_string())?.map_err(|error| error.detail)
}
