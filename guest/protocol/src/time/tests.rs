use super::*;
use crate::Code;

fn code(text: &str) -> Option<Code> {
    parse(text).err().map(|error| error.code)
}

#[test]
fn instants_are_utc_milliseconds() {
    assert_eq!(parse("1970-01-01T00:00:00Z"), Ok(0));
    assert_eq!(parse("1985-04-12T23:20:50.52Z"), Ok(482_196_050_520));
    assert_eq!(parse("1996-12-19t16:39:57-08:00"), Ok(851_042_397_000));
    assert_eq!(parse("1969-12-31T23:59:59.999999999z"), Ok(-1));
    assert_eq!(parse("1969-12-31T23:59:59.9989Z"), Ok(-2));
    assert_eq!(parse("2000-02-29T12:00:00-00:00"), Ok(951_825_600_000));
    assert_eq!(parse("0000-01-01T00:00:00+23:59"), Ok(-62_167_219_200_000 - 86_340_000));
}

#[test]
fn what_is_not_rfc_3339_is_refused() {
    for text in [
        "",
        "2026-01-01",
        "2026-01-01T00:00Z",
        "2026-01-01 00:00:00Z",
        "2026-01-01T00:00:00",
        "2026-01-01T00:00:00+08",
        "2026-01-01T00:00:00+0800",
        "2026-01-01T24:00:00Z",
        "2026-01-01T23:60:00Z",
        "1990-12-31T23:59:60Z",
        "2026-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00.1234567890Z",
        "2026-01-01T00:00:00,5Z",
        "2026-01-01T00:00:00+24:00",
        "2026-01-01T00:00:00-12:60",
        "+02026-01-01T00:00:00Z",
        "2026-01-01T00:00:00Z ",
        "2026-01-01T00:00:00ZZ",
        "２026-01-01T00:00:00Z",
        "2026-01-01T00:00:00-0é",
    ] {
        assert_eq!(code(text), Some(Code::TimeFormat), "{text}");
    }
}

#[test]
fn every_day_of_ten_millennia_goes_round() {
    let mut expected = parse("0000-01-01T00:00:00Z").unwrap();
    for year in 0..10_000 {
        for month in 1..=12 {
            for day in 1..=month_days(year, month) {
                assert_eq!(days(year, month, day) * DAY_MS, expected);
                assert_eq!(date(expected.div_euclid(DAY_MS)), (year, month, day));
                expected += DAY_MS;
            }
        }
    }
}

#[test]
fn format_is_the_inverse_of_parse() {
    assert_eq!(format(0), "1970-01-01T00:00:00.000Z");
    assert_eq!(format(-1), "1969-12-31T23:59:59.999Z");
    assert_eq!(format(482_196_050_520), "1985-04-12T23:20:50.520Z");
    assert_eq!(format(253_402_300_800_000), "+010000-01-01T00:00:00.000Z");
    assert_eq!(format(-62_167_219_200_001), "-000001-12-31T23:59:59.999Z");
    for ms in [i64::MIN, i64::MAX] {
        assert!(format(ms).ends_with('Z'));
    }
    for ms in (-62_167_219_200_000..253_402_300_800_000_i64).step_by(99_999_999_997) {
        assert_eq!(parse(&format(ms)), Ok(ms));
    }
}
