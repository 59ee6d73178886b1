//! A provider of one's own: calls go to code in this program. `cargo run --features examples --example provider`.
#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::sync::Arc;

use futures_util::stream;
use parallel_llm_mcp::port::{
    BoxFuture, Call, Caller, Charge, Failure, Finish, ModelRef, Permit, ReplyEnd, ReplyPart, ReplyStream,
};
use parallel_llm_mcp::{Error, Panel};

#[tokio::main]
#[allow(dead_code, reason = "the tests call `run`")]
async fn main() -> Result<(), Error> {
    println!("{}", run().await?);
    Ok(())
}

/// Answers every question with what it was asked, and its own name.
struct Parrot;

impl Caller for Parrot {
    /// Waits until the call may be sent. This one may always.
    fn admit(&self, call: Call) -> BoxFuture<'static, Result<Permit, Failure>> {
        let question = call.messages.last().map(|message| message.texts().collect::<String>());
        let text = format!("{} says: {}", call.model.model, question.unwrap_or_default());
        let end = ReplyEnd { finish: Some(Finish::Stop), ..ReplyEnd::default() };
        let parts = [Ok(ReplyPart::Text(text)), Ok(ReplyPart::End(end))];
        // Sent when the engine says so: the request is in the journal by then.
        Box::pin(async { Ok(Permit::new(move || ReplyStream::new(stream::iter(parts)))) })
    }

    /// Its calls cost nothing, so there is no charge to look up.
    fn look_up(&self, _: &ModelRef, _: &str) -> BoxFuture<'static, Result<Option<Charge>, Failure>> {
        Box::pin(async { Ok(None) })
    }
}

/// Asks a panel of two models of this provider, and returns all answers.
pub(crate) async fn run() -> Result<String, Error> {
    let panel = Panel::builder()
        .caller("parrot", Arc::new(Parrot))
        .panel(["parrot:red", "parrot:green"])
        .strategy("panel")
        .build()?;
    let report = panel.ask("Who is there?").await?;
    panel.close().await;
    let answers = report.answers.iter().filter_map(|seat| seat.text.as_deref());
    Ok(answers.collect::<Vec<_>>().join("\n"))
}
