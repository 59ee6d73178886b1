//! `demo --kill`: kills the program in the middle of a run; another process finishes it.
//!
//! The killed process is a real child with the real `ask`, which does not know about the kill.

use std::process::Stdio;
use std::time::Duration;

use parallel_llm_engine::run::Run;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_simulator::{DEMO_QUESTION, Simulator};
use tokio::process::{Child, Command};
use tokio::time::Instant;

use crate::command::context::CommandContext;
use crate::terminal::console::{Console, Tone};
use crate::terminal::summary;
use parallel_llm_service::{Continuation, Order, RunHandle};
use parallel_llm_settings::private_files;
use parallel_llm_settings::settings;

/// The number of answers saved before the kill.
const ANSWERS_BEFORE: usize = 3;
/// The interval of looking for them in the store.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The simulated models answer within seconds; a child that takes longer is stuck.
const CHILD_MAX: Duration = Duration::from_secs(60);

/// Starts the run in a child process, kills it, and resumes the run.
pub(super) async fn resume_after_kill(
    context: &CommandContext<'_>,
    simulator: &Simulator,
) -> Result<RunHandle, Failure> {
    let console = &context.console;
    let mut child = start(context, simulator)?;
    let stuck = || Failure::new(Code::Internal, "the child process did not get as far as it should");
    let limit = Instant::now() + CHILD_MAX;
    while saved_answers(context).await < ANSWERS_BEFORE {
        let ended = child.try_wait().ok().flatten().is_some();
        if ended || Instant::now() > limit {
            return Err(stuck());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    child
        .kill()
        .await
        .map_err(|error| Failure::new(Code::Internal, format!("the child lives on: {error}")))?;
    console.say(&console.tone(Tone::Bad, "\nThe process was killed (SIGKILL) in the middle of the run."));
    let run = context.service.runs.find("@").await?.run();
    console.say(&format!(
        "What the store has of run {}, which is now {}:",
        run.plan.run_id,
        run.status.as_str()
    ));
    summary::render_seats(console, &run);
    console.say("\nThis process takes the run up. Answers it has are not asked for again, and a seat that was sent and");
    console.say("never heard of is left alone, because it may have been paid.\n");
    let resume = Continuation::Resume { resend: false, budget: None };
    context.service.ask.begin(Order::on("@", resume)).await
}

/// Prints what the provider was asked, from its own record.
pub(super) fn account(console: &Console, run: &Run, simulator: &Simulator) {
    let journaled: u32 = run.views().map(|seat| seat.attempts).sum();
    let asked =
        simulator.requests().iter().filter(|request| request.path.ends_with("/chat/completions")).count();
    let twice: Vec<String> =
        run.views().filter(|seat| seat.attempts > 1).map(|seat| seat.model.to_string()).collect();
    let twice = if twice.is_empty() { "nothing".to_owned() } else { twice.join(", ") };
    console.say(&format!("Requests the provider saw: {asked}. Requests the run knows of: {journaled}."));
    console.say(&console.tone(Tone::Strong, &format!("Paid twice: {twice}.")));
}

async fn saved_answers(context: &CommandContext<'_>) -> usize {
    match context.service.runs.find("@").await {
        Ok(kept) => kept.run().answered(),
        Err(_) => 0,
    }
}

fn start(context: &CommandContext<'_>, simulator: &Simulator) -> Result<Child, Failure> {
    let failed =
        |error: std::io::Error| Failure::new(Code::Internal, format!("the child cannot start: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    // A home of its own, so that the user's settings do not apply, as in the rest of the demo.
    let home = &context.service.settings.data_dir;
    private_files::folder_builder().recursive(true).create(home).map_err(failed)?;
    Command::new(program)
        .args(["ask", "--", DEMO_QUESTION])
        .current_dir(home)
        .env_clear()
        .envs(settings::system_root())
        .env("HOME", home)
        .env("USERPROFILE", home)
        .env("OPENROUTER_BASE_URL", simulator.base_url())
        .env("OPENROUTER_API_KEY", simulator.api_key())
        .env("PARALLEL_LLM_DATA_DIR", home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)
}
