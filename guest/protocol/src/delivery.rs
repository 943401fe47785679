//! Messages: sent, claimed, decided, shown, passed on, and what is known to have become of them.

pub(crate) mod admission;
pub(crate) mod admit;
pub(crate) mod batch;
pub(crate) mod evidence;
pub(crate) mod facts;
pub(crate) mod forward;
pub(crate) mod guard;
pub(crate) mod holder;
pub(crate) mod hooks;
pub(crate) mod inspect;
pub(crate) mod interrupt;
pub(crate) mod life;
pub(crate) mod mailbox;
pub(crate) mod message;
pub(crate) mod names;
pub(crate) mod outcome;
pub(crate) mod purge;
pub(crate) mod reads;
pub(crate) mod relabel;
pub(crate) mod respond;
pub(crate) mod scene;
pub(crate) mod send;
pub(crate) mod submit;
pub(crate) mod target;
