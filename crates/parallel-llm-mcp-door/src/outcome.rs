//! Results, as clients take them: a report with a bound for programs, and the same told as text.
//!
//! Several clients show their model only one of the two, so each stands alone. What always holds: the run's name and
//! the answer are in both; all else is at most [`RESULT_BYTES_MAX`]; what is left out is named with the call that
//! fetches it; `isError` is set only where nothing usable came back.

use std::io;

use parallel_llm_engine::Failure;
use parallel_llm_engine::value::answer::says_enough;
use parallel_llm_engine::value::next::{self, Next, Operation};
use rmcp::model::{CallToolResult, ContentBlock, Resource};
use serde::Serialize;
use serde_json::{Value, json};

use super::words;
use super::{address, agreement, part, result};
use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_service::Principal;
use parallel_llm_service::report::age::seconds;
use parallel_llm_service::report::{ErrorReport, Report, Resuming, SeatReport};

/// The most a report takes of a model's context beyond the answer itself, in bytes.
pub(super) const RESULT_BYTES_MAX: usize = 10_000;
/// The longest answer given at once, in characters: beyond it clients cut by themselves, and do not say where.
const ANSWER_CHARS_MAX: usize = 100_000;
/// The longest wait one call of `get_run` is asked for, in seconds: below the shortest timeout of a client.
pub(super) const WAIT_S_MAX: u64 = 50;

/// Missing seats that the text names; the rest is a number.
const MISSING_MAX: usize = 8;
/// Texts that are linked to; `next` says how to fetch any.
const LINKS_MAX: usize = 8;
/// How much of a reason the text tells, in characters.
const REASON_CHARS: usize = 160;

/// What is left out next where a report is still too large.
const SLIMMING: [fn(&mut Value); 5] = [
    agreement::leave_out_calls,
    leave_out_figures,
    leave_out_messages,
    agreement::leave_out_analysis,
    leave_out_answered,
];

/// Tells this principal of a run.
pub(super) fn of_report(principal: &Principal, report: Report) -> CallToolResult {
    let mut report = principal.redact_report(report).said(words::of(principal));
    let is_error = is_useless(&report);
    let answer_rest = cut_answer(&mut report);
    // They have been given before.
    report.earlier.iter_mut().for_each(|earlier| earlier.answer = None);
    let line = agreement::line(&report);
    let texts: u64 =
        report.answers.iter().filter(|seat| seat.text.is_some()).map(|seat| seat.text_bytes).sum();
    // Texts of megabytes are not written out only to be measured.
    let is_long = texts > RESULT_BYTES_MAX as u64
        || beyond_answer(&report, report.answer.as_deref()) > RESULT_BYTES_MAX;
    if is_long {
        agreement::shorten(&mut report);
    }
    let left_out = leave_out_texts(&mut report);
    let next = next_step(&report, answer_rest, !left_out.is_empty());
    let text = text_of(&report, line, next.as_deref());
    let links = links(&report, answer_rest, &left_out);
    let mut told = report.to_json();
    for slim in SLIMMING {
        if beyond_answer(&told, told["answer"].as_str()) <= RESULT_BYTES_MAX {
            break;
        }
        slim(&mut told);
    }
    if let Some(error) = report.error.as_ref().filter(|_| is_error) {
        merge(&mut told, &serde_json::to_value(error).unwrap_or_default());
    }
    if let Some(next) = next {
        told["next"] = next.into();
    }
    told["third_party"] = result::THIRD_PARTY.into();
    let mut result = result::of(told, text, is_error);
    result.content.extend(links.into_iter().map(ContentBlock::resource_link));
    result
}

/// Links to the texts that are not here whole, for clients that read resources.
fn links(report: &Report, answer_rest: Option<Rest>, left_out: &[usize]) -> Vec<Resource> {
    let run_id = &report.run_id;
    let answer = answer_rest
        .map(|rest| address::link(run_id, "answer", "The whole answer".to_owned(), rest.whole_bytes));
    let of_seat = |index: &usize| {
        let seat = &report.answers[*index];
        let title = format!("The answer of seat {}, {}", seat.seat, seat.who());
        address::link(run_id, &format!("answer:{}", seat.seat), title, seat.text_bytes)
    };
    answer.into_iter().chain(left_out.iter().map(of_seat)).take(LINKS_MAX).collect()
}

/// Tells this principal why there is no run to tell of.
pub(super) fn of_failure(principal: &Principal, failure: Failure) -> CallToolResult {
    let error = ErrorReport::of(&principal.redact(failure)).said(words::of(principal));
    result::of(json!(error), told(&error), true)
}

fn told(error: &ErrorReport) -> String {
    format!("{}: {} (next: {})", error.code, error.message, error.next)
}

/// Tells this principal that a run was begun and lost sight of.
pub(super) fn of_run_failure(
    principal: &Principal,
    run_id: impl std::fmt::Display,
    failure: Failure,
) -> CallToolResult {
    let mut result = of_failure(principal, failure);
    if let Some(told) = &mut result.structured_content {
        told["run_id"] = run_id.to_string().into();
    }
    result
}

fn merge(told: &mut Value, besides: &Value) {
    for (name, value) in besides.as_object().into_iter().flatten() {
        told[name] = value.clone();
    }
}

/// Whether a run failed and nothing of it can be used, by the rule that the engine takes answers by: a scrap of a cut one
/// is told, and is none.
fn is_useless(report: &Report) -> bool {
    let is_usable =
        |seat: &SeatReport| seat.text.is_some() && says_enough(seat.status == "answered", seat.text_bytes);
    report.error.is_some() && !report.answers.iter().any(is_usable)
}

/// What was cut from an answer.
#[derive(Clone, Copy)]
struct Rest {
    /// The character it begins at.
    offset: usize,
    /// The length of the whole answer.
    whole_bytes: u64,
}

/// Cuts an answer that is too long.
fn cut_answer(report: &mut Report) -> Option<Rest> {
    let answer = report.answer.as_mut()?;
    let (end, _) = answer.char_indices().nth(ANSWER_CHARS_MAX)?;
    let rest = Rest { offset: ANSWER_CHARS_MAX, whole_bytes: answer.len() as u64 };
    *answer = answer[..end].into();
    Some(rest)
}

/// Leaves out the texts of seats, the longest first, until the rest fits, and says whose. The whole is measured once, and
/// without the texts that are too long for any report, which may be megabytes each.
fn leave_out_texts(report: &mut Report) -> Vec<usize> {
    let with_text = report.answers.iter().enumerate().filter(|(_, seat)| seat.text.is_some());
    let mut longest_first: Vec<(u64, usize)> = with_text.map(|(at, seat)| (seat.text_bytes, at)).collect();
    longest_first.sort_unstable_by(|one, other| other.cmp(one));
    let too_long = longest_first.iter().take_while(|(bytes, _)| *bytes > RESULT_BYTES_MAX as u64).count();
    let mut left_out = Vec::new();
    let mut beyond = None;
    for (count, (_, at)) in longest_first.into_iter().enumerate() {
        if count >= too_long {
            let bytes = *beyond.get_or_insert_with(|| beyond_answer(&*report, report.answer.as_deref()));
            if bytes <= RESULT_BYTES_MAX {
                break;
            }
        }
        let text = report.answers[at].text.take();
        if let Some(bytes) = &mut beyond {
            *bytes -= json_bytes(&text) - json_bytes(&None::<&str>);
        }
        left_out.push(at);
    }
    left_out.sort_unstable();
    left_out
}

fn beyond_answer(told: &impl Serialize, answer: Option<&str>) -> usize {
    json_bytes(told) - json_bytes(&answer)
}

/// The length of a value as JSON, without keeping the JSON.
fn json_bytes(value: &impl Serialize) -> usize {
    struct Count(usize);

    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).expect("plain data with string keys, and counting cannot fail");
    count.0
}

fn seats(told: &mut Value) -> impl Iterator<Item = &mut Value> {
    told["answers"].as_array_mut().into_iter().flatten()
}

/// Keeps of each seat what tells how it went.
fn leave_out_figures(told: &mut Value) {
    const KEPT: [&str; 6] = ["seat", "model", "status", "late", "text_bytes", "error"];
    for seat in seats(told).filter_map(Value::as_object_mut) {
        seat.retain(|name, value| KEPT.contains(&name.as_str()) && !value.is_null());
    }
}

/// Keeps of each seat's error its code.
fn leave_out_messages(told: &mut Value) {
    for error in seats(told).filter_map(|seat| seat.get_mut("error")) {
        *error = json!({ "code": error["code"] });
    }
    told["warnings"] = json!([]);
}

/// Keeps the seats that are missing.
fn leave_out_answered(told: &mut Value) {
    if let Some(seats) = told["answers"].as_array_mut() {
        seats.retain(|seat| seat["status"] != "answered");
    }
}

/// How to get what is not here.
fn next_step(report: &Report, answer_rest: Option<Rest>, has_left_out: bool) -> Option<String> {
    let run_id = &report.run_id;
    let mut steps = Vec::new();
    // Until a further part of a run is decided, its answer is the one from before.
    let has_answer = report.answer.is_some();
    if report.status == "running" {
        let stands = if has_answer { ", and `answer` is the one from before" } else { "" };
        steps.push(format!(
            "the run goes on{stands}: call get_run with {{\"run_id\":\"{run_id}\",\"wait_s\":{WAIT_S_MAX}}} for the \
             answer"
        ));
    }
    steps.extend(resume_step(report));
    if !has_answer && report.synthesis.as_ref().is_some_and(|synthesis| synthesis.kind != "none") {
        steps.push(format!(
            "{}: {}",
            part::TEXTS_GONE,
            next::say(&[Next::Use(Operation::KeepTexts)], words::of(&Principal::Owner))
        ));
    }
    let count = report.answers.iter().filter(|seat| seat.status == "answered").count();
    if count > 1
        && report.status != "running"
        && report.synthesis.as_ref().is_some_and(|synthesis| synthesis.kind == "verbatim")
    {
        steps.push(format!(
            "the answers were not fused: resume_run with {{\"run_id\":\"{run_id}\",\"synthesizer\":\"<model>\"}} does it"
        ));
    }
    if let Some(rest) = answer_rest {
        steps.push(format!(
            "the rest of the answer: get_run with {}",
            part::call(run_id, "answer", rest.offset)
        ));
    }
    if has_left_out {
        steps.push(format!(
            "texts left out for their size: get_run with {}",
            part::call(run_id, "answer:<seat>", 0)
        ));
    }
    (!steps.is_empty()).then(|| steps.join("; "))
}

/// How to continue a run that was interrupted or lacks answers.
fn resume_step(report: &Report) -> Option<String> {
    let run_id = &report.run_id;
    let lead = match (report.status.as_str(), report.answer.is_some()) {
        ("interrupted", true) => {
            "a further part of the run was interrupted, and `answer` is the one from before"
        }
        ("interrupted", false) => "the run was interrupted",
        _ => "seats are without an answer",
    };
    Some(match report.resuming? {
        Resuming::Ask => format!(
            "{lead}: call resume_run with {{\"run_id\":\"{run_id}\"}} to go on, without paying for its answers again"
        ),
        Resuming::Resend => format!(
            "{lead}; what was sent and never heard of may have been paid: ask the user, then call resume_run with \
             {{\"run_id\":\"{run_id}\",\"resend\":true}}"
        ),
    })
}

/// The answer, a line on how it came about, and one on how far the answers agree.
fn text_of(report: &Report, agreement: Option<String>, next: Option<&str>) -> String {
    let mut parts = Vec::new();
    if let Some(answer) = &report.answer {
        parts.push(answer.to_string());
    } else {
        parts.extend(report.error.iter().map(told));
        let finished = report.answers.iter().filter_map(|seat| Some((seat, seat.text.as_ref()?)));
        let heading = |seat: &SeatReport| format!("[seat {}, {}, {}]", seat.seat, seat.who(), seat.status);
        parts.extend(finished.map(|(seat, text)| format!("{}\n{text}", heading(seat))));
    }
    parts.push([Some(summary(report)), agreement].into_iter().flatten().collect::<Vec<_>>().join("\n"));
    parts.extend(next.map(|next| format!("next: {next}")));
    parts.join("\n\n")
}

/// One line such as `run_id 01…, complete, 4 of 5 answered, missing: a/b (rate_limited: …), 42.0 s, $0.0310`.
fn summary(report: &Report) -> String {
    let missing: Vec<&SeatReport> = report.answers.iter().filter(|seat| seat.status != "answered").collect();
    let panel = report.answers.len();
    let mut parts = vec![
        format!("run_id {}", report.run_id),
        report.status.clone(),
        format!("{} of {panel} answered", panel - missing.len()),
    ];
    if !missing.is_empty() {
        // The error of a run without an answer has told the reasons already.
        let with_message = report.error.is_none();
        let mut told: Vec<String> =
            missing.iter().take(MISSING_MAX).map(|seat| reason(seat, with_message)).collect();
        if missing.len() > MISSING_MAX {
            told.push(format!("{} more", missing.len() - MISSING_MAX));
        }
        parts.push(format!("missing: {}", told.join("; ")));
    }
    parts.push(seconds(report.elapsed_ms));
    parts.push(report.cost_told());
    parts.join(", ")
}

fn reason(seat: &SeatReport, with_message: bool) -> String {
    let (model, status) = (&seat.model, &seat.status);
    match &seat.error {
        Some(error) if with_message => {
            format!("{model} ({status} {}: {})", error.code, excerpt(&error.message, REASON_CHARS))
        }
        Some(error) => format!("{model} ({status} {})", error.code),
        None => format!("{model} ({status})"),
    }
}

#[cfg(test)]
mod tests {
    use parallel_llm_engine::Code;

    use super::*;
    use parallel_llm_service::report::{
        AgreementReport, AnalysisReport, ClaimReport, ClusterReport, FilesReport, NovelReport, RemarkReport,
        UsageReport,
    };

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
            spared: None,
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
            let told = result.structured_content.as_ref().unwrap();
            assert_eq!(told["answer"], "the answer");
            assert!(told.to_string().len() <= RESULT_BYTES_MAX + 500, "{} bytes", told.to_string().len());
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
        let told = result.structured_content.as_ref().unwrap();
        assert!(told.to_string().len() <= RESULT_BYTES_MAX + 500, "{} bytes", told.to_string().len());
        let line = text(&result).lines().find(|line| line.contains("dissent")).unwrap();
        assert!(line.starts_with("no two of 64 agree; 40 contradictions; dissent: seat 1: 潮"), "{line}");
        assert!(line.chars().count() < 400 && !line.contains('\u{7}'), "{line}");
    }

    #[test]
    fn the_longest_texts_are_left_out_first_and_named() {
        let seats =
            vec![seat(1, "answered", Some("s".repeat(100))), seat(2, "answered", Some("l".repeat(20_000)))];
        let told = of_report(&Principal::Owner, report("complete", Some("a".to_owned()), seats))
            .structured_content
            .unwrap();
        assert_eq!(
            (&told["answers"][0]["text_bytes"], &told["answers"][1]["text_bytes"]),
            (&json!(100), &json!(20_000))
        );
        assert!(told["answers"][0]["text"].is_string() && told["answers"][1]["text"].is_null());
        assert!(told["next"].as_str().unwrap().contains("\"part\":\"answer:<seat>\""), "{told}");
    }

    #[test]
    fn sixty_four_texts_of_megabytes_are_told_at_once() {
        let text: std::sync::Arc<str> = "\"".repeat(8 << 20).into();
        let seats = (1..=64).map(|number| {
            let text_bytes = text.len() as u64;
            SeatReport {
                text: Some(text.clone()),
                text_bytes,
                ..seat(number, "answered", Some(String::new()))
            }
        });
        let report = report("complete", Some("the answer".to_owned()), seats.collect());
        let begun = tokio::time::Instant::now();
        let told = of_report(&Principal::Owner, report).structured_content.unwrap();
        // Writing each text out once takes longer than that, and once for each text minutes.
        assert!(begun.elapsed().as_secs() < 2, "{:?}", begun.elapsed());
        assert!(told.to_string().len() <= RESULT_BYTES_MAX + 500);
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
                "_meta": {"parallel-llm/third_party": result::THIRD_PARTY},
            })
        );
        let told = result.structured_content.as_ref().unwrap();
        for link in &links[1..] {
            let seat: usize = link["uri"].as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap();
            assert_eq!((&told["answers"][seat - 1]["text"], &link["size"]), (&Value::Null, &json!(2_000)));
        }
    }

    #[test]
    fn an_answer_beyond_the_bound_is_cut_with_a_pointer() {
        let answer = "ä".repeat(ANSWER_CHARS_MAX + 1);
        let told = of_report(&Principal::Owner, report("complete", Some(answer), Vec::new()))
            .structured_content
            .unwrap();
        assert_eq!(told["answer"].as_str().unwrap().chars().count(), ANSWER_CHARS_MAX);
        assert!(told["next"].as_str().unwrap().contains("\"part\":\"answer\",\"offset\":100000"), "{told}");
    }

    #[test]
    fn an_answer_from_before_is_told_as_such() {
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
            let told = |code| ErrorReport::of(&Failure::new(code, "why"));
            let result =
                of_report(&Principal::Owner, Report { error: code.map(told), ..report(status, None, seats) });
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
}
