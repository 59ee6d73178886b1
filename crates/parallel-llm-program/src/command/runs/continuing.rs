//! Continuing a run: `runs wait`, `resume`, `add`, `synthesize` and `replay`.

use parallel_llm_engine::{Failure, PicoUsd, RunRequest};

use crate::command::ask::answer::{begun, exit_code, finish};
use crate::command::ask::question::{Ask, option};
use crate::command::ask::second_model;
use crate::command::context::CommandContext;
use crate::command::watch::view::{self, Followed, Leaving, ProgressStyle, View};
use crate::exit;
use crate::terminal::summary;
use parallel_llm_service::form::Given;
use parallel_llm_service::{Continuation, Order};
use parallel_llm_settings::signals::Signals;

/// The help for a run's name, shared by all commands.
const RUN_HELP: &str = "The run's id or a prefix of it; `@` is the newest, `@~1` the one before";

/// Whose run it is.
#[derive(Debug, clap::Args)]
pub struct Whose {
    /// A run of the demo, whose models are simulated
    #[arg(long)]
    pub demo: bool,
}

/// How what comes of it is shown.
#[derive(Debug, clap::Args)]
pub struct Shown {
    /// The run report as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Wait for late seats after the answer
    #[arg(long)]
    pub linger: bool,
}

/// What this part of the run may cost.
#[derive(Debug, clap::Args)]
pub struct Allowance {
    /// The most it may cost besides what the run has cost so far, in USD
    #[arg(long, value_name = "USD", value_parser = option("budget_usd", Given::usd), allow_negative_numbers = true)]
    pub budget: Option<PicoUsd>,
}

/// By which command answers are checked in this part of the run.
#[derive(Debug, clap::Args)]
pub struct Checking {
    /// The check command, if the strategy checks answers (`best-of-n@by=check`)
    #[arg(long, value_name = "COMMAND")]
    pub check: Option<String>,
}

/// Who fuses in this part of the run, and what it may cost.
#[derive(Debug, clap::Args)]
pub struct Means {
    /// The synthesizer, in front of those of the settings
    #[arg(long, value_name = "MODEL")]
    pub synthesizer: Option<String>,
    #[command(flatten)]
    pub allowance: Allowance,
    /// Output cap of each call in tokens, reasoning included
    #[arg(long, value_name = "TOKENS")]
    #[arg(value_parser = option("max_tokens", Given::tokens))]
    pub max_tokens: Option<u32>,
}

/// `runs wait`.
#[derive(Debug, clap::Args)]
pub struct Wait {
    #[arg(help = RUN_HELP, default_value = "@")]
    pub run: String,
    #[command(flatten)]
    pub whose: Whose,
    /// The run report as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// `runs resume`.
#[derive(Debug, clap::Args)]
pub struct Resume {
    #[arg(help = RUN_HELP)]
    pub run: String,
    /// Also ask again seats whose request was sent without a known end, although they may have been paid
    #[arg(long)]
    pub resend: bool,
    #[command(flatten)]
    pub allowance: Allowance,
    #[command(flatten)]
    pub checking: Checking,
    #[command(flatten)]
    pub shown: Shown,
    #[command(flatten)]
    pub whose: Whose,
}

/// `runs add`.
#[derive(Debug, clap::Args)]
pub struct Add {
    #[arg(help = RUN_HELP)]
    pub run: String,
    /// A model to ask, `[provider:]model[*N][@key=value,...]`; repeat for more
    #[arg(short, long = "model", value_name = "MODEL", required = true)]
    pub models: Vec<String>,
    #[command(flatten)]
    pub means: Means,
    #[command(flatten)]
    pub checking: Checking,
    #[command(flatten)]
    pub shown: Shown,
    #[command(flatten)]
    pub whose: Whose,
}

/// `runs synthesize`.
#[derive(Debug, clap::Args)]
pub struct Synthesize {
    #[arg(help = RUN_HELP)]
    pub run: String,
    #[command(flatten)]
    pub means: Means,
    #[command(flatten)]
    pub checking: Checking,
    #[command(flatten)]
    pub shown: Shown,
    #[command(flatten)]
    pub whose: Whose,
}

/// `runs replay`.
#[derive(Debug, clap::Args)]
pub struct Replay {
    #[arg(help = RUN_HELP)]
    pub run: String,
    /// The strategy that makes one text of the answers: `synthesize`, `vote`, `auto` or another, with options as in `vote@first=2`
    #[arg(long, value_name = "STRATEGY")]
    pub strategy: String,
    #[command(flatten)]
    pub means: Means,
    #[command(flatten)]
    pub checking: Checking,
    #[command(flatten)]
    pub shown: Shown,
    #[command(flatten)]
    pub whose: Whose,
}

/// Watches a run to its answer. Leaving does not end the run.
pub(super) async fn wait(context: &CommandContext<'_>, wait: &Wait) -> Result<u8, Failure> {
    let handle = context.service.runs.watch(&wait.run).await?;
    let mut signals = Signals::new();
    let view = if wait.json { View::Nothing } else { View::Progress(ProgressStyle::Auto) };
    let report = match view::follow(context, &handle, view, Leaving::Watch, &mut signals).await {
        Followed::Decided { report, .. } => report,
        Followed::Stopped(signal) => return Ok(exit::of_signal(signal)),
    };
    let run = handle.snapshot();
    if wait.json {
        context.console.data(&report.pretty());
    } else {
        context.console.say("");
        report.answer.iter().for_each(|answer| context.console.answer(answer));
        context.console.say("");
        summary::render(&context.console, &run, &report, None);
    }
    Ok(exit_code(&run, false))
}

/// Asks the seats without an answer.
pub(super) async fn resume(context: &CommandContext<'_>, resume: &Resume) -> Result<u8, Failure> {
    let continuation = Continuation::Resume { resend: resume.resend, budget: resume.allowance.budget };
    go_on(context, &resume.run, continuation, &resume.shown).await
}

/// Asks further models.
pub(super) async fn add(context: &CommandContext<'_>, add: Add) -> Result<u8, Failure> {
    second_model::check_each(&add.models)?;
    let request = RunRequest { models: Some(add.models), ..add.means.request()? };
    go_on(context, &add.run, Continuation::Add(request), &add.shown).await
}

/// Makes another text of the answers.
pub(super) async fn synthesize(context: &CommandContext<'_>, synthesize: Synthesize) -> Result<u8, Failure> {
    go_on(context, &synthesize.run, Continuation::Rewrite(synthesize.means.request()?), &synthesize.shown)
        .await
}

/// Tries another strategy on the answers.
pub(super) async fn replay(context: &CommandContext<'_>, replay: Replay) -> Result<u8, Failure> {
    let request = RunRequest { strategy: Some(replay.strategy), ..replay.means.request()? };
    go_on(context, &replay.run, Continuation::Rewrite(request), &replay.shown).await
}

async fn go_on(
    context: &CommandContext<'_>,
    run: &str,
    continuation: Continuation,
    shown: &Shown,
) -> Result<u8, Failure> {
    let mut signals = Signals::new();
    let beginning = context.service.ask.begin(Order::on(run, continuation));
    let handle = match begun(beginning, &mut signals).await? {
        Ok(handle) => handle,
        Err(signal) => return Ok(exit::of_signal(signal)),
    };
    let ask = Ask { json: shown.json, linger: shown.linger, ..Ask::default() };
    finish(context, &handle, &ask, None, signals).await
}

impl Means {
    fn request(self) -> Result<RunRequest, Failure> {
        second_model::check_synthesizer(self.synthesizer.as_deref())?;
        Ok(RunRequest {
            synthesizer: self.synthesizer,
            budget: self.allowance.budget,
            max_tokens: self.max_tokens,
            ..RunRequest::default()
        })
    }
}
