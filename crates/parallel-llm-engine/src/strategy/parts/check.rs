//! Answers tried by the user's own check: of those that pass it the one with the highest score stands, word for word.
//!
//! To run an answer says more of it than any judge, and than how many say the same, so neither is asked. What always holds:
//! which one stands does not hang on the order in which answers or checks come to their end. A check costs no money, so a
//! run that is resumed checks its answers anew.

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use tokio::time::{Instant, timeout_at};

use crate::call::reply_clock::run_timeout;
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::port::{AnswerToCheck, Checker};
use crate::request::StoreMode;
use crate::request::panel::SeatNumber;
use crate::run::outcome::{Checked, Outcome};
use crate::strategy::parts::best::best_among;
use crate::strategy::parts::verbatim::{by_default, selected, strongest, unfused, verbatim};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::warning::Warning;

/// So many checks of one run are under way at once: each may compile and test a program, and the machine is the user's own.
const CHECKS_MAX: usize = 4;

/// The best of the answers that pass the check. Where none does, the best answer stands, and is told as one that does not.
pub(crate) async fn choose(context: &RunContext, usable: &[Usable]) -> Outcome {
    let Some(checker) = &context.checker else {
        let why =
            Failure::new(Code::CheckUnavailable, "there is no check command to run the answers through");
        return unpassed(context, usable, why);
    };
    // Checks may take minutes, and the last answer that came is not durable yet. A failed write shows in the report.
    let _ = context.log.commit().await;
    // Boxed, because a stream of borrowing futures cannot be sent to another thread.
    let checks: Vec<BoxFuture<'_, Tried>> =
        usable.iter().map(|one| tried(context, &**checker, one).boxed()).collect();
    let checking = stream::iter(checks).buffer_unordered(CHECKS_MAX).collect::<Vec<Tried>>();
    let mut tried = tokio::select! {
        biased;
        () = context.stop.cancelled() => return Outcome::none(cancelled()),
        tried = checking => tried,
    };
    tried.sort_by_key(|one| one.checked.seat);
    let checks: Vec<Checked> = tried.iter().map(|one| one.checked.clone()).collect();
    let outcome = match best_passing(context, usable, &checks) {
        Some((chosen, how)) => passing(context, usable, chosen, &how),
        None => unpassed(context, usable, why_none(&tried)),
    };
    let mut outcome = Outcome { checks, ..outcome };
    // Where none could be checked, the reason is told once.
    if outcome.checks.iter().any(|one| one.passed.is_some()) {
        outcome.warnings.extend(warnings(&tried));
    }
    outcome
}

/// What came of checking one answer.
struct Tried {
    checked: Checked,
    failure: Option<Failure>,
}

async fn tried(context: &RunContext, checker: &dyn Checker, one: &Usable) -> Tried {
    let began = Instant::now();
    let candidate = AnswerToCheck { seat: one.seat, text: one.answer.text.clone() };
    let late = || Err(run_timeout(&context.plan.timers));
    let graded = if began < context.deadline.run {
        timeout_at(context.deadline.run, checker.check(candidate)).await.unwrap_or_else(|_| late())
    } else {
        late()
    };
    let elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let checked =
        Checked { seat: one.seat, passed: None, score: None, failure: None, said: None, elapsed_ms };
    match graded {
        Ok(grade) => {
            let score = grade.score.filter(|score| grade.passed && (0.0..=1.0).contains(score));
            // There is a zero below zero.
            let score = score.map(f64::abs);
            let is_kept = context.plan.store != StoreMode::Metadata;
            let said = grade.said.filter(|_| is_kept);
            Tried { checked: Checked { passed: Some(grade.passed), score, said, ..checked }, failure: None }
        }
        Err(failure) => {
            Tried { checked: Checked { failure: Some(failure.code), ..checked }, failure: Some(failure) }
        }
    }
}

/// Of the answers that pass, the one with the highest score, of equals that of the strongest seat, else the one closest to the others; and why. One without a
/// score stands behind those that have one.
fn best_passing<'a>(
    context: &RunContext,
    usable: &'a [Usable],
    checks: &[Checked],
) -> Option<(&'a Usable, String)> {
    let passing: Vec<&Checked> = checks.iter().filter(|one| one.passed == Some(true)).collect();
    let highest = passing.iter().filter_map(|one| one.score).max_by(f64::total_cmp);
    let is_top = |one: &&&Checked| match (one.score, highest) {
        (Some(score), Some(highest)) => score >= highest,
        (score, _) => score == highest,
    };
    let top: Vec<SeatNumber> = passing.iter().filter(is_top).map(|one| one.seat).collect();
    if top.is_empty() {
        return None;
    }
    let chosen = best_among(usable, &strongest(context), &top);
    let closest = by_default(context, chosen, "closest to the others");
    let how = match (passing.len(), top.len(), highest) {
        (1, ..) => format!("it is the only one of {} answers that passes the check", checks.len()),
        (count, 1, _) => {
            format!("{count} of {} answers pass the check; this one has the highest score", checks.len())
        }
        (count, tied, Some(_)) if tied < count => format!(
            "{count} of {} answers pass the check; of the {tied} with the highest score this one is {closest}",
            checks.len()
        ),
        (count, ..) => {
            format!("{count} of {} answers pass the check; this one is {closest}", checks.len())
        }
    };
    Some((chosen, how))
}

fn passing(context: &RunContext, usable: &[Usable], chosen: &Usable, how: &str) -> Outcome {
    if usable.len() == 1 {
        return verbatim(context, chosen, "only one answer came, and it passes the check");
    }
    selected(context, chosen, how)
}

fn unpassed(context: &RunContext, usable: &[Usable], why: Failure) -> Outcome {
    let warnings = vec![Warning::of("the check has chosen none", &why)];
    if let [only] = usable {
        let reason = why.message.clone();
        return Outcome { unfused: Some(why), warnings, ..verbatim(context, only, reason) };
    }
    Outcome { warnings, ..unfused(context, usable, why) }
}

/// Why no answer passes: those that could be checked do not, or none could be.
fn why_none(tried: &[Tried]) -> Failure {
    let decided = tried.iter().filter(|one| one.failure.is_none()).count();
    let message = match (decided, tried.first().and_then(|one| one.failure.clone())) {
        (0, Some(first)) => {
            return Failure { message: format!("no answer could be checked: {}", first.message), ..first };
        }
        (1, _) if tried.len() == 1 => "the only answer does not pass the check".to_owned(),
        (all, _) if all == tried.len() => format!("none of the {all} answers passes the check"),
        (decided, _) => format!("none of the {decided} answers that could be checked passes the check"),
    };
    Failure::new(Code::CheckFailed, message)
}

fn warnings(tried: &[Tried]) -> Vec<Warning> {
    let warning = |one: &Tried| {
        let failure = one.failure.as_ref()?;
        Some(Warning::of(format_args!("the answer of seat {} was not checked", one.checked.seat), failure))
    };
    tried.iter().filter_map(warning).collect()
}

fn cancelled() -> Failure {
    Failure::new(Code::Cancelled, "the run was cancelled while its answers were checked")
}
