//! Results stay within their bound, and what is left out is named.

use std::collections::BTreeMap;

use parallel_llm_engine::Code;
use parallel_llm_service::report::{
    AgreementReport, AnalysisReport, ChangeReport, ClaimReport, ClusterReport, FilesReport, NovelReport,
    Resuming, Synthesis, UsageReport,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::size::ANSWER_CHARS_MAX;
use super::*;

/// What a reply on a usual run may take beside its answer, in bytes.
const REPLY_BYTES_MAX: usize = 1_500;

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
        connected_ms: None,
        first_token_ms: Some(1),
        first_text_ms: None,
        elapsed_ms: Some(2),
        generation_id: Some("gen-0123456789abcdef".to_owned()),
    }
}

fn report(status: &str, answer: Option<String>, answers: Vec<SeatReport>) -> Report {
    let missing = answers.iter().filter(|seat| seat.status != "answered").map(|seat| seat.seat);
    let missing: Vec<u8> = missing.collect();
    Report {
        seats_answered: answers.len() - missing.len(),
        seats_missing: missing,
        seats_used_although_cut: Vec::new(),
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
        continues: None,
        plan_hash: "00".repeat(32),
        files: FilesReport::default(),
        warnings: Vec::new(),
        error: None,
        resuming: (status == "interrupted").then_some(Resuming::Ask),
    }
}

/// The structured content of a result as it leaves the program.
fn written(result: &CallToolResult) -> String {
    let mut line = json!({"structuredContent": result.structured_content}).to_string().into_bytes();
    crate::protocol::answer_first::put_in_order(&mut line);
    let line = String::from_utf8(line).unwrap();
    line["{\"structuredContent\":".len()..line.len() - 1].to_owned()
}

/// Five seats with long names, one of which has failed and one of which dissents, in a run whose cost is not all known.
fn usual_report(answer: &str) -> Report {
    let mut answers: Vec<SeatReport> =
        (1..=5).map(|number| seat(number, "answered", Some("t".repeat(2_000)))).collect();
    answers[3] = seat(4, "failed", None);
    let claim = ClaimReport { text: "c".repeat(500), r#for: vec![1, 2, 3], against: vec![5] };
    let analysis = AnalysisReport {
        read_by: "a/b".to_owned(),
        changes: Vec::new(),
        claims: vec![claim; 8],
        dissent: "d".repeat(500),
    };
    let agreement = AgreementReport {
        equal: 3,
        of: 4,
        clusters: vec![
            ClusterReport { value: Some("v".repeat(200)), also: vec!["u".repeat(200)], seats: vec![1, 2, 3] },
            ClusterReport { value: Some("w".repeat(200)), also: Vec::new(), seats: vec![5] },
        ],
        unread: Vec::new(),
        grouped_by: Some("laboratory/a-small-model".to_owned()),
        share: Some(0.75),
        entropy_bits: Some(0.8),
        effective_votes: None,
        analysis: Some(analysis),
        novel: None,
    };
    let synthesis = Synthesis {
        kind: "fused".to_owned(),
        by: Some("laboratory/a-model-of-some-length-2".to_owned()),
        considered: vec![1, 2, 3, 5],
        unshown: Vec::new(),
        base_step: None,
        reason: "r".repeat(500),
        shortened: Vec::new(),
        stands_without: None,
        same_vendor: vec![2],
    };
    Report {
        agreement: Some(agreement),
        synthesis: Some(synthesis),
        cost_lacks_calls: true,
        cost_is_estimate: true,
        cost_max_usd: Some(0.61),
        resuming: Some(Resuming::Ask),
        ..report("partial", Some(answer.to_owned()), answers)
    }
}

#[test]
fn a_reply_is_small_and_begins_with_the_answer() {
    let answer = "the answer\n".repeat(200);
    let result = of_run(&Principal::Owner, usual_report(&answer));
    let written = written(&result);
    let beside = written.len() - json!(answer).to_string().len();
    assert!(beside <= REPLY_BYTES_MAX, "{beside} bytes: {written}");
    assert!(written.starts_with("{\"answer\":\"the answer"), "{written}");
    let reply: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(reply["agreement"]["agree"].as_array().unwrap().len(), 3);
    assert_eq!(reply["agreement"]["object"][0]["model"], "laboratory/a-model-of-some-length-5");
    assert_eq!(reply["missing"][0]["model"], "laboratory/a-model-of-some-length-4");
    assert_eq!(reply["cost_note"], "at least $0.050, up to $0.61");
    assert_eq!(reply["next"]["tool"], "resume_run");
    let text = text(&result);
    assert!(text.starts_with(&answer) && text.len() - answer.len() <= REPLY_BYTES_MAX, "{text}");
    for part in [
        "3 of 4 say",
        "a-model-of-some-length-5 objects: not so: c",
        "at least $0.050",
        "call resume_run with",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_reply_is_written_in_the_order_of_its_type() {
    let names = |json: &str| {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(json).unwrap();
        let places = members.into_iter().map(|(name, value)| (value.get().as_ptr().addr(), name));
        let in_order: BTreeMap<usize, String> = places.collect();
        in_order.into_values().collect::<Vec<_>>()
    };
    let report = usual_report("a");
    let agreement = AgreementReply::of(&report);
    let next = next_step::of(&report, None, &[]);
    let reply = RunReply::of(&report, agreement, &[], next, false);
    let declared = names(&serde_json::to_string(&reply).unwrap());
    assert!(declared.len() > 8, "{declared:?}");
    assert_eq!(names(&written(&of_run(&Principal::Owner, report))), declared);
}

#[test]
fn what_was_paid_is_given_while_there_is_no_answer() {
    let seats = vec![
        seat(1, "answered", Some("short".to_owned())),
        seat(2, "answered", Some("l".repeat(20_000))),
        seat(3, "waiting", None),
    ];
    let result = of_run(&Principal::Owner, report("interrupted", None, seats));
    let reply = result.structured_content.as_ref().unwrap();
    assert_eq!((&reply["texts"][0]["text"], &reply["texts"][1]["text"]), (&json!("short"), &Value::Null));
    assert_eq!(reply["next"]["arguments"]["part"], "answer:2", "{reply}");
    assert!(reply.to_string().len() <= RESULT_BYTES_MAX, "{reply}");
    assert_eq!(result.content.len(), 2, "the long one is linked to");
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
        for of in [of_run, of_report] {
            let whole = report(status, Some("the answer".to_owned()), seats.clone());
            let result = of(&Principal::Owner, whole);
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
}

#[test]
fn the_largest_analysis_fits() {
    let words = || "潮\u{7}".repeat(500);
    let change = ChangeReport { what: words(), why: words(), from: (1..=64).collect() };
    let claim = ClaimReport { text: words(), r#for: (1..=64).collect(), against: (1..=64).collect() };
    let analysis = AnalysisReport {
        read_by: "a/b".to_owned(),
        changes: vec![change; 16],
        claims: vec![claim; 16],
        dissent: words(),
    };
    let agreement = AgreementReport {
        equal: 1,
        of: 64,
        clusters: vec![ClusterReport { value: Some(words()), also: vec![words()], seats: vec![1] }; 8],
        unread: Vec::new(),
        grouped_by: Some("laboratory/a-small-model".to_owned()),
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
    let line = text(&result).lines().find(|line| line.contains("objects")).unwrap();
    assert!(
        line.starts_with("no two of 64 agree; 16 contradictions, as a/b reads the answers; 60 more object; "),
        "{line}"
    );
    assert!(line.contains("; laboratory/a-model-of-some-length-1 objects: not so: 潮"), "{line}");
    assert!(line.chars().count() < 1_000 && !line.contains('\u{7}'), "{line}");
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
    assert_eq!(structured["next"]["arguments"]["part"], "answer:2", "{structured}");
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
    let rest = json!({"run_id": structured["run_id"], "part": "answer", "offset": 100_000});
    assert_eq!((&structured["next"]["tool"], &structured["next"]["arguments"]), (&json!("get_run"), &rest));
}

#[test]
fn an_earlier_answer_is_named_as_such() {
    let next = |status, answer: Option<&str>| {
        let result = of_run(&Principal::Owner, report(status, answer.map(str::to_owned), Vec::new()));
        result.structured_content.unwrap()["next"]["why"].as_str().map(str::to_owned).unwrap_or_default()
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
        let failed = Report { error: code.map(structured), ..report(status, None, seats) };
        let of_both = [of_run, of_report].map(|of| {
            let result = of(&Principal::Owner, failed.clone());
            let has_code = result.structured_content.unwrap().get("code").is_some();
            assert_eq!(Some(has_code), result.is_error, "{status}");
            has_code
        });
        assert_eq!(of_both[0], of_both[1]);
        of_both[0]
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
