//! `demo`: the whole program against simulated models, so that it can be seen without a key and without cost.

use parallel_llm_engine::{Failure, RunRequest};
use parallel_llm_simulator::{DEMO_QUESTION, Simulator};

use super::Desk;
use super::ask::exit_code;
use super::view::{self, Followed, View};
use crate::output::console::Tone;
use crate::output::summary;
use crate::service::Question;

/// See it work: simulated models, no key, no cost
///
/// Everything but the models is real: the same requests over HTTP, the same store, the same files.
#[derive(Debug, clap::Args)]
pub struct Demo {
    /// The question, in place of the built-in one
    pub question: Option<String>,
}

/// Asks the demo's question and explains what happened.
pub async fn run(desk: &Desk<'_>, demo: &Demo, simulator: &Simulator) -> Result<u8, Failure> {
    let console = &desk.console;
    let question = demo.question.as_deref().unwrap_or(DEMO_QUESTION);
    console.say(&console.tone(
        Tone::Warning,
        "These models are simulated: no key is used, nothing leaves this machine, nothing is paid.",
    ));
    console.say(&format!("The pretend provider listens on {}.\n", simulator.address()));
    console.say(&console.tone(Tone::Strong, question));
    console.say("");
    let question = Question { request: RunRequest::prompt(question), preset: None };
    let handle = desk.service.ask(question).await?;
    let report = match view::follow(desk, &handle, View::People).await {
        Followed::Decided(report) => report,
        Followed::Stopped(signal) => return Ok(view::stopped(signal)),
    };
    if let Some(answer) = &report.answer {
        console.say("");
        console.data(answer);
    }
    let run = view::close(&handle, true).await;
    console.say("\nWho said what:");
    summary::tell_seats(console, &run);
    console.say("");
    summary::tell(console, &run, &report.files);
    console.say(&console.tone(
        Tone::Warning,
        "The models were simulated and the amounts are what real ones would have been charged in pretence.",
    ));
    console.say("Next: set OPENROUTER_API_KEY, then `parallel-llm-mcp ask \"your question\"`.");
    Ok(exit_code(&run, false))
}
