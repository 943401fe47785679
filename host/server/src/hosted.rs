//! The process behind the transports: the host loop, the core's pure functions, and whoever performs calls.

use crate::functions;
use crate::service::Service;
use crate::tokens::{Entry, Kind};
use std::sync::Arc;
use std::time::Duration;
use threadmesh_runtime::host::{Cancel, Host, Invocation};
use threadmesh_runtime::rpc::{self, Answer, Frame};
use threadmesh_runtime::wit::{Effect, Fact, Principal, PrincipalKind};
use threadmesh_runtime::{Core, CoreError};

/// Takes a `call` effect that a commit of this process returned, to perform it once. Must not wait for it.
pub type Perform = Arc<dyn Fn(Effect) + Send + Sync>;

/// A host as a [`Service`].
pub struct Hosted {
    host: Arc<Host>,
    perform: Perform,
    cancel: Cancel,
    settle: Option<Duration>,
}

impl Hosted {
    /// Answers operations with `host`, and the `core.*` methods with its core.
    pub fn new(host: Arc<Host>, perform: Perform) -> Self {
        Hosted { host, perform, cancel: Cancel::default(), settle: None }
    }

    /// The same, but an answer leaves when everything that its operation left to do is done, or `limit` is over: for
    /// callers that must see what follows, one after the other.
    #[must_use]
    pub fn settling(self, limit: Duration) -> Self {
        Hosted { settle: Some(limit), ..self }
    }
}

impl Service for Hosted {
    fn split(&self, text: &str) -> Result<Frame, String> {
        self.host.split(text).map_err(|fault| rpc::failed(&fault))
    }

    fn call(&self, entry: &Entry, method: &str, params: &str) -> Answer {
        self.call_until(entry, method, params, &self.cancel)
    }

    fn call_until(&self, entry: &Entry, method: &str, params: &str, cancel: &Cancel) -> Answer {
        self.call_with(entry, method, params, &[], cancel)
    }

    fn call_with(&self, entry: &Entry, method: &str, params: &str, context: &[Fact], cancel: &Cancel) -> Answer {
        if let Some(answer) = functions::answer(self.host.core(), method, params) {
            return answer;
        }
        let caller = principal(entry);
        let principal = Some(&caller);
        let invocation = Invocation { principal, operation: method, params, context, ..Invocation::default() };
        match self.host.run(invocation, cancel) {
            Ok(mut reply) => {
                if let Some(limit) = self.settle {
                    self.host.settle(limit);
                }
                std::mem::take(&mut reply.calls).into_iter().for_each(|effect| (self.perform)(effect));
                reply.into_answer()
            }
            Err(fault) => Answer::Error(rpc::failed(&fault)),
        }
    }

    fn healthy(&self) -> bool {
        self.host.probe().is_ok()
    }

    fn ending(&self) -> Cancel {
        self.cancel.clone()
    }

    fn end_waits(&self) {
        self.cancel.cancel();
    }
}

/// Why the rules take nobody by `entry`, where that is so. Errors: the core gives no answer.
pub fn check_principal(core: &dyn Core, entry: &Entry) -> Result<Option<String>, CoreError> {
    Ok(core.session()?.check_principal(&principal(entry))?.map(|problem| problem.detail))
}

/// The principal that the core gets for an entry of the token file. It is never `host`.
pub fn principal(entry: &Entry) -> Principal {
    let of = &entry.principal;
    Principal {
        tenant: of.tenant.clone(),
        kind: match of.kind {
            Kind::User => PrincipalKind::User,
            Kind::Policy => PrincipalKind::Policy,
            Kind::Task => PrincipalKind::Task,
            Kind::Operator => PrincipalKind::Operator,
        },
        id: of.id.clone(),
        incarnation: of.incarnation.clone(),
        owner: of.owner.clone(),
        worker: of.worker.clone(),
        authentication: entry.authentication_id.clone(),
    }
}
