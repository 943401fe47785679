//! The machines against the seed, against the vectors, and against the life of a message.

mod flow;
mod seed;
mod vectors;
