//! `demo`: the whole program against simulated models, without key and cost.

use parallel_llm_engine::{Failure, RunRequest};
use parallel_llm_simulator::{DEMO_QUESTION, Simulator};

use super::CommandContext;
use super::ask::exit_code;
use super::killed;
use super::view::{self, Followed, Leaving, ProgressStyle, View};
use crate::called;
use crate::exit;
use crate::terminal::console::Tone;
use crate::terminal::summary;
use parallel_llm_service::Question;
use parallel_llm_settings::signals::Signals;

/// See it work: simulated models, no key, no cost
///
/// Everything but the models is real: the same requests over HTTP, the same store, the same files.
#[derive(Debug, clap::Args)]
pub struct Demo {
    /// The question, in place of the built-in one
    pub question: Option<String>,
    /// Kill the program in the middle of the run, then finish the run from what was saved
    #[arg(long)]
    pub kill: bool,
}

/// Asks the demo's question and explains what happened.
pub async fn run(context: &CommandContext<'_>, demo: &Demo, simulator: &Simulator) -> Result<u8, Failure> {
    let question = demo.question.as_deref().unwrap_or(DEMO_QUESTION);
    introduce(context, question, simulator);
    let handle = if demo.kill {
        killed::resume_after_kill(context, question, simulator).await?
    } else {
        context.service.ask.ask(Question::of(RunRequest::prompt(question))).await?
    };
    let mut signals = Signals::new();
    let report = match view::follow(
        context,
        &handle,
        View::Progress(ProgressStyle::Auto),
        Leaving::Cancel,
        &mut signals,
    )
    .await
    {
        Followed::Decided(report) => report,
        Followed::Stopped(signal) => return Ok(exit::of_signal(signal)),
    };
    let console = &context.console;
    if let Some(answer) = &report.answer {
        console.say("");
        console.answer(answer);
    }
    let run = view::close(context, &handle, true, &mut signals).await;
    console.say("\nWho said what:");
    summary::render_seats(console, &run);
    console.say("");
    summary::render(console, &run, &report, Some("runs show @ --demo"));
    if demo.kill {
        killed::account(console, &run, simulator);
    }
    console.say(&console.tone(
        Tone::Warning,
        "The models were simulated; the amounts are what real ones would have charged.",
    ));
    let program = called::name();
    console.say(&format!("Next: set OPENROUTER_API_KEY, then `{program} ask \"your question\"`."));
    Ok(exit_code(&run, false))
}

fn introduce(context: &CommandContext<'_>, question: &str, simulator: &Simulator) {
    let console = &context.console;
    console.say(&console.tone(
        Tone::Warning,
        "These models are simulated: no key is used, nothing leaves this machine, nothing is paid.",
    ));
    console.say(&format!("The pretend provider listens on {}.\n", simulator.address()));
    console.say(&console.tone(Tone::Strong, question));
    console.say("");
}
