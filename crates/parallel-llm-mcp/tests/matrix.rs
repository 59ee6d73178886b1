//! The fault matrix: every fault of a provider (U), of fusing (S), of the disk (D) and of the process (P) that one
//! machine can simulate, each under the name of its row.
//!
//! [`rows`] checks that each row is accounted for exactly once: by a test here that is named for it, by tests elsewhere
//! that a table there names, or by a reason why no test can play it. After every row, [`invariants`] checks what must
//! always hold.
#![cfg(target_os = "linux")]

mod d;
pub(crate) mod database;
mod frames;
mod invariants;
mod p;
mod rows;
mod s;
mod server;
mod u;
mod wire;

use parallel_llm_testkit::simulator::{Behaviour, Fault, Latency, Script};
use parallel_llm_testkit::{Call, Output, Sandbox};
use serde_json::Value;

use invariants::assert_invariants;

const ONE: &str = "openai/gpt-6.1-sol";
const TWO: &str = "mistralai/mistral-large-4-0";
const HANGING: &str = "x-ai/grok-4.7";
const SYNTHESIZER: &str = "google/gemini-4-argon";
/// Names the newest run.
const NEWEST: &str = "@";
/// The folder below the home for files of the tests.
const PLAYGROUND: &str = "playground";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"));
    std::fs::create_dir(sandbox.home().join(PLAYGROUND)).expect("a folder can be made");
    sandbox
}

/// A sandbox in which two models answer, and one begins and never ends.
fn hanging() -> Sandbox {
    sandbox().scripted(HANGING, Script::fault(Fault::Stall))
}

/// A model that answers with this text after this many milliseconds.
fn late(ms: u64, text: &str) -> Script {
    let behaviour = Script::answering(text).behaviour.expect("it answers");
    Script::behaving(Behaviour { ttft_ms: Latency::of(ms), ..behaviour })
}

/// A question to these models.
fn ask<'a>(sandbox: &'a Sandbox, models: &[&str]) -> Call<'a> {
    let models = models.iter().flat_map(|model| ["-m", model]);
    sandbox.call(["ask", "--json", "Which is safer?"]).args(models).settings([("synthesizer", SYNTHESIZER)])
}

/// Runs a call. Its output must not contain the key.
fn output_of(call: Call<'_>) -> Output {
    let output = call.run();
    output.assert_no_key();
    output
}

/// The newest run as stored.
fn stored_run(sandbox: &Sandbox) -> Value {
    output_of(sandbox.call(["runs", "show", "--json", NEWEST])).json()
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// Waits until an answer of the newest run is in its file and the hanging model has begun.
fn until_one_has_answered(sandbox: &Sandbox) {
    sandbox.until("one has answered and one hangs", || {
        let has_begun = |model| {
            sandbox
                .chats()
                .iter()
                .any(|chat| chat.model.as_deref() == Some(model) && chat.first_byte_us.is_some())
        };
        has_begun(HANGING)
            && sandbox.files().iter().any(|(path, _)| path.to_string_lossy().contains("/answer_1_"))
    });
}
