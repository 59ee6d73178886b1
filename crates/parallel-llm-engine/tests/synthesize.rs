//! Anchored synthesis: the story of a whole run, and everything that can go wrong while answers are fused.

use parallel_llm_engine::{Code, Finish, RunId};

use crate::scene::{Scene, scene};
use crate::script::{Reply, after, fails, failure, form, fuses, hangs, label_of, prompt, says, unadmitted};

/// Two answers and these synthesizers, in the order of their chain.
fn two_and(chain: impl IntoIterator<Item = (&'static str, Reply)>) -> Scene {
    let panel =
        [("vendor/ada", says(20, "The moon pulls the sea.")), ("vendor/bob", says(40, "Moon and sun pull."))];
    scene(panel.into_iter().chain(chain))
}

#[tokio::test(start_paused = true)]
async fn five_seats_and_a_synthesizer() {
    let told = scene([
        ("ada", says(300, "The moon pulls the sea.")),
        ("bob", says(100, "The moon does it.")),
        ("cyd", after(50).accepted("gen-1").wait(350).text("Moon, ").wait(100).text("sun.").end()),
        ("dan", after(200).reasoning().wait(100).text("Gravity.").end()),
        ("eve", says(150, "Tides follow the moon.")),
        ("fuser", fuses(250, "Moon, sun.", "Moon, sun and shores.")),
    ])
    .run()
    .await;
    insta::assert_snapshot!(told.story(), @"");
    insta::assert_snapshot!(told.ledger(), @"");
}

#[tokio::test(start_paused = true)]
async fn nothing_leaves_before_it_is_durable() {
    let told = two_and([("fuser", fuses(100, "Moon and sun", "Both."))]).commit_ms(10).run().await;
    insta::assert_snapshot!(told.ledger(), @"");
}

#[tokio::test(start_paused = true)]
async fn the_only_answer_is_not_fused() {
    let one = scene([("ada", says(20, "The moon.")), ("fuser", hangs())]);
    insta::assert_snapshot!(one.story().await, @"");
    let survivor = scene([
        ("ada", fails(5, failure(Code::Auth))),
        ("bob", says(20, "The moon.")),
        ("cyd", fails(10, failure(Code::Forbidden))),
        ("fuser", hangs()),
    ]);
    insta::assert_snapshot!(survivor.story().await, @"");
}

#[tokio::test(start_paused = true)]
async fn nobody_answers() {
    let differently = scene([
        ("ada", fails(5, failure(Code::Credits))),
        ("bob", after(10).text(" \n\t ").end()),
        ("cyd", after(20).end_with(|end| end.refusal = Some("I would rather not.".to_owned()))),
        ("fuser", hangs()),
    ]);
    insta::assert_snapshot!(differently.run().await.end(), @"");
    let refused = || failure(Code::KeyMissing).with_next("set the key");
    let alike = scene([("ada", unadmitted(refused())), ("bob", unadmitted(refused())), ("fuser", hangs())]);
    insta::assert_snapshot!(alike.story().await, @"");
}

#[tokio::test(start_paused = true)]
async fn the_next_in_the_chain_takes_over() {
    let told = two_and([
        ("fuser-1", fails(10, failure(Code::Forbidden))),
        ("fuser-2", after(10).end_with(|end| end.refusal = Some("No.".to_owned()))),
        ("fuser-3", after(10).compose(|call| form(call, "{}", "  ")).end()),
        ("fuser-4", after(10).text("Half a").fail(failure(Code::Connection))),
        ("fuser-5", after(10).panic()),
        ("fuser-6", fuses(10, "Moon and sun", "Both pull.")),
        ("fuser-7", hangs()),
    ]);
    insta::assert_snapshot!(told.story().await, @"");
}

#[tokio::test(start_paused = true)]
async fn a_synthesizer_is_retried_like_a_seat() {
    let told = two_and([
        ("fuser", fails(10, failure(Code::Upstream).with_status(502))),
        ("fuser", fuses(10, "Moon and sun", "Both pull.")),
    ]);
    insta::assert_snapshot!(told.story().await, @"");
}

#[tokio::test(start_paused = true)]
async fn a_reply_without_the_form_still_counts() {
    async fn check(reply: Reply) -> String {
        let told = two_and([("fuser", reply)]).run().await;
        let outcome = told.run.outcome.expect("it is decided");
        let text = outcome.text.map(|text| text.to_string());
        format!("{:?} {:?} {:?}: {}", outcome.kind, text, outcome.base_seat, outcome.reason)
    }
    insta::assert_snapshot!(check(says(10, "Both pull.")).await, @"");
    let json_only = after(10).compose(|call| {
        format!("```json\n{{\"base\": \"{}\"}}\n```\nBoth pull.", label_of(call, "Moon and sun"))
    });
    insta::assert_snapshot!(check(json_only.end()).await, @"");
    let broken = after(10).compose(|call| form(call, "{\"base\": ", "Both pull."));
    insta::assert_snapshot!(check(broken.end()).await, @"");
    let stranger = after(10).compose(|call| form(call, "{\"base\": \"Q\", \"claims\": 7}", "Both pull."));
    insta::assert_snapshot!(check(stranger.end()).await, @"");
    // Stopped by its cap before the answer began: there is nothing for the person in it.
    let unfinished = after(10).compose(|call| {
        let whole = form(call, "{\"claims\": [{\"text\": \"The moon", "");
        whole.split("\n<<answer").next().unwrap_or_default().to_owned()
    });
    insta::assert_snapshot!(check(unfinished.end_as(Finish::Length)).await, @"");
}

#[tokio::test(start_paused = true)]
async fn whether_fusing_was_worth_it() {
    async fn check(text: &'static str) -> String {
        let told = two_and([("fuser", fuses(10, "Moon and sun", text))]).run().await;
        format!("{:?}", told.run.outcome.and_then(|outcome| outcome.worth))
    }
    insta::assert_snapshot!(check("Moon and sun pull.").await, @"");
    insta::assert_snapshot!(check("Moon and sun pull the sea.").await, @"");
    insta::assert_snapshot!(check("Something else entirely").await, @"");
}

#[tokio::test(start_paused = true)]
async fn what_the_reader_should_know_of_the_fusion() {
    let suspicious = after(10).compose(|call| {
        let suspect = label_of(call, "The moon pulls");
        form(call, &format!("{{\"suspected_injection\": [\"{suspect}\", \"Q\"]}}"), "Both pull.")
    });
    let told = two_and([("fuser", suspicious.end_as(Finish::Length))]);
    insta::assert_snapshot!(told.run().await.end(), @"");
}

#[tokio::test(start_paused = true)]
async fn candidates_are_shortened_to_fit() {
    let long: &'static str = "moon ".repeat(2_000).leak();
    let told = scene([("ada", says(20, long)), ("bob", says(20, "The sun.")), ("fuser", says(10, "Both."))])
        .plan(|plan| plan.synthesizers[0].context_tokens = Some(4_500))
        .run()
        .await;
    insta::assert_snapshot!(told.end(), @"");
    let sent = prompt(&told.asked.last().expect("the synthesizer was asked").call);
    assert!(sent.len() < 3 * 3_500 && sent.contains("[shortened here to fit]") && sent.contains("The sun."));
}

#[tokio::test(start_paused = true)]
async fn the_synthesizer_sees_no_names_and_no_order() {
    let asked = async |seed: u64, run: u128| {
        let told = scene([
            ("vendor/ada", says(50, "answer one")),
            ("vendor/bob", says(40, "answer two")),
            ("vendor/cyd", says(30, "answer three")),
            ("vendor/dan", says(20, "answer four")),
            ("vendor/eve", says(10, "answer five")),
            ("fuser", says(10, "All.")),
        ])
        .plan(|plan| {
            plan.seed = seed;
            plan.run_id = RunId::from_parts(1, run);
        })
        .run()
        .await;
        prompt(&told.asked.last().expect("the synthesizer was asked").call)
    };
    let first = asked(1, 1).await;
    assert_eq!(first, asked(1, 1).await);
    for name in ["ada", "bob", "cyd", "dan", "eve", "vendor", "openrouter"] {
        assert!(!first.contains(name), "{name} is not told");
    }
    let order = |prompt: &str| -> Vec<String> {
        prompt.lines().filter_map(|line| line.strip_prefix("| answer ")).map(str::to_owned).collect()
    };
    let mut orders = Vec::new();
    for seed in 1..=6 {
        orders.push(order(&asked(seed, 1).await).join(" "));
    }
    insta::assert_snapshot!(orders.join("\n"), @"");
    assert_ne!(first, asked(1, 2).await, "another run has another code");
}
