//! What tools call: a server behind its socket, or the service of this process.

use crate::client::SocketClient;
use crate::service::Service;
use crate::standing::Standing;
use crate::tokens::Principal;
use std::sync::Arc;
use threadmesh_runtime::client::{Answer, Client, Transport, TransportError};
use threadmesh_runtime::host::Cancel;
use threadmesh_runtime::wit::Fact;

/// Something that runs operations as one authenticated principal. Calls block.
pub trait Backend: Send + Sync + 'static {
    /// Who is calling.
    fn principal(&self) -> &Principal;

    /// Runs one operation. What waits may end early when `cancel` says so.
    fn call(&self, method: &str, params: &str, cancel: &Cancel) -> Result<Answer, TransportError>;
}

impl Backend for SocketClient {
    fn principal(&self) -> &Principal {
        SocketClient::principal(self)
    }

    /// A server ends a wait when its time is over; waits of tools are asked for in short parts.
    fn call(&self, method: &str, params: &str, _: &Cancel) -> Result<Answer, TransportError> {
        Transport::call(self, method, params)
    }
}

/// The service of this process, as a caller who was let in.
pub struct InProcess {
    service: Arc<dyn Service>,
    caller: Standing,
    context: Vec<Fact>,
}

impl InProcess {
    /// As `caller`, for a request that belongs to a trace by `context` (see [`Service::call_with`]).
    pub fn new(service: Arc<dyn Service>, caller: Standing, context: Vec<Fact>) -> Self {
        InProcess { service, caller, context }
    }
}

impl Backend for InProcess {
    fn principal(&self) -> &Principal {
        &self.caller.entry().principal
    }

    fn call(&self, method: &str, params: &str, cancel: &Cancel) -> Result<Answer, TransportError> {
        Ok(self.caller.call(self.service.as_ref(), method, params, &self.context, cancel))
    }
}

/// A backend as the transport of a typed client, for one call of a tool.
pub struct Via {
    backend: Arc<dyn Backend>,
    cancel: Cancel,
}

impl Via {
    /// A client over `backend`.
    pub fn client(backend: Arc<dyn Backend>, cancel: Cancel) -> Client<Self> {
        Client::new(Via { backend, cancel })
    }
}

impl Transport for Via {
    fn call(&self, method: &str, params: &str) -> Result<Answer, TransportError> {
        self.backend.call(method, params, &self.cancel)
    }
}
