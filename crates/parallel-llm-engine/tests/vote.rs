//! Plurality: which answer stands, that nobody is asked for it, and that the order of arrival has no say.

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, RunRequest, SeatNumber};

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

const ODD: &str = "Which of these is odd?\nA) two\nB) three\nC) four\nD) six";

/// Models that are said to be right so often, and what each says.
fn weighed(question: &str, seats: &[(&'static str, &str)]) -> Scene {
    let named = ["ada", "bob", "cyd", "dan"].into_iter().zip(seats);
    let request = RunRequest {
        models: Some(named.clone().map(|(name, (accuracy, _))| format!("{name}@{accuracy}")).collect()),
        strategy: Some("vote@weights=log-odds".to_owned()),
        ..RunRequest::prompt(question)
    };
    scene(named.map(|(name, (_, answer))| (name, says(10, answer)))).requests(request)
}

#[tokio::test(start_paused = true)]
async fn an_answer_weighs_what_the_accuracy_of_its_seat_says() {
    // Of four options: ln(0.95 × 3 / 0.05) against ln(0.6 × 3 / 0.4) + ln(0.55 × 3 / 0.45).
    let strong = weighed(ODD, &[("accuracy=0.6", "A"), ("accuracy=0.55", "A"), ("accuracy=0.95", "B")]);
    insta::assert_snapshot!(told(strong).await, @"selected by cyd from 3: `B`; because 1 of 3 answers say `B`, the most by weight: 4.04 against 2.80");
    let several = weighed(ODD, &[("accuracy=0.7", "A"), ("accuracy=0.7", "A"), ("accuracy=0.75", "B")]);
    insta::assert_snapshot!(told(several).await, @"selected by ada from 1: `A`; because 2 of 3 answers say `A`, the most by weight: 3.89 against 2.20");
    let prime = "Is 7 prime? Answer yes or no.";
    let truth = weighed(prime, &[("accuracy=0.6", "No"), ("accuracy=0.6", "no."), ("accuracy=0.8", "Yes.")]);
    insta::assert_snapshot!(told(truth).await, @"selected by cyd from 3: `Yes.`; because 1 of 3 answers say `yes`, the most by weight: 1.39 against 0.81");
    // Nobody knows how many numbers there could be: as many as were said, and one more.
    let number = weighed(HOW_MANY, &[("accuracy=0.6", "6"), ("accuracy=0.6", "7"), ("accuracy=0.61", "8")]);
    insta::assert_snapshot!(told(number).await, @"selected by cyd from 3: `8`; because 1 of 3 answers say `8`, the most by weight: 1.55 against 1.50");
}

#[tokio::test(start_paused = true)]
async fn who_is_wrong_more_often_than_chance_speaks_against_its_answer() {
    let two = weighed(ODD, &[("accuracy=0.1", "A"), ("accuracy=0.15", "A"), ("accuracy=0.3", "B")]);
    insta::assert_snapshot!(told(two).await, @"selected by cyd from 3: `B`; because 1 of 3 answers say `B`, the most by weight: 0.25 against -1.73");
    let both = weighed(ODD, &[("accuracy=0.1", "A"), ("accuracy=0.2", "B")]);
    insta::assert_snapshot!(told(both).await, @"selected by bob from 2: `B`; because 1 of 2 answers say `B`, the most by weight: -0.29 against -1.10; what nobody says is likelier");
    // Of yes and no both were said.
    let prime = "Is 7 prime? Answer yes or no.";
    let truth = weighed(prime, &[("accuracy=0.1", "no"), ("accuracy=0.2", "yes")]);
    insta::assert_snapshot!(told(truth).await, @"selected by bob from 2: `yes`; because 1 of 2 answers say `yes`, the most by weight: -1.39 against -2.20");
}

#[tokio::test(start_paused = true)]
async fn what_weighs_the_same_is_decided_as_where_it_is_counted() {
    let tie = [("accuracy=0.7", "A"), ("accuracy=0.8", "B"), ("accuracy=0.8", "A"), ("accuracy=0.7", "B")];
    insta::assert_snapshot!(told(weighed(ODD, &tie)).await, @"selected by ada from 1: `A`; because 2 of 4 answers say `A`, the most by weight: 4.43 against 4.43, and as much speaks for something else: the first of the panel decides");
    let mut strongest = tie;
    strongest[3].0 = "accuracy=0.7,strongest=true";
    insta::assert_snapshot!(told(weighed(ODD, &strongest)).await, @"selected by bob from 2: `B`; because 2 of 4 answers say `B`, the most by weight: 4.43 against 4.43, and as much speaks for something else: the strongest seat decides");
    let unread = [("accuracy=0.7", "I cannot say."), ("accuracy=0.6", "B"), ("accuracy=0.9", "Who knows?")];
    insta::assert_snapshot!(told(weighed(ODD, &unread)).await, @"selected by bob from 2: `B`; because 1 of 3 answers say `B`, the most by weight: 1.50");
}
