//! What is asked before a message is claimed, decided, prepared, begun or admitted. `registry` holds the list; the gate of
//! the relationship policy is the first on it.

use crate::delivery::scene::Scene;
use crate::kernel::{context::Context, flow::Flow, guard::Moment};

/// Whether a step may be taken: nothing, or why not.
pub(crate) type Guard = fn(&mut Context<'_>, Moment, &Scene) -> Flow<()>;

/// Asks all guards, in order: the first that refuses is the reason.
pub(crate) fn ask(cx: &mut Context<'_>, guards: &[Guard], moment: Moment, scene: &Scene) -> Flow<()> {
    guards.iter().try_for_each(|guard| guard(cx, moment, scene))
}

/// The relationship policy, which judges every step alike: the message as it stands now.
pub(crate) fn policy(cx: &mut Context<'_>, _: Moment, scene: &Scene) -> Flow<()> {
    scene.authorise(cx)
}
