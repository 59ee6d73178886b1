//! Fixtures of the store's tests: plans, events of every kind, and a new folder with a store.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::agreement::{Agreement, Cluster};
use parallel_llm_engine::plan::flow::StageNumber;
use parallel_llm_engine::plan::size::QuestionSize;
use parallel_llm_engine::plan::worst_case::WorstCase;
use parallel_llm_engine::plan::{DayLimit, Timers};
use parallel_llm_engine::port::{Journal as _, Lease};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::request::catalogue::PriceSource;
use parallel_llm_engine::request::panel::ProviderId;
use parallel_llm_engine::request::persona_prompt::PersonaPrompt;
use parallel_llm_engine::request::strategy::StrategyOptions;
use parallel_llm_engine::request::wait::Wait;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::run::outcome::{Shortened, Worth};
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{
    Answer, CallerSlot, Code, Event, Failure, FileNames, Finish, Message, ModelRef, Outcome, OutcomeKind,
    PicoUsd, Price, Recorded, Role, RunId, RunPlan, Seat, SeatNumber,
};
use parallel_llm_store::{Store, StoreConfig};
use rusqlite::{Connection, Row};
use tempfile::TempDir;

pub(crate) mod place;

pub(crate) use place::{Place, Query, Raw, value, values};

/// A word in every prompt, answer and outcome of these tests, and nowhere else.
pub(crate) const CANARY: &str = "canary-7f3a";

/// A store in a folder of its own.
pub(crate) struct Fixture {
    pub(crate) folder: TempDir,
    pub(crate) place: Place,
    pub(crate) store: Store,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with(|_| ()).await
    }

    /// A store with this interval between heartbeats.
    pub(crate) async fn beating(heartbeat: Duration) -> Self {
        Self::with(|config| config.heartbeat = heartbeat).await
    }

    async fn with(change: impl FnOnce(&mut StoreConfig)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::fresh(folder.path().join("data/runs.db"));
        let mut config = place.config();
        change(&mut config);
        let store = Store::open(config).await.unwrap();
        Self { folder, place, store }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("data/runs.db")
    }

    /// Another connection to the same database.
    pub(crate) fn other_connection(&self) -> Raw {
        self.place.connect()
    }

    /// How to open another store of the same database.
    pub(crate) fn config(&self) -> StoreConfig {
        self.place.config()
    }
}

pub(crate) fn connect(path: &Path) -> Connection {
    Connection::open(path).unwrap()
}

/// The rows of a query.
pub(crate) fn rows<T>(
    connection: &Connection,
    sql: &str,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Vec<T> {
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map((), read).unwrap().map(Result::unwrap).collect()
}

/// How SQLite would execute this statement.
pub(crate) fn query_plan(connection: &Raw, sql: &str) -> String {
    let steps = connection.rows(&format!("EXPLAIN QUERY PLAN {sql}"));
    steps.into_iter().filter_map(|mut row| row.swap_remove(3)).collect::<Vec<_>>().join("; ")
}

/// An expression for a column with a stranger's text, which a server keeps as bytes.
pub(crate) fn text_column(column: &str) -> String {
    if place::server().is_some() { format!("CONVERT_FROM({column}, 'UTF8')") } else { column.to_owned() }
}

/// A statement that replaces a word in all texts that are stored as they are.
pub(crate) fn replaced_text(word: &str, by: &str) -> String {
    if place::server().is_some() {
        return format!(
            "UPDATE texts SET body = CONVERT_TO(REPLACE(CONVERT_FROM(body, 'UTF8'), '{word}', '{by}'), 'UTF8') \
             WHERE POSITION('{word}'::BYTEA IN body) > 0 AND GET_BYTE(body, 0) <> 40"
        );
    }
    format!("UPDATE texts SET body = REPLACE(body, '{word}', '{by}')")
}

/// A statement that deletes the texts with this end.
pub(crate) fn deleted_text(end: &str) -> String {
    if place::server().is_some() {
        return format!(
            "DELETE FROM texts WHERE POSITION('{end}'::BYTEA IN body) > 0 AND GET_BYTE(body, 0) <> 40"
        );
    }
    format!("DELETE FROM texts WHERE body LIKE '%{end}'")
}

/// The id of a run; a greater number is a newer run.
pub(crate) fn run_id(number: u64) -> RunId {
    RunId::from_parts(1_700_000_000_000 + number, 7)
}

pub(crate) fn model(name: &str) -> ModelRef {
    ModelRef { provider: ProviderId("openrouter".into()), model: name.into() }
}

pub(crate) fn a_seat(number: u8, name: &str) -> Seat {
    Seat {
        number: SeatNumber(number),
        model: model(name),
        temperature: None,
        max_tokens: 16_000,
        strongest: false,
        accuracy: None,
        price: None,
        price_source: PriceSource::default(),
        context_tokens: Some(200_000),
        effort: None,
        inputs: None,
        json_mode: false,
        persona_prompt: None,
        asks_line: false,
    }
}

pub(crate) fn plan(number: u64, store: StoreMode) -> Arc<RunPlan> {
    let question = format!("What does the {CANARY}\n   sing,   and {}", "why? ".repeat(60));
    let system = Some(format!("Be the {CANARY}.").into());
    let persona_prompt =
        Some(Arc::new(PersonaPrompt { persona: Some("bird".to_owned()), stance: None, system }));
    Arc::new(RunPlan {
        version: 1,
        run_id: run_id(number),
        seed: 42,
        plan_hash: format!("question {number}"),
        // Each number is another question, so that no run counts as a repetition.
        messages: vec![
            Message::text(Role::System, format!("Answer number {number}.")),
            Message::text(Role::User, question),
        ]
        .into(),
        question_size: QuestionSize::default(),
        seats: vec![Seat { persona_prompt, ..a_seat(1, "lab/one") }, a_seat(2, "lab/two")],
        synthesizers: vec![a_seat(1, "lab/three")],
        equivalence: None,
        strategy: serde_json::from_value("synthesize".into()).unwrap(),
        strategy_options: StrategyOptions::default(),
        steps: Vec::new(),
        preset: None,
        flow: None,
        chosen_because: None,
        timers: Timers::default(),
        retries_max: 2,
        wait: Wait::default(),
        budget: PicoUsd::from_usd(3),
        worst_case: WorstCase::Known(PicoUsd::from_usd(1)),
        store,
        files: true,
        file_names: FileNames::default(),
        routing: Arc::default(),
        has_instructions: false,
        lineage: Arc::default(),
        asked_by: None,
        idempotency_key: None,
        continues: None,
        fresh: false,
        limits: Vec::new(),
        warnings: Vec::new(),
    })
}

/// The plan with a change.
pub(crate) fn changed(plan: Arc<RunPlan>, change: impl FnOnce(&mut RunPlan)) -> Arc<RunPlan> {
    let mut plan = Arc::unwrap_or_clone(plan);
    change(&mut plan);
    Arc::new(plan)
}

/// The plan of another run with the question of [`plan`] number 1.
pub(crate) fn same_question(number: u64) -> Arc<RunPlan> {
    changed(plan(1, StoreMode::Full), |plan| plan.run_id = run_id(number))
}

/// The plan with a cost of half a dollar for each request of a seat; the run may cost a dollar.
pub(crate) fn expensive(plan: Arc<RunPlan>) -> Arc<RunPlan> {
    changed(plan, |plan| {
        let request = PicoUsd::from_usd(1).0 / 2;
        let price = |request| Price { request, ..Price::per_token(PicoUsd::ZERO, PicoUsd::ZERO) };
        plan.seats.iter_mut().for_each(|seat| seat.price = Some(price(PicoUsd(request))));
        plan.synthesizers.iter_mut().for_each(|seat| seat.price = Some(price(PicoUsd::ZERO)));
    })
}

/// A day limit in dollars, for one provider or for all.
pub(crate) fn limit(provider: Option<&str>, usd: i64) -> DayLimit {
    DayLimit {
        provider: provider.map(|id| ProviderId(id.into())),
        asked_by: None,
        usd: PicoUsd::from_usd(usd),
        setting: "budget_day_usd".into(),
    }
}

pub(crate) fn sent(attempt: Attempt) -> Event {
    Event::Sent { attempt, prompt: None, worst_case: None }
}

pub(crate) fn answered(attempt: Attempt, text: &str) -> Event {
    Event::Answered { attempt, answer: answer(text) }
}

pub(crate) fn closed() -> Event {
    Event::Closed { cost: PicoUsd(1) }
}

/// A run whose first seat gives this text, which becomes the answer word for word; the second seat fails.
pub(crate) fn simple(text: &str) -> Vec<Recorded> {
    let answer = answer(text);
    let outcome = Outcome {
        base_seat: Some(SeatNumber(1)),
        considered: vec![SeatNumber(1)],
        ..Outcome::new(OutcomeKind::Verbatim, "it was alone").with_text(answer.text.clone(), model("lab/one"))
    };
    recorded(
        1,
        vec![
            started(),
            sent(seat(1, 1)),
            sent(seat(2, 1)),
            Event::Answered { attempt: seat(1, 1), answer },
            Event::Failed {
                attempt: seat(2, 1),
                failure: failure(),
                retry: Retry::Never,
                cost: Some(PicoUsd::ZERO),
                elapsed_ms: 5,
            },
            Event::Decided { outcome: Box::new(outcome) },
            closed(),
        ],
    )
}

pub(crate) fn seat(number: u8, attempt: u32) -> Attempt {
    Attempt { slot: CallerSlot::Seat(SeatNumber(number)), number: attempt }
}

pub(crate) fn synthesizer(attempt: u32) -> Attempt {
    Attempt { slot: CallerSlot::Synthesizer(SeatNumber(1)), number: attempt }
}

pub(crate) fn answer(text: &str) -> Answer {
    Answer {
        finish: Some(Finish::Stop),
        cost: Some(PicoUsd(1_000)),
        served_model: Some("lab/one-0901".into()),
        generation_id: Some("gen-1".into()),
        first_token_ms: Some(12),
        elapsed_ms: 34,
        ..Answer::new(format!("{CANARY} {text}"))
    }
}

pub(crate) fn failure() -> Failure {
    Failure::new(Code::Upstream, "502 from the provider").with_status(502)
}

pub(crate) fn outcome() -> Outcome {
    let text: Arc<str> = format!("{CANARY} fused").into();
    Outcome {
        base_seat: Some(SeatNumber(1)),
        shortened: vec![Shortened { seat: SeatNumber(2), from_chars: 9, to_chars: 5 }],
        worth: Some(Worth {
            base_seat: SeatNumber(1),
            drawn_from: Vec::new(),
            edit_ratio: Some(0.25),
            extra_cost: Some(PicoUsd(5)),
            extra_ms: 7,
        }),
        warnings: vec![Warning::of("seat 2", &failure())],
        ..Outcome::new(OutcomeKind::Fused, "one answer was patched").with_text(text, model("lab/three"))
    }
}

/// These groups of equal answers, the largest first.
pub(crate) fn agreement(groups: &[&[u8]]) -> Agreement {
    let cluster = |seats: &&[u8]| Cluster {
        seats: seats.iter().copied().map(SeatNumber).collect(),
        ..Cluster::default()
    };
    let of = groups.iter().map(|seats| seats.len()).sum();
    let clusters: Vec<_> = groups.iter().map(cluster).collect();
    Agreement { equal: groups[0].len(), of, clusters, ..Agreement::default() }
}

pub(crate) fn started() -> Event {
    Event::Started { plan_hash: "hash".into(), reserved: PicoUsd::from_usd(1) }
}

/// What a stage came to, with a text of its own.
fn of_stage() -> Outcome {
    Outcome::new(OutcomeKind::Fused, "it was made of two answers")
        .with_text(format!("{CANARY} of a stage").into(), model("lab/three"))
}

/// A run with events of every kind.
pub(crate) fn every_kind() -> Vec<Recorded> {
    let failed = |number, retry| Event::Failed {
        attempt: seat(2, number),
        failure: failure(),
        retry,
        cost: None,
        elapsed_ms: 5,
    };
    recorded(
        1,
        vec![
            started(),
            Event::Sent { attempt: seat(1, 1), prompt: None, worst_case: None },
            Event::Sent { attempt: seat(2, 1), prompt: None, worst_case: None },
            Event::Accepted { attempt: seat(1, 1), generation_id: "gen-1".into() },
            failed(1, Retry::After { ms: 500 }),
            Event::Answered { attempt: seat(1, 1), answer: answer("first") },
            Event::Sent { attempt: seat(2, 2), prompt: None, worst_case: None },
            failed(2, Retry::Without { field: "temperature".into() }),
            Event::Cut { attempt: seat(2, 3), answer: answer("half"), failure: failure() },
            Event::Sent { attempt: synthesizer(1), prompt: None, worst_case: None },
            Event::Cancelled { attempt: synthesizer(1), answer: Some(answer("first")), cost: None },
            Event::Cancelled { attempt: synthesizer(2), answer: None, cost: None },
            Event::StageDecided { stage: StageNumber(1), outcome: Box::new(of_stage()) },
            Event::Decided { outcome: Box::new(outcome()) },
            Event::Closed { cost: PicoUsd(3_000) },
        ],
    )
}

/// Events numbered from `first`, ten milliseconds apart.
pub(crate) fn recorded(first: u64, events: Vec<Event>) -> Vec<Recorded> {
    let numbered = events.into_iter().zip(first..);
    numbered.map(|(event, seq)| Recorded { seq, elapsed_ms: seq * 10, event }).collect()
}

/// The events as a store returns them that keeps no texts.
pub(crate) fn without_texts(mut events: Vec<Recorded>) -> Vec<Recorded> {
    for recorded in &mut events {
        if let Some(answer) = recorded.event.answer_mut() {
            answer.text = "".into();
        }
        if let Event::Decided { outcome } | Event::StageDecided { outcome, .. } = &mut recorded.event {
            outcome.text = None;
        }
    }
    events
}

/// Opens a run and writes these events to it.
pub(crate) async fn write(store: &Store, plan: Arc<RunPlan>, events: Vec<Recorded>) -> Lease {
    let lease = store.open_run(plan).await;
    store.append(lease, events).await.unwrap();
    lease
}

/// Opens runs under another name than [`Store::open`].
pub(crate) trait OpenRun {
    async fn open_run(&self, plan: Arc<RunPlan>) -> Lease;
}

impl OpenRun for Store {
    async fn open_run(&self, plan: Arc<RunPlan>) -> Lease {
        parallel_llm_engine::port::Journal::open(self, plan).await.unwrap()
    }
}

/// All bytes of all files of a folder.
pub(crate) fn bytes_of(folder: &Path) -> Vec<u8> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.flat_map(|path| std::fs::read(path).unwrap()).collect()
}

pub(crate) fn holds(bytes: &[u8], text: &str) -> bool {
    memchr::memmem::find(bytes, text.as_bytes()).is_some()
}
