//! What policies of the user say: asked for like rows, and counted only for exactly what was asked.

use crate::Rule;
use crate::kernel::{
    Evaluated, Evaluation,
    context::Context,
    flow::{Flow, Stop},
};
use crate::rules::check;

/// The one end of an evaluation that has a verdict.
const ANSWERED: &str = "answered";

impl<'a> Context<'a> {
    /// What `policy` says at `hook` about `input`: its verdict. Asks for it where it was not evaluated for exactly these;
    /// what was evaluated for others does not count. An evaluation that ended in any other way than with a verdict denies.
    pub fn evaluate(&mut self, policy: &str, hook: &str, input: &str) -> Flow<&'a str> {
        let asked = |of: &Evaluation| of.policy == policy && of.hook == hook && of.input == input;
        let Some(found) = self.given.evaluated.iter().find(|evaluated| asked(&evaluated.evaluation)) else {
            if !self.unevaluated.iter().any(asked) {
                let (policy, hook, input) = (policy.into(), hook.into(), input.into());
                self.unevaluated.push(Evaluation { policy, hook, input });
            }
            return Err(Stop::Needs);
        };
        let Evaluated { end, verdict, .. } = found;
        let verdict = verdict.as_deref().filter(|_| end == ANSWERED);
        check(Rule::OP12, verdict.is_some())?;
        Ok(verdict.unwrap_or_default())
    }
}
