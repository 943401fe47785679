//! Deterministic simulation and model checking of ThreadMesh.
