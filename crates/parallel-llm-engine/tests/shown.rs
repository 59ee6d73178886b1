//! How much of the answers a reader is shown, what that costs at most, and which readers are asked for JSON.

use parallel_llm_engine::plan::RunPlan;
use parallel_llm_engine::{Message, Outcome, PicoUsd, RunRequest, SeatNumber};

use crate::scenario::{RunResult, Scenario, scenario};
use crate::script::{fuses, prompt, says};

const HOW_MANY: &str = "How many legs has a spider?";

/// The answer of each seat; seat n answers after 10 × n ms.
const SPIDERS: [(&str, &str); 5] = [
    ("ada", "It has 6."),
    ("bob", "8"),
    ("cyd", "A spider has 8 legs."),
    ("dan", "7 legs"),
    ("eve", "8 legs"),
];

fn spiders(strategy: &str) -> Scenario {
    let panel = SPIDERS.into_iter().zip(1..).map(|((name, text), nth)| (name, says(10 * nth, text)));
    scenario(panel.chain([("fuser", fuses(10, "8 legs", "8 legs."))])).asks(HOW_MANY, strategy)
}

fn outcome(result: &RunResult) -> &Outcome {
    result.run.outcome.as_ref().expect("it is decided")
}

/// The input tokens of each reading step in the worst case.
fn reading_tokens(plan: &RunPlan) -> Vec<u64> {
    plan.steps.iter().filter(|step| !step.is_spare).map(|step| step.input_tokens_max).collect()
}

#[tokio::test(start_paused = true)]
async fn the_worst_case_counts_the_longest_answers_that_may_be_shown() {
    // Three seats have caps of 1,000 tokens, two have higher ones.
    let plan = |strategy: &str| {
        let panel = ["ada", "bob@max_tokens=5000", "cyd", "dan@max_tokens=3000", "eve"];
        let models = Some(panel.map(str::to_owned).to_vec());
        let named = Some(strategy.to_owned());
        spiders(strategy)
            .requests(RunRequest { models, strategy: named, ..RunRequest::prompt(HOW_MANY) })
            .planned()
    };
    let asked = plan("synthesize").size().framed(5);
    let fuser = parallel_llm_engine::CallerSlot::Synthesizer(SeatNumber(1));
    let reading = |tokens: u64| Some(PicoUsd(10_000_000_000).plus(PicoUsd(1_000_000).times(asked + tokens)));
    assert_eq!(plan("synthesize").worst_request(fuser), reading(11_000));
    assert_eq!(plan("cascade").worst_request(fuser), reading(11_000));
    assert_eq!(reading_tokens(&plan("best-of-n@by=consistency")), [asked + 11_000]);
    assert_eq!(reading_tokens(&plan("best-of-n@orders=1,shown_tokens_max=2000")), [asked + 7_000]);
    assert_eq!(plan("synthesize@shown_tokens_max=900").worst_request(fuser), reading(4_500));
    assert_eq!(reading_tokens(&plan("moa")), [asked + 11_000; 5]);
    // Each text leaves out one of the answers.
    let paranoid = reading_tokens(&plan("synthesize@paranoid=on"));
    assert_eq!(paranoid, [10_000, 6_000, 10_000, 8_000, 10_000].map(|read| asked + read));
}

#[tokio::test(start_paused = true)]
async fn shown_tokens_max_shortens_answers_and_reports_it() {
    let long = "The moon pulls the sea. ".repeat(100);
    for strategy in ["synthesize", "best-of-n", "best-of-n@by=pairs", "council", "cascade"] {
        let sign = if strategy.contains('@') { ',' } else { '@' };
        let capped = format!("{strategy}{sign}shown_tokens_max=200");
        let result = |strategy: &str| {
            let panel = [("ada", says(10, &long)), ("ada", says(20, "The sun pulls, too."))];
            let bob = [("bob", says(30, "Wind."))];
            scenario(panel.into_iter().chain(bob).chain([("fuser", fuses(10, "The sun", "Both."))]))
                .asks("How do tides work?", strategy)
                .run()
        };
        let (result, whole) = (result(&capped).await, result(strategy).await);
        let cuts: Vec<_> = outcome(&result).shortened.iter().map(|cut| (cut.seat.0, cut.to_chars)).collect();
        assert!(cuts.iter().all(|cut| *cut == (1, 600)), "{strategy}: {cuts:?}");
        let readers = |result: &RunResult| {
            let asked = result.asked.iter().map(|asked| prompt(&asked.call));
            asked.filter(|prompt| prompt.contains("<<candidate ")).collect::<Vec<_>>()
        };
        let is_cut = |prompt: &String| prompt.contains("[shortened here to fit]");
        assert!(readers(&result).iter().any(is_cut) && !readers(&whole).iter().any(is_cut), "{strategy}");
        assert!(readers(&result).iter().all(|prompt| !prompt.contains(&long)), "{strategy}");
    }
}

/// How often each model was called in JSON mode, if all models support it or none does. Asserts that exactly the
/// calls whose prompt requests one JSON object use it.
async fn json_calls(strategy: &str, able: bool) -> Vec<(String, usize)> {
    let panel = ["ada", "bob", "cyd"].map(|name| (name, says(10, name)));
    let scenario = scenario(panel.into_iter().chain([("fuser", says(10, "?"))])).asks("Why?", strategy);
    let scenario = scenario.plan(|plan| {
        let all = plan.seats.iter_mut().chain(&mut plan.synthesizers);
        all.for_each(|seat| seat.json_mode = able);
    });
    let mut held = std::collections::BTreeMap::<String, usize>::new();
    for asked in scenario.run().await.asked {
        let texts = asked.call.messages.iter().flat_map(Message::texts);
        let is_asked =
            texts.into_iter().any(|text| text.contains("Reply with one JSON object and nothing else"));
        assert_eq!(asked.call.json, able && is_asked, "{strategy}: {:?}", asked.call.attempt);
        *held.entry(asked.call.model.model).or_default() += usize::from(asked.call.json);
    }
    held.into_iter().filter(|(_, count)| *count > 0).collect()
}

#[tokio::test(start_paused = true)]
async fn json_mode_is_used_for_json_replies_if_the_model_supports_it() {
    for (strategy, by, count) in [
        ("best-of-n", "fuser", 2),
        ("best-of-n@by=consistency", "fuser", 1),
        ("best-of-n@by=pairs,orders=1", "fuser", 1),
        ("council", "ada", 1),
        ("synthesize@analysis=separate", "fuser", 1),
    ] {
        let held = json_calls(strategy, true).await;
        assert!(held.iter().any(|(name, times)| name == by && *times >= count), "{strategy}: {held:?}");
        assert!(json_calls(strategy, false).await.is_empty());
    }
    for strategy in ["synthesize", "vote", "moa", "synthesize@paranoid=on"] {
        assert!(json_calls(strategy, true).await.is_empty(), "{strategy}");
    }
}
