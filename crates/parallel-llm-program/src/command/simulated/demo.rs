//! `demo`: the whole program against simulated models, without key and cost.

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure, RunRequest};
use parallel_llm_simulator::{DEMO_QUESTION, DEMO_VOTE_QUESTION, Simulator};

use super::killed;
use crate::called;
use crate::command::ask::answer::exit_code;
use crate::command::context::CommandContext;
use crate::command::watch::view::{self, Followed, Late, Leaving, ProgressStyle, View};
use crate::exit;
use crate::terminal::console::Tone;
use crate::terminal::summary;
use crate::terminal::verdict::verdict;
use parallel_llm_service::Question;
use parallel_llm_settings::signals::Signals;

/// See it work: simulated models, no key, no cost
///
/// Everything but the models is real: the same requests over HTTP, the same store, the same files. They answer a question
/// with one right answer, which is put to the vote, and an open one, whose answers are fused. Their answers were written
/// beforehand, so the demo takes no other question.
#[derive(Debug, clap::Args)]
pub struct Demo {
    /// Kill the program in the middle of the run, then finish the run from what was saved
    #[arg(long)]
    pub kill: bool,
    /// A question, which is refused.
    #[arg(hide = true)]
    pub question: Vec<String>,
}

impl Demo {
    /// Fails for a question of the user's: what simulated models would say to it means nothing.
    pub fn refuse_question(&self) -> Result<(), Failure> {
        if self.question.is_empty() {
            return Ok(());
        }
        let question = self.question.join(" ");
        let is_plain = !question.contains(['"', '\\', '$', '`', '!', '\n']);
        let shown = if is_plain { question.as_str() } else { "..." };
        let message =
            "the demo answers only its own questions: to yours, simulated models have nothing to say";
        let ask = Next::Type(format!("{} ask \"{shown}\"", called::name()).into());
        Err(Failure::new(Code::Usage, message).with_next(ask))
    }
}

/// Asks the demo's questions and explains what happened.
pub async fn run(context: &CommandContext<'_>, demo: &Demo, simulator: &Simulator) -> Result<u8, Failure> {
    introduce(context, simulator);
    if !demo.kill {
        vote(context).await?;
    }
    context.console.say(&context.console.tone(Tone::Strong, DEMO_QUESTION));
    context.console.say("");
    let handle = if demo.kill {
        killed::resume_after_kill(context, simulator).await?
    } else {
        context.service.ask.begin(Question::of(RunRequest::prompt(DEMO_QUESTION))).await?
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
        Followed::Decided { report, .. } => report,
        Followed::Stopped(signal) => return Ok(exit::of_signal(signal)),
    };
    let console = &context.console;
    if let Some(answer) = &report.answer {
        console.say("");
        console.answer(answer);
    }
    let run = view::close(context, &handle, Late::Awaited, &mut signals).await;
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
    console
        .say(&format!("Next: `{program} runs show @ --demo --agreement` says who agrees and who does not."));
    console.say(&format!("Then: set OPENROUTER_API_KEY, and `{program} ask \"your question\"`."));
    Ok(exit_code(&run, false))
}

fn introduce(context: &CommandContext<'_>, simulator: &Simulator) {
    let console = &context.console;
    console.say(&console.tone(
        Tone::Warning,
        "These models are simulated: no key is used, nothing leaves this machine, nothing is paid.",
    ));
    console.say(&format!("The pretend provider listens on {}.\n", simulator.address()));
}

/// Puts the question with one right answer to the vote. stdout is left to the fused answer.
async fn vote(context: &CommandContext<'_>) -> Result<(), Failure> {
    let console = &context.console;
    console.say(&console.tone(Tone::Strong, DEMO_VOTE_QUESTION));
    let request = RunRequest { strategy: Some("vote".to_owned()), ..RunRequest::prompt(DEMO_VOTE_QUESTION) };
    let handle = context.service.ask.begin(Question::of(request)).await?;
    let report = handle.wait(None).await;
    let run = handle.snapshot();
    summary::render_seats(console, &run);
    console.say(&console.tone(Tone::Strong, &verdict(&run, &report)));
    console.say(&format!(
        "Answers to such a question are counted (`{} runs show {} --demo` shows the vote again). Those to an open one are fused:\n",
        called::name(),
        handle.id()
    ));
    Ok(())
}
