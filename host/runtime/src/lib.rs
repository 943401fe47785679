//! Embeds the ThreadMesh component: load what it asks for, let it decide, commit.

pub mod adapter;
pub mod dispatcher;
pub mod store;
