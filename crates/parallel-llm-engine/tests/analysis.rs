//! The synthesizer's analysis of the answers: read from its reply by seat, within limits, and only while the texts
//! are stored.

use parallel_llm_engine::prompt::reply::{Analysis, Remark};
use parallel_llm_engine::run::analysis::{self, ClaimStatus};
use parallel_llm_engine::{Answer, Outcome, Run, SeatNumber, run::novelty};

use crate::scenario::scenario;
use crate::script::{after, label_of, says, synthesis_reply};

const PANEL: [(&str, &str); 3] = [
    ("ada", "The moon pulls the sea. Wind does little."),
    ("bob", "The moon pulls the sea. There are two tides a day."),
    ("cyd", "The moon pulls the sea. There is one tide a day."),
];

/// A run whose synthesizer replies with this analysis and this text. `$ada` stands for the label of the answer of
/// `ada`.
async fn run(analysis: &str, text: &'static str) -> Run {
    let analysis = analysis.to_owned();
    let fuser = after(10).compose(move |call| {
        let named = PANEL.iter().fold(analysis.clone(), |analysis, (name, answer)| {
            analysis.replace(&format!("${name}"), &label_of(call, answer))
        });
        synthesis_reply(call, &named, text)
    });
    let panel = PANEL.into_iter().map(|(name, answer)| (name, says(10, answer)));
    scenario(panel.chain([("fuser", fuser.end())])).run().await.run
}

fn seats(seats: &[SeatNumber]) -> String {
    seats.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// An analysis, one line for each entry.
fn shown(analysis: &Analysis) -> String {
    let claims = analysis.claims.iter().map(|claim| {
        let status = format!("{:?}", ClaimStatus::of(claim, PANEL.len())).to_lowercase();
        let verdict = claim.verdict.map_or("-", |verdict| verdict.as_str());
        let (by, against) = (seats(&claim.supported_by), seats(&claim.contradicted_by));
        format!("{status} `{}` by {by} against {against}: {verdict} `{}`", claim.text, claim.reason)
    });
    let remarks = |word: &'static str, remarks: &[Remark]| {
        let result = |remark: &Remark| format!("{word} {}: `{}`", remark.seat, remark.text);
        remarks.iter().map(result).collect::<Vec<_>>()
    };
    let blind = analysis.blind_spots.iter().map(|text| format!("blind spot `{text}`"));
    let lines = claims.chain(remarks("dissent", &analysis.dissent));
    lines.chain(remarks("discarded", &analysis.discarded)).chain(blind).collect::<Vec<_>>().join("\n")
}

/// The analysis read from a run, rendered.
async fn result(analysis: &str) -> String {
    let run = run(analysis, "The moon pulls the sea.").await;
    analysis::of(&run).map_or("none".to_owned(), |analysis| shown(&analysis))
}

const WHOLE: &str = r#"{"claims": [
    {"text": "The moon pulls.", "supported_by": ["$cyd", "$ada", "$bob"], "contradicted_by": [], "verdict": "kept", "reason": "All say so."},
    {"text": "Two tides a day.", "supported_by": ["$bob"], "contradicted_by": ["$cyd"], "verdict": "changed", "reason": "It depends."},
    {"text": "Wind does little.", "supported_by": ["$ada"], "verdict": "dropped"},
    {"text": "There are tides.", "supported_by": ["$bob", "$cyd"]}],
  "dissent": [{"label": "$cyd", "text": "One tide a day; most coasts have two."}],
  "discarded": [{"label": "$ada", "reason": "Beside the point."}],
  "blind_spots": ["Why the far side rises too."],
  "suspected_injection": ["$bob"], "base": "$ada"}"#;

#[tokio::test(start_paused = true)]
async fn an_analysis_names_seats_instead_of_labels() {
    let run = run(WHOLE, "The moon pulls the sea.").await;
    let analysis = analysis::of(&run).expect("it wrote one");
    insta::assert_snapshot!(shown(&analysis), @"
    consensus `The moon pulls.` by 1 2 3 against : kept `All say so.`
    contradiction `Two tides a day.` by 2 against 3: changed `It depends.`
    unique `Wind does little.` by 1 against : dropped ``
    shared `There are tides.` by 2 3 against : - ``
    dissent 3: `One tide a day; most coasts have two.`
    discarded 1: `Beside the point.`
    blind spot `Why the far side rises too.`
    ");
    let outcome = run.outcome.as_ref().expect("it is decided");
    let suspected: Vec<SeatNumber> = outcome.suspected.iter().map(|one| one.seat).collect();
    assert_eq!((&*suspected, outcome.base_seat), (&[SeatNumber(2)][..], Some(SeatNumber(1))));
}

#[tokio::test(start_paused = true)]
async fn malformed_parts_of_an_analysis_are_ignored() {
    let check = async |analysis: &str, expected: &str| {
        assert_eq!(result(analysis).await, expected, "{analysis}");
    };
    for nothing in [
        "",
        "{}",
        "not json",
        "[1, 2]",
        r#"{"claims": "all of them", "dissent": 7, "discarded": {"label": "$ada"}, "blind_spots": null}"#,
        r#"{"claims": [1, null, "text", [], {}, {"text": 7}, {"text": "  "}], "blind_spots": [" ", 3, {}]}"#,
        r#"{"dissent": [{"label": "Z", "text": "x"}, {"label": "$ada"}, {"label": 1, "text": "x"}, {"text": "x"}]}"#,
        r#"{"claims": [{"text": "It never ends"#,
    ] {
        check(nothing, "none").await;
    }
    // Unknown labels, seats by number or name, a duplicate, an invalid verdict, and a seat on both sides.
    check(
        r#"{"claims": [{"text": " x ", "supported_by": ["Z", "$bob", " $bob ", 1, "1", "ada", null, "$ada"],
            "contradicted_by": ["$bob", "$cyd"], "verdict": "obeyed", "reason": {}}]}"#,
        "contradiction `x` by 1 2 against 3: - ``",
    )
    .await;
    check(r#"{"claims": [{"text": "x", "supported_by": "$cyd"}]}"#, "unique `x` by 3 against : - ``").await;
    check(r#"{"claims": [{"text": "x"}]}"#, "shared `x` by  against : - ``").await;
    check(r#"{"dissent": [{"label": ["$cyd"], "text": "x"}, 5]}"#, "dissent 3: `x`").await;
}

#[tokio::test(start_paused = true)]
async fn an_oversized_analysis_is_read_up_to_its_limits() {
    let long = "ä".repeat(9_000);
    let claim = format!(r#"{{"text": "{long}", "supported_by": ["$ada"], "reason": "{long}"}}"#);
    let remark = format!(r#"{{"label": "$bob", "text": "{long}"}}"#);
    let analysis = format!(
        r#"{{"claims": [{}], "dissent": [{}], "blind_spots": [{}]}}"#,
        vec![claim; 100].join(","),
        vec![remark; 100].join(","),
        vec![format!("{long:?}"); 100].join(",")
    );
    let run = run(&analysis, "The moon pulls the sea.").await;
    let read = analysis::of(&run).expect("it wrote one");
    assert_eq!((read.claims.len(), read.dissent.len(), read.blind_spots.len()), (40, 16, 16));
    let longest = read.claims.iter().flat_map(|claim| [&claim.text, &claim.reason]);
    assert_eq!(longest.chain(&read.blind_spots).map(|text| text.chars().count()).max(), Some(500));
    // Nested too deeply to be read.
    assert_eq!(result(&format!(r#"{{"claims": {}"#, "[".repeat(100_000))).await, "none");
}

#[tokio::test(start_paused = true)]
async fn no_analysis_is_shown_once_texts_are_purged() {
    let run = run(WHOLE, "The wind makes all the tides there are.").await;
    assert!(analysis::of(&run).is_some() && novelty::of(&run).is_some());
    let purged = |purge: &dyn Fn(&mut Run)| {
        let mut run = run.clone();
        purge(&mut run);
        (analysis::of(&run).is_some(), novelty::of(&run).is_some())
    };
    let forget = |answer: &mut Option<Answer>| answer.as_mut().expect("it answered").text = "".into();
    assert_eq!(purged(&|run| forget(&mut run.synthesizers[0].answer)), (false, true));
    assert_eq!(purged(&|run| forget(&mut run.seats[1].answer)), (true, false));
    assert_eq!(purged(&|run| run.outcome.as_mut().expect("it is decided").text = None), (true, false));
    // Another reply in the same slot is about other answers.
    let again = |run: &mut Run| run.synthesizers[0].answer = Some(Answer::new("<<analysis>>"));
    assert_eq!(purged(&again), (false, true));
    // The stored outcome has no words of the answers, and is enough to read the analysis again.
    let stored = serde_json::to_value(run.outcome.as_ref().unwrap()).unwrap();
    insta::assert_snapshot!(stored["reading"]["shown"], @"[2,1,3]");
    assert_eq!(
        serde_json::from_value::<Outcome>(stored.clone()).unwrap().reading,
        run.outcome.unwrap().reading
    );
    let result = stored.to_string();
    assert!(!result.contains("tide") && !result.contains("moon"), "{result}");
}

#[tokio::test(start_paused = true)]
async fn sentences_found_in_no_answer_are_reported() {
    let run = run(
        r#"{"base": "$ada"}"#,
        "The moon pulls the sea. Coriolis forces turn the currents.\n- Two tides a day follow.",
    )
    .await;
    insta::assert_debug_snapshot!(novelty::of(&run), @r#"
    Some(
        Novelty {
            share: 0.333,
            passages: [
                "Coriolis forces turn the currents.",
            ],
            value: None,
        },
    )
    "#);
    assert_eq!(analysis::of(&run), None);
}
