//! What tools call: a server behind its socket, or the service of this process.

use crate::client::SocketClient;
use crate::service::Service;
use crate::tokens::{Entry, Principal};
use std::sync::Arc;
use threadmesh_runtime::client::{Answer, Client, Transport, TransportError};
use threadmesh_runtime::host::Cancel;

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

/// The service of this process, as the principal of an entry of its token file.
pub struct InProcess {
    service: Arc<dyn Service>,
    entry: Entry,
}

impl InProcess {
    /// As the principal of `entry`.
    pub fn new(service: Arc<dyn Service>, entry: Entry) -> Self {
        InProcess { service, entry }
    }
}

impl Backend for InProcess {
    fn principal(&self) -> &Principal {
        &self.entry.principal
    }

    fn call(&self, method: &str, params: &str, cancel: &Cancel) -> Result<Answer, TransportError> {
        Ok(self.service.call_until(&self.entry, method, params, cancel))
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
