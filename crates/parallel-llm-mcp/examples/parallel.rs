//! Asks one model many questions at once, within a bound: `OPENROUTER_API_KEY=... cargo run --features examples --example
//! parallel`.
#![allow(clippy::print_stdout, reason = "an example prints its result")]

use parallel_llm_mcp::client::{ChatRequest, ClientBuilder};
use parallel_llm_mcp::parallel::{Failed, Parallel};
use parallel_llm_mcp::{Client, Error};

#[tokio::main]
#[allow(dead_code, reason = "the tests call `run` with a client of their own")]
#[expect(clippy::disallowed_methods, reason = "a program of its own reads its own environment")]
async fn main() -> Result<(), Error> {
    let key = std::env::var("OPENROUTER_API_KEY").unwrap_or_default();
    println!("{}", run(Client::builder().key(key), "openai/gpt-6.1-sol").await?);
    Ok(())
}

/// A line for each question, in the order of the questions.
pub(crate) async fn run(builder: ClientBuilder, model: &str) -> Result<String, Error> {
    let client = builder.build()?;
    let questions = ["Name a prime.", "Name a colour.", "Name a river."];
    let answers = Parallel::new(2)
        .map(questions, async |question| client.chat(ChatRequest::new(model, question).max_tokens(200)).await)
        .await;
    client.close().await;

    let lines = questions.iter().zip(answers).map(|(question, answer)| match answer {
        Ok(reply) => format!("{question} {}", reply.text),
        Err(Failed::Error(error)) => format!("{question} ({error}: {})", error.next_step()),
        Err(other) => format!("{question} ({other})"),
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}
