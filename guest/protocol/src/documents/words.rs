//! The words of the draft that operations decide by, as types.

/// An enum whose variants have a name in documents.
macro_rules! words {
    ($(#[$doc:meta])* $kind:ident { $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $kind {
            /// The word of that name; nothing for any other text.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Its name in documents.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

words! {
    /// What a message asks for.
    Intent {
        /// Takes note.
        Notify = "notify",
        /// Considers advice.
        Suggest = "suggest",
        /// Changes course.
        Steer = "steer",
        /// Stops something.
        Interrupt = "interrupt",
    }
}

impl Intent {
    /// Whether it changes what the receiver does, so that it needs freshness and authority.
    pub const fn is_urgent(self) -> bool {
        matches!(self, Self::Steer | Self::Interrupt)
    }
}

words! {
    /// How a message should arrive.
    DeliveryMode {
        /// Kept until looked for.
        StoreOnly = "store-only",
        /// Shown beside the work, not to the model.
        SideChannel = "side-channel",
        /// Offered at the next checkpoint.
        CheckpointOffer = "checkpoint-offer",
        /// Wakes an idle task.
        WakeIdle = "wake-idle",
        /// Enters a running turn.
        ActiveSteer = "active-steer",
        /// Asks for an interruption.
        InterruptRequest = "interrupt-request",
    }
}

words! {
    /// What the source of a relationship is to its target.
    Relationship {
        /// May direct it.
        Supervisor = "supervisor",
        /// Started it.
        Parent = "parent",
        /// Was started by it.
        Child = "child",
        /// Works beside it.
        Peer = "peer",
        /// Is needed by it.
        Dependency = "dependency",
        /// Watches it.
        Observer = "observer",
    }
}

impl Relationship {
    /// Whether it can carry steer and interrupt.
    pub const fn directs(self) -> bool {
        matches!(self, Self::Supervisor | Self::Parent)
    }
}
