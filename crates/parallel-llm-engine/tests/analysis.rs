//! The synthesizer's analysis of the answers: read from its reply by seat, within limits, and only while the texts
//! are stored.

use parallel_llm_engine::prompt::reply::Analysis;
use parallel_llm_engine::run::analysis;
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
    let changes = analysis
        .changes
        .iter()
        .map(|one| format!("changed `{}` from {}: `{}`", one.what, seats(&one.from), one.why));
    let claims = analysis.claims.iter().map(|claim| {
        format!("`{}` for {} against {}", claim.text, seats(&claim.r#for), seats(&claim.against))
    });
    let dissent = Some(format!("dissent `{}`", analysis.dissent)).filter(|_| !analysis.dissent.is_empty());
    changes.chain(claims).chain(dissent).collect::<Vec<_>>().join("\n")
}

/// The analysis read from a run, rendered.
async fn result(analysis: &str) -> String {
    let run = run(analysis, "The moon pulls the sea.").await;
    analysis::of(&run).map_or("none".to_owned(), |analysis| shown(&analysis))
}

const WHOLE: &str = r#"{"base": "$ada", "changes": [{"what": "Two tides", "why": "Most coasts have them.", "from": ["$bob"]}],
  "claims": [
    {"text": "The moon pulls.", "for": ["$ada", "$cyd", "$bob"], "against": []},
    {"text": "Two tides a day.", "for": ["$bob", "$cyd"], "against": ["$cyd"]},
    {"text": "Nobody says so.", "for": [], "against": ["Z"]}],
  "dissent": "One tide a day; most coasts have two.", "suspected": ["$bob"]}"#;
/// The same in the form that stored runs have.
const STORED: &str = r#"{"claims": [
    {"text": "The moon pulls.", "supported_by": ["$ada", "$cyd", "$bob"], "verdict": "kept", "reason": "All say so."},
    {"text": "Two tides a day.", "supported_by": ["$bob"], "contradicted_by": ["$cyd"], "verdict": "changed"},
    {"text": "Wind does little.", "supported_by": ["$ada"], "verdict": "dropped"}],
  "dissent": [{"label": "$cyd", "text": "One tide a day; most coasts have two."}],
  "discarded": [{"label": "$ada", "reason": "Beside the point."}],
  "blind_spots": ["Why the far side rises too."],
  "suspected_injection": ["$bob"], "base": "$ada"}"#;

#[tokio::test(start_paused = true)]
async fn an_analysis_names_seats_instead_of_labels() {
    let run = run(WHOLE, "The moon pulls the sea.").await;
    let analysis = analysis::of(&run).expect("it wrote one");
    insta::assert_snapshot!(shown(&analysis), @"
    changed `Two tides` from 2: `Most coasts have them.`
    `The moon pulls.` for 1 2 3 against 
    `Two tides a day.` for 2 against 3
    dissent `One tide a day; most coasts have two.`
    ");
    let outcome = run.outcome.as_ref().expect("it is decided");
    let suspected: Vec<SeatNumber> = outcome.suspected.iter().map(|one| one.seat).collect();
    assert_eq!((&*suspected, outcome.base_seat), (&[SeatNumber(2)][..], Some(SeatNumber(1))));
}

#[tokio::test(start_paused = true)]
async fn a_stored_reply_with_the_analysis_first_is_read() {
    let mut run = run(WHOLE, "The moon pulls the sea.").await;
    let reply = run.synthesizers[0].answer.as_ref().expect("it wrote").text.to_string();
    let code = reply.trim_start_matches("<<answer ").split(">>").next().unwrap();
    let shown_seats = &run.outcome.as_ref().unwrap().reading.as_ref().unwrap().shown;
    let form = PANEL.iter().zip(1..).fold(STORED.to_owned(), |form, ((name, _), seat)| {
        let at = shown_seats.iter().position(|one| *one == SeatNumber(seat)).unwrap();
        form.replace(&format!("${name}"), &parallel_llm_engine::prompt::label(at))
    });
    let stored =
        Answer::new(format!("<<analysis {code}>>\n{form}\n<<answer {code}>>\nThe moon pulls.\n").as_str());
    run.outcome.as_mut().unwrap().reading.as_mut().unwrap().reply_hash = stored.text_hash.clone();
    run.synthesizers[0].answer = Some(stored);
    insta::assert_snapshot!(shown(&analysis::of(&run).expect("it wrote one")), @"
    `The moon pulls.` for 1 2 3 against 
    `Two tides a day.` for 2 against 3
    dissent `One tide a day; most coasts have two.`
    ");
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
        r#"{"base": "$ada", "claims": "all of them", "dissent": 7, "changes": {"what": "x"}}"#,
        r#"{"base": "$ada", "claims": [1, null, "text", [], {}, {"text": 7}, {"text": "  "}, {"text": "x"}]}"#,
        r#"{"base": "$ada", "dissent": [{"label": "$ada"}, 7], "changes": [{"why": "x"}, 7, {"what": " "}]}"#,
        r#"{"base": "$ada", "claims": [{"text": "It never ends"#,
    ] {
        check(nothing, "none").await;
    }
    // Unknown labels, seats by number or name, a duplicate, and a seat on both sides.
    check(
        r#"{"base": "$ada", "claims": [{"text": " x ", "for": ["Z", "$bob", " $bob ", 1, "1", "ada", null, "$ada"],
            "against": ["$bob", "$cyd", "Q"], "verdict": "obeyed"}]}"#,
        "`x` for 1 against 2 3",
    )
    .await;
    check(r#"{"base": "$ada", "claims": [{"text": "x", "for": "$cyd"}]}"#, "`x` for 3 against ").await;
    check(r#"{"base": "$ada", "dissent": ["x", 5, {"text": "y"}]}"#, "dissent `x; y`").await;
    check(r#"{"base": "$ada", "dissent": "", "changes": ["x"]}"#, "changed `x` from : ``").await;
}

#[tokio::test(start_paused = true)]
async fn an_oversized_analysis_is_read_up_to_its_limits() {
    let long = "ä".repeat(9_000);
    let claim = format!(r#"{{"text": "{long}", "for": ["$ada"]}}"#);
    let change = format!(r#"{{"what": "{long}", "why": "{long}", "from": ["$bob"]}}"#);
    let analysis = format!(
        r#"{{"claims": [{}], "changes": [{}], "dissent": "{long}"}}"#,
        vec![claim; 100].join(","),
        vec![change; 100].join(","),
    );
    let run = run(&analysis, "The moon pulls the sea.").await;
    let read = analysis::of(&run).expect("it wrote one");
    assert_eq!((read.claims.len(), read.changes.len()), (16, 16));
    let texts = read.claims.iter().map(|claim| &claim.text);
    let texts = texts.chain(read.changes.iter().flat_map(|one| [&one.what, &one.why])).chain([&read.dissent]);
    assert_eq!(texts.map(|text| text.chars().count()).max(), Some(500));
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
