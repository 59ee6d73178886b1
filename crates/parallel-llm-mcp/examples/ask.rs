//! Asks a panel one question: `OPENROUTER_API_KEY=... cargo run --features examples --example ask`.
#![allow(clippy::print_stdout, reason = "an example prints its result")]

use parallel_llm_mcp::{Error, Panel, PanelBuilder, Question};

#[tokio::main]
#[allow(dead_code, reason = "the tests call `run` with a panel of their own")]
async fn main() -> Result<(), Error> {
    println!("{}", run(Panel::builder().from_environment()).await?);
    Ok(())
}

/// Asks, and says who answered and what it cost.
pub(crate) async fn run(builder: PanelBuilder) -> Result<String, Error> {
    let panel = builder.in_memory().budget_usd(1.0).build()?;
    let question = Question::new("Which is larger, 9.11 or 9.9?").system("Answer in one sentence.");
    let report = match panel.ask(question).await {
        Ok(report) => report,
        // No answer came, but the report says what each seat came to.
        Err(Error::Unanswered(report)) => *report,
        Err(other) => return Err(other),
    };
    panel.close().await;

    let mut text = report.answer.as_deref().unwrap_or("no answer").to_owned();
    for seat in &report.answers {
        text.push_str(&format!("\n{}: {}", seat.model, seat.status));
    }
    text.push_str(&format!("\ncost: {}", report.cost_described()));
    Ok(text)
}
