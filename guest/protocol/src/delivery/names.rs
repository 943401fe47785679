//! A reference to a message in a request. Ids of messages live in the scope of their sender's owner, as those of tasks do.

use crate::json::Value;
use crate::kernel::{context::Context, fields::Fields, flow::Flow};

/// A message as a request names it.
#[derive(Clone, Copy)]
pub(crate) struct MessageName<'a> {
    /// Message id.
    pub message: &'a str,
    /// The incarnation that sent it.
    pub sender: &'a str,
    /// The owner of that incarnation, where the request says so.
    pub owner: Option<&'a str>,
}

impl<'a> MessageName<'a> {
    /// From the members of an object.
    pub fn read(value: Value<'a>) -> Flow<Self> {
        Ok(Self {
            message: value.text("messageId")?,
            sender: value.text("senderIncarnationId")?,
            owner: value.get("owner").and_then(|owner| owner.as_str()),
        })
    }
}

impl<'a> Context<'a> {
    /// The message that the params name.
    pub fn message_in_params(&self) -> Flow<MessageName<'a>> {
        MessageName::read(self.params)
    }
}
