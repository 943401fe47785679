//! RFC 3339 date-times to integer milliseconds since the Unix epoch, and back.
//!
//! Strict: a real date, `T`, seconds, a zone. A leap second is refused, since no two systems agree on what it compares
//! to. Nothing here reads a clock.

use crate::rules::check;
use crate::{Error, Rule};
use alloc::{format, string::String};

const DAY_MS: i64 = 86_400_000;
/// The form up to the seconds: digits where `0` stands, otherwise these characters (`t` for `T` too).
const FORM: &[u8; 19] = b"0000-00-00T00:00:00";

/// The instant of an RFC 3339 date-time in milliseconds since the Unix epoch, UTC; negative before 1970. Fractions are
/// floored (towards the past). Errors: `time-format`, by rules TM-1 to TM-6, with an empty pointer.
pub fn parse(text: &str) -> Result<i64, Error> {
    let bytes = text.as_bytes();
    let (head, rest) = bytes.split_first_chunk::<19>().ok_or_else(|| Error::broken(Rule::TM1, ""))?;
    check(Rule::TM1, has_form(head))?;
    let [y0, y1, y2, y3, _, m0, m1, _, d0, d1, _, h0, h1, _, n0, n1, _, s0, s1] = *head;
    let year = two(y0, y1).wrapping_mul(100).wrapping_add(two(y2, y3));
    let (month, day) = (two(m0, m1), two(d0, d1));
    check(Rule::TM2, (1..=12).contains(&month) && (1..=month_days(year, month)).contains(&day))?;
    let (hour, minute, second) = (two(h0, h1), two(n0, n1), two(s0, s1));
    check(Rule::TM3, hour <= 23 && minute <= 59)?;
    check(Rule::TM4, second <= 59)?;
    let (fraction_ms, zone) = fraction(rest)?;
    let offset_min = offset(zone)?;
    let minutes = hour.wrapping_mul(60).wrapping_add(minute).wrapping_sub(offset_min);
    let time_ms = minutes.wrapping_mul(60).wrapping_add(second).wrapping_mul(1000).wrapping_add(fraction_ms);
    Ok(days(year, month, day).wrapping_mul(DAY_MS).wrapping_add(time_ms))
}

/// `ms` as `YYYY-MM-DDTHH:MM:SS.sssZ`. Outside the years 0000 to 9999, which RFC 3339 cannot name, the year has a sign
/// and six digits or more, as in ECMAScript; [`parse`] refuses that.
pub fn format(ms: i64) -> String {
    let (days, rest) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
    let (year, month, day) = date(days);
    let (hour, minute) = (rest.div_euclid(3_600_000), rest.div_euclid(60_000).rem_euclid(60));
    let (second, milli) = (rest.div_euclid(1000).rem_euclid(60), rest.rem_euclid(1000));
    let year = if (0..=9999).contains(&year) { format!("{year:04}") } else { format!("{year:+07}") };
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

fn has_form(head: &[u8; 19]) -> bool {
    head.iter().zip(FORM).all(|(byte, form)| match form {
        b'0' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b't'),
        _ => byte == form,
    })
}

/// Two ASCII digits as a number.
fn two(tens: u8, ones: u8) -> i64 {
    let digit = |byte: u8| i64::from(byte.wrapping_sub(b'0'));
    digit(tens).wrapping_mul(10).wrapping_add(digit(ones))
}

/// The optional fraction in whole milliseconds, and what follows it.
fn fraction(rest: &[u8]) -> Result<(i64, &[u8]), Error> {
    let Some((b'.', digits)) = rest.split_first() else { return Ok((0, rest)) };
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    check(Rule::TM5, (1..=9).contains(&count))?;
    let (fraction, zone) = digits.split_at_checked(count).unwrap_or((digits, &[]));
    let digit = |at: usize| fraction.get(at).copied().unwrap_or(b'0');
    Ok((two(digit(0), digit(1)).wrapping_mul(10).wrapping_add(two(b'0', digit(2))), zone))
}

/// The zone as minutes east of UTC. `-00:00` (RFC 3339 4.3: UTC, local offset unknown) is UTC.
fn offset(zone: &[u8]) -> Result<i64, Error> {
    let (sign, h0, h1, m0, m1) = match *zone {
        [b'Z' | b'z'] => return Ok(0),
        [b'+', h0, h1, b':', m0, m1] => (1, h0, h1, m0, m1),
        [b'-', h0, h1, b':', m0, m1] => (-1, h0, h1, m0, m1),
        _ => return Err(Error::broken(Rule::TM1, "")),
    };
    check(Rule::TM1, [h0, h1, m0, m1].iter().all(u8::is_ascii_digit))?;
    let (hours, minutes) = (two(h0, h1), two(m0, m1));
    check(Rule::TM6, hours <= 23 && minutes <= 59)?;
    Ok(hours.wrapping_mul(60).wrapping_add(minutes).wrapping_mul(sign))
}

const fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

const fn month_days(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date of the proleptic Gregorian calendar. Years are taken to begin in March, so that the
/// leap day is the last of its year; an era is 400 years, 146 097 days.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year.wrapping_sub(1) } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = month.wrapping_add(9).rem_euclid(12).wrapping_mul(153).wrapping_add(2).div_euclid(5);
    let day_of_year = of_year.wrapping_add(day).wrapping_sub(1);
    let leaps = of_era.div_euclid(4).wrapping_sub(of_era.div_euclid(100));
    let day_of_era = of_era.wrapping_mul(365).wrapping_add(leaps).wrapping_add(day_of_year);
    era.wrapping_mul(146_097).wrapping_add(day_of_era).wrapping_sub(719_468)
}

/// The inverse of [`days`]: year, month, day.
const fn date(days: i64) -> (i64, i64, i64) {
    let days = days.wrapping_add(719_468);
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let leaps =
        of_era.div_euclid(1460).wrapping_sub(of_era.div_euclid(36_524)).wrapping_add(of_era.div_euclid(146_096));
    let year = of_era.wrapping_sub(leaps).div_euclid(365);
    let start = year.wrapping_mul(365).wrapping_add(year.div_euclid(4)).wrapping_sub(year.div_euclid(100));
    let of_year = of_era.wrapping_sub(start);
    let month = of_year.wrapping_mul(5).wrapping_add(2).div_euclid(153);
    let day = of_year.wrapping_sub(month.wrapping_mul(153).wrapping_add(2).div_euclid(5)).wrapping_add(1);
    let (carry, month) = if month < 10 { (0, month.wrapping_add(3)) } else { (1, month.wrapping_sub(9)) };
    (era.wrapping_mul(400).wrapping_add(year).wrapping_add(carry), month, day)
}

#[cfg(test)]
mod tests;
