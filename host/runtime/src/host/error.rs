//! Why the host could not run an operation. Refusals by the rules are not here: those are answers.

use super::ClockError;
use crate::CoreError;
use crate::store::StoreError;
use crate::wit;

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
    #[error("{}: {}", crate::codes::name(.0.code), .0.detail)]
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
        crate::codes::retryable(self.code())
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

    /// The code of `spec/errors.md`.
    pub fn code(&self) -> wit::ErrorCode {
        match self {
            Self::Store(StoreError::Misuse { .. }) | Self::Rounds { .. } => wit::ErrorCode::HostMisuse,
            Self::Store(StoreError::Damaged { .. }) | Self::Effect { .. } => wit::ErrorCode::RecordDamaged,
            Self::Store(StoreError::Broken { .. }) => wit::ErrorCode::StoreOutcomeUnknown,
            Self::Store(_) | Self::Conflict { .. } | Self::Entropy { .. } | Self::Clock(ClockError::Store(_)) => {
                wit::ErrorCode::StoreUnavailable
            }
            Self::Cancelled => wit::ErrorCode::WaitCancelled,
            Self::Core(_) => wit::ErrorCode::CoreTrap,
            Self::Clock(ClockError::Behind { .. }) => wit::ErrorCode::ClockBehind,
            Self::Clock(ClockError::Jumped { .. }) => wit::ErrorCode::ClockStopped,
            Self::Misuse(error) => error.code,
        }
    }
}
