//! Stored formats: plans and events are read back as written, and those of version 1 stay readable for ever.

use std::sync::Arc;

use parallel_llm_engine::agreement::{Agreement, Cluster};
use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::plan::flow::{PlannedFlow, Stage, StageNumber};
use parallel_llm_engine::plan::size::QuestionSize;
use parallel_llm_engine::plan::step::{Step, StepKey, StepRole};
use parallel_llm_engine::plan::worst_case::WorstCase;
use parallel_llm_engine::plan::{DayLimit, RunPlan, Timers};
use parallel_llm_engine::prompt::PeerRank;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::request::catalogue::Inputs;
use parallel_llm_engine::request::catalogue::PriceSource;
use parallel_llm_engine::request::persona_prompt::{PersonaPrompt, Stance};
use parallel_llm_engine::request::routing::{DataCollection, Session};
use parallel_llm_engine::request::strategy::{RetiredOptions, RetiredStrategy, Strategy, StrategyOptions};
use parallel_llm_engine::request::wait::Wait;
use parallel_llm_engine::run::event::{Attempt, Event, Recorded};
use parallel_llm_engine::run::outcome::{Judging, Reading, Round, Shortened, Verdict, Worth};
use parallel_llm_engine::run::prompt_record::{PromptRecord, ShownAnswer, Votes};
use parallel_llm_engine::value::next::{Advice, Operation};
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{
    Answer, Attachment, Code, Effort, Failure, FileNames, Finish, Message, ModelRef, Outcome, OutcomeKind,
    Part, PicoUsd, Price, ProviderId, Reopening, Role, Routing, RunId, Seat, SeatNumber, StepNumber, Usage,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

const PLAN: &str = include_str!("fixtures/plan_v1.json");
const PLAN_WITH_FILES: &str = include_str!("fixtures/plan_v1_files.json");
const PLAN_WITH_LIMITS: &str = include_str!("fixtures/plan_v1_limits.json");
const PLAN_WITH_PERSONA_PROMPTS: &str = include_str!("fixtures/plan_v1_briefs.json");
const PLAN_WITH_FILE_NAMES: &str = include_str!("fixtures/plan_v1_file_names.json");
const PLAN_WITH_FLOW: &str = include_str!("fixtures/plan_v1_flow.json");
const EVENTS: &str = include_str!("fixtures/events_v1.json");
const EVENTS_REOPENED: &str = include_str!("fixtures/events_v1_reopened.json");
const EVENTS_LAYERS: &str = include_str!("fixtures/events_v1_layers.json");
const EVENTS_STEPS: &str = include_str!("fixtures/events_v1_steps.json");
const EVENTS_UNFUSED: &str = include_str!("fixtures/events_v1_unfused.json");
const EVENTS_PROMPTS: &str = include_str!("fixtures/events_v1_prompts.json");
const EVENTS_TIMES: &str = include_str!("fixtures/events_v1_times.json");
const EVENTS_FLOW: &str = include_str!("fixtures/events_v1_flow.json");

fn model(name: &str) -> ModelRef {
    ModelRef { provider: ProviderId("openrouter".to_owned()), model: name.to_owned() }
}

fn seat(number: u8, name: &str) -> Seat {
    Seat {
        number: SeatNumber(number),
        model: model(name),
        temperature: Some(0.25),
        max_tokens: 16_000,
        strongest: number == 1,
        accuracy: None,
        price_source: PriceSource::default(),
        price: Some(Price { request: PicoUsd(5), ..Price::per_token(PicoUsd(100), PicoUsd(10_000_000)) }),
        context_tokens: Some(1_000_000),
        effort: None,
        inputs: None,
        json_mode: false,
        persona_prompt: None,
        asks_line: false,
    }
}

/// A plan with every field filled.
fn plan() -> RunPlan {
    let bare = Seat { temperature: None, price: None, context_tokens: None, ..seat(2, "vendor/two") };
    RunPlan {
        version: 1,
        run_id: RunId::from_parts(1_700_000_000_000, 7),
        seed: u64::MAX,
        plan_hash: String::new(),
        question_size: QuestionSize::default(),
        messages: [
            Message::text(Role::System, "Be brief."),
            Message::text(Role::User, "Why?"),
            Message::text(Role::Assistant, "Because."),
            Message::text(Role::User, "潮 \"quoted\"\n"),
        ]
        .into(),
        seats: vec![seat(1, "~vendor/one"), bare],
        synthesizers: vec![seat(1, "vendor/three")],
        equivalence: None,
        strategy: Strategy::Synthesize,
        preset: None,
        flow: None,
        steps: Vec::new(),
        chosen_because: None,
        strategy_options: StrategyOptions::default(),
        timers: Timers { first_text_ms: 1, idle_ms: 2, content_ms: 3, call_ms: 4, run_ms: 5 },
        retries_max: 2,
        wait: Wait::Stragglers { share_percent: 60, after_ms: 45_000 },
        budget: PicoUsd::from_usd(3),
        worst_case: WorstCase::Known(PicoUsd(1_200_000_000_001)),
        store: StoreMode::Full,
        files: true,
        file_names: FileNames::default(),
        routing: Arc::default(),
        asked_by: None,
        idempotency_key: None,
        continues: None,
        has_instructions: false,
        lineage: Arc::default(),
        fresh: false,
        limits: Vec::new(),
        warnings: vec![warning()],
    }
}

/// A plan with the fields that version 1 has gained since.
fn plan_with_files() -> RunPlan {
    let file = |name: &str, media_type: &str| {
        let (name, media_type) = (name.to_owned(), media_type.to_owned());
        Part::File(Attachment { name, media_type, base64: "AAEC".into(), detail: None, tokens: None })
    };
    let parts = vec![
        Part::Text { text: "What is it?".to_owned() },
        file("photo.png", "image/png"),
        file("paper.pdf", "application/pdf"),
    ];
    let inputs = Some(Inputs { image: true, document: false });
    let routing = Routing {
        order: vec!["a".to_owned()],
        only: vec!["a".to_owned(), "b".to_owned()],
        ignore: vec!["c".to_owned()],
        fallbacks: Some(false),
        data_collection: Some(DataCollection::Deny),
        zdr: true,
        input_price_max: Some(PicoUsd(3)),
        output_price_max: Some(PicoUsd(4)),
        service_tier: Some("flex".to_owned()),
        session: Session::Seat,
    };
    RunPlan {
        messages: [Message { role: Role::User, parts }].into(),
        seats: vec![Seat { effort: Some(Effort::Xhigh), inputs, ..seat(1, "~vendor/one") }],
        equivalence: Some(Seat { temperature: None, ..seat(1, "vendor/four") }),
        routing: Arc::new(routing),
        ..plan()
    }
}

/// A plan with a principal, an idempotency key and daily limits.
fn plan_with_limits() -> RunPlan {
    let limit = |provider: Option<&str>, setting: &str| DayLimit {
        provider: provider.map(|id| ProviderId(id.to_owned())),
        asked_by: None,
        usd: PicoUsd::from_usd(5),
        setting: setting.to_owned(),
    };
    RunPlan {
        plan_hash: "00ff".repeat(16),
        asked_by: Some("token 7".to_owned()),
        idempotency_key: Some("order-66".to_owned()),
        limits: vec![limit(None, "day_usd_max"), limit(Some("openrouter"), "keys.day_usd_max")],
        ..plan()
    }
}

/// A plan whose seats have persona prompts.
fn plan_with_persona_prompts() -> RunPlan {
    let stance = Stance::by_word("against");
    let whole =
        PersonaPrompt { persona: Some("critic".to_owned()), stance, system: Some("Find the flaw.".into()) };
    let result = |number, persona_prompt: PersonaPrompt| Seat {
        persona_prompt: Some(Arc::new(persona_prompt)),
        ..seat(number, "vendor/one")
    };
    RunPlan { seats: vec![result(1, whole.clone()), result(2, whole.without_text())], ..plan() }
}

fn warning() -> Warning {
    Warning {
        code: Code::ModelUnknown,
        message: "settings: unknown".to_owned(),
        next: Operation::ListModels.into(),
    }
}

/// A failure with every field filled.
fn failure() -> Failure {
    Failure {
        code: Code::RateLimited,
        message: "slow down".to_owned(),
        next: Advice::TryInAMinute.into(),
        retryable: true,
        retry_after_ms: Some(60_000),
        rejected_field: Some("temperature".to_owned()),
        status: Some(429),
        unsent: false,
        run_id: None,
        causes: None,
    }
}

/// An answer with every field filled except its text, which is stored separately.
fn answer() -> Answer {
    Answer {
        text: "".into(),
        finish: Some(Finish::Other("tool_calls".to_owned())),
        usage: Usage {
            input_tokens: Some(1),
            output_tokens: Some(2),
            reasoning_tokens: Some(3),
            cached_tokens: Some(4),
        },
        cost: Some(PicoUsd(5)),
        cost_is_estimate: true,
        served_model: Some("vendor/one-0101".to_owned()),
        generation_id: Some("gen-1".to_owned()),
        first_token_ms: Some(6),
        elapsed_ms: 7,
        ..Answer::new("The moon.")
    }
}

fn outcome() -> Outcome {
    Outcome {
        text: None,
        text_hash: Some("abc".to_owned()),
        by: Some(model("vendor/three")),
        base_seat: Some(SeatNumber(2)),
        shortened: vec![Shortened { seat: SeatNumber(1), from_chars: 9, to_chars: 8 }],
        worth: Some(Worth {
            base_seat: SeatNumber(2),
            drawn_from: Vec::new(),
            edit_ratio: Some(0.125),
            extra_cost: Some(PicoUsd(9)),
            extra_ms: 10,
        }),
        warnings: vec![warning()],
        failure: Some(failure()),
        ..Outcome::new(OutcomeKind::Fused, "fused")
    }
}

/// Every kind of event, with all of its fields and with as few as possible.
fn events() -> Vec<Recorded> {
    let attempt = Attempt { slot: CallerSlot::Seat(SeatNumber(1)), number: 1 };
    let fusing = Attempt { slot: CallerSlot::Synthesizer(SeatNumber(1)), number: 2 };
    let failed = |retry, cost| Event::Failed { attempt, failure: failure(), retry, cost, elapsed_ms: 3 };
    let bare = Answer { text: "".into(), finish: None, ..Answer::new("") };
    let events = [
        Event::Started { plan_hash: "hash".to_owned(), reserved: PicoUsd(11) },
        Event::Sent { attempt, prompt: None, worst_case: None },
        Event::Accepted { attempt: fusing, generation_id: "gen-1".to_owned() },
        Event::Answered { attempt, answer: answer() },
        Event::Answered { attempt, answer: Answer { finish: Some(Finish::Stop), ..bare.clone() } },
        Event::Answered { attempt, answer: Answer { finish: Some(Finish::Length), ..bare.clone() } },
        Event::Cut { attempt, answer: bare.clone(), failure: Failure::new(Code::Connection, "gone") },
        failed(Retry::Never, None),
        failed(Retry::After { ms: 500 }, Some(PicoUsd(1))),
        failed(Retry::Without { field: "temperature".to_owned() }, Some(PicoUsd::ZERO)),
        Event::Cancelled { attempt, answer: None, cost: None },
        Event::Cancelled { attempt, answer: Some(bare), cost: None },
        Event::Decided { outcome: Box::new(outcome()) },
        Event::Decided {
            outcome: Box::new(Outcome::none(Failure::new(Code::Cancelled, "the run was cancelled"))),
        },
        Event::Closed { cost: PicoUsd(12) },
    ];
    let record = |(index, event)| Recorded { seq: index as u64 + 1, elapsed_ms: index as u64 * 10, event };
    events.into_iter().enumerate().map(record).collect()
}

/// Events of a continued run, which version 1 gained later.
fn events_of_a_continued_run() -> Vec<Recorded> {
    let attempt = Attempt { slot: CallerSlot::Seat(SeatNumber(2)), number: 3 };
    let bare = Reopening {
        ask: Vec::new(),
        seats: Vec::new(),
        synthesizers: Vec::new(),
        equivalence: None,
        strategy: Strategy::Synthesize,
        steps: Vec::new(),
        chosen_because: None,
        strategy_options: StrategyOptions::default(),
        budget: PicoUsd::from_usd(3),
        prices: Vec::new(),
        limits: Vec::new(),
        warnings: Vec::new(),
    };
    let whole = Reopening {
        ask: vec![SeatNumber(1), SeatNumber(2)],
        seats: vec![seat(3, "vendor/four")],
        synthesizers: vec![seat(2, "vendor/five")],
        ..bare.clone()
    };
    let worth =
        Worth { drawn_from: vec![SeatNumber(1), SeatNumber(3)], ..outcome().worth.expect("it is fused") };
    let considered = vec![SeatNumber(1), SeatNumber(2), SeatNumber(3)];
    let events = [
        Event::Reopened { reopening: bare, reserved: PicoUsd::ZERO },
        Event::Reopened { reopening: whole, reserved: PicoUsd(13) },
        Event::Reconciled { attempt, cost: PicoUsd(5), usage: answer().usage },
        Event::Reconciled { attempt, cost: PicoUsd::ZERO, usage: Usage::default() },
        Event::Decided { outcome: Box::new(Outcome { considered, worth: Some(worth), ..outcome() }) },
    ];
    let record = |(index, event)| Recorded { seq: index as u64 + 1, elapsed_ms: index as u64 * 10, event };
    events.into_iter().enumerate().map(record).collect()
}

/// Events of an unfused run, which version 1 gained later.
fn events_of_an_unfused_run() -> Vec<Recorded> {
    let attempt = Attempt { slot: CallerSlot::Seat(SeatNumber(2)), number: 1 };
    let unfused = Some(Failure::new(Code::Upstream, "every synthesizer failed"));
    let agreement = Some(Agreement { equal: 2, of: 3, ..Agreement::default() });
    let outcome = Outcome { unfused, agreement, ..Outcome::new(OutcomeKind::Verbatim, "word for word") };
    let events = [
        Event::Cancelled { attempt, answer: None, cost: Some(PicoUsd::ZERO) },
        Event::Decided { outcome: Box::new(outcome) },
    ];
    let record = |(index, event)| Recorded { seq: index as u64 + 1, elapsed_ms: index as u64 * 10, event };
    events.into_iter().enumerate().map(record).collect()
}

/// Events of a run with steps, which version 1 gained later.
fn events_of_a_run_with_steps() -> Vec<Recorded> {
    let attempt = Attempt { slot: CallerSlot::Step(StepNumber(3)), number: 1 };
    let key = |round| StepKey { role: StepRole::Judge, by: CallerSlot::Synthesizer(SeatNumber(2)), round };
    let step = |number, is_spare| Step {
        number: StepNumber(number),
        key: key(number),
        input_tokens_max: 9_000,
        is_spare,
    };
    let reopening =
        Reopening { steps: vec![step(1, false), step(2, true)], ..Reopening::resume(&plan(), Vec::new()) };
    let verdict = Verdict {
        step: StepNumber(3),
        by: model("vendor/five"),
        ranking: vec![SeatNumber(2), SeatNumber(1)],
        tied: Vec::new(),
    };
    let judging = Some(Judging { verdicts: vec![verdict], flips: 1 });
    let cluster = |value: Option<&str>, seat| Cluster {
        value: value.map(str::to_owned),
        seats: vec![SeatNumber(seat)],
        ..Cluster::default()
    };
    let clusters = vec![cluster(Some("8 legs"), 1), cluster(None, 2)];
    let agreement =
        Some(Agreement { equal: 1, of: 3, clusters, unread: vec![SeatNumber(3)], ..Agreement::default() });
    let outcome = Outcome { judging, agreement, ..Outcome::new(OutcomeKind::Selected, "chosen") };
    let events = [
        Event::Skipped { seats: vec![SeatNumber(3), SeatNumber(4)] },
        Event::Sent { attempt, prompt: None, worst_case: None },
        Event::Reopened { reopening, reserved: PicoUsd(7) },
        Event::Decided { outcome: Box::new(outcome) },
    ];
    let record = |(index, event)| Recorded { seq: index as u64 + 1, elapsed_ms: index as u64 * 10, event };
    events.into_iter().enumerate().map(record).collect()
}

/// Events of a run with layers, which version 1 gained later.
fn events_of_a_run_with_layers() -> Vec<Recorded> {
    let key = StepKey { role: StepRole::Proposer, by: CallerSlot::Seat(SeatNumber(2)), round: 3 };
    let step = Step { number: StepNumber(9), key, input_tokens_max: 9_000, is_spare: false };
    let revised = StepKey { role: StepRole::Reviser, ..key };
    let reopening = |strategy, strategy_options, key| Reopening {
        strategy,
        strategy_options,
        steps: vec![Step { key, ..step }],
        ..Reopening::resume(&plan(), Vec::new())
    };
    let retired = |retired| StrategyOptions { retired, ..StrategyOptions::default() };
    let reopened = |reopening| Event::Reopened { reopening, reserved: PicoUsd(7) };
    let seats = |seats: &[u8]| seats.iter().copied().map(SeatNumber).collect();
    let round = Round {
        round: 2,
        answered: seats(&[1, 2, 3]),
        changed: seats(&[1, 2]),
        followed: seats(&[2]),
        undetermined: seats(&[3]),
        equal: 2,
        of: 4,
        ..Round::default()
    };
    let outcome = Outcome {
        base_step: Some(StepNumber(9)),
        rounds: vec![round],
        ..Outcome::new(OutcomeKind::Selected, "most")
    };
    let events = [
        reopened(reopening(
            Strategy::Moa,
            StrategyOptions { layers: Some(3), ..StrategyOptions::default() },
            key,
        )),
        reopened(reopening(
            Strategy::Retired(RetiredStrategy::SelfMoa),
            retired(RetiredOptions { samples: Some(16), ..RetiredOptions::default() }),
            key,
        )),
        reopened(reopening(
            Strategy::Retired(RetiredStrategy::Debate),
            retired(RetiredOptions { rounds: Some(2), ..RetiredOptions::default() }),
            revised,
        )),
        Event::Decided { outcome: Box::new(outcome) },
    ];
    let record = |(index, event)| Recorded { seq: index as u64 + 1, elapsed_ms: index as u64 * 10, event };
    events.into_iter().enumerate().map(record).collect()
}

/// The value as it is read from before next steps had a type: the stored sentences are replaced by the steps of the
/// error code.
fn before_steps<T: Serialize + DeserializeOwned>(value: T) -> T {
    let mut value = serde_json::to_value(value).expect("it is JSON");
    leave_steps_out(&mut value);
    serde_json::from_value(value).expect("it is read")
}

fn leave_steps_out(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Array(elements) => elements.iter_mut().for_each(leave_steps_out),
        serde_json::Value::Object(members) => {
            members.remove("next");
            members.values_mut().for_each(leave_steps_out);
        }
        _ => {}
    }
}

#[test]
fn a_plan_of_version_1_is_read() {
    assert_eq!(serde_json::from_str::<RunPlan>(PLAN).expect("it is read"), before_steps(plan()));
}

#[test]
fn a_plan_with_files_effort_and_routing_is_read() {
    assert_eq!(serde_json::from_str::<RunPlan>(PLAN_WITH_FILES).expect("it is read"), plan_with_files());
    let text = serde_json::to_value(plan_with_files()).expect("a plan is JSON");
    assert_eq!(text, serde_json::from_str::<serde_json::Value>(PLAN_WITH_FILES).expect("it is JSON"));
}

#[test]
fn a_plan_with_a_principal_and_limits_is_read() {
    assert_eq!(serde_json::from_str::<RunPlan>(PLAN_WITH_LIMITS).expect("it is read"), plan_with_limits());
    let text = serde_json::to_value(plan_with_limits()).expect("a plan is JSON");
    assert_eq!(text, serde_json::from_str::<serde_json::Value>(PLAN_WITH_LIMITS).expect("it is JSON"));
}

#[test]
fn a_plan_with_persona_prompts_is_read() {
    assert_eq!(
        serde_json::from_str::<RunPlan>(PLAN_WITH_PERSONA_PROMPTS).expect("it is read"),
        plan_with_persona_prompts()
    );
    let text = serde_json::to_value(plan_with_persona_prompts()).expect("a plan is JSON");
    assert_eq!(
        text,
        serde_json::from_str::<serde_json::Value>(PLAN_WITH_PERSONA_PROMPTS).expect("it is JSON")
    );
}

#[test]
fn a_plan_with_names_for_files_is_read() {
    let names = FileNames::new("test_llm_{seat}.txt".to_owned(), "test_final_best.md".to_owned());
    let plan = RunPlan { file_names: names.expect("they can be told apart"), ..plan() };
    assert_eq!(serde_json::from_str::<RunPlan>(PLAN_WITH_FILE_NAMES).expect("it is read"), plan);
    let text = serde_json::to_value(plan).expect("a plan is JSON");
    assert_eq!(text, serde_json::from_str::<serde_json::Value>(PLAN_WITH_FILE_NAMES).expect("it is JSON"));
}

#[test]
fn a_plan_that_goes_on_with_a_conversation_is_read() {
    let continues = Some(RunId::from_parts(1_700_000_000_000, 8));
    let plan = RunPlan { continues, ..plan_with_limits() };
    let mut written = serde_json::from_str::<serde_json::Value>(PLAN_WITH_LIMITS).expect("it is JSON");
    written["continues"] = "01HF7YAT000000000000000008".into();
    assert_eq!(serde_json::from_value::<RunPlan>(written.clone()).expect("it is read"), plan);
    assert_eq!(serde_json::to_value(plan).expect("a plan is JSON"), written);
}

#[test]
fn a_plan_is_read_back_as_written() {
    let waits = [
        Wait::All,
        Wait::Seats { count: 3 },
        Wait::Until { ms: 9 },
        Wait::Stragglers { share_percent: 1, after_ms: 2 },
    ];
    for (wait, store) in
        waits.into_iter().zip([StoreMode::Full, StoreMode::Metadata, StoreMode::None].into_iter().cycle())
    {
        let plan = RunPlan { wait, store, ..plan() };
        let text = serde_json::to_string(&plan).expect("a plan is JSON");
        assert_eq!(serde_json::from_str::<RunPlan>(&text).expect("it is read"), plan, "{text}");
    }
    // If only metadata is stored, the messages are missing.
    let mut value = serde_json::to_value(plan()).expect("a plan is JSON");
    value.as_object_mut().and_then(|fields| fields.remove("messages"));
    assert_eq!(
        serde_json::from_value::<RunPlan>(value).expect("it is read"),
        RunPlan { messages: [].into(), ..plan() }
    );
}

#[test]
fn events_of_version_1_are_read() {
    assert_eq!(serde_json::from_str::<Vec<Recorded>>(EVENTS).expect("they are read"), before_steps(events()));
}

#[test]
fn events_of_a_continued_run_are_read() {
    let result = serde_json::from_str::<Vec<Recorded>>(EVENTS_REOPENED).expect("they are read");
    assert_eq!(result, events_of_a_continued_run());
    let text = serde_json::to_value(events_of_a_continued_run()).expect("events are JSON");
    assert_eq!(text, serde_json::from_str::<serde_json::Value>(EVENTS_REOPENED).expect("it is JSON"));
}

#[test]
fn events_of_an_unfused_run_are_read() {
    let result = serde_json::from_str::<Vec<Recorded>>(EVENTS_UNFUSED).expect("they are read");
    assert_eq!(result, events_of_an_unfused_run());
    let text = serde_json::to_value(events_of_an_unfused_run()).expect("events are JSON");
    assert_eq!(text, serde_json::from_str::<serde_json::Value>(EVENTS_UNFUSED).expect("it is JSON"));
}

#[test]
fn events_of_a_run_with_steps_are_read() {
    let result = serde_json::from_str::<Vec<Recorded>>(EVENTS_STEPS).expect("they are read");
    assert_eq!(result, events_of_a_run_with_steps());
    let text = serde_json::to_value(events_of_a_run_with_steps()).expect("events are JSON");
    assert_eq!(text, serde_json::from_str::<serde_json::Value>(EVENTS_STEPS).expect("it is JSON"));
}

#[test]
fn events_of_a_run_with_layers_are_read() {
    let result = serde_json::from_str::<Vec<Recorded>>(EVENTS_LAYERS).expect("they are read");
    assert_eq!(result, events_of_a_run_with_layers());
    let text = serde_json::to_value(events_of_a_run_with_layers()).expect("events are JSON");
    assert_eq!(text, serde_json::from_str::<serde_json::Value>(EVENTS_LAYERS).expect("it is JSON"));
}

#[test]
fn events_are_read_back_as_written() {
    for recorded in events() {
        let text = serde_json::to_string(&recorded).expect("an event is JSON");
        assert_eq!(serde_json::from_str::<Recorded>(&text).expect("it is read"), recorded, "{text}");
    }
}

#[test]
fn a_code_is_read_back_as_written() {
    for code in Code::ALL {
        let event = Event::Failed {
            attempt: Attempt { slot: CallerSlot::Seat(SeatNumber(64)), number: 0 },
            failure: Failure::new(*code, "scripted"),
            retry: Retry::Never,
            cost: None,
            elapsed_ms: 0,
        };
        let text = serde_json::to_string(&event).expect("an event is JSON");
        assert_eq!(serde_json::from_str::<Event>(&text).expect("it is read"), event);
    }
}

#[test]
fn events_hold_hashes_instead_of_texts() {
    let answer = Answer::new("a secret");
    let attempt = Attempt { slot: CallerSlot::Seat(SeatNumber(1)), number: 1 };
    let outcome = Outcome::new(OutcomeKind::Fused, "fused").with_text("a secret".into(), model("vendor/one"));
    for event in [Event::Answered { attempt, answer }, Event::Decided { outcome: Box::new(outcome) }] {
        let text = serde_json::to_string(&event).expect("an event is JSON");
        assert!(!text.contains("a secret") && text.contains(&*blake3::hash(b"a secret").to_hex()), "{text}");
    }
}

#[test]
fn a_limit_of_one_principal_is_stored_with_its_name() {
    let limit = DayLimit {
        provider: None,
        asked_by: Some("ci".to_owned()),
        usd: PicoUsd::from_usd(5),
        setting: "budget_day".to_owned(),
    };
    let text = r#"{"asked_by":"ci","usd":5000000000000,"setting":"budget_day"}"#;
    assert_eq!(serde_json::to_string(&limit).expect("it is JSON"), text);
    assert_eq!(serde_json::from_str::<DayLimit>(text).expect("it is read"), limit);
}

#[test]
fn unshown_seats_are_stored() {
    let (two, unshown) = (SeatNumber(2), r#""unshown":[2]"#);
    let outcome = Outcome { unshown: vec![two], ..Outcome::new(OutcomeKind::Fused, "") };
    let round = Round { unshown: vec![two], ..Round::default() };
    let json = |value: serde_json::Result<String>| value.expect("it is JSON");
    assert!(json(serde_json::to_string(&outcome)).contains(unshown));
    assert!(json(serde_json::to_string(&round)).contains(unshown));
    let again = serde_json::from_str::<Outcome>(&json(serde_json::to_string(&outcome)));
    assert_eq!(again.expect("it is read"), outcome);
    assert!(!json(serde_json::to_string(&Round::default())).contains("unshown"));
}

#[test]
fn a_plan_with_a_flow_is_read_and_written() {
    let leaf = Stage {
        name: "a".to_owned(),
        from: Vec::new(),
        seats: vec![SeatNumber(1), SeatNumber(2)],
        synthesizers: vec![SeatNumber(2)],
        strategy: Strategy::BestOfN,
        strategy_options: StrategyOptions { orders: Some(1), ..StrategyOptions::default() },
    };
    let bare = Stage {
        name: "b".to_owned(),
        seats: vec![SeatNumber(3)],
        synthesizers: Vec::new(),
        strategy_options: StrategyOptions::default(),
        ..leaf.clone()
    };
    let last = Stage {
        name: "merge".to_owned(),
        from: vec![StageNumber(1), StageNumber(2)],
        seats: Vec::new(),
        synthesizers: vec![SeatNumber(1)],
        strategy: Strategy::Synthesize,
        ..bare.clone()
    };
    let flow = PlannedFlow { name: "two-sides".to_owned(), stages: vec![leaf, bare, last] };
    let plan = RunPlan { flow: Some(flow), ..plan() };
    let text = serde_json::to_value(&plan).expect("a plan is JSON");
    assert_eq!(text, serde_json::from_str::<serde_json::Value>(PLAN_WITH_FLOW).expect("it is JSON"));
    assert_eq!(serde_json::from_str::<RunPlan>(PLAN_WITH_FLOW).expect("it is read"), plan);
}

#[test]
fn what_the_stages_of_a_flow_came_to_is_read_and_written() {
    let of_text = Outcome { base_stage: Some(StageNumber(1)), text: None, ..outcome() };
    let outcomes = [Outcome { text: None, ..outcome() }, Outcome::none(failure())];
    let decided =
        |(stage, outcome)| Event::StageDecided { stage: StageNumber(stage), outcome: Box::new(outcome) };
    let events = (1..).zip(outcomes).map(decided).chain([Event::Decided { outcome: Box::new(of_text) }]);
    let record = |(seq, event)| Recorded { seq, elapsed_ms: 10, event };
    let events: Vec<Recorded> = (1..).zip(events).map(record).collect();
    let text = serde_json::to_value(&events).expect("events are JSON");
    assert_eq!(text, serde_json::from_str::<serde_json::Value>(EVENTS_FLOW).expect("it is JSON"));
    assert_eq!(serde_json::from_str::<Vec<Recorded>>(EVENTS_FLOW).expect("they are read"), events);
}

#[test]
fn answers_with_the_times_of_their_beginning_are_read_and_written() {
    let attempt = Attempt { slot: CallerSlot::Seat(SeatNumber(1)), number: 1 };
    let answer = Answer { text: "".into(), connected_ms: Some(5), first_text_ms: Some(7), ..answer() };
    let events = [Recorded { seq: 1, elapsed_ms: 10, event: Event::Answered { attempt, answer } }];
    let text = serde_json::to_value(&events).expect("events are JSON");
    assert_eq!(text, serde_json::from_str::<serde_json::Value>(EVENTS_TIMES).expect("it is JSON"));
    assert_eq!(serde_json::from_str::<Vec<Recorded>>(EVENTS_TIMES).expect("they are read"), events);
}

#[test]
fn requests_with_what_their_prompts_were_made_of_are_read_and_written() {
    let attempt = Attempt { slot: CallerSlot::Synthesizer(SeatNumber(1)), number: 1 };
    let whole = ShownAnswer {
        seat: SeatNumber(2),
        text_hash: "b".to_owned(),
        bytes: None,
        stops_early: false,
        peer_rank: None,
        votes: None,
    };
    let remarked = ShownAnswer {
        seat: SeatNumber(1),
        text_hash: "a".to_owned(),
        bytes: Some(500),
        stops_early: true,
        peer_rank: Some(PeerRank { rank: 1, of: 3, shared: true }),
        votes: Some(Votes { same: 1, of: 2 }),
    };
    let bare = PromptRecord {
        task: "synthesize".to_owned(),
        code: "0123abcd".to_owned(),
        answers: vec![whole.clone(), remarked],
        own: None,
        analysis: None,
        reviews: Vec::new(),
        hash: "c".to_owned(),
    };
    let reading = Reading { by: CallerSlot::Step(StepNumber(1)), reply_hash: "d".to_owned(), shown: vec![] };
    let full = PromptRecord { own: Some(whole), analysis: Some(reading), ..bare.clone() };
    let sent = |(seq, record)| {
        let event = Event::Sent { attempt, prompt: Some(Box::new(record)), worst_case: None };
        Recorded { seq, elapsed_ms: 10, event }
    };
    let events: Vec<Recorded> = (1..).zip([bare, full]).map(sent).collect();
    let text = serde_json::to_value(&events).expect("events are JSON");
    assert_eq!(text, serde_json::from_str::<serde_json::Value>(EVENTS_PROMPTS).expect("it is JSON"));
    assert_eq!(serde_json::from_str::<Vec<Recorded>>(EVENTS_PROMPTS).expect("they are read"), events);
}

#[test]
fn a_request_beyond_its_plan_is_read_and_written() {
    let attempt = Attempt { slot: CallerSlot::Synthesizer(SeatNumber(1)), number: 1 };
    let event = Event::Sent { attempt, prompt: None, worst_case: Some(PicoUsd(7)) };
    let text = r#"{"event":"sent","attempt":{"place":{"synthesizer":1},"number":1},"worst_case":7}"#;
    assert_eq!(serde_json::to_string(&event).expect("an event is JSON"), text);
    assert_eq!(serde_json::from_str::<Event>(text).expect("it is read"), event);
    let size = QuestionSize { tokens: 5, framed_tokens: 900, files_tokens: 0, pictures: 1 };
    let measured = RunPlan { question_size: size, ..plan() };
    let text = serde_json::to_string(&measured).expect("a plan is JSON");
    assert_eq!(serde_json::from_str::<RunPlan>(&text).expect("it is read"), measured);
}
