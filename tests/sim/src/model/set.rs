//! Sets of numbers, one bit each.

/// A set.
#[derive(Clone, Debug, Default)]
pub(super) struct Set(Vec<u64>);

impl Set {
    /// Adds a number; whether it is new.
    pub fn add(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    /// Adds all of another.
    pub fn unite(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more);
    }

    /// Whether it holds a number.
    pub fn has(&self, number: u32) -> bool {
        self.0.get(number as usize / 64).is_some_and(|word| word & (1 << (number % 64)) != 0)
    }

    /// Whether all of it is in another.
    pub fn within(&self, other: &Self) -> bool {
        let word = |place: usize| other.0.get(place).copied().unwrap_or(0);
        self.0.iter().enumerate().all(|(place, bits)| bits & !word(place) == 0)
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + Clone + '_ {
        let bits = |word: u64| (0..64).filter(move |bit| word & (1_u64 << bit) != 0);
        self.0.iter().enumerate().flat_map(move |(place, word)| bits(*word).map(move |bit| place as u32 * 64 + bit))
    }
}
