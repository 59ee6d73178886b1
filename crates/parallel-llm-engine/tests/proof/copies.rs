//! Copies of a model: a model asked several times has one vote, however often it gives the same answer.

use std::collections::BTreeSet;

use parallel_llm_engine::{Run, RunRequest, SeatNumber, agreement::votes};

use crate::proof::item::Item;
use crate::proof::panel::{Panel, Parameters};
use crate::proof::question_count;
use crate::proof::rng::Rng;
use crate::scenario::scenario;

/// Models of six vendors, with a second one of the first vendor.
const MODELS: [&str; 7] = ["a/ada", "a/ann", "b/bob", "c/cyd", "d/dan", "e/eve", "f/fay"];
/// Effective votes are rounded to two decimals.
const ROUNDED: f64 = 0.005;

/// The effective votes of these seats, and of their models counted once each.
fn effective_votes(run: &Run, seats: &[SeatNumber]) -> (f64, f64) {
    let models: Vec<_> =
        seats.iter().map(|seat| &run.seat(*seat).expect("it is on the panel").model).collect();
    let once: BTreeSet<String> = models.iter().map(ToString::to_string).collect();
    let once: Vec<_> = once
        .iter()
        .map(|name| *models.iter().find(|model| model.to_string() == *name).expect("it is one of them"))
        .collect();
    (votes::effective(&models), votes::effective(&once))
}

#[tokio::test(start_paused = true)]
async fn copies_of_a_model_add_no_votes() {
    let rng = &mut Rng::new(110);
    let (mut copied, mut alone) = (0, 0);
    for round in 0..question_count() {
        let count = 2 + round % 5;
        let item = Item::sample(&Panel::of_equals(count, 0.7, Parameters::CALIBRATED), rng);
        // The seats share a few models, so that most models are used twice.
        let few = &MODELS[rng.below(3)..][..2 + rng.below(3)];
        let names: Vec<&'static str> = (0..count).map(|_| *rng.pick(few)).collect();
        let replies = item.replies(rng).into_iter().zip(&names).map(|((_, reply), name)| (*name, reply));
        let request = RunRequest {
            models: Some(names.iter().map(|name| (*name).to_owned()).collect()),
            strategy: Some("vote".to_owned()),
            ..RunRequest::prompt(item.question.text.as_str())
        };
        let result = scenario(replies.collect::<Vec<_>>()).requests(request).run().await;
        let outcome = result.run.outcome.as_ref().expect("the run is decided");
        let agreement = outcome.agreement.as_ref().expect("a closed question is compared");
        let clusters = agreement.clusters.iter().map(|cluster| cluster.seats.as_slice());
        for seats in clusters.chain([outcome.considered.as_slice()]) {
            let (all, once) = effective_votes(&result.run, seats);
            assert!(all <= once + ROUNDED && all >= 1.0, "{all} votes, {once} without copies: {names:?}");
            let models: BTreeSet<&str> = seats.iter().map(|seat| names[seat.index()]).collect();
            if models.len() == 1 {
                assert!((all - 1.0).abs() < 1e-9, "{all} votes of one model asked {} times", seats.len());
                alone += usize::from(seats.len() > 1);
            }
            copied += usize::from(models.len() < seats.len());
        }
    }
    assert!(
        copied > question_count() / 3 && alone > question_count() / 20,
        "copies are met: {copied}, {alone}"
    );
}
