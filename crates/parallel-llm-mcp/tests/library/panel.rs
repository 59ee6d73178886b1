//! Panels: asking, watching, continuing, giving up, and what is left behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use parallel_llm_mcp::event::{EventLine, EventReport};
use parallel_llm_mcp::port::{
    Attempt, BoxFuture, CallerSlot, Failure, Journal, Lease, PicoUsd, Recorded, RunPlan,
};
use parallel_llm_mcp::{Code, Error, Message, Provider, Question, Report, Role, RunId};
use parallel_llm_testkit::simulator::{Fault, Script};
use tokio::sync::Notify;

use super::upstream::{MODELS, Upstream, WRITER};

/// A report in a line: its status, how the text was made, and what each seat came to.
fn described(report: &Report) -> String {
    let seats: Vec<String> =
        report.answers.iter().map(|seat| format!("{}={}", seat.model, seat.status)).collect();
    let kind = report.synthesis.as_ref().map_or("none", |synthesis| &synthesis.kind);
    format!("{} {kind} [{}]", report.status, seats.join(", "))
}

#[tokio::test]
async fn a_question_gets_one_answer_of_the_panel() {
    let upstream = Upstream::start().await.scripted(WRITER, Script::answering("Both say so."));
    let panel = upstream.panel().build().unwrap();
    let report = panel.ask("Why is the sky blue?").await.unwrap();
    insta::assert_snapshot!(described(&report), @"complete fused [openai/gpt-6.1-sol=answered, x-ai/grok-4.7=answered]");
    assert!(report.answer.is_some());
    panel.close().await;
    upstream.connections(0).await;
}

#[tokio::test]
async fn a_seat_that_fails_is_in_the_report_and_a_run_without_answers_is_an_error() {
    let upstream = Upstream::start().await.scripted(MODELS[0], Script::fault(Fault::Server500));
    let panel = upstream.panel().build().unwrap();
    let report = panel.ask("Why?").await.unwrap();
    insta::assert_snapshot!(described(&report), @"partial verbatim [openai/gpt-6.1-sol=failed, x-ai/grok-4.7=answered]");

    upstream.simulator.script(MODELS[1], Script::fault(Fault::Credits));
    let error = panel.ask("Why not?").await.unwrap_err();
    insta::assert_snapshot!(error, @"no answer came: no model answered (openai/gpt-6.1-sol: openrouter answered 500: Internal Server Error; x-ai/grok-4.7: openrouter answered 402: This request requires more credits, or fewer max_tokens. You requested up to 16000 tokens, but can only afford 3395. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account)");
    assert_eq!((error.code(), error.is_retryable()), (Code::AllFailed, true));
    insta::assert_snapshot!(described(error.report().unwrap()), @"failed none [openai/gpt-6.1-sol=failed, x-ai/grok-4.7=failed]");
}

#[tokio::test]
async fn a_refused_question_costs_nothing_and_says_what_to_do() {
    let upstream = Upstream::start().await;
    let panel = upstream.panel().budget_usd(0.000_001).build().unwrap();
    let refusal = |error: Error| {
        let cause = std::error::Error::source(&error).unwrap().to_string();
        format!("{error}: {cause} ({}: {})", error.code(), error.next_step())
    };
    insta::assert_snapshot!(refusal(panel.ask("Why?").await.unwrap_err()), @"the panel refused: the run may cost up to $0.48; the budget is $0.0000010 (budget: give `budget_usd` as 0.49, lower `max_tokens`, or ask fewer or cheaper models)");
    insta::assert_snapshot!(refusal(panel.ask(" \n").await.unwrap_err()), @"the panel refused: the prompt is empty (prompt_empty: give a prompt as the text of `Question::new`)");
    insta::assert_snapshot!(refusal(panel.ask(Question::new("Why?").budget_usd(f64::NAN)).await.unwrap_err()), @"the panel refused: `budget_usd` is no amount: NaN (usage: see the guide `docs/library.md`)");
    let resumed = panel.resume("newest").await.unwrap_err();
    insta::assert_snapshot!(refusal(resumed), @"the panel refused: runs are kept in memory and end with it (usage: give the builder a folder to keep runs in)");
    assert_eq!(upstream.requests(), 0);
    let cost = panel.quote("Why?").await.unwrap();
    assert!(cost.worst_case_usd > cost.budget_usd, "{cost:?}");
}

#[tokio::test]
async fn a_model_without_a_price_is_refused_before_anything_is_sent() {
    let upstream = Upstream::start().await;
    let dead = Provider::new("openai").key("sk-of-no-worth").base_url("https://provider.invalid/v1");
    let panel = upstream.panel().panel([MODELS[0], "openai:of-nobody"]).provider(dead).build().unwrap();
    let error = panel.ask("Why?").await.unwrap_err();
    assert_eq!((error.code(), upstream.requests()), (Code::PriceUnknown, 0), "{error}");
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("openai:of-nobody"), "{cause}");
    // The step that the refusal names.
    panel.ask(Question::new("Why?").models([MODELS[0]])).await.unwrap();
    assert_eq!(upstream.requests(), 1);
}

#[tokio::test]
async fn history_and_system_prompt_are_sent_and_files_are_read() {
    let upstream = Upstream::start().await;
    let panel = upstream.panel().panel([MODELS[0]]).build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("note.md");
    std::fs::write(&note, "the note").unwrap();
    let question = Question::new("And in winter?")
        .system("Be brief.")
        .history([Message::text(Role::User, "Why?"), Message::text(Role::Assistant, "Because.")])
        .attach(&note)
        .attach_bytes("dot.png", *b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    panel.ask(question).await.unwrap();
    let requests = upstream.simulator.requests();
    let sent = requests.iter().map(|request| &request.body["messages"]).find(|sent| sent.is_array());
    let sent = sent.expect("a model was asked").clone();
    let roles: Vec<&str> = sent.as_array().unwrap().iter().filter_map(|it| it["role"].as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    let last = sent[3]["content"].to_string();
    assert!(
        last.contains("And in winter?") && last.contains("the note") && last.contains("image/png"),
        "{last}"
    );

    let missing = panel.ask(Question::new("Why?").attach("/no/file")).await.unwrap_err();
    assert_eq!(missing.code(), Code::AttachmentInvalid);
}

/// The names of events, with runs of text as one.
async fn names(mut events: parallel_llm_mcp::Events) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    while let Some(line) = events.next().await {
        let name = name(&line);
        if names.last() != Some(&name) {
            names.push(name);
        }
    }
    names
}

fn name(line: &EventLine) -> String {
    let json = serde_json::to_value(line).expect("a line is plain data");
    json["event"].as_str().expect("every event has a name").to_owned()
}

#[tokio::test]
async fn events_come_from_the_first_to_the_last() {
    let upstream = Upstream::start().await;
    let panel = upstream.panel().panel([MODELS[0]]).build().unwrap();
    let run = panel.begin("Why?").await.unwrap();
    let events = names(run.events()).await;
    assert_eq!(events.first().map(String::as_str), Some("started"), "{events:?}");
    assert_eq!(events.last().map(String::as_str), Some("closed"), "{events:?}");
    assert!(events.iter().any(|event| event == "answered"), "{events:?}");
    // A later reader gets the run as it is.
    assert_eq!(names(run.events()).await, ["snapshot"]);
    let mut late = run.events();
    let EventReport::Snapshot { report } = late.next().await.unwrap().event else { panic!("no snapshot") };
    assert_eq!(report.status, "complete");
    assert!(late.next().await.is_none() && late.next().await.is_none());
}

#[tokio::test]
async fn a_run_that_is_given_up_closes_its_connections() {
    let upstream = Upstream::start().await.scripted("*", Script::fault(Fault::Stall));
    let panel = upstream.panel().build().unwrap();
    let run = panel.begin("Why?").await.unwrap();
    upstream.in_flight(2).await;
    run.abort();
    let error = run.wait_closed().await.unwrap_err();
    assert_eq!(error.code(), Code::Cancelled);
    upstream.connections(0).await;
}

#[tokio::test]
async fn a_future_that_is_dropped_leaves_no_connection() {
    let upstream = Upstream::start().await.scripted("*", Script::fault(Fault::Stall));
    let panel = upstream.panel().build().unwrap();
    let mut asking = Box::pin(panel.ask("Why?"));
    tokio::select! {
        _ = &mut asking => panic!("a stalled model has answered"),
        () = upstream.in_flight(2) => {}
    }
    drop(asking);
    upstream.connections(0).await;
    assert_eq!(upstream.simulator.stats().client_cancelled, 2);
    // One that is dropped before its run has begun is given up as soon as it has.
    assert!(panel.ask("Why not?").now_or_never().is_none());
    panel.close().await;
    upstream.connections(0).await;
    upstream.in_flight(0).await;
}

#[tokio::test]
async fn a_panel_that_is_dropped_in_the_middle_leaves_no_connection() {
    let upstream = Upstream::start().await.scripted(MODELS[0], Script::fault(Fault::Stall));
    let panel = upstream.panel().build().unwrap();
    let run = panel.begin("Why?").await.unwrap();
    upstream.in_flight(1).await;
    drop(panel);
    // The handle keeps the run, and its last clone ends it.
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(upstream.simulator.stats().client_cancelled, 0);
    drop(run);
    upstream.connections(0).await;
    assert_eq!(upstream.simulator.stats().client_cancelled, 1);
}

#[tokio::test]
async fn a_closed_panel_begins_nothing_and_leaves_no_connection() {
    let upstream = Upstream::start().await.scripted(MODELS[0], Script::fault(Fault::Stall));
    let panel = upstream.panel().build().unwrap();
    panel.ask(Question::new("Why?").models([MODELS[1]])).await.unwrap();
    let run = panel.begin("Why?").await.unwrap();
    upstream.in_flight(1).await;
    // Longer than the drain, which waits for the stalled seat.
    panel.close().await;
    upstream.connections(0).await;
    assert!(matches!(panel.ask("Why?").await, Err(Error::Closed)));
    assert!(run.wait_closed().await.is_err());
    panel.close().await;
}

#[tokio::test]
async fn runs_in_a_folder_are_replayed_continued_and_read_by_another_panel() {
    let upstream = Upstream::start().await;
    let folder = tempfile::tempdir().unwrap();
    let panel = upstream.panel().folder(folder.path()).build().unwrap();
    let first = panel.ask("Why is the sky blue?").await.unwrap();
    let asked = upstream.requests();

    let replayed = panel.replay(&first.run_id, "panel").await.unwrap().wait().await.unwrap();
    assert_eq!((&replayed.run_id, replayed.strategy.as_str()), (&first.run_id, "panel"));
    assert_eq!(upstream.requests(), asked, "a replay asks no seat again");

    let complete = panel.resume(&first.run_id).await.unwrap_err();
    assert_eq!(complete.code(), Code::Usage);
    let added = panel.add(&first.run_id, ["z-ai/glm-5.3"]).await.unwrap().wait().await.unwrap();
    assert_eq!(added.answers.len(), 3);

    let next = panel.ask(Question::new("And at night?").continuing(&first.run_id)).await.unwrap();
    assert_eq!(next.continues.as_deref(), Some(&*first.run_id));
    panel.close().await;

    let another = upstream.panel().folder(folder.path()).build().unwrap();
    assert_eq!(another.report(&first.run_id).await.unwrap().answers.len(), 3);
    assert_eq!(another.watch(&next.run_id).await.unwrap().wait().await.unwrap().answer, next.answer);
    another.close().await;
    upstream.connections(0).await;
}

#[tokio::test]
async fn a_run_that_was_given_up_is_resumed_without_paying_twice() {
    let upstream = Upstream::start().await.scripted(MODELS[0], Script::fault(Fault::Stall));
    let folder = tempfile::tempdir().unwrap();
    let panel = upstream.panel().folder(folder.path()).build().unwrap();
    let run = panel.begin("Why?").await.unwrap();
    let mut events = run.events();
    while let Some(line) = events.next().await {
        if name(&line) == "answered" {
            break;
        }
    }
    run.abort();
    assert!(run.wait_closed().await.is_err());
    panel.close().await;
    upstream.connections(0).await;

    upstream.simulator.script(MODELS[0], Script::answering("Because."));
    let panel = upstream.panel().folder(folder.path()).build().unwrap();
    let resumed = panel.resume(run.id()).await.unwrap().wait().await.unwrap();
    insta::assert_snapshot!(described(&resumed), @"complete fused [openai/gpt-6.1-sol=answered, x-ai/grok-4.7=answered]");
    let of_second = upstream.simulator.stats().per_model[MODELS[1]];
    assert_eq!(of_second, 1, "the answer that was there is not paid again");
    panel.close().await;
}

#[tokio::test]
async fn a_panel_can_be_used_from_any_task() {
    fn check(_: &(impl Send + Sync)) {}
    let upstream = Upstream::start().await;
    let panel = upstream.panel().panel([MODELS[0]]).build().unwrap();
    check(&panel);
    let mut many = tokio::task::JoinSet::new();
    for number in 0..8 {
        let panel = panel.clone();
        many.spawn(async move {
            panel.ask(format!("What is {number} squared?")).await.map(|report| report.status)
        });
    }
    for asked in many.join_all().await {
        assert_eq!(asked.unwrap(), "complete");
    }
    assert!(panel.ask("Why?").now_or_never().is_none());
}

/// A run with one stalled seat in a folder whose panel has been closed in the middle, and its id.
async fn closed_in_the_middle(upstream: &Upstream, folder: &std::path::Path) -> String {
    let panel = upstream.panel().folder(folder).build().expect("the panel is built");
    let run = panel.begin("Why?").await.expect("the run begins");
    let mut events = run.events();
    while name(&events.next().await.expect("a seat answers")) != "answered" {}
    panel.close().await;
    upstream.connections(0).await;
    let expected = "cancelled none [openai/gpt-6.1-sol=cancelled, x-ai/grok-4.7=answered]";
    assert_eq!(described(&run.report()), expected);
    run.id().to_string()
}

#[tokio::test]
async fn a_run_that_its_panel_gave_up_as_it_closed_is_over_for_the_next_panel() {
    for resumes in [true, false] {
        let upstream = Upstream::start().await.scripted(MODELS[0], Script::fault(Fault::Stall));
        let folder = tempfile::tempdir().unwrap();
        let id = closed_in_the_middle(&upstream, folder.path()).await;
        upstream.simulator.script(MODELS[0], Script::answering("Because."));
        let panel = upstream.panel().folder(folder.path()).build().unwrap();
        assert_eq!(panel.report(&id).await.unwrap().status, "cancelled");
        let report = if resumes {
            panel.resume(&id).await.unwrap().wait().await.unwrap()
        } else {
            // The same question is the same run, which goes on.
            panel.ask("Why?").await.unwrap()
        };
        assert_eq!((report.run_id.as_str(), report.status.as_str()), (id.as_str(), "complete"));
        let of_second = upstream.simulator.stats().per_model[MODELS[1]];
        assert_eq!(of_second, 1, "the answer that was there is not paid again");
        panel.close().await;
    }
}

#[tokio::test]
async fn a_run_whose_handle_is_dropped_before_it_was_received_is_given_up() {
    let upstream = Upstream::start().await.scripted("*", Script::fault(Fault::Stall));
    let panel = upstream.panel().build().unwrap();
    let (mut begin, mut ask) = (Box::pin(panel.begin("Why?")), Box::pin(panel.ask("Why not?")));
    assert!((&mut begin).now_or_never().is_none() && (&mut ask).now_or_never().is_none());
    // Both runs have begun, and neither future has been polled since.
    upstream.in_flight(4).await;
    drop((begin, ask));
    upstream.connections(0).await;
    assert_eq!(upstream.simulator.stats().client_cancelled, 4);
}

#[tokio::test]
async fn a_question_on_its_way_when_its_panel_closes_does_not_begin() {
    for opens in [true, false] {
        let upstream = Upstream::start().await;
        let journal = Arc::new(OwnJournal::new(Defect::OpensLate));
        let panel = upstream.panel().journal(Arc::clone(&journal) as _).build().unwrap();
        let mut asking = Box::pin(panel.ask("Why?"));
        tokio::select! {
            _ = &mut asking => panic!("the journal has not opened the run"),
            () = journal.is_opening.notified() => {}
        }
        let closing = async {
            if opens {
                journal.may_open.notify_one();
            }
            panel.close().await;
        };
        let (asked, ()) = tokio::join!(asking, closing);
        assert!(matches!(asked, Err(Error::Closed)), "opens: {opens}, {asked:?}");
        upstream.connections(0).await;
    }
}

#[tokio::test]
async fn a_journal_that_panics_ends_its_run_with_a_report() {
    let upstream = Upstream::start().await;
    let journal = Arc::new(OwnJournal::new(Defect::Panics));
    let panel = upstream.panel().journal(journal).build().unwrap();
    let run = panel.begin("Why?").await.unwrap();
    let mut events = run.events();
    let report = tokio::time::timeout(Duration::from_secs(20), run.wait_closed()).await.unwrap().unwrap();
    let unstored = report.warnings.iter().any(|warning| warning.message.contains("could not be stored"));
    assert!(unstored && report.answer.is_some(), "{:?}", report.warnings);
    while events.next().await.is_some() {}
    panel.close().await;
    upstream.connections(0).await;
}

/// A journal with a defect.
struct OwnJournal {
    defect: Defect,
    appends: AtomicUsize,
    is_opening: Notify,
    may_open: Arc<Notify>,
}

#[derive(Clone, Copy, PartialEq)]
enum Defect {
    /// It opens a run when it is told to.
    OpensLate,
    /// It panics at the second append and later.
    Panics,
}

impl OwnJournal {
    fn new(defect: Defect) -> Self {
        Self { defect, appends: AtomicUsize::new(0), is_opening: Notify::new(), may_open: Arc::default() }
    }
}

impl Journal for OwnJournal {
    fn open(&self, plan: Arc<RunPlan>) -> BoxFuture<'static, Result<Lease, Failure>> {
        let waits = (self.defect == Defect::OpensLate).then(|| Arc::clone(&self.may_open));
        self.is_opening.notify_one();
        Box::pin(async move {
            if let Some(may_open) = waits {
                may_open.notified().await;
            }
            Ok(Lease { run_id: plan.run_id, epoch: 1, next_seq: 1 })
        })
    }

    fn reopen(&self, _: RunId, _: u64) -> BoxFuture<'static, Result<Lease, Failure>> {
        let failure = Failure::new(Code::Usage, "this journal is written and never read");
        Box::pin(async { Err(failure) })
    }

    fn append(&self, _: Lease, _: Vec<Recorded>) -> BoxFuture<'static, Result<(), Failure>> {
        let before = self.appends.fetch_add(1, Ordering::SeqCst);
        if self.defect == Defect::Panics && before > 0 {
            std::panic::resume_unwind(Box::new("scripted"));
        }
        Box::pin(async { Ok(()) })
    }

    fn check_day(
        &self,
        _: Arc<RunPlan>,
        _: CallerSlot,
        _: Option<PicoUsd>,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        Box::pin(async { Ok(()) })
    }

    fn checkpoint(&self, _: Lease, _: Attempt, _: String) -> BoxFuture<'static, Result<(), Failure>> {
        Box::pin(async { Ok(()) })
    }
}
