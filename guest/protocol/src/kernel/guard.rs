//! The steps that are guarded: before each of them the registered guards are asked whether it may be taken.

/// A step that somebody is about to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Something is claimed, to be decided.
    Claim,
    /// It is decided so that it may be acted on.
    Acknowledge,
    /// It is put off.
    Defer,
    /// A call is prepared, or its rendering handed out.
    Prepare,
    /// The call is about to happen.
    Begin,
    /// It is put before a model.
    Admit,
}
