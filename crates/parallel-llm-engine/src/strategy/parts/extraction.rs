//! A vote on values that a model extracts, for answers that cannot be compared by their text.
//!
//! Invariant: the model only names the values to count. The outcome is an answer of the panel, word for word.

use std::sync::Arc;

use crate::agreement::Agreement;
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::plan::caller_slot::CallerSlot;
use crate::plan::step::{StepKey, StepRole};
use crate::prompt::Task;
use crate::prompt::reply::{self, Reveal};
use crate::request::panel::{ModelRef, Seat, SeatNumber};
use crate::run::outcome::{Outcome, Shortened};
use crate::strategy::parts::answers::{Answers, storable};
use crate::strategy::parts::call::{self, Dependents, PlannedCall, Question};
use crate::strategy::parts::chain;
use crate::strategy::parts::counting::counted;
use crate::strategy::parts::shown::{Assignment, Shown};
use crate::text::short_answer::{Form, Value};
use crate::value::answer::{Answer, Failure};
use crate::value::code::Code;
use crate::value::next::Operation;
use crate::value::warning::Warning;

/// What the reading model is called in messages.
const WHO: &str = "extractor";

/// Counts the answers by the values that the first working extractor finds; if all fail, as with `extractor=auto`.
pub(crate) async fn vote(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    let (read, warnings) = chain::first(context, WHO, |by| read(context, by, answers.usable)).await;
    let mut outcome = match read {
        Ok(read) => read.counted(context, answers.usable),
        Err(failure) if failure.code == Code::Cancelled => return Outcome::none(failure),
        Err(why) => {
            let mut outcome = counted(context, answers);
            outcome.warnings.push(Warning::of("the answers were counted as with `extractor=auto`", &why));
            outcome
        }
    };
    outcome.warnings.splice(..0, warnings);
    outcome
}

/// The values a model extracted.
struct ExtractedValues {
    by: ModelRef,
    values: Vec<(SeatNumber, Option<Value>)>,
    /// The seats it suspects of instructions.
    suspected: Vec<SeatNumber>,
    shortened: Vec<Shortened>,
}

impl ExtractedValues {
    fn counted(self, context: &RunContext, usable: &[Usable]) -> Outcome {
        let agreement = storable(context, Agreement::of_values(self.values));
        let mut outcome = counted(context, Answers { usable, agreement: Some(&agreement) });
        outcome.reason = format!("by what the {WHO} `{}` reads, {}", self.by, outcome.reason);
        outcome.agreement = Some(agreement);
        outcome.shortened = self.shortened;
        chain::suspect(context, &mut outcome, WHO, &self.suspected);
        outcome
    }
}

/// Asks one model. After a failure the next of the chain is asked.
async fn read(context: &Arc<RunContext>, by: Seat, usable: &[Usable]) -> Result<ExtractedValues, Failure> {
    let key = StepKey { role: StepRole::Extractor, by: CallerSlot::Synthesizer(by.number), round: 1 };
    let unplanned = || Failure::new(Code::Internal, "the plan has no step for it");
    let slot = CallerSlot::Step(context.plan.step(key).ok_or_else(unplanned)?.number);
    let shown = Shown::to(context, slot, Assignment::once(Task::Extract), usable);
    let dependents = Dependents::Questions(Question::only(1));
    let call = PlannedCall { slot, prompt: shown.prompt(context), reveal: Reveal::nothing(), dependents };
    let reply = call::make(context, call).await?;
    values(context, by.model, shown, &reply).ok_or_else(unreadable)
}

/// The values in a reply; `None` if it has none.
fn values(context: &RunContext, by: ModelRef, shown: Shown, reply: &Answer) -> Option<ExtractedValues> {
    let reply::Extraction { answers, suspected_injection } = reply::extraction(&reply.text, &shown.labels())?;
    let form = Form::of(&context.plan.question());
    let short_of = |label: &String| answers.iter().find(|(named, _)| named == label).map(|(_, short)| short);
    let value = |(label, seat): (String, SeatNumber)| {
        (seat, short_of(&label).and_then(|short| Value::of(form.as_ref(), short)))
    };
    let values: Vec<_> = shown.labelled_seats().into_iter().map(value).collect();
    let mut suspected: Vec<SeatNumber> =
        suspected_injection.iter().filter_map(|label| shown.seat_of(label)).collect();
    suspected.sort_unstable();
    let is_any = values.iter().any(|(_, value)| value.is_some());
    is_any.then_some(ExtractedValues { by, values, suspected, shortened: shown.shortened })
}

fn unreadable() -> Failure {
    Failure::new(Code::Protocol, "its reply says of no answer what it comes to").with_next(Operation::ShowRun)
}
