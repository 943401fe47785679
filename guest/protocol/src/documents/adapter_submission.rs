//! The adapter submission: rules AS-1 to AS-7.

use super::part::Part;
use crate::{Error, Rule};

pub(super) fn rules(submission: Part<'_>) -> Result<(), Error> {
    let state = submission.text("/state");
    let started = submission.has("/attemptStartedAt");
    submission.must(Rule::AS1, state == "prepared" || started, "/attemptStartedAt")?;
    submission.must(Rule::AS2, state != "prepared" || !started, "/attemptStartedAt")?;
    let receipt = submission.has("/receipt");
    submission.must(Rule::AS3, state != "receipt-recorded" || receipt, "/receipt")?;
    let none = matches!(state, "prepared" | "outcome-unknown" | "confirmed-not-submitted");
    submission.must(Rule::AS4, !none || !receipt, "/receipt")?;
    let resolved = matches!(state, "confirmed-not-submitted" | "manual-reconciliation");
    submission.must(Rule::AS5, !resolved || submission.has("/reconciliation"), "/reconciliation")?;
    let resolution = match state {
        "receipt-recorded" => "confirmed-submitted",
        "confirmed-not-submitted" => "confirmed-not-submitted",
        "manual-reconciliation" => "manual-required",
        _ => "",
    };
    const RESOLUTION: &str = "/reconciliation/resolution";
    let agrees = submission.text_opt(RESOLUTION).is_none_or(|text| text == resolution);
    submission.must(Rule::AS6, agrees, RESOLUTION)?;
    submission.in_order(Rule::AS7, false, "/preparedAt", "/attemptStartedAt")?;
    submission.in_order(Rule::AS7, false, "/preparedAt", "/updatedAt")?;
    submission.in_order(Rule::AS7, false, "/attemptStartedAt", "/updatedAt")
}
