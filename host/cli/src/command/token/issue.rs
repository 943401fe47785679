//! Making a token, or finding that it is made already.

use super::{failure, title};
use crate::core;
use crate::database;
use crate::failure::Failure;
use std::fs;
use std::path::Path;
use threadmesh_server::hosted;
use threadmesh_server::tokens::{self, Entry, Principal, Secret, TokenError, TokenFile};

/// A token that is to be there.
pub struct Issue<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Whom it stands for.
    pub principal: Principal,
    /// The file that is to hold it; none where it is shown and kept nowhere.
    pub target: Option<&'a Path>,
    /// Whether the folder of that file is made: it is that of the tokens beside a database.
    pub folder: bool,
}

/// A token that is there.
pub struct Issued {
    /// Its entry of the token file.
    pub entry: Entry,
    /// The token, if it was made now; none where it stood there already, with the same meaning.
    pub token: Option<Secret>,
}

impl Issue<'_> {
    /// Makes the token, with its entry in the token file at `path`. A name in use is refused (`token-exists`), but for a
    /// token that stands for the same principal and lies in the same file.
    pub fn run(&self, path: &Path) -> Result<Issued, Failure> {
        self.check()?;
        let mut stands = None;
        let mut written = false;
        // The token is in its own file before the entry counts: an entry whose token nobody has would only be in the way.
        let made = tokens::update(path, |file| {
            if let Some(entry) = file.named(self.name) {
                stands = Some((entry.clone(), self.target.is_some_and(|target| holds(file, target, self.name))));
                return Err(TokenError::Exists(self.name.to_owned()));
            }
            let token = file.create(path, self.name, self.principal.clone())?;
            if let Some(target) = self.target {
                tokens::write_secret(target, &token)?;
                written = true;
            }
            let entry = file.named(self.name).cloned();
            Ok((entry.ok_or_else(|| TokenError::Unknown(self.name.to_owned()))?, token))
        });
        match (made, stands) {
            (Ok((entry, token)), _) => Ok(Issued { entry, token: Some(token) }),
            (Err(_), Some((entry, held))) => self.standing(entry, held),
            (Err(error), None) => {
                if let Some(target) = self.target.filter(|_| written) {
                    // A file that no entry knows would only block the name.
                    let _ = fs::remove_file(target);
                }
                Err(failure(&error))
            }
        }
    }

    /// Whether there may be such a token, and a place for it.
    fn check(&self) -> Result<(), Failure> {
        if !tokens::is_name(self.name) {
            let detail = format_args!("{:?} is no name of a token", self.name);
            return Err(Failure::unusable(
                "usage",
                detail,
                "a name is 1 to 64 letters, digits, '.', '_', '-', the first a letter or digit",
            ));
        }
        let slip = |reason: String| Failure::unusable("usage", reason, "mend the option that it speaks of");
        let candidate = Entry {
            name: self.name.to_owned(),
            token_digest: String::new(),
            principal: self.principal.clone(),
            authentication_id: "authn_of-no-token".to_owned(),
        };
        hosted::check_principal(&core::load()?, &candidate)?.map_or(Ok(()), |reason| Err(slip(reason)))?;
        let folder = self.target.filter(|_| self.folder).and_then(Path::parent);
        let Some(folder) = folder else { return Ok(()) };
        database::private_folder(folder).map_err(|error| {
            Failure::unusable("file-unwritable", format_args!("{}: {error}", folder.display()), "use --out FILE")
        })
    }

    /// There is an entry of this name.
    fn standing(&self, entry: Entry, held: bool) -> Result<Issued, Failure> {
        let name = self.name;
        let next = format!("choose another name, or remove it first: `threadmesh token remove {name}`");
        if entry.principal != self.principal {
            let wanted = title(&Entry { principal: self.principal.clone(), ..entry.clone() });
            let detail = format_args!("the token {name:?} stands for {}, and not for {wanted}", title(&entry));
            return Err(Failure::unusable("token-exists", detail, next));
        }
        if held {
            return Ok(Issued { entry, token: None });
        }
        let place = match self.target {
            Some(target) => format!("it is not in {}", target.display()),
            None => "a token is shown once".to_owned(),
        };
        let detail = format_args!("there is a token {name:?} for {} already, and {place}", title(&entry));
        Err(Failure::unusable("token-exists", detail, next))
    }
}

/// Whether the file at `target` holds the token called `name`.
pub fn holds(file: &TokenFile, target: &Path, name: &str) -> bool {
    let secret = tokens::read_secret(target).ok();
    secret.and_then(|secret| file.resolve(secret.text()).map(|entry| entry.name == name)).unwrap_or_default()
}
