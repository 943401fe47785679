//! Reproducible randomness.

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence that belongs to `seed` and `stream`.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        random.next();
        random
    }

    /// The next number.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which is not zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// The seed of a test: `THREADMESH_SEED`, or one from the clock. It is printed, so that a failure can be repeated.
pub fn seed() -> u64 {
    let given = std::env::var("THREADMESH_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| crate::script::now_ms().unsigned_abs() % 1_000_000_007);
    println!("THREADMESH_SEED={seed}");
    seed
}
