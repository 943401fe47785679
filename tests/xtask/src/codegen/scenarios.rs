//! Conformance vectors of the operations: scenarios of several callers, single steps of `decide`, and JSON-RPC frames.
//!
//! Nothing here runs the rules: what is expected is written down by hand, next to what is done.

mod admission;
mod attempts;
mod budgets;
mod cast;
mod contract;
mod events;
mod facts;
mod frames;
mod inspector;
mod interruptions;
mod keys;
mod lives;
mod mailbox;
mod outcomes;
mod owners;
mod passing;
mod policy;
mod proposals;
mod received;
mod related;
mod rendering;
mod reported;
mod retention;
mod secrets;
mod sending;
mod states;
mod steps;
mod stored;
mod story;
mod summaries;
mod tasks;
mod threads;
mod told;
mod uniform;

use super::Output;
use anyhow::Result;
use story::Story;

/// 2026-05-04T08:00:00Z, when every scenario starts.
const START: i64 = 1_777_881_600_000;

pub(super) fn generate() -> Result<Vec<Output>> {
    let mut all = vec![
        vectors("frames", "frames", &frames::vectors())?,
        vectors("operations", "steps", &steps::vectors())?,
        vectors("operations", "stored", &stored::vectors())?,
        vectors("operations", "contract", &contract::vectors())?,
    ];
    for (group, name, stories) in FILES {
        all.push(file(group, name, &stories())?);
    }
    Ok(all)
}

/// Group and name of a file, and what is in it.
type File = (&'static str, &'static str, fn() -> Vec<Story>);

/// The files of scenarios.
const FILES: &[File] = &[
    ("operations", "admission", admission::stories),
    ("operations", "attempts", attempts::stories),
    ("operations", "context", contract::stories),
    ("operations", "keys", keys::stories),
    ("operations", "mailbox", mailbox::stories),
    ("delivery", "lives", lives::stories),
    ("delivery", "pages", budgets::pages),
    ("delivery", "outcomes", outcomes::stories),
    ("delivery", "reported", reported::stories),
    ("delivery", "interruptions", interruptions::stories),
    ("operations", "inspector", inspector::stories),
    ("operations", "owners", owners::stories),
    ("operations", "passing", passing::stories),
    ("operations", "proposals", proposals::stories),
    ("operations", "related", related::stories),
    ("delivery", "rendering", rendering::stories),
    ("operations", "retention", retention::stories),
    ("operations", "sending", sending::stories),
    ("operations", "summaries", summaries::stories),
    ("operations", "tasks", tasks::stories),
    ("operations", "told", told::stories),
    ("operations", "uniform", uniform::stories),
    ("events", "events", events::stories),
    ("events", "received", received::stories),
    ("events", "states", states::stories),
    ("events", "threads", threads::stories),
    ("policy", "budgets", budgets::stories),
    ("policy", "consent", policy::consent),
    ("policy", "relationships", policy::stories),
];

/// A file of scenarios: one step a line, so that a change shows as the steps that it changes.
fn file(group: &str, name: &str, stories: &[Story]) -> Result<Output> {
    let lines: Vec<String> = stories.iter().map(Story::text).collect::<Result<_>>()?;
    Ok((format!("spec/conformance/{group}/{name}.json"), wrap(group, &lines)))
}

/// A file of vectors of other functions, one a line.
fn vectors(group: &str, name: &str, vectors: &[steps::Vector]) -> Result<Output> {
    let lines: Vec<String> = vectors.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    Ok((format!("spec/conformance/{group}/{name}.json"), wrap(group, &lines)))
}

fn wrap(group: &str, lines: &[String]) -> String {
    let head = format!("\"group\": \"{group}\",\n\"generated\": \"by cargo xtask codegen\",\n");
    format!("{{\n{head}\"vectors\": [\n{}\n]\n}}\n", lines.join(",\n"))
}

/// A time of the scenarios' calendar, in milliseconds after their start, as RFC 3339 text.
fn time(offset: i64) -> String {
    let at = START + offset;
    let (days, rest) = (at.div_euclid(86_400_000), at.rem_euclid(86_400_000));
    // Civil date from days since 1970-01-01, counted in years that start in March.
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let (hours, minutes, seconds) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60);
    let year = year + era * 400 + carry;
    format!("{year:04}-{month:02}-{date:02}T{hours:02}:{minutes:02}:{seconds:02}.{:03}Z", rest % 1_000)
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(super::time(0), "2026-05-04T08:00:00.000Z");
        assert_eq!(super::time(28 * 86_400_000 + 61_001), "2026-06-01T08:01:01.001Z");
        assert_eq!(super::time(-64 * 86_400_000), "2026-03-01T08:00:00.000Z");
        assert_eq!(super::time(-65 * 86_400_000), "2026-02-28T08:00:00.000Z");
        assert_eq!(super::time(366 * 86_400_000 - 8 * 3_600_000), "2027-05-05T00:00:00.000Z");
    }
}
