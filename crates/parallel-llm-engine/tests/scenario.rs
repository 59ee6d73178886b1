//! Scenarios: a run with scripted models, a plan with defaults, and a disk that may be slow or break.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parallel_llm_engine::call::hub::{Hub, Update};
use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::plan::{Defaults, Identity, RunPlan, Terms, Timers};
use parallel_llm_engine::port::memory::MemoryJournal;
use parallel_llm_engine::port::{Caller, Checker, Journal, Lease};
use parallel_llm_engine::request::catalogue::PriceSource;
use parallel_llm_engine::request::persona::Personas;
use parallel_llm_engine::request::persona_prompt::PersonaPrompt;
use parallel_llm_engine::request::price::PriceBook;
use parallel_llm_engine::request::strategy::Strategy;
use parallel_llm_engine::request::wait::Wait;
use parallel_llm_engine::request::{AnswerLine, Equivalence, StoreMode};
use parallel_llm_engine::run::event::{Attempt, Event, Recorded};
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::{
    Catalogue, Code, Engine, Failure, FileNames, ModelInfo, ModelRef, PicoUsd, Price, ProviderId, Reopening,
    Routing, Run, RunId, RunRequest, Seat, SeatNumber, Stop,
};
use proptest::prelude::{Just, Strategy as _};
use tokio::runtime::Builder;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::invariants;
use crate::ledger::Ledger;
use crate::script::{Models, Reply, ScriptedCaller, SentCall, says};
use crate::transcript;

/// The question of every scenario.
pub(crate) const QUESTION: &str = "How do tides work?";

/// The name prefix of synthesizers, and of the model for equivalence; all other models take seats.
const SYNTHESIZER: &str = "fuser";
const GROUPER: &str = "grouper";

/// The settings of every scenario.
pub(crate) fn defaults() -> Defaults {
    Defaults {
        panel: Vec::new(),
        synthesizers: Vec::new(),
        strategy: Strategy::Synthesize.name().to_owned(),
        max_tokens: 1_000,
        answer_line: AnswerLine::Auto,
        equivalence: Equivalence::CheapestOf(Vec::new()),
        budget: PicoUsd::from_usd(3),
        prices: PriceBook { own_machines: [providers()[1].clone()].into(), ..PriceBook::default() },
        prompt_chars_max: 100_000,
        timers: Timers::default(),
        retries_max: 2,
        wait: Wait::default(),
        store: StoreMode::Full,
        files: false,
        file_names: FileNames::default(),
        effort: None,
        routing: Routing::default(),
        limits: Vec::new(),
        checker: None,
        personas: Personas::new(),
        flow: None,
    }
}

pub(crate) fn providers() -> [ProviderId; 2] {
    [ProviderId("openrouter".to_owned()), ProviderId("ollama".to_owned())]
}

/// A model that costs one cent for a thousand output tokens.
pub(crate) fn info(id: &str) -> ModelInfo {
    let price = Price::per_token(PicoUsd(1_000_000), PicoUsd(10_000_000));
    ModelInfo { price: Some(price), ..ModelInfo::named(id) }
}

/// The catalogue of the default provider.
pub(crate) fn catalogues(catalogue: Catalogue) -> BTreeMap<ProviderId, Arc<Catalogue>> {
    BTreeMap::from([(providers()[0].clone(), Arc::new(catalogue))])
}

pub(crate) fn identity(seed: u64) -> Identity {
    Identity { run_id: RunId::from_parts(1_700_000_000_000, 7), seed }
}

/// A seat with the defaults of every scenario.
pub(crate) fn seat(number: u8, model: &str) -> Seat {
    Seat {
        number: SeatNumber(number),
        model: ModelRef { provider: providers()[0].clone(), model: model.to_owned() },
        temperature: None,
        max_tokens: defaults().max_tokens,
        strongest: false,
        accuracy: None,
        price: info(model).price,
        price_source: PriceSource::default(),
        context_tokens: None,
        effort: None,
        inputs: None,
        json_mode: false,
        persona_prompt: None,
        asks_line: false,
    }
}

/// Runs a future with paused time, outside of `#[tokio::test]`.
pub(crate) fn in_paused_time<T>(runs: impl Future<Output = T>) -> T {
    let runtime =
        Builder::new_current_thread().enable_time().start_paused(true).build().expect("the runtime starts");
    runtime.block_on(runs)
}

/// What one seat of a panel answers, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScriptedAnswer {
    pub(crate) model: &'static str,
    /// Milliseconds after the request.
    pub(crate) after_ms: u64,
    pub(crate) text: &'static str,
}

impl ScriptedAnswer {
    /// The model, and its reply as a script.
    pub(crate) fn script(&self) -> (&'static str, Reply) {
        (self.model, says(self.after_ms, self.text))
    }
}

/// The given texts from random models, on random seats and in a random order of arrival.
pub(crate) fn shuffled_answers(
    texts: &'static [&'static str],
) -> impl proptest::strategy::Strategy<Value = Vec<ScriptedAnswer>> {
    const NAMES: [&str; 6] = ["ada", "bob", "cyd", "dan", "eve", "zoe"];
    let moments: Vec<u64> = (1..=texts.len() as u64).map(|nth| nth * 10).collect();
    let parts = (
        Just(NAMES.to_vec()).prop_shuffle(),
        Just(moments).prop_shuffle(),
        Just(texts.to_vec()).prop_shuffle(),
    );
    parts.prop_map(|(names, moments, texts)| {
        let seats = names.into_iter().zip(moments).zip(texts);
        seats.map(|((model, after_ms), text)| ScriptedAnswer { model, after_ms, text }).collect()
    })
}

/// A persona prompt with this name and this system message.
pub(crate) fn persona_prompt(persona: &str, system: &str) -> Arc<PersonaPrompt> {
    Arc::new(PersonaPrompt { persona: Some(persona.to_owned()), stance: None, system: Some(system.into()) })
}

type Steer = Box<dyn FnOnce(&Stop)>;

/// How a journal breaks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Breakage {
    Fails,
    Panics,
    /// It never returns.
    Hangs,
    /// It keeps everything, but another process may do the run by then.
    LosesLease,
}

/// A run that is set up step by step.
pub(crate) struct Scenario {
    replies: Vec<(&'static str, Reply)>,
    plan: RunPlan,
    in_flight_max: usize,
    commit_ms: u64,
    breaks_at: Option<(usize, Breakage)>,
    /// What the user does to the run, and when in milliseconds.
    steering: Vec<(u64, Steer)>,
    caller: Option<Arc<dyn Caller>>,
    checker: Option<Arc<dyn Checker>>,
    before: Vec<Vec<Recorded>>,
    reopening: Option<Reopening>,
    ledger: Ledger,
}

/// A scenario with these replies. If a model is named again, its next request gets that reply.
pub(crate) fn scenario(replies: impl IntoIterator<Item = (&'static str, Reply)>) -> Scenario {
    let replies: Vec<_> = replies.into_iter().collect();
    let plan = resolved(&replies, RunRequest::prompt(QUESTION));
    Scenario {
        replies,
        plan,
        in_flight_max: 64,
        commit_ms: 0,
        breaks_at: None,
        steering: Vec::new(),
        caller: None,
        checker: None,
        before: Vec::new(),
        reopening: None,
        ledger: Ledger::new(),
    }
}

/// The plan of a request with these settings, and with a catalogue of every model they name.
pub(crate) fn planned_with(request: RunRequest, defaults: &Defaults) -> Result<RunPlan, Failure> {
    let flow = defaults.flow.iter().flat_map(|flow| &flow.stages);
    let of_flow = flow.flat_map(|stage| stage.panel.iter().chain(stage.synthesizer.iter().flatten()));
    let named =
        defaults.panel.iter().chain(&defaults.synthesizers).chain(&request.synthesizer).chain(of_flow);
    let named = named.chain(defaults.equivalence.named());
    let names = named.filter_map(|name| name.split(['*', '@']).next());
    let catalogue = Catalogue::new(names.map(info).collect(), true);
    let terms = Terms { defaults, providers: &providers(), catalogues: &catalogues(catalogue) };
    RunPlan::resolve(request, &terms, identity(1))
}

/// The plan of a request to the models that have replies.
fn resolved(replies: &[(&'static str, Reply)], request: RunRequest) -> RunPlan {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in replies {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let catalogue = Catalogue::new(names.iter().map(|name| info(name)).collect(), true);
    let grouper = names.iter().find(|name| name.starts_with(GROUPER));
    let equivalence =
        grouper.map_or(Equivalence::CheapestOf(Vec::new()), |name| Equivalence::Model((*name).to_owned()));
    let others = names.iter().filter(|name| !name.starts_with(GROUPER));
    let (chain, panel): (Vec<&str>, Vec<&str>) = others.partition(|name| name.starts_with(SYNTHESIZER));
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    let defaults = Defaults { panel: owned(panel), synthesizers: owned(chain), equivalence, ..defaults() };
    let terms = Terms { defaults: &defaults, providers: &providers(), catalogues: &catalogues(catalogue) };
    RunPlan::resolve(request, &terms, identity(1)).expect("the plan is valid")
}

/// A finished run with everything observed about it.
pub(crate) struct RunResult {
    pub(crate) plan: Arc<RunPlan>,
    pub(crate) commits: Vec<Vec<Recorded>>,
    pub(crate) run: Run,
    pub(crate) asked: Vec<SentCall>,
    pub(crate) high_water: usize,
    pub(crate) ledger: Vec<String>,
    pub(crate) is_fully_stored: bool,
    pub(crate) is_resumed: bool,
}

impl Scenario {
    /// Changes the plan.
    pub(crate) fn plan(mut self, change: impl FnOnce(&mut RunPlan)) -> Self {
        change(&mut self.plan);
        self
    }

    /// Sets the question and the strategy. Earlier changes of the plan are lost.
    pub(crate) fn asks(self, question: &str, strategy: &str) -> Self {
        self.requests(RunRequest { strategy: Some(strategy.to_owned()), ..RunRequest::prompt(question) })
    }

    /// Sets the request. Earlier changes of the plan are lost.
    pub(crate) fn requests(mut self, request: RunRequest) -> Self {
        self.plan = resolved(&self.replies, request);
        self
    }

    /// Sets the settings, and so the panel. Earlier changes of the plan are lost.
    pub(crate) fn with_settings(mut self, defaults: &Defaults) -> Self {
        self.plan = planned_with(RunRequest::prompt(QUESTION), defaults).expect("the settings are valid");
        self
    }

    /// The plan alone.
    pub(crate) fn planned(self) -> RunPlan {
        self.plan
    }

    pub(crate) fn wait(self, wait: Wait) -> Self {
        self.plan(|plan| plan.wait = wait)
    }

    pub(crate) fn in_flight_max(mut self, most: usize) -> Self {
        self.in_flight_max = most;
        self
    }

    /// Sets how long each commit takes.
    pub(crate) fn commit_ms(mut self, ms: u64) -> Self {
        self.commit_ms = ms;
        self
    }

    /// Makes every commit fail from this one on; the first commit is 1.
    pub(crate) fn breaks_at(self, commit: usize) -> Self {
        self.breaks_by(Breakage::Fails, commit)
    }

    pub(crate) fn breaks_by(mut self, how: Breakage, commit: usize) -> Self {
        self.breaks_at = Some((commit, how));
        self
    }

    pub(crate) fn cancel_at(self, ms: u64) -> Self {
        self.at(ms, Stop::cancel)
    }

    /// Must not be earlier than a cancel.
    pub(crate) fn abort_at(self, ms: u64) -> Self {
        self.at(ms, Stop::abort)
    }

    pub(crate) fn hurry_at(self, ms: u64) -> Self {
        self.at(ms, Stop::hurry)
    }

    pub(crate) fn skip_at(self, ms: u64, seat: u8) -> Self {
        self.at(ms, move |stop| stop.skip(SeatNumber(seat)))
    }

    fn at(mut self, ms: u64, steer: impl FnOnce(&Stop) + 'static) -> Self {
        self.steering.push((ms, Box::new(steer)));
        self
    }

    /// Continues a run of which an earlier process made these commits durable.
    pub(crate) fn after(mut self, commits: &[Vec<Recorded>]) -> Self {
        self.before = commits.to_vec();
        self
    }

    /// Continues with this reopening instead of resuming.
    pub(crate) fn reopened(mut self, wish: impl FnOnce(&Run) -> Reopening) -> Self {
        let mut run = Run::fold(Arc::new(self.plan.clone()), &self.before.concat());
        run.interrupt();
        self.reopening = Some(wish(&run));
        self
    }

    /// Adds models that are not in the plan (yet).
    pub(crate) fn with_models(mut self, replies: impl IntoIterator<Item = (&'static str, Reply)>) -> Self {
        self.replies.extend(replies);
        self
    }

    /// Calls models through `caller` instead of by script.
    pub(crate) fn with_caller(mut self, caller: impl Caller) -> Self {
        self.caller = Some(Arc::new(caller));
        self
    }

    pub(crate) fn with_checker(mut self, checker: Arc<dyn Checker>) -> Self {
        self.checker = Some(checker);
        self
    }

    /// Executes the run and checks the invariants.
    pub(crate) async fn run(self) -> RunResult {
        self.run_with_watcher(async |_| ()).await.0
    }

    /// Like [`Scenario::run`], with a watcher running beside it.
    pub(crate) async fn run_with_watcher<T>(self, beside: impl AsyncFnOnce(Arc<Hub>) -> T) -> (RunResult, T) {
        let plan = Arc::new(self.plan);
        let is_resumed = !self.before.is_empty();
        let mut run = Run::fold(Arc::clone(&plan), &self.before.concat());
        if is_resumed {
            run.interrupt();
        }
        let run_before = run.clone();
        let hub = Arc::new(Hub::of(run));
        let models = Models::new(&self.ledger, &self.replies, self.in_flight_max);
        let disk = Arc::new(Disk {
            memory: MemoryJournal::keeping_closed(),
            ledger: self.ledger.clone(),
            commit_ms: self.commit_ms,
            breaks_at: self.breaks_at,
            attempted: Mutex::new(self.before.clone()),
            plan: Arc::clone(&plan),
            hub: OnceLock::from(Arc::clone(&hub)),
        });
        let caller = self.caller.unwrap_or_else(|| Arc::new(ScriptedCaller(Arc::clone(&models))));
        let engine = Engine::new(caller, Arc::clone(&disk) as Arc<dyn Journal>).with_checker(self.checker);
        let stop = Stop::default();
        let unsettled = resuming(&run_before);
        let reopening = self.reopening.unwrap_or_else(|| Reopening::resume(&run_before.plan, unsettled));
        let underway = if is_resumed {
            let lease = disk.memory.open(Arc::clone(&plan)).await.expect("the run is new");
            for commit in self.before {
                disk.memory.append(lease, commit).await.expect("memory takes everything");
            }
            engine.reopen(Arc::clone(&hub), stop.clone(), reopening).await.expect("the run is known")
        } else {
            engine.open(Arc::clone(&hub), stop.clone()).await.expect("the run is new")
        };
        let steering = async {
            let begun = Instant::now();
            for (ms, steer) in self.steering {
                sleep_until(begun + Duration::from_millis(ms)).await;
                steer(&stop);
            }
        };
        let watching = watch(&hub);
        let besides = beside(Arc::clone(&hub));
        let longest = Duration::from_millis(plan.timers.run_ms + 60_000);
        let doing = timeout(longest, Box::pin(underway.finish()));
        let (seen, beside, (), done) = tokio::join!(watching, besides, steering, doing);
        done.expect("a run ends within its time");
        let result = RunResult {
            commits: disk.attempted(),
            run: hub.snapshot(),
            asked: models.asked(),
            high_water: models.high_water(),
            ledger: self.ledger.lines(),
            is_fully_stored: self.breaks_at.is_none(),
            is_resumed,
            plan,
        };
        assert_eq!(models.in_flight(), 0, "no reply outlives its run");
        assert_eq!(transcript::view(&seen), transcript::view(&result.run), "a watcher has seen the same run");
        invariants::check(&result);
        (result, beside)
    }

    /// Why a run cannot begin, and the ledger until then.
    pub(crate) async fn refusal(self) -> (Failure, Vec<String>) {
        let hub = Arc::new(Hub::new(Arc::new(self.plan)));
        let models = Models::new(&self.ledger, &self.replies, self.in_flight_max);
        let disk = Disk {
            memory: MemoryJournal::keeping_closed(),
            ledger: self.ledger.clone(),
            commit_ms: self.commit_ms,
            breaks_at: self.breaks_at,
            attempted: Mutex::default(),
            plan: hub.with_run(|run| Arc::clone(&run.plan)),
            hub: OnceLock::from(Arc::clone(&hub)),
        };
        let engine = Engine::new(Arc::new(ScriptedCaller(Arc::clone(&models))), Arc::new(disk));
        let refusal = engine.open(hub, Stop::default()).await.expect_err("the run does not begin");
        (refusal, self.ledger.lines())
    }

    /// Executes the run and renders it as text.
    pub(crate) async fn transcript(self) -> String {
        self.run().await.transcript()
    }
}

impl RunResult {
    /// A line for each commit, then the final state.
    pub(crate) fn transcript(&self) -> String {
        format!("{}\n{}", transcript::commits(&self.commits), transcript::view(&self.run))
    }

    /// The final state.
    pub(crate) fn end(&self) -> String {
        transcript::view(&self.run)
    }

    /// The final text.
    pub(crate) fn text(&self) -> String {
        let text = self.run.outcome.as_ref().and_then(|outcome| outcome.text.as_deref());
        text.unwrap_or("nothing").to_owned()
    }

    /// How many calls the plan makes if none fails.
    pub(crate) fn planned_calls(&self) -> usize {
        let plan = &self.plan;
        plan.called(&plan.seats, &plan.synthesizers, &plan.steps).len()
    }

    pub(crate) fn ledger(&self) -> String {
        self.ledger.join("\n")
    }

    pub(crate) fn events(&self) -> Vec<Recorded> {
        self.commits.concat()
    }
}

/// The seats that a resumed run asks.
fn resuming(run: &Run) -> Vec<SeatNumber> {
    let open = run.plan.seats.iter().zip(&run.seats).filter(|(_, view)| !view.is_settled());
    open.map(|(seat, _)| seat.number).collect()
}

/// Follows a run through its events alone.
async fn watch(hub: &Arc<Hub>) -> Run {
    let (mut run, mut watch) = hub.watch_events();
    while !run.closed {
        match watch.next().await {
            Update::Event(recorded) => run.apply(&recorded),
            Update::Snapshot(snapshot) => run = *snapshot,
            Update::Begun(_) | Update::Text { .. } => {}
        }
    }
    // Only the report contains a warning about what could not be stored.
    if let (Some(seen), Some(shown)) = (&mut run.outcome, hub.snapshot().outcome) {
        seen.warnings = shown.warnings;
    }
    run
}

/// A journal that may be slow or break. It remembers every append and checks at each commit that the live run equals
/// the fold of its events.
struct Disk {
    memory: MemoryJournal,
    ledger: Ledger,
    commit_ms: u64,
    breaks_at: Option<(usize, Breakage)>,
    /// Every commit, failed ones included.
    attempted: Mutex<Vec<Vec<Recorded>>>,
    /// The plan before anything was added to it.
    plan: Arc<RunPlan>,
    hub: OnceLock<Arc<Hub>>,
}

impl Disk {
    fn attempted(&self) -> Vec<Vec<Recorded>> {
        self.attempted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn check_live_run(&self) {
        let hub = self.hub.get().expect("the hub is known");
        let mut live = hub.snapshot();
        let mut result = Run::fold(Arc::clone(&self.plan), &self.attempted().concat());
        // A live resumed run already knows which seats are unknown.
        live.interrupt();
        result.interrupt();
        transcript::assert_same(&live, &result, "the live run is the fold of its events");
    }
}

impl Journal for Disk {
    fn open(&self, plan: Arc<RunPlan>) -> BoxFuture<'static, Result<Lease, Failure>> {
        self.memory.open(plan)
    }

    fn reopen(&self, run_id: RunId, seq: u64) -> BoxFuture<'static, Result<Lease, Failure>> {
        self.memory.reopen(run_id, seq)
    }

    fn append(&self, lease: Lease, events: Vec<Recorded>) -> BoxFuture<'static, Result<(), Failure>> {
        self.check_live_run();
        let commit = {
            let mut attempted = self.attempted.lock().unwrap_or_else(PoisonError::into_inner);
            attempted.push(events.clone());
            attempted.len()
        };
        let names: Vec<String> = events.iter().map(|recorded| transcript::short(&recorded.event)).collect();
        let (ledger, names) = (self.ledger.clone(), names.join(", "));
        let breaks = self.breaks_at.filter(|(from, _)| commit >= *from).map(|(_, how)| how);
        let append = self.memory.append(lease, events);
        let wait = Duration::from_millis(self.commit_ms);
        async move {
            if !wait.is_zero() {
                sleep(wait).await;
            }
            if let Some(how) = breaks {
                if matches!(how, Breakage::LosesLease) {
                    ledger.note(format_args!("kept: {names}"));
                    return append.await;
                }
                ledger.note(format_args!("lost: {names}"));
                return match how {
                    Breakage::Fails => Err(Failure::new(Code::Storage, "the disk is full")),
                    Breakage::Panics => std::panic::resume_unwind(Box::new("scripted")),
                    Breakage::Hangs | Breakage::LosesLease => std::future::pending().await,
                };
            }
            ledger.note(format_args!("durable: {names}"));
            append.await
        }
        .boxed()
    }

    fn may_send(&self, _: Lease) -> bool {
        let lost = self.breaks_at.filter(|(_, how)| matches!(how, Breakage::LosesLease));
        lost.is_none_or(|(from, _)| self.attempted().len() < from)
    }

    fn check_day(
        &self,
        plan: Arc<RunPlan>,
        _: CallerSlot,
        worst_case: Option<PicoUsd>,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        // The store's arithmetic: the cost of all requests so far, and the most this one can cost.
        let spent: PicoUsd =
            self.attempted().concat().iter().filter_map(|recorded| recorded.event.cost()).sum();
        let wanted = spent.plus(worst_case.unwrap_or_default());
        let limit = plan.limits.iter().map(|limit| limit.usd).min();
        let refusal = || Err(Failure::new(Code::Budget, "the day's limit does not hold the call"));
        let is_held = limit.is_none_or(|limit| wanted <= limit);
        async move { if is_held { Ok(()) } else { refusal() } }.boxed()
    }

    fn checkpoint(
        &self,
        _: Lease,
        attempt: Attempt,
        text: String,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        self.ledger.note(format_args!("checkpoint {} {} bytes", attempt.slot, text.len()));
        async { Ok(()) }.boxed()
    }
}

/// Whether an event ends its call.
pub(crate) fn ends_call(event: &Event) -> bool {
    match event {
        Event::Answered { .. } | Event::Cut { .. } | Event::Cancelled { .. } => true,
        Event::Failed { retry, .. } => *retry == Retry::Never,
        _ => false,
    }
}
