//! Whether the rules take somebody as a caller.

use crate::{
    Core, CoreError,
    wit::{Error, ErrorCode, Principal, Request},
};

/// Why the rules do not take `caller`, where that is so: for ids that no document could have (OP-1). The core is asked for
/// an operation that is in no table, to which it comes only when it has taken the caller. Errors: it gives no answer.
pub fn untaken(core: &dyn Core, caller: &Principal) -> Result<Option<Error>, CoreError> {
    let request = Request {
        operation: String::new(),
        principal: Some(caller.clone()),
        params: "{}".to_owned(),
        instance: "none".to_owned(),
        cursor: None,
    };
    let step = core.session()?.decide(&request, &[], 0.0, &"0".repeat(64))?;
    let problem = step.ok().and_then(|step| step.decision).and_then(|decision| decision.problem);
    Ok(problem.filter(|problem| problem.code == ErrorCode::AuthenticationRequired))
}
