//! Why the host could not run an operation. Refusals by the rules are not here: those are answers.

use super::ClockError;
use crate::CoreError;
use crate::codes::{self, Known};
use crate::store::StoreError;
use crate::wit::{self, Group};

/// The host could not run an operation; it changed nothing (see [`StoreError::Broken`] for the one exception).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HostError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The core gave no answer.
    #[error(transparent)]
    Core(#[from] CoreError),
    /// The clock.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// The core says that this host broke the contract, or that a stored record is damaged.
    #[error("{}: {}", .0.code, .0.detail)]
    Misuse(wit::Error),
    /// The core asked for facts more often than it may.
    #[error("the core asked for facts more than {limit} times")]
    Rounds {
        /// The limit.
        limit: usize,
    },
    /// Other writers were faster every time, or the facts were newer than the time of the decision.
    #[error("no decision held in {tries} tries: the records moved on, or it took too long; try again")]
    Conflict {
        /// How often it was tried.
        tries: usize,
    },
    /// No randomness.
    #[error("no randomness: {detail}")]
    Entropy {
        /// What the system says.
        detail: String,
    },
    /// A stored effect that this version cannot perform: of a newer one, or damaged.
    #[error("the stored effect {name} ({about}) cannot be performed by this version: {why}")]
    Effect {
        /// What to do.
        name: String,
        /// What it is about.
        about: String,
        /// Why not.
        why: String,
    },
    /// The wait was ended from outside.
    #[error("the wait was cancelled")]
    Cancelled,
}

impl HostError {
    /// Whether the same call may succeed later.
    pub fn retryable(&self) -> bool {
        match self {
            Self::Misuse(error) => error.retryable,
            _ => self.known().retryable,
        }
    }

    /// Whether the same call fails again as things are, after so many `tries`. A core that was stopped because it took too
    /// long may have met a busy machine, but not every time.
    pub(super) fn lasts(&self, tries: u32) -> bool {
        const UNLUCKY: u32 = 10;
        match self {
            Self::Core(CoreError::Deadline { .. }) => tries >= UNLUCKY,
            _ => !self.retryable(),
        }
    }

    /// The code: one of `spec/errors.md`, or one of the core that this host does not know.
    pub fn code(&self) -> &str {
        match self {
            Self::Misuse(error) => &error.code,
            _ => self.known().name,
        }
    }

    /// By whose fault.
    pub fn group(&self) -> Group {
        match self {
            Self::Misuse(error) => error.group,
            _ => self.known().group,
        }
    }

    /// What callers are told. What the host knows of the cause is not for them.
    pub fn told(&self) -> wit::Error {
        let (group, code, retryable) = (self.group(), self.code().to_owned(), self.retryable());
        let (pointer, detail) = (String::new(), self.known().meaning.to_owned());
        wit::Error { group, code, retryable, pointer, detail }
    }

    /// What the host knows of the code; of one that it does not know, that the core is at fault.
    fn known(&self) -> &'static Known {
        match self {
            Self::Store(StoreError::Misuse { .. }) | Self::Rounds { .. } => &codes::HOST_MISUSE,
            Self::Store(StoreError::Damaged { .. }) | Self::Effect { .. } => &codes::RECORD_DAMAGED,
            Self::Store(StoreError::Broken { .. }) => &codes::STORE_OUTCOME_UNKNOWN,
            Self::Store(_) | Self::Conflict { .. } | Self::Entropy { .. } | Self::Clock(ClockError::Store(_)) => {
                &codes::STORE_UNAVAILABLE
            }
            Self::Cancelled => &codes::WAIT_CANCELLED,
            Self::Core(_) => &codes::CORE_TRAP,
            Self::Clock(ClockError::Behind { .. }) => &codes::CLOCK_BEHIND,
            Self::Clock(ClockError::Jumped { .. }) => &codes::CLOCK_STOPPED,
            Self::Misuse(error) => codes::known(&error.code).unwrap_or(&codes::CORE_TRAP),
        }
    }
}
