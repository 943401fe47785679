//! How much runs at once: by kind, and of each kind by owner and principal.

use super::HttpLimits;
use super::gate::Caller;
use crate::shares::{Places, Share, Shares};

pub use crate::shares::Full;

/// What a request needs a place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To be looked at, until its answer begins.
    Request,
    /// A call that is answered as soon as may be.
    Call,
    /// A call that waits, or a stream: it may hold a thread for long.
    Wait,
    /// A WebSocket, for as long as it is open.
    Socket,
}

/// The places.
pub struct Pool {
    requests: Shares,
    calls: Shares,
    waits: Shares,
    sockets: Shares,
}

/// A place; free again when it is dropped.
pub type Place = Share;

impl Pool {
    /// As many places as `limits` has.
    pub fn new(limits: &HttpLimits) -> Self {
        let places = |all, owner, principal| Shares::new(Places { all, owner, principal });
        Pool {
            requests: Shares::new(limits.requests),
            calls: places(limits.calls_max, limits.owner_calls_max, limits.caller_calls_max),
            waits: places(limits.waits_max, limits.owner_waits_max, limits.caller_waits_max),
            sockets: Shares::new(limits.sockets),
        }
    }

    /// A place for `caller`, at once or not at all: whoever is turned away knows when to come again.
    pub fn enter(&self, kind: Kind, caller: &Caller) -> Result<Place, Full> {
        let lane = match kind {
            Kind::Request => &self.requests,
            Kind::Call => &self.calls,
            Kind::Wait => &self.waits,
            Kind::Socket => &self.sockets,
        };
        lane.enter(&caller.entry().principal)
    }
}
