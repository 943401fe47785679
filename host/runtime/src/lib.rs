//! Embeds the ThreadMesh component: load what it asks for, let it decide, commit.

pub mod store;
