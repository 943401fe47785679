//! Operations in this process, on a database.

use crate::failure::Failure;
use crate::mesh::{Mesh, Reply};
use std::path::Path;
use threadmesh_server::tokens::{Principal, Secret};

/// A database, opened as one principal.
pub struct Local {
    principal: Principal,
}

impl Local {
    /// Opens.
    pub fn open(_db: &Path, _tokens: &Path, _secret: &Secret) -> Result<Self, Failure> {
        Err(Failure::unusable("database-unusable", "this build works on servers only", "use --socket PATH"))
    }
}

impl Mesh for Local {
    fn principal(&self) -> &Principal {
        &self.principal
    }

    fn call(&mut self, _method: &str, _params: &str) -> Result<Reply, Failure> {
        Err(Failure::unusable("database-unusable", "this build works on servers only", "use --socket PATH"))
    }
}
