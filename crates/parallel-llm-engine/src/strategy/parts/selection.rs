//! Selection by a judge: it reads all answers, in one or two orders, and its first choice is selected.
//!
//! A judge that prefers another answer in the other order has not decided: the result is a tie, and of the two answers the
//! one closer to all others is selected.

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::prompt::Task;
use crate::request::panel::{Seat, SeatNumber};
use crate::run::outcome::{Judging, Outcome, Shortened, Verdict};
use crate::strategy::parts::answers::Answers;
use crate::strategy::parts::best::best_among;
use crate::strategy::parts::call::Question;
use crate::strategy::parts::chain;
use crate::strategy::parts::gate::gated;
use crate::strategy::parts::judge::{self, JudgeCall};
use crate::strategy::parts::verbatim::{lone, selected, strongest, tie_break};
use crate::value::answer::Failure;
use crate::value::warning::Warning;

/// Selects the answer a judge puts first for this task.
pub(crate) async fn select(context: &Arc<RunContext>, task: Task, answers: Answers<'_>) -> Outcome {
    let usable = answers.usable;
    if let [only] = usable {
        return lone(context, only, "judge");
    }
    if let Some(outcome) = gated(context, answers) {
        return outcome;
    }
    let judged =
        async |judge: Seat| outcome(context, usable, &judge, judged(context, &judge, task, usable).await);
    chain::ask(context, usable, "judge", judged).await
}

/// The outcome of the calls of one judge. An error means that no call gave a judgement.
fn outcome(
    context: &RunContext,
    usable: &[Usable],
    judge: &Seat,
    judged: Judged,
) -> Result<Outcome, Failure> {
    let Judged { verdicts, suspected, shortened, mut failures } = judged;
    let tops: Vec<SeatNumber> =
        verdicts.iter().filter_map(|verdict| verdict.ranking.first().copied()).collect();
    let (chosen, how) = match (tops.as_slice(), failures.as_slice()) {
        ([], _) => return Err(failures.pop().unwrap_or_else(judge::no_judgement)),
        ([top], []) => (*top, "put it first".to_owned()),
        ([top], _) => (*top, "put it first in the only order that came to a verdict".to_owned()),
        ([one, other, ..], _) if one == other => (*one, "put it first in both orders".to_owned()),
        ([one, other, ..], _) => {
            let chosen = best_among(usable, &strongest(context), &[*one, *other]);
            let closer = tie_break(context, chosen, "closer to all the others");
            let [one, other] = [*one, *other].map(|seat| context.called(seat));
            let how = format!(
                "put {one} first in one order and {other} in the other, which is a tie; this one is {closer}"
            );
            (chosen.seat, how)
        }
    };
    let flips = usize::from(tops.windows(2).any(|pair| pair[0] != pair[1]));
    let chosen = best_among(usable, &[], &[chosen]);
    let mut outcome = selected(context, chosen, format!("the judge `{}` {how}", judge.model));
    outcome.judging = Some(Judging { verdicts, flips });
    outcome.shortened = shortened;
    chain::suspect(context, &mut outcome, "judge", &suspected);
    let in_one_order = |failure| Warning::of("the judge gave no verdict in one order", failure);
    outcome.warnings.extend(failures.iter().map(in_one_order));
    Ok(outcome)
}

/// The results of the calls of one judge.
struct Judged {
    verdicts: Vec<Verdict>,
    /// The seats it suspects of instructions, in the order of the panel.
    suspected: Vec<SeatNumber>,
    shortened: Vec<Shortened>,
    failures: Vec<Failure>,
}

async fn judged(context: &Arc<RunContext>, judge: &Seat, task: Task, shown: &[Usable]) -> Judged {
    let question = Question::only(context.plan.strategy_options.orders());
    let calls: Vec<JudgeCall> = judge::calls(context, judge, question, task, shown).collect();
    let mut judged =
        Judged { verdicts: Vec::new(), suspected: Vec::new(), shortened: Vec::new(), failures: Vec::new() };
    judge::shorten(&mut judged.shortened, &calls);
    for gave in judge::ask(context, &calls).await {
        match gave {
            Ok(judgement) => {
                judged.suspected.extend(judgement.suspected);
                judged.verdicts.push(judgement.verdict);
            }
            Err(failure) => judged.failures.push(failure),
        }
    }
    judged.suspected.sort_unstable();
    judged.suspected.dedup();
    judged
}
