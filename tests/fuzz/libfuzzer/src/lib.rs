//! A target of `threadmesh-fuzz` as a libFuzzer program: half of the changes are libFuzzer's own, half are changes of
//! JSON values.

pub use libfuzzer_sys;
use threadmesh_fuzz::{mutate::mutate, random::Random, targets};

/// Changes the input in the first `size` bytes of `data`, and says how long it is then.
pub fn change(target: &str, data: &mut [u8], size: usize, seed: u32) -> usize {
    let mut random = Random::new(seed.into());
    if random.chance(50) {
        return libfuzzer_sys::fuzzer_mutate(data, size, data.len());
    }
    let head = targets::find(target).map_or(0, |target| target.head);
    let changed = mutate(&data[..size], head, &mut random);
    let size = changed.len().min(data.len());
    data[..size].copy_from_slice(&changed[..size]);
    size
}

/// The program for the target of this name.
#[macro_export]
macro_rules! fuzz {
    ($name:literal) => {
        use $crate::libfuzzer_sys::{fuzz_mutator, fuzz_target};

        fuzz_target!(|data: &[u8]| {
            let target = threadmesh_fuzz::targets::find($name).expect("a target of that name");
            (target.run)(data);
        });

        fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            let most = max_size.min(data.len());
            $crate::change($name, &mut data[..most], size, seed)
        });
    };
}
