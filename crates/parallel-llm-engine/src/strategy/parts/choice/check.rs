//! Selection by the check command: of the answers that pass, the one with the highest score is selected.
//!
//! Running an answer says more about it than a judge or agreement, so neither is used. Invariant: the selection does not
//! depend on the order in which answers or checks end. A check costs no money, so a resumed run checks its answers again.

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use tokio::time::{Instant, timeout_at};

use super::best::best_among;
use super::verbatim::{selected, strongest, tie_break, unfused, verbatim};
use crate::call::reply_clock::run_timeout;
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::port::{AnswerToCheck, Checker};
use crate::request::StoreMode;
use crate::request::panel::SeatNumber;
use crate::run::outcome::{Checked, Outcome};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::warning::Warning;

/// The most concurrent checks of a run. Each may compile and test a program on the user's own machine.
const CHECKS_MAX: usize = 4;

/// The best of the answers that pass the check. If none does, the best answer is returned, marked as not passing.
pub(crate) async fn select(context: &RunContext, usable: &[Usable]) -> Outcome {
    let Some(checker) = &context.checker else {
        let why =
            Failure::new(Code::CheckUnavailable, "there is no check command to run the answers through");
        return unpassed(context, usable, why);
    };
    // Checks may take minutes, and the last answer is not durable yet. A failed write appears in the report.
    let _ = context.log.commit().await;
    // Boxed, because a stream of borrowing futures cannot be sent to another thread.
    let checks: Vec<BoxFuture<'_, CheckResult>> =
        usable.iter().map(|one| check_one(context, &**checker, one).boxed()).collect();
    let checking = stream::iter(checks).buffer_unordered(CHECKS_MAX).collect::<Vec<CheckResult>>();
    let mut results = tokio::select! {
        biased;
        () = context.stop.cancelled() => return Outcome::none(cancelled()),
        results = checking => results,
    };
    results.sort_by_key(|one| one.checked.seat);
    let checks: Vec<Checked> = results.iter().map(|one| one.checked.clone()).collect();
    let outcome = match best_passing(context, usable, &checks) {
        Some((chosen, how)) => passing(context, usable, chosen, &how),
        None => unpassed(context, usable, why_none(&results)),
    };
    let mut outcome = Outcome { checks, ..outcome };
    // If no answer could be checked, the outcome itself gives the reason.
    if outcome.checks.iter().any(|one| one.passed.is_some()) {
        outcome.warnings.extend(warnings(context, &results));
    }
    outcome
}

/// The result of checking one answer.
struct CheckResult {
    checked: Checked,
    failure: Option<Failure>,
}

async fn check_one(context: &RunContext, checker: &dyn Checker, one: &Usable) -> CheckResult {
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
        Checked { seat: one.seat, passed: None, score: None, failure: None, stderr: None, elapsed_ms };
    match graded {
        Ok(grade) => {
            let score = grade.score.filter(|score| grade.passed && (0.0..=1.0).contains(score));
            // `-0.0` passes the range check.
            let score = score.map(f64::abs);
            let is_kept = context.plan.store != StoreMode::Metadata;
            let stderr = grade.stderr.filter(|_| is_kept);
            CheckResult {
                checked: Checked { passed: Some(grade.passed), score, stderr, ..checked },
                failure: None,
            }
        }
        Err(failure) => CheckResult {
            checked: Checked { failure: Some(failure.code), ..checked },
            failure: Some(failure),
        },
    }
}

/// The passing answer with the highest score, and the reason. Ties go to the strongest seat, else to the answer closest to
/// the others. An answer without a score ranks below those with one.
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
    let closest = tie_break(context, chosen, "closest to the others");
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

/// The failure if no answer passes: those that were checked do not, or none could be checked.
fn why_none(results: &[CheckResult]) -> Failure {
    let decided = results.iter().filter(|one| one.failure.is_none()).count();
    let message = match (decided, results.first().and_then(|one| one.failure.clone())) {
        (0, Some(first)) => {
            return Failure { message: format!("no answer could be checked: {}", first.message), ..first };
        }
        (1, _) if results.len() == 1 => "the only answer does not pass the check".to_owned(),
        (all, _) if all == results.len() => format!("none of the {all} answers passes the check"),
        (decided, _) => format!("none of the {decided} answers that could be checked passes the check"),
    };
    Failure::new(Code::CheckFailed, message)
}

fn warnings(context: &RunContext, results: &[CheckResult]) -> Vec<Warning> {
    let warning = |one: &CheckResult| {
        let failure = one.failure.as_ref()?;
        let whose = context.called(one.checked.seat);
        Some(Warning::of(format_args!("the answer of {whose} was not checked"), failure))
    };
    results.iter().filter_map(warning).collect()
}

fn cancelled() -> Failure {
    Failure::new(Code::Cancelled, "the run was cancelled while its answers were checked")
}
