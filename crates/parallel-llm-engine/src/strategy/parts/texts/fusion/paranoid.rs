//! Chooses among the texts of paranoid mode, and builds the outcome.

use std::collections::BTreeSet;

use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::request::panel::{ModelRef, SeatNumber};
use crate::run::outcome::{LeaveOneOut, Outcome, Without};
use crate::text::injection::Sign;
use crate::value::answer::Failure;
use crate::value::warning::Warning;

use super::draft::{self, FusedText};
use super::leave_one_out::{self, Compared, Control, Finding, Text};
use super::{SYNTHESIZER, fused};

/// A text made without one of the answers, and its result.
pub(super) type Controlled<'a> = (&'a Control, Result<FusedText, Failure>);

/// Compares the text of all answers with those without one of them, and returns the outcome of the chosen one.
pub(super) fn compare_controls(
    context: &RunContext,
    by: &ModelRef,
    whole: Result<FusedText, Failure>,
    texts: Vec<Controlled<'_>>,
    usable: &[Usable],
) -> Result<Outcome, Failure> {
    let (mut warnings, mut drafts) = (Vec::new(), Vec::new());
    let whole = whole.map(|draft| drafts.push((None, draft)));
    for (control, draft) in texts {
        match draft {
            Ok(draft) => drafts.push((Some(control), draft)),
            Err(failure) => {
                let what = format!("the text without seat {} failed", control.without);
                warnings.push(Warning::of(what, &failure));
            }
        }
    }
    match whole {
        Err(failure) if drafts.is_empty() => return Err(failure),
        Err(failure) => warnings.push(Warning::of("the text of all answers failed", &failure)),
        Ok(()) => {}
    }
    let without = |control: Option<&Control>| control.map(|control| control.without);
    let texts: Vec<Text<'_>> = drafts
        .iter()
        .map(|(control, draft)| Text { without: without(*control), text: &draft.text })
        .collect();
    let answers: Vec<&str> = usable.iter().map(|one| &*one.answer.text).collect();
    let Compared { chosen, apart, finding } =
        leave_one_out::compare(&context.plan.question(), &texts, &answers);
    let texts = drafts.iter().zip(&apart).filter_map(|((control, _), apart)| {
        let Control { without, step, .. } = (*control)?;
        Some(Without { seat: *without, step: *step, apart: *apart })
    });
    let leave_one_out = LeaveOneOut { texts: texts.collect(), stands_without: without(drafts[chosen].0) };
    let cost = draft::sum(drafts.iter().map(|(_, draft)| draft.cost));
    // The model of the chosen text may not have read all answers, so the suspicions of all texts count.
    let suspected: BTreeSet<SeatNumber> =
        drafts.iter().flat_map(|(_, draft)| draft.suspected.iter().copied()).collect();
    let suspected = suspected.into_iter().collect();
    let chosen = FusedText { suspected, cost, ..drafts.swap_remove(chosen).1 };
    let mut outcome = fused(context, SYNTHESIZER, by, chosen, usable);
    if let Some(seat) = leave_one_out.stands_without {
        outcome.reason = format!("{}, but for that of seat {seat}", outcome.reason);
    }
    if let Finding::HangsOn(seat) = finding {
        outcome.suspect(seat, Sign::Decides);
    }
    outcome.leave_one_out = Some(leave_one_out);
    outcome.warnings.extend(finding.warning().into_iter().chain(warnings));
    Ok(outcome)
}
