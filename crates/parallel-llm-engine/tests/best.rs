//! The best answer word for word, where nobody can fuse.

use parallel_llm_engine::Code;

use crate::scene::{Scene, scene};
use crate::script::{Reply, after, fails, failure, says};

fn four_and(chain: impl IntoIterator<Item = (&'static str, Reply)>) -> Scene {
    let panel = [
        ("ada", says(10, "bananas grow upwards")),
        ("bob", says(20, "the moon pulls the sea")),
        ("cyd", says(30, "the moon and the sun pull the sea")),
        ("dan", after(40).text("the moon and the sun pull the sea twice").fail(failure(Code::Connection))),
    ];
    scene(panel.into_iter().chain(chain))
}

#[tokio::test(start_paused = true)]
async fn every_synthesizer_fails() {
    let told = four_and([
        ("fuser-1", fails(10, failure(Code::Auth))),
        ("fuser-2", fails(10, failure(Code::ContextLength).with_next("ask a larger one"))),
    ]);
    insta::assert_snapshot!(told.run().await.end(), @"");
}

#[tokio::test(start_paused = true)]
async fn no_synthesizer_is_configured() {
    insta::assert_snapshot!(four_and([]).run().await.end(), @"");
}
