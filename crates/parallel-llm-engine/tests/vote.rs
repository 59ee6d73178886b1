//! Plurality: which answer stands, that nobody is asked for it, and that the order of arrival has no say.

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, SeatNumber};

use crate::scene::{Scene, scene};
use crate::script::{fails, failure, fuses, says};

const HOW_MANY: &str = "How many legs has a spider?";

/// A panel that answers so, one after the other, and a synthesizer that nobody is to ask.
fn panel(answers: &[&'static str]) -> Scene {
    let seats = ["ada", "bob", "cyd", "dan", "eve"].into_iter().zip((1..).map(|at| at * 10));
    let seats = seats.zip(answers).map(|((name, ms), answer)| (name, says(ms, answer)));
    scene(seats.chain([("fuser", fuses(10, "?", "?"))])).asks(HOW_MANY, "vote")
}

/// How the text came about, and whose it is.
async fn told(scene: Scene) -> String {
    let told = scene.run().await;
    assert!(told.asked.iter().all(|asked| asked.call.model.model != "fuser"), "nobody fuses");
    told.end().lines().skip(1).take(2).map(str::trim).collect::<Vec<_>>().join("; ")
}

#[tokio::test(start_paused = true)]
async fn the_most_frequent_answer_stands_as_it_is() {
    insta::assert_snapshot!(told(panel(&["It has 6.", "A spider has 8 legs.", "8", "The answer is **8**, as with all of them."])).await, @"selected by cyd from 3: `8`; because 3 of 4 answers say `8 legs`");
}

#[tokio::test(start_paused = true)]
async fn between_as_many_the_strongest_decides_else_the_first() {
    let tie = || panel(&["6", "8", "8 legs", "6.0"]);
    insta::assert_snapshot!(told(tie()).await, @"selected by ada from 1: `6`; because 2 of 4 answers say `6`, and as many say something else: the first of the panel decides");
    insta::assert_snapshot!(told(tie().plan(|plan| plan.seats[2].strongest = true)).await, @"selected by bob from 2: `8`; because 2 of 4 answers say `8 legs`, and as many say something else: the strongest seat decides");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_counted_is_compared_by_its_words() {
    let open =
        panel(&["bananas grow upwards", "the moon pulls the sea", "the moon and the sun pull the sea"]);
    insta::assert_snapshot!(told(open.asks("How do tides work?", "vote")).await, @"selected by bob from 2: `the moon pulls the sea`; because answers to an open question cannot be counted; this is the one closest to the others");
    insta::assert_snapshot!(told(panel(&["6", "7", "8"])).await, @"selected by ada from 1: `6`; because no two answers agree; this is the one closest to the others");
}

#[tokio::test(start_paused = true)]
async fn what_is_told_of_a_run_without_texts_holds_none_of_their_words() {
    let kept = panel(&["8 legs", "8", "6"]).plan(|plan| plan.store = StoreMode::Metadata).run().await;
    let outcome = kept.run.outcome.as_ref().expect("the run is decided");
    assert_eq!(outcome.reason, "2 of 3 answers say the same");
    let clusters = outcome.agreement.iter().flat_map(|agreement| &agreement.clusters);
    assert!(clusters.map(|cluster| &cluster.value).all(Option::is_none));
}

#[tokio::test(start_paused = true)]
async fn the_only_answer_is_not_voted_on() {
    let one = scene([("ada", says(10, "8")), ("bob", fails(20, failure(Code::Auth)))]).asks(HOW_MANY, "vote");
    insta::assert_snapshot!(told(one).await, @"verbatim by ada from 1: `8`; because only one answer came, so there was nothing to vote on");
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_first_the_same_answer_stands() {
    let times = [[10, 20, 30, 40], [40, 30, 20, 10], [20, 40, 10, 30]];
    for [one, two, three, four] in times {
        let seats = [
            ("ada", says(one, "6")),
            ("bob", says(two, "8")),
            ("cyd", says(three, "8 legs")),
            ("dan", says(four, "7")),
        ];
        let told = scene(seats).asks(HOW_MANY, "vote").run().await;
        let outcome = told.run.outcome.as_ref().expect("the run is decided");
        assert_eq!(outcome.base_seat, Some(SeatNumber(2)));
        let clusters: Vec<_> = outcome.agreement.iter().flat_map(|agreement| &agreement.clusters).collect();
        insta::allow_duplicates! {
            insta::assert_debug_snapshot!(clusters, @r#"
            [
                Cluster {
                    value: Some(
                        "8 legs",
                    ),
                    seats: [
                        SeatNumber(
                            2,
                        ),
                        SeatNumber(
                            3,
                        ),
                    ],
                },
                Cluster {
                    value: Some(
                        "6",
                    ),
                    seats: [
                        SeatNumber(
                            1,
                        ),
                    ],
                },
                Cluster {
                    value: Some(
                        "7",
                    ),
                    seats: [
                        SeatNumber(
                            4,
                        ),
                    ],
                },
            ]
            "#);
        }
    }
}
