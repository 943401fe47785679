//! The one gate that every check passes through.
//!
//! A check names its rule, so that an error can say which rule it broke, and so that a test can switch one rule off, or
//! let it refuse whatever it judges, and show that a conformance vector notices.

use crate::{Code, Error, Rule};
use alloc::string::String;

/// A rule that does not hold, not yet placed in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken(pub Rule);

impl Broken {
    /// The error at `pointer`.
    pub fn at(self, pointer: impl Into<String>) -> Error {
        Error::broken(self.0, pointer)
    }

    /// The error at `pointer` under another code than the rule's own: that of the document in which a rule that holds
    /// in many documents is broken.
    pub fn as_code(self, code: Code, pointer: impl Into<String>) -> Error {
        Error { code, ..self.at(pointer) }
    }
}

impl From<Broken> for Error {
    fn from(broken: Broken) -> Self {
        broken.at("")
    }
}

/// `Ok` where `holds`, or where the test-only toggle has switched `rule` off; never where the toggle lets it refuse.
pub fn check(rule: Rule, holds: bool) -> Result<(), Broken> {
    if (holds && !refusing(rule)) || disabled(rule) { Ok(()) } else { Err(Broken(rule)) }
}

/// As [`check`], with the place of the fault, which is only worked out when it is needed.
pub fn check_at(rule: Rule, holds: bool, pointer: impl FnOnce() -> String) -> Result<(), Error> {
    check(rule, holds).map_err(|broken| broken.at(pointer()))
}

#[cfg(not(feature = "rule-toggle"))]
const fn disabled(_rule: Rule) -> bool {
    false
}

#[cfg(not(feature = "rule-toggle"))]
const fn refusing(_rule: Rule) -> bool {
    false
}

#[cfg(feature = "rule-toggle")]
pub use toggle::{disable, refuse};
#[cfg(feature = "rule-toggle")]
use toggle::{disabled, refusing};

#[cfg(feature = "rule-toggle")]
mod toggle {
    use crate::Rule;
    use core::sync::atomic::{AtomicU32, Ordering};

    const NONE: u32 = u32::MAX;
    static DISABLED: AtomicU32 = AtomicU32::new(NONE);
    static REFUSING: AtomicU32 = AtomicU32::new(NONE);

    /// Switches `rule` off for the whole process, or all rules on again with `None`.
    pub fn disable(rule: Option<Rule>) {
        DISABLED.store(rule.map_or(NONE, |rule| rule as u32), Ordering::SeqCst);
    }

    /// Lets `rule` refuse whatever it judges, for the whole process, or judge again with `None`.
    pub fn refuse(rule: Option<Rule>) {
        REFUSING.store(rule.map_or(NONE, |rule| rule as u32), Ordering::SeqCst);
    }

    pub(super) fn disabled(rule: Rule) -> bool {
        DISABLED.load(Ordering::Relaxed) == rule as u32
    }

    pub(super) fn refusing(rule: Rule) -> bool {
        REFUSING.load(Ordering::Relaxed) == rule as u32
    }
}
