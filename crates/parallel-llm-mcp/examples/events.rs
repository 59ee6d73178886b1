//! Shows a run while it happens: `OPENROUTER_API_KEY=... cargo run --features examples --example events`.
#![allow(clippy::print_stdout, reason = "an example prints its result")]

use parallel_llm_mcp::event::EventReport;
use parallel_llm_mcp::{Error, Panel, PanelBuilder};

#[tokio::main]
#[allow(dead_code, reason = "the tests call `run` with a panel of their own")]
async fn main() -> Result<(), Error> {
    run(Panel::builder().from_environment(), &mut |line| println!("{line}")).await
}

/// Asks, and shows a line for each event that a person would want to see.
pub(crate) async fn run(builder: PanelBuilder, show: &mut dyn FnMut(&str)) -> Result<(), Error> {
    let panel = builder.in_memory().build()?;
    let run = panel.begin("Why is the sky blue?").await?;
    let mut events = run.events();
    while let Some(line) = events.next().await {
        match line.event {
            EventReport::Answered(reply) => show(&format!("{} has answered", reply.call.caller.model)),
            EventReport::Failed { reply, retry_after_ms: None, .. } => {
                let why = reply.error.map_or_else(String::new, |error| error.message);
                show(&format!("{} gave no answer: {why}", reply.call.caller.model));
            }
            // Pieces come while the synthesizer writes; the whole text is in the report.
            EventReport::Text { caller, text, .. } if caller.role == "synthesizer" => show(&text),
            EventReport::Decided { .. } => break,
            _ => {}
        }
    }
    let report = run.wait().await?;
    show(report.answer.as_deref().unwrap_or_default());
    panel.close().await;
    Ok(())
}
