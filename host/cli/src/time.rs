//! Times and durations as people and documents write them.

use std::time::Duration;
pub use threadmesh_server::time::{format, now_ms};

/// A duration as people write it: a whole number and `ms`, `s`, `m`, `h` or `d`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err("a duration is a whole number and ms, s, m, h or d, as 30s or 2h".to_owned()),
    };
    let number: u64 = number.parse().map_err(|_| "a duration starts with a whole number".to_owned())?;
    number.checked_mul(scale).map(Duration::from_millis).ok_or_else(|| "that is too long".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_printed_as_the_calendar_says() {
        assert_eq!(format(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(format(951_782_399_999), "2000-02-28T23:59:59.999Z");
        assert_eq!(format(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(format(1_709_251_199_000), "2024-02-29T23:59:59.000Z");
        assert_eq!(format(4_107_542_400_000), "2100-03-01T00:00:00.000Z");
        assert_eq!(format(1_796_083_200_123), "2026-12-01T00:00:00.123Z");
    }

    #[test]
    fn durations_are_a_number_and_a_unit() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("2h"), Ok(Duration::from_secs(7200)));
        assert!(
            duration("2").is_err() && duration("h").is_err() && duration("-1s").is_err() && duration("1w").is_err()
        );
        assert!(duration("99999999999999999999d").is_err() && duration("9999999999999999d").is_err());
    }
}
