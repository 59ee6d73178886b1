//! The fallback if no model can fuse or judge: the closest answer, compared with an independent calculation. It does
//! not depend on names, times, the seed or the order of the panel.

use std::collections::BTreeSet;

use parallel_llm_engine::{Code, OutcomeKind};

use crate::proof::item::{NAMES, outcome};
use crate::proof::question_count;
use crate::proof::rng::Rng;
use crate::scenario::scenario;
use crate::script::{Reply, after, fails, failure, hangs, not_admitted, says};

const WORDS: [&str; 14] = [
    "moon", "tide", "water", "pulls", "earth", "twice", "daily", "spins", "bulge", "coast", "gravity",
    "ocean", "orbit", "shadow",
];

/// The Jaccard similarity of each text's words to each other text, summed.
fn closeness(texts: &[String]) -> Vec<f64> {
    let words: Vec<BTreeSet<&str>> = texts.iter().map(|text| text.split(' ').collect()).collect();
    let shared = |one: &BTreeSet<&str>, other: &BTreeSet<&str>| {
        one.intersection(other).count() as f64 / one.union(other).count() as f64
    };
    let to_others = |(index, one): (usize, &BTreeSet<&str>)| {
        let others = words.iter().enumerate().filter(|(other, _)| *other != index);
        others.map(|(_, other)| shared(one, other)).sum()
    };
    words.iter().enumerate().map(to_others).collect()
}

/// The closest text, if it leads by more than a rounding error.
fn closest(texts: &[String]) -> Option<&String> {
    let closeness = closeness(texts);
    let best = (0..texts.len()).max_by(|one, other| closeness[*one].total_cmp(&closeness[*other]))?;
    let is_alone = |other: usize| other == best || closeness[other] < closeness[best] - 1e-4;
    (0..texts.len()).all(is_alone).then(|| &texts[best])
}

/// A reply that fails in one of several ways.
fn failing_reply(rng: &mut Rng) -> Reply {
    match rng.below(7) {
        0 => fails(5, failure(Code::Auth)),
        1 => fails(5, failure(Code::ContextLength)),
        2 => not_admitted(failure(Code::Upstream)),
        3 => hangs(),
        4 => after(5).end_with(|end| end.refusal = Some("No.".to_owned())),
        5 => after(5).panic(),
        _ => after(5).reasoning().end(),
    }
}

#[tokio::test(start_paused = true)]
async fn if_every_synthesizer_fails_the_closest_answer_is_returned_as_such() {
    let rng = &mut Rng::new(80);
    let mut compared = 0;
    for round in 0..question_count() {
        let essay = |rng: &mut Rng| {
            let mut words = WORDS;
            rng.shuffle(&mut words);
            words[..5 + rng.below(6)].join(" ")
        };
        let mut essays: Vec<String> = (0..3 + round % 4).map(|_| essay(rng)).collect();
        let Some(best) = closest(&essays).cloned() else { continue };
        compared += 1;
        let strategy = ["synthesize", "best-of-n"][round % 2];
        for _ in 0..2 {
            rng.shuffle(&mut essays);
            let mut names = NAMES;
            rng.shuffle(&mut names);
            let seats: Vec<Reply> =
                essays.iter().map(|essay| says(1 + rng.below(100) as u64, essay)).collect();
            let chain: Vec<(&str, Reply)> = ["fuser-1", "fuser-2"]
                .into_iter()
                .take(rng.below(3))
                .map(|name| (name, failing_reply(rng)))
                .collect();
            let seed = rng.below(1 << 30) as u64;
            let result = scenario(names.into_iter().zip(seats).chain(chain))
                .asks("How do tides work?", strategy)
                .plan(|plan| plan.seed = seed)
                .run()
                .await;
            let outcome = outcome(&result);
            assert_eq!(outcome.text.as_deref(), Some(best.as_str()), "{essays:?}");
            assert_eq!(outcome.kind, OutcomeKind::Verbatim);
            assert!(outcome.unfused.is_some() && outcome.base_seat.is_some(), "it says that it is not fused");
        }
    }
    assert!(compared > question_count() / 2, "most panels have an answer that is closest: {compared}");
}
