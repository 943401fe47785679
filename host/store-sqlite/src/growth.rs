//! How long the log has become, as far as whoever writes has looked.

/// How much longer the log may become than it may be before it is carried over.
const TIMES: i64 = 3;

/// What is known of the log's length, in pages.
#[derive(Debug)]
pub(crate) struct Growth {
    /// From here on it is carried over.
    long: i64,
    /// From here on it begins again.
    too_long: i64,
    /// The same, after it could not begin again.
    again: i64,
    pages: i64,
}

impl Growth {
    /// Of a log that nobody has looked at, of which `long` pages may wait.
    pub fn new(long: u32) -> Self {
        let (long, too_long) = (i64::from(long), i64::from(long).saturating_mul(TIMES));
        Self { long, too_long, again: too_long, pages: 0 }
    }

    /// It has so many pages, of which so many are carried over: whether that is to be done.
    pub fn is_long(&mut self, pages: i64, moved: i64) -> bool {
        self.pages = pages;
        if pages < self.too_long {
            self.again = self.too_long;
        }
        // Where it has to begin again, nobody is to be at work on it.
        pages.saturating_sub(moved) >= self.long && !self.is_too_long()
    }

    /// Whether it has to begin again.
    pub fn is_too_long(&self) -> bool {
        self.pages >= self.again
    }

    /// Whether that is worth waiting for whoever is at work on it.
    pub fn is_urgent(&self) -> bool {
        self.pages >= self.again.saturating_add(self.long / 2)
    }

    /// It begins again, or cannot; then it is left alone for a while.
    pub fn restarted(&mut self, done: bool) {
        if done {
            (self.pages, self.again) = (0, self.too_long);
        } else {
            self.again = self.pages.saturating_add(self.long / 4);
        }
    }
}
