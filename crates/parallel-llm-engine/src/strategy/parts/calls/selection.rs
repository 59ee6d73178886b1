//! Selection by a judge: it reads all answers, in one or two orders, and its first choice is selected.
//!
//! A judge may put several answers first together: equal ones, or the largest group of those that say the same. One that
//! prefers another answer in the other order has not decided. Of answers that are first together, the one closest to all
//! others is selected.

use std::sync::Arc;

use super::call::Question;
use super::chain;
use super::judge::{self, JudgeCall};
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::prompt::Task;
use crate::request::panel::{Seat, SeatNumber};
use crate::run::outcome::{Judging, Outcome, Shortened, Verdict};
use crate::strategy::parts::choice::answers::Answers;
use crate::strategy::parts::choice::best::best_among;
use crate::strategy::parts::choice::gate::gated;
use crate::strategy::parts::choice::verbatim::{lone, selected, strongest, tie_break};
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
    let judged = async |judge: Seat| {
        outcome(context, usable, (&judge, task), judged(context, &judge, task, usable).await)
    };
    chain::ask(context, usable, "judge", judged).await
}

/// The outcome of the calls of one judge. An error means that no call gave a judgement.
fn outcome(
    context: &RunContext,
    usable: &[Usable],
    (judge, task): (&Seat, Task),
    judged: Judged,
) -> Result<Outcome, Failure> {
    let Judged { verdicts, suspected, shortened, mut failures } = judged;
    let all: Vec<SeatNumber> = usable.iter().map(|one| one.seat).collect();
    let firsts: Vec<Vec<SeatNumber>> = verdicts.iter().map(|verdict| verdict.first(&all)).collect();
    let Some((forward, others)) = firsts.split_first() else {
        return Err(failures.pop().unwrap_or_else(judge::no_judgement));
    };
    let is_common = |seat: &&SeatNumber| others.iter().all(|first| first.contains(seat));
    let common: Vec<SeatNumber> = forward.iter().filter(is_common).copied().collect();
    let is_flipped = common.is_empty();
    let leading = if is_flipped { firsts.concat() } else { common };
    let chosen = best_among(usable, &strongest(context), &leading);
    let orders = match (others.is_empty(), failures.is_empty()) {
        (false, _) => " in both orders",
        (true, true) => "",
        (true, false) => " in the only order that came to a verdict",
    };
    let closest = tie_break(context, chosen, "closest to all the others");
    let how = match (leading.as_slice(), firsts.as_slice()) {
        ([one, other], [first, second]) if is_flipped && first.len() + second.len() == 2 => {
            let closer = tie_break(context, chosen, "closer to all the others");
            let [one, other] = [*one, *other].map(|seat| context.called(seat));
            format!(
                "put {one} first in one order and {other} in the other, which is a tie; this one is {closer}"
            )
        }
        _ if is_flipped => {
            format!("put other answers first in the other order, which is a tie; this one is {closest}")
        }
        ([_], _) if task != Task::Consistency => format!("put it first{orders}"),
        (several, _) if task != Task::Consistency => {
            format!("found {} answers equally good{orders}; this one is {closest}", several.len())
        }
        _ if verdicts.iter().any(|verdict| verdict.ranking.is_empty()) => {
            format!("found no group of answers larger than all others; this one is {closest}")
        }
        ([_], _) => format!("found it alone in the largest group{orders}"),
        (several, _) => format!(
            "put {} of {} answers into the largest group{orders}; of these, this one is {closest}",
            several.len(),
            all.len()
        ),
    };
    let mut outcome = selected(context, chosen, format!("the judge `{}` {how}", judge.model));
    let flips = usize::from(is_flipped);
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
