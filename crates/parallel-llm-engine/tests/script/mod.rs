//! Scripted models: each model has a list of replies, each reply a list of timed steps. They record every call with
//! its time, how many calls were in flight at once, and which replies were dropped before their end.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, Stream, StreamExt, stream};
use parallel_llm_engine::port::{Call, Caller, Charge, Permit, ReplyEnd, ReplyPart, ReplyStream};
use parallel_llm_engine::text::short_answer::line;
use parallel_llm_engine::{Code, Failure, Finish, Message, ModelRef, PicoUsd, Usage};
use tokio::sync::Semaphore;

use crate::ledger::Ledger;

/// The cost of every reply that ends normally: a tenth of a cent.
pub(crate) const COST: PicoUsd = PicoUsd(1_000_000_000);

/// Builds a reply part from the call.
type Compose = Arc<dyn Fn(&Call) -> ReplyPart + Send + Sync>;

#[derive(Clone)]
enum Step {
    Wait(u64),
    Emit(Result<ReplyPart, Failure>),
    Compose(Compose),
    Hang,
    Panic,
}

/// One scripted reply.
#[derive(Clone)]
pub(crate) struct Reply {
    steps: VecDeque<Step>,
    admission: Option<Failure>,
    admitted_after_ms: u64,
    /// How long its connection takes.
    connects_in_ms: u64,
    stops_billing: bool,
}

/// A reply whose first step comes `ms` milliseconds after the request.
pub(crate) fn after(ms: u64) -> Reply {
    let steps = VecDeque::new();
    Reply { steps, admission: None, admitted_after_ms: 0, connects_in_ms: 0, stops_billing: true }.wait(ms)
}

/// A complete answer after `ms` milliseconds. The model gives the answer line if it is asked for one.
pub(crate) fn says(ms: u64, text: &str) -> Reply {
    let text = text.to_owned();
    let said = move |call: &Call| {
        let asks = call
            .messages
            .last()
            .is_some_and(|message| message.texts().any(|text| text.ends_with(line::ASKED.trim_end())));
        if asks { format!("{text}\n\nANSWER: {}", short_answer(&text)) } else { text.clone() }
    };
    after(ms).compose(said).end()
}

/// The last number of a text, or a bare yes or no; otherwise `none`.
fn short_answer(text: &str) -> &str {
    let bare = text.trim_end_matches('.');
    let is_number = |word: &&str| {
        word.starts_with(|one: char| one.is_ascii_digit()) && !word.contains(char::is_alphabetic)
    };
    let words =
        text.split(|one: char| !one.is_ascii_alphanumeric() && one != '.').map(|word| word.trim_matches('.'));
    match words.rev().find(is_number) {
        Some(number) => number,
        None if ["yes", "no"].contains(&bare.to_lowercase().as_str()) => bare,
        None => "none",
    }
}

/// A failure after `ms` milliseconds.
pub(crate) fn fails(ms: u64, failure: Failure) -> Reply {
    after(ms).fail(failure)
}

/// A reply that never sends a byte.
pub(crate) fn hangs() -> Reply {
    after(0).hang()
}

/// A call that is refused admission, so nothing is sent.
pub(crate) fn not_admitted(failure: Failure) -> Reply {
    Reply { admission: Some(failure), ..hangs() }
}

/// A synthesizer's reply in the requested format. It names as its base the candidate that contains `base`.
pub(crate) fn fuses(ms: u64, base: &'static str, text: &'static str) -> Reply {
    after(ms)
        .compose(move |call| {
            synthesis_reply(call, &format!("{{\"base\": \"{}\"}}", label_of(call, base)), text)
        })
        .end()
}

/// A reply in the format requested from a synthesizer, with the nonce of this call.
pub(crate) fn synthesis_reply(call: &Call, analysis: &str, text: &str) -> String {
    let nonce = nonce(call);
    format!("<<answer {nonce}>>\n{text}\n<<end answer {nonce}>>\n{analysis}")
}

/// The beginning of such a reply, up to a part of the answer.
pub(crate) fn synthesis_begins(call: &Call, text: &str) -> String {
    format!("<<answer {}>>\n{text}", nonce(call))
}

/// A judge's reply in the requested format. It ranks the candidates that contain `words`, best first.
pub(crate) fn judges(ms: u64, words: &'static [&'static str]) -> Reply {
    after(ms).compose(move |call| ranking(call, words)).end()
}

/// A reply that groups the candidates by these words.
pub(crate) fn groups(ms: u64, groups: &'static [&'static [&'static str]]) -> Reply {
    let compose = move |call: &Call| {
        let labels = |group: &&[&str]| group.iter().map(|words| label_of(call, words)).collect::<Vec<_>>();
        let groups: Vec<Vec<String>> = groups.iter().map(labels).collect();
        serde_json::json!({"groups": groups, "none": []}).to_string()
    };
    after(ms).compose(compose).end()
}

/// A council member: it answers the question, and ranks the answers of others when it is shown them.
pub(crate) fn reviews(ms: u64, answer: &'static str, words: &'static [&'static str]) -> Reply {
    let compose = move |call: &Call| {
        if prompt(call).contains("<<candidate ") { ranking(call, words) } else { answer.to_owned() }
    };
    after(ms).compose(compose).end()
}

fn ranking(call: &Call, words: &[&str]) -> String {
    let labels: Vec<String> = words.iter().map(|words| format!("{:?}", label_of(call, words))).collect();
    format!(r#"{{"reasons": [], "ranking": [{}]}}"#, labels.join(", "))
}

/// A model that groups the short answers: those of each list mean the same.
pub(crate) fn compares(ms: u64, same: &'static [&'static [&'static str]]) -> Reply {
    after(ms).compose(move |call| grouped(call, same)).end()
}

/// Such a reply, with each short answer named as it stands in the prompt.
pub(crate) fn grouped(call: &Call, same: &[&[&str]]) -> String {
    let label = |answer: &&str| label_of(call, &format!("| {answer}\n"));
    let groups: Vec<Vec<String>> = same.iter().map(|group| group.iter().map(label).collect()).collect();
    serde_json::json!({ "groups": groups }).to_string()
}

/// The label of the candidate that contains `words`.
pub(crate) fn label_of(call: &Call, words: &str) -> String {
    let prompt = prompt(call);
    let shown = prompt.split_once("<<candidate ").map_or("", |(_, shown)| shown);
    let before = shown.split_once(words).map_or("?", |(before, _)| before);
    let block = before.rsplit_once("<<candidate ").map_or(before, |(_, block)| block);
    block.split(' ').next().unwrap_or("?").to_owned()
}

/// The text of all messages of a call.
pub(crate) fn prompt(call: &Call) -> String {
    call.messages.iter().flat_map(Message::texts).collect::<Vec<_>>().join("\n")
}

fn nonce(call: &Call) -> String {
    let prompt = prompt(call);
    let (_, after) = prompt.split_once("<<answer ").unwrap_or_default();
    after.split(">>").next().unwrap_or_default().to_owned()
}

pub(crate) fn failure(code: Code) -> Failure {
    Failure::new(code, format!("scripted {code}"))
}

impl Reply {
    fn then(mut self, step: Step) -> Self {
        self.steps.push_back(step);
        self
    }

    fn emit(self, part: ReplyPart) -> Self {
        self.then(Step::Emit(Ok(part)))
    }

    /// Delays admission by `ms` milliseconds.
    pub(crate) fn admitted_after(self, ms: u64) -> Self {
        Self { admitted_after_ms: ms, ..self }
    }

    /// Makes the connection of the request take `ms` milliseconds.
    pub(crate) fn connects_in(self, ms: u64) -> Self {
        Self { connects_in_ms: ms, ..self }
    }

    /// Makes the reply cost the same whether or not its connection is closed early.
    pub(crate) fn billed_anyway(self) -> Self {
        Self { stops_billing: false, ..self }
    }

    pub(crate) fn wait(self, ms: u64) -> Self {
        self.then(Step::Wait(ms))
    }

    pub(crate) fn connected(self) -> Self {
        self.emit(ReplyPart::Connected)
    }

    pub(crate) fn accepted(self, generation_id: &str) -> Self {
        self.emit(ReplyPart::Accepted { generation_id: generation_id.to_owned() })
    }

    /// Adds `times` keep-alives without text, one every `every_ms` milliseconds.
    pub(crate) fn alive(self, times: usize, every_ms: u64) -> Self {
        (0..times).fold(self, |reply, _| reply.wait(every_ms).emit(ReplyPart::Alive))
    }

    pub(crate) fn reasoning(self) -> Self {
        self.emit(ReplyPart::Reasoning)
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.emit(ReplyPart::Text(text.to_owned()))
    }

    pub(crate) fn compose(self, compose: impl Fn(&Call) -> String + Send + Sync + 'static) -> Self {
        self.then(Step::Compose(Arc::new(move |call| ReplyPart::Text(compose(call)))))
    }

    pub(crate) fn end(self) -> Self {
        self.end_as(Finish::Stop)
    }

    pub(crate) fn end_as(self, finish: Finish) -> Self {
        self.end_with(|end| end.finish = Some(finish))
    }

    pub(crate) fn end_with(self, change: impl FnOnce(&mut ReplyEnd)) -> Self {
        let mut end = ReplyEnd { finish: Some(Finish::Stop), cost: Some(COST), ..ReplyEnd::default() };
        change(&mut end);
        self.emit(ReplyPart::End(end))
    }

    /// Ends with the given input and output tokens, and reports no cost.
    pub(crate) fn end_using(self, used: impl Fn(&Call) -> (u64, u64) + Send + Sync + 'static) -> Self {
        self.then(Step::Compose(Arc::new(move |call| {
            let (input, output) = used(call);
            let usage = Usage { input_tokens: Some(input), output_tokens: Some(output), ..Usage::default() };
            ReplyPart::End(ReplyEnd { finish: Some(Finish::Stop), usage, ..ReplyEnd::default() })
        })))
    }

    pub(crate) fn fail(self, failure: Failure) -> Self {
        self.then(Step::Emit(Err(failure)))
    }

    pub(crate) fn hang(self) -> Self {
        self.then(Step::Hang)
    }

    pub(crate) fn panic(self) -> Self {
        self.then(Step::Panic)
    }
}

/// A call whose request was sent, and when.
#[derive(Clone, Debug)]
pub(crate) struct SentCall {
    pub(crate) at_ms: u64,
    pub(crate) call: Call,
}

#[derive(Default)]
struct State {
    scripts: BTreeMap<String, VecDeque<Reply>>,
    asked: Vec<SentCall>,
    in_flight: usize,
    high_water: usize,
}

/// All models of a test.
pub(crate) struct Models {
    ledger: Ledger,
    state: Mutex<State>,
    permits: Arc<Semaphore>,
}

impl Models {
    /// Models with these replies; at most `in_flight_max` calls run at once.
    pub(crate) fn new(ledger: &Ledger, replies: &[(&str, Reply)], in_flight_max: usize) -> Arc<Self> {
        let mut state = State::default();
        for (model, reply) in replies {
            state.scripts.entry((*model).to_owned()).or_default().push_back(reply.clone());
        }
        let permits = Arc::new(Semaphore::new(in_flight_max));
        Arc::new(Self { ledger: ledger.clone(), state: Mutex::new(state), permits })
    }

    pub(crate) fn asked(&self) -> Vec<SentCall> {
        self.state().asked.clone()
    }

    pub(crate) fn high_water(&self) -> usize {
        self.state().high_water
    }

    /// The number of replies neither ended nor dropped.
    pub(crate) fn in_flight(&self) -> usize {
        self.state().in_flight
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the model's next reply; its last one repeats for ever.
    fn reply(&self, model: &str) -> Reply {
        let mut state = self.state();
        let Some(script) = state.scripts.get_mut(model) else { return fails(0, failure(Code::ModelUnknown)) };
        if script.len() > 1 { script.pop_front() } else { script.front().cloned() }
            .expect("a script has a reply")
    }
}

/// The [`Caller`] that calls the scripted models.
pub(crate) struct ScriptedCaller(pub(crate) Arc<Models>);

impl Caller for ScriptedCaller {
    fn admit(&self, call: Call) -> BoxFuture<'static, Result<Permit, Failure>> {
        let models = Arc::clone(&self.0);
        let reply = models.reply(&call.model.model);
        async move {
            if let Some(failure) = reply.admission {
                return Err(failure);
            }
            if reply.admitted_after_ms > 0 {
                tokio::time::sleep(Duration::from_millis(reply.admitted_after_ms)).await;
            }
            let room = Arc::clone(&models.permits).acquire_owned().await.expect("the permits stay open");
            let stops_billing = reply.stops_billing;
            let permit = Permit::guarded(move |guard| {
                let (ledger, model) = (models.ledger.clone(), call.model.model.clone());
                let in_flight = InFlight { models, model: model.clone(), begun: false, ended: false };
                let connecting = async move {
                    if reply.connects_in_ms > 0 {
                        tokio::time::sleep(Duration::from_millis(reply.connects_in_ms)).await;
                    }
                    match guard.check() {
                        Ok(()) => play(call, reply.steps, in_flight).boxed(),
                        Err(failure) => stream::once(std::future::ready(Err(failure))).boxed(),
                    }
                };
                let playing = connecting.flatten_stream();
                // The permit is held until the reply is dropped.
                ReplyStream::new(playing.inspect(move |_| _ = &room))
                    .with_on_timeout(move |failure| ledger.note(format_args!("{model} heard: {failure}")))
            });
            Ok(permit.with_stops_billing(stops_billing))
        }
        .boxed()
    }

    /// Every request cost a tenth of a cent, unless its generation id is unknown.
    fn look_up(
        &self,
        model: &ModelRef,
        generation_id: &str,
    ) -> BoxFuture<'static, Result<Option<Charge>, Failure>> {
        self.0.ledger.note(format_args!("looked up {} as {generation_id}", model.model));
        let known = generation_id.starts_with("gen-");
        let charge = Charge { cost: COST, usage: Usage::default() };
        let result = match generation_id.strip_prefix("gen-late-").map(|ms| ms.parse().expect("a number")) {
            Some(ms) if self.0.ledger.now_ms() < ms => Err(Failure::new(Code::Upstream, "not yet")),
            _ => Ok(known.then_some(charge)),
        };
        async move { result }.boxed()
    }
}

/// Plays a reply. The request is sent when the stream is first polled.
fn play(
    call: Call,
    steps: VecDeque<Step>,
    in_flight: InFlight,
) -> impl Stream<Item = Result<ReplyPart, Failure>> + Send {
    let play = |(call, mut steps, mut in_flight): (Call, VecDeque<Step>, InFlight)| async move {
        in_flight.begin(&call);
        let part = loop {
            match steps.pop_front()? {
                Step::Wait(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                Step::Emit(part) => break part,
                Step::Compose(compose) => break Ok(compose(&call)),
                Step::Hang => std::future::pending().await,
                // Like `panic!`, but prints nothing on stderr.
                Step::Panic => std::panic::resume_unwind(Box::new("scripted")),
            }
        };
        in_flight.ended = matches!(part, Err(_) | Ok(ReplyPart::End(_)));
        Some((part, (call, steps, in_flight)))
    };
    stream::unfold((call, steps, in_flight), play)
}

/// Counts a reply while it is in flight, and records when it is dropped before its end.
struct InFlight {
    models: Arc<Models>,
    model: String,
    begun: bool,
    ended: bool,
}

impl InFlight {
    fn begin(&mut self, call: &Call) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        self.models.ledger.note(format_args!("request {} #{}", self.model, call.attempt.number));
        let mut state = self.models.state();
        state.asked.push(SentCall { at_ms: self.models.ledger.now_ms(), call: call.clone() });
        state.in_flight += 1;
        state.high_water = state.high_water.max(state.in_flight);
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if self.begun {
            self.models.state().in_flight -= 1;
        }
        if !self.ended {
            self.models.ledger.note(format_args!("dropped {}", self.model));
        }
    }
}
