//! The fallback to the closest answer, word for word, if no synthesizer succeeds.

use parallel_llm_engine::Code;
use parallel_llm_engine::value::next::Advice;

use crate::scenario::{Scenario, scenario};
use crate::script::{Reply, after, fails, failure, says};

fn panel_with_synthesizers(chain: impl IntoIterator<Item = (&'static str, Reply)>) -> Scenario {
    let panel = [
        ("ada", says(10, "bananas grow upwards")),
        ("bob", says(20, "the moon pulls the sea")),
        ("cyd", says(30, "the moon and the sun pull the sea")),
        ("dan", after(40).text("the moon and the sun pull the sea twice").fail(failure(Code::Connection))),
    ];
    scenario(panel.into_iter().chain(chain))
}

#[tokio::test(start_paused = true)]
async fn every_synthesizer_fails() {
    let result = panel_with_synthesizers([
        ("fuser-1", fails(10, failure(Code::Auth))),
        ("fuser-2", fails(10, failure(Code::ContextLength).with_next(Advice::AskLargerContext))),
    ]);
    insta::assert_snapshot!(result.run().await.end(), @"
    partial decided at 60, closed at 60
      verbatim by bob from 2: `the moon pulls the sea`
      because every synthesizer failed; this is the answer closest to the others, word for word
      ! auth: the synthesizer `fuser-1` failed: scripted auth (check that the key is current and belongs to this provider, or ask another model)
      ! context_length: the synthesizer `fuser-2` failed: scripted context_length (choose a model with a larger context)
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      4 dan cut, 1 request 40 ms, ~?: connection: scripted connection
      s1 fuser-1 failed, 1 request 10 ms, ~?: auth: scripted auth
      s2 fuser-2 failed, 1 request 10 ms, ~?: context_length: scripted context_length (choose a model with a larger context)
    ");
}

#[tokio::test(start_paused = true)]
async fn no_synthesizer_is_configured() {
    insta::assert_snapshot!(panel_with_synthesizers([]).run().await.end(), @"
    partial decided at 40, closed at 40
      verbatim by bob from 2: `the moon pulls the sea`
      because no synthesizer is configured; this is the answer closest to the others, word for word
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 20 ms, $0.0010
      3 cyd answered, 1 request 30 ms, $0.0010
      4 dan cut, 1 request 40 ms, ~?: connection: scripted connection
    ");
}
