//! `runs show`: one run, from its answer to its events.

use parallel_llm_engine::value::next::{Next, Operation};
use parallel_llm_engine::{Code, Failure, OutcomeKind, Run};

use crate::called;
use crate::command::context::CommandContext;
use crate::command::watch::opened::BoundPage;
use crate::exit;
use crate::terminal::agreement;
use crate::terminal::console::Tone;
use crate::terminal::plain;
use crate::terminal::summary;
use crate::terminal::vocabulary::COMMAND_LINE;
use parallel_llm_service::KnownRun;
use parallel_llm_settings::settings::Settings;

/// The message about a text that is not kept.
const NOT_KEPT: &str = "the texts of this run were not kept";

/// Show a run: its answer, its seats and its cost
#[derive(Debug, clap::Args)]
pub struct Show {
    /// The run's id or a prefix of it; `@` is the newest, `@~1` the one before
    #[arg(default_value = "@")]
    pub run: String,
    /// The run report as one JSON object
    #[arg(long, conflicts_with_all = ["seat", "events"])]
    pub json: bool,
    /// Only the answer of this seat
    #[arg(long, value_name = "SEAT")]
    pub seat: Option<u8>,
    /// Every event, one a line
    #[arg(long, conflicts_with = "seat")]
    pub events: bool,
    /// How far the answers agree: equal answers, contradictions, unique claims and new passages
    #[arg(long, conflicts_with_all = ["seat", "events"])]
    pub agreement: bool,
    /// Open the run's page in the browser, until Ctrl-C
    #[arg(long, conflicts_with_all = ["json", "seat", "events", "agreement"])]
    pub open: bool,
    /// Show a run of the demo
    #[arg(long)]
    pub demo: bool,
}

pub(super) async fn run(context: &CommandContext<'_>, show: &Show) -> Result<u8, Failure> {
    let found =
        context.service.runs.find(&show.run).await.map_err(|failure| or_of_demo(failure, context, show))?;
    let KnownRun::Past(past) = found else {
        return Err(Failure::new(Code::Internal, "a run of another process cannot be live in this one"));
    };
    if show.open {
        BoundPage::bind(context).await?.show(context, past.run.plan.run_id).until_signal().await;
    } else if show.json {
        context.console.data(&past.report().in_vocabulary(&COMMAND_LINE).pretty());
    } else if show.agreement {
        context.console.page(&agreement::page(&past.report().in_vocabulary(&COMMAND_LINE)));
    } else if show.events {
        let mut lines = Vec::with_capacity(past.events.len());
        past.replay(|run, event| lines.push(plain::line(run, event)));
        context.console.page(&lines.join("\n"));
    } else if let Some(number) = show.seat {
        return show_seat(context, &past.run, number);
    } else {
        let report = past.report().in_vocabulary(&COMMAND_LINE);
        match &report.answer {
            Some(answer) => context.console.answer(answer),
            None => context.console.say(&context.console.tone(Tone::Warning, &why_no_answer(&past.run))),
        }
        context.console.say("");
        summary::render(&context.console, &past.run, &report, None);
        if let Some(earlier) = &report.continues {
            context.console.say(&format!("Goes on with the conversation of run {earlier}."));
        }
        summary::render_seats(&context.console, &past.run);
    }
    Ok(exit::ANSWER)
}

/// Also suggests the run of the demo, if there is one. It is kept apart, so that it is not among the user's.
fn or_of_demo(failure: Failure, context: &CommandContext<'_>, show: &Show) -> Failure {
    let demo = Settings::demo_folder(&context.service.settings.data_dir);
    if failure.code != Code::RunNotFound || show.demo || !demo.is_dir() {
        return failure;
    }
    let command = Next::Type(format!("{} runs show {} --demo", called::name(), show.run).into());
    let steps: Vec<Next> = failure.next_steps().iter().cloned().chain([command]).collect();
    failure.with_next(steps)
}

/// Why there is no text to show.
fn why_no_answer(run: &Run) -> String {
    match &run.outcome {
        Some(outcome) if outcome.kind != OutcomeKind::None => NOT_KEPT.to_owned(),
        _ => format!("no answer: the run is {}", run.status.as_str()),
    }
}

fn show_seat(context: &CommandContext<'_>, run: &Run, number: u8) -> Result<u8, Failure> {
    let seat = number.checked_sub(1).and_then(|index| run.seats.get(usize::from(index)));
    let Some(seat) = seat else {
        return Err(Failure::new(
            Code::Usage,
            format!("the run has no seat {number}; it has {}", run.seats.len()),
        )
        .with_next(Operation::ShowRun));
    };
    match seat.text() {
        Some(text) => context.console.answer(text),
        None if seat.answer.is_some() => context.console.say(NOT_KEPT),
        None => context.console.say(&format!("seat {number} has no text: it is {}", seat.status.as_str())),
    }
    Ok(exit::ANSWER)
}
