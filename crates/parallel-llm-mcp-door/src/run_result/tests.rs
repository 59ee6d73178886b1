//! Results stay within their bound, and what is left out is named.

use parallel_llm_engine::Code;
use parallel_llm_service::report::{
    AgreementReport, AnalysisReport, ClaimReport, ClusterReport, FilesReport, NovelReport, RemarkReport,
    Resuming, UsageReport,
};
use serde_json::Value;

use super::size::ANSWER_CHARS_MAX;
use super::*;

fn seat(number: u8, status: &str, text: Option<String>) -> SeatReport {
    let failure = Failure::new(Code::Upstream, "m".repeat(600));
    SeatReport {
        persona: None,
        stance: None,
        provider: "openrouter".to_owned(),
        seat: number,
        model: format!("laboratory/a-model-of-some-length-{number}"),
        served_model: Some("laboratory/a-model-of-some-length-20261120".to_owned()),
        status: status.to_owned(),
        late: false,
        text_bytes: text.as_ref().map_or(0, String::len) as u64,
        error: text.is_none().then(|| ErrorReport::of(&failure)),
        text: text.map(Into::into),
        finish: Some("stop".to_owned()),
        truncated: false,
        usage: UsageReport::default(),
        cost_usd: Some(0.01),
        attempts: 1,
        without: Vec::new(),
        first_token_ms: Some(1),
        elapsed_ms: Some(2),
        generation_id: Some("gen-0123456789abcdef".to_owned()),
    }
}

fn report(status: &str, answer: Option<String>, answers: Vec<SeatReport>) -> Report {
    Report {
        earlier: Vec::new(),
        program: parallel_llm_service::report::ProgramReport::own(),
        schema: 1,
        run_id: "01JD0M3Z8K5Q2W7V9X4B6N1C0A".to_owned(),
        status: status.to_owned(),
        answer: answer.map(Into::into),
        synthesis: None,
        answers,
        calls: Vec::new(),
        agreement: None,
        rounds: Vec::new(),
        confidence: None,
        judging: None,
        checks: Vec::new(),
        suspected_injection: Vec::new(),
        worth: None,
        cost_usd: Some(0.05),
        cost_is_estimate: false,
        cost_lacks_calls: false,
        cost_max_usd: None,
        spent_now_usd: None,
        asked_at: None,
        elapsed_ms: 42_000,
        strategy_reason: None,
        skipped: None,
        strategy: "synthesize".to_owned(),
        plan_hash: "00".repeat(32),
        files: FilesReport::default(),
        warnings: Vec::new(),
        error: None,
        resuming: (status == "interrupted").then_some(Resuming::Ask),
    }
}

fn text(result: &CallToolResult) -> &str {
    &result.content[0].as_text().unwrap().text
}

#[test]
fn the_largest_panel_fits() {
    for (status, seats) in [
        ("partial", (1..=64).map(|number| seat(number, "failed", None)).collect::<Vec<_>>()),
        ("complete", (1..=64).map(|number| seat(number, "answered", Some("t".repeat(2_000)))).collect()),
    ] {
        let result = of_report(&Principal::Owner, report(status, Some("the answer".to_owned()), seats));
        let structured = result.structured_content.as_ref().unwrap();
        assert_eq!(structured["answer"], "the answer");
        assert!(
            structured.to_string().len() <= RESULT_BYTES_MAX + 500,
            "{} bytes",
            structured.to_string().len()
        );
        assert!(text(&result).len() <= RESULT_BYTES_MAX, "{} bytes", text(&result).len());
    }
}

#[test]
fn the_largest_analysis_fits() {
    let words = || "潮\u{7}".repeat(500);
    let remarks = || vec![RemarkReport { seat: 1, text: words() }; 16];
    let claim = ClaimReport {
        text: words(),
        supported_by: (1..=64).collect(),
        contradicted_by: (1..=64).collect(),
        verdict: Some("kept".to_owned()),
        reason: words(),
    };
    let analysis = AnalysisReport {
        claims: vec![claim; 40],
        consensus: Vec::new(),
        contradictions: (0..40).collect(),
        unique_points: Vec::new(),
        dissent: remarks(),
        discarded: remarks(),
        blind_spots: vec![words(); 16],
    };
    let agreement = AgreementReport {
        equal: 1,
        of: 64,
        clusters: vec![ClusterReport { value: Some(words()), seats: vec![1] }; 8],
        unread: Vec::new(),
        share: None,
        entropy_bits: None,
        effective_votes: None,
        analysis: Some(analysis),
        novel: Some(NovelReport { share: 1.0, passages: vec![words(); 20], value: Some(words()) }),
    };
    let seats = (1..=64).map(|number| seat(number, "answered", Some("t".repeat(2_000)))).collect();
    let whole = report("complete", Some("the answer".to_owned()), seats);
    let result = of_report(&Principal::Owner, Report { agreement: Some(agreement), ..whole });
    let structured = result.structured_content.as_ref().unwrap();
    assert!(structured.to_string().len() <= RESULT_BYTES_MAX + 500, "{} bytes", structured.to_string().len());
    let line = text(&result).lines().find(|line| line.contains("dissent")).unwrap();
    assert!(line.starts_with("no two of 64 agree; 40 contradictions; dissent: seat 1: 潮"), "{line}");
    assert!(line.chars().count() < 400 && !line.contains('\u{7}'), "{line}");
}

#[test]
fn the_longest_texts_are_left_out_first_and_named() {
    let seats =
        vec![seat(1, "answered", Some("s".repeat(100))), seat(2, "answered", Some("l".repeat(20_000)))];
    let structured = of_report(&Principal::Owner, report("complete", Some("a".to_owned()), seats))
        .structured_content
        .unwrap();
    assert_eq!(
        (&structured["answers"][0]["text_bytes"], &structured["answers"][1]["text_bytes"]),
        (&json!(100), &json!(20_000))
    );
    assert!(structured["answers"][0]["text"].is_string() && structured["answers"][1]["text"].is_null());
    assert!(structured["next"].as_str().unwrap().contains("\"part\":\"answer:<seat>\""), "{structured}");
}

#[test]
fn sixty_four_texts_of_megabytes_are_measured_once() {
    let text: std::sync::Arc<str> = "\"".repeat(8 << 20).into();
    let seats = (1..=64).map(|number| {
        let text_bytes = text.len() as u64;
        SeatReport { text: Some(text.clone()), text_bytes, ..seat(number, "answered", Some(String::new())) }
    });
    let report = report("complete", Some("the answer".to_owned()), seats.collect());
    let begun = tokio::time::Instant::now();
    let structured = of_report(&Principal::Owner, report).structured_content.unwrap();
    // Writing each text out once takes longer than that, and once for each text minutes.
    assert!(begun.elapsed().as_secs() < 2, "{:?}", begun.elapsed());
    assert!(structured.to_string().len() <= RESULT_BYTES_MAX + 500);
}

#[test]
fn what_is_left_out_is_linked_to() {
    let seats = (1..=64).map(|number| seat(number, "answered", Some("t".repeat(2_000)))).collect();
    let result =
        of_report(&Principal::Owner, report("complete", Some("ä".repeat(ANSWER_CHARS_MAX + 1)), seats));
    let links: Vec<Value> = result.content[1..].iter().map(|link| json!(link)).collect();
    assert_eq!(links.len(), LINKS_MAX);
    assert_eq!(
        links[0],
        json!({
            "type": "resource_link",
            "uri": "parallel-llm://runs/01JD0M3Z8K5Q2W7V9X4B6N1C0A/answer",
            "name": "01JD0M3Z8K5Q2W7V9X4B6N1C0A/answer",
            "title": "The whole answer",
            "mimeType": "text/markdown",
            "size": 200_002,
            "annotations": {"audience": ["user", "assistant"], "priority": 0.3_f32},
            "_meta": {"parallel-llm/third_party": THIRD_PARTY},
        })
    );
    let structured = result.structured_content.as_ref().unwrap();
    for link in &links[1..] {
        let seat: usize = link["uri"].as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap();
        assert_eq!((&structured["answers"][seat - 1]["text"], &link["size"]), (&Value::Null, &json!(2_000)));
    }
}

#[test]
fn an_answer_beyond_the_bound_is_cut_with_a_pointer() {
    let answer = "ä".repeat(ANSWER_CHARS_MAX + 1);
    let structured = of_report(&Principal::Owner, report("complete", Some(answer), Vec::new()))
        .structured_content
        .unwrap();
    assert_eq!(structured["answer"].as_str().unwrap().chars().count(), ANSWER_CHARS_MAX);
    assert!(
        structured["next"].as_str().unwrap().contains("\"part\":\"answer\",\"offset\":100000"),
        "{structured}"
    );
}

#[test]
fn an_earlier_answer_is_named_as_such() {
    let next = |status, answer: Option<&str>| {
        let result = of_report(&Principal::Owner, report(status, answer.map(str::to_owned), Vec::new()));
        result.structured_content.unwrap()["next"].as_str().map(str::to_owned).unwrap_or_default()
    };
    let from_before = "`answer` is the one from before";
    for status in ["running", "interrupted"] {
        assert!(next(status, Some("a")).contains(from_before), "{status}");
        assert!(!next(status, None).contains(from_before), "{status}");
    }
    assert_eq!(next("complete", Some("a")), "");
}

#[test]
fn only_nothing_usable_is_an_error() {
    let is_error = |status, code: Option<Code>, text: Option<(&str, String)>| {
        let seats = vec![match text {
            Some((status, text)) => seat(1, status, Some(text)),
            None => seat(1, "failed", None),
        }];
        let structured = |code| ErrorReport::of(&Failure::new(code, "why"));
        let result = of_report(
            &Principal::Owner,
            Report { error: code.map(structured), ..report(status, None, seats) },
        );
        let has_code = result.structured_content.unwrap().get("code").is_some();
        assert_eq!(Some(has_code), result.is_error, "{status}");
        has_code
    };
    let (short, long) = (|| "half a text".to_owned(), || "t".repeat(200));
    assert!(!is_error("running", None, None));
    assert!(!is_error("complete", None, None), "its texts are not kept");
    assert!(is_error("failed", Some(Code::AllFailed), None));
    assert!(is_error("failed", Some(Code::AllFailed), Some(("cut", short()))));
    assert!(is_error("cancelled", Some(Code::Cancelled), Some(("cancelled", short()))));
    assert!(!is_error("cancelled", Some(Code::Cancelled), Some(("cancelled", long()))));
    assert!(!is_error("interrupted", Some(Code::Interrupted), Some(("answered", short()))));
    assert!(is_error("interrupted", Some(Code::Interrupted), Some(("unknown", short()))));
}
