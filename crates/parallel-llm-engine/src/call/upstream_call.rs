//! One upstream call from admission to its end: admit, stage `Sent`, send, read the reply, classify it, retry.
//!
//! The event that ends the call is returned before it is durable, so that the run can commit it together with what it does
//! next. Invariants: `Sent` is durable before the first byte leaves; the requests sent are one plus the journaled retries; a
//! panic fails its own call only.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use tokio::time::{Instant, timeout_at};

use crate::call::checkpoint::Checkpoints;
use crate::call::deadline::Deadline;
use crate::call::reply_clock::{ReplyClock, time_over};
use crate::call::retry::{self, Trial};
use crate::call::run_context::RunContext;
use crate::call::stop::{CallStop, Cancellation, FirstOutputLatch, Revocation, Sending};
use crate::plan::budget;
use crate::plan::caller_slot::CallerSlot;
use crate::plan::seed::SeededRandom;
use crate::port::{Call, Permit, ReplyEnd, ReplyPart, SendGuard};
use crate::prompt::reply::Reveal;
use crate::request::catalogue::PriceSource;
use crate::request::panel::Seat;
use crate::run::SeatView;
use crate::run::event::{Attempt, Event};
use crate::run::prompt_record::Prompt;
use crate::value::answer::{Answer, Failure, Finish};
use crate::value::code::Code;
use crate::value::money::PicoUsd;
use crate::value::next::Operation;
use crate::value::retry::Retry;

/// One call and the state of its tries.
pub(crate) struct UpstreamCall {
    context: Arc<RunContext>,
    slot: CallerSlot,
    seat: Seat,
    prompt: Prompt,
    /// What of a reply is shown, before it begins.
    reveal: Reveal,
    deadline: Deadline,
    stop: CallStop,
    sending: Sending,
    /// Set if the call may be cancelled before any of its text is shown.
    latch: Option<FirstOutputLatch>,
    random: SeededRandom,
    /// How many requests earlier parts of the run sent.
    earlier_requests: u32,
    /// The number of the current try in this part, from 1.
    attempt: u32,
    /// Retries after a temporary failure.
    retries: u32,
    /// Request fields that are left out because the provider rejected them, in this or an earlier part of the run.
    without: Vec<String>,
    reserved: PicoUsd,
    /// The most its request can cost; `None` if its price is unknown.
    worst_case: Option<PicoUsd>,
}

/// The result of asking for admission.
pub(crate) enum Admission {
    /// `Sent` is staged; the call may be sent as soon as it is durable.
    Staged(Permit),
    /// The call must wait.
    Waiting(BoxFuture<'static, Result<Permit, Failure>>),
    /// The call may not be sent.
    Refused(Failure),
    /// The run is cancelled or decided.
    Cancelled,
}

/// The reply of one request, before it is classified.
struct Reply {
    text: String,
    /// What of it is shown.
    reveal: Reveal,
    thought: bool,
    connected_ms: Option<u64>,
    first_ms: Option<u64>,
    first_text_ms: Option<u64>,
    generation_id: Option<String>,
    elapsed_ms: u64,
    end: End,
}

impl Reply {
    /// The part that has been shown.
    fn shown(&self) -> &str {
        self.reveal.shown(&self.text)
    }
}

enum End {
    Whole(ReplyEnd),
    Broken(Failure),
    Cancelled,
}

impl UpstreamCall {
    pub(crate) fn new(
        context: &Arc<RunContext>,
        slot: CallerSlot,
        seat: &Seat,
        prompt: Prompt,
        reveal: Reveal,
    ) -> Self {
        let earlier = |view: &SeatView| (view.attempts, view.without.clone());
        let (earlier_requests, without) =
            context.hub.with_run(|run| run.view(slot).map(earlier)).unwrap_or_default();
        Self {
            context: Arc::clone(context),
            slot,
            seat: seat.clone(),
            prompt,
            reveal,
            deadline: context.deadline,
            stop: context.stop.of_calls(),
            sending: context.sending.clone(),
            latch: None,
            random: SeededRandom::new(&context.plan, &format!("jitter of {slot}")),
            earlier_requests,
            attempt: 1,
            retries: 0,
            without,
            reserved: PicoUsd::ZERO,
            worst_case: None,
        }
    }

    /// The same call with another deadline.
    pub(crate) fn within(self, deadline: Deadline) -> Self {
        Self { deadline, ..self }
    }

    /// The same call, and the revocation that cancels it alone.
    pub(crate) fn revocable(self) -> (Self, Revocation) {
        let (upstream, cancellation) = self.cancellable();
        let latch = FirstOutputLatch::default();
        let revocation = Revocation::new(cancellation, latch.clone());
        (Self { latch: Some(latch), ..upstream }, revocation)
    }

    /// The same call, and what cancels it alone.
    pub(crate) fn cancellable(self) -> (Self, Cancellation) {
        let (stop, sending) = (self.stop.child(), self.sending.child());
        let cancellation = Cancellation::new(stop.clone(), sending.clone());
        (Self { stop, sending, ..self }, cancellation)
    }

    /// Releases the reservation of a call that is not made.
    pub(crate) fn abandon(mut self) {
        self.settle(Some(PicoUsd::ZERO));
    }

    /// Reserves the worst case and asks for admission. If it is granted at once, `Sent` is staged, so that the calls of a whole
    /// panel share one commit.
    pub(crate) fn admit(&mut self) -> Admission {
        if self.sending.is_over() {
            return Admission::Cancelled;
        }
        if Instant::now() >= self.deadline.call {
            return Admission::Refused(time_over(&self.context.plan.timers, &self.deadline));
        }
        if let Err(failure) = self.seat.check_inputs(&self.prompt.messages) {
            return Admission::Refused(failure);
        }
        if self.context.turn.room(self.slot) == 0 {
            return Admission::Refused(self.context.turn.overflow());
        }
        let plan = &self.context.plan;
        if plan.is_limited() && self.seat.price_source == PriceSource::Unlisted {
            // Nobody knows what it costs, and most likely there is no such model.
            let message = format!("the list of its provider has no model `{}`", self.seat.model);
            return Admission::Refused(Failure::new(Code::ModelUnknown, message));
        }
        let worst_case =
            budget::worst_call(&self.seat, &self.prompt.messages, plan.planned_tokens(self.slot));
        self.worst_case = worst_case.known();
        match self.context.budget.reserve(&worst_case) {
            Ok(reserved) => self.reserved = reserved,
            Err(failure) => return Admission::Refused(failure),
        }
        if self.attempt == 1 {
            self.context.retries.deposit(&self.seat.model.provider);
        }
        let (context, call) = (Arc::clone(&self.context), self.call());
        let admission = AssertUnwindSafe(async move { admitted(&context, call).await }).catch_unwind();
        let mut admission = admission.map(|admitted| admitted.unwrap_or_else(|_| Err(defect()))).boxed();
        if self.context.checks_day_limits() {
            // The limits of the day are checked first, in `enter`.
            return Admission::Waiting(admission);
        }
        match (&mut admission).now_or_never() {
            Some(Ok(permit)) => {
                self.context.log.stage(self.sent());
                Admission::Staged(permit)
            }
            Some(Err(failure)) => Admission::Refused(failure),
            None => Admission::Waiting(admission),
        }
    }

    /// Makes the call and returns the event that ends it.
    pub(crate) async fn finish(mut self, admission: Admission) -> Event {
        if let Ok(event) = AssertUnwindSafe(self.run_attempts(admission)).catch_unwind().await {
            return event;
        }
        self.settle(None);
        let attempt = self.attempt();
        Event::Failed { attempt, failure: defect(), retry: Retry::Never, cost: None, elapsed_ms: 0 }
    }

    async fn run_attempts(&mut self, mut admission: Admission) -> Event {
        loop {
            let permit = match self.enter(admission).await {
                Ok(permit) => permit,
                Err(event) => return *event,
            };
            let reply = self.read(permit).await;
            let event = self.classify(&reply);
            let Event::Failed { retry, failure: why, .. } = &event else { return event };
            let (retry, why) = (retry.clone(), why.clone());
            if retry == Retry::Never {
                return event;
            }
            if let Err(failure) = self.context.log.append(event).await {
                return self.never(self.attempt(), failure);
            }
            match retry {
                Retry::After { ms } => {
                    let wait = tokio::time::sleep(Duration::from_millis(ms));
                    if self.sending.unless_over(wait).await.is_none() {
                        return self.unsent(self.attempt());
                    }
                    if self.is_key_refused() {
                        return self.never(self.attempt(), why);
                    }
                    self.retries += 1;
                }
                Retry::Without { field } => self.without.push(field),
                Retry::Never => {}
            }
            self.attempt += 1;
            admission = self.admit();
        }
    }

    /// Waits for admission and until `Sent` is durable. An error is the event that ends the call.
    async fn enter(&mut self, admission: Admission) -> Result<Permit, Box<Event>> {
        // A try that does not leave has no number of its own: its end carries that of the request before, or 0.
        let before = Attempt { slot: self.slot, number: self.earlier_requests + self.attempt - 1 };
        let permit = match admission {
            Admission::Staged(permit) => permit,
            Admission::Refused(failure) => return Err(Box::new(self.never(before, failure))),
            Admission::Cancelled => return Err(Box::new(self.unsent(before))),
            Admission::Waiting(admission) => {
                let context = Arc::clone(&self.context);
                if context.checks_day_limits()
                    && let Err(failure) = self.check_day().await
                {
                    return Err(Box::new(self.never(before, failure)));
                }
                let admitted = self.sending.unless_over(timeout_at(self.deadline.call, admission)).await;
                // At the deadline many calls end and free their permits: a permit that comes of that is too late.
                let admitted = match admitted {
                    Some(Ok(admitted)) if Instant::now() < self.deadline.call => Some(admitted),
                    Some(_) => Some(Err(time_over(&context.plan.timers, &self.deadline))),
                    None => None,
                };
                match admitted.filter(|_| !self.sending.is_over()) {
                    Some(Ok(_)) if context.turn.room(self.slot) == 0 => {
                        return Err(Box::new(self.never(before, context.turn.overflow())));
                    }
                    Some(Ok(permit)) => {
                        context.log.stage(self.sent());
                        permit
                    }
                    Some(Err(failure)) => return Err(Box::new(self.never(before, failure))),
                    None => return Err(Box::new(self.unsent(before))),
                }
            }
        };
        match self.context.log.commit().await {
            // The run was cancelled or decided while `Sent` became durable: the request must not leave.
            Ok(()) if self.sending.is_over() => Err(Box::new(self.unsent(self.attempt()))),
            // It waited in a file until the lease of the run was over, or the process was suspended meanwhile.
            Ok(()) if !self.context.log.may_send() => Err(Box::new(self.never(self.attempt(), lease_over()))),
            Ok(()) => Ok(permit),
            Err(failure) => Err(Box::new(self.never(before, failure))),
        }
    }

    /// Fails if the limits of the day do not allow one more request.
    async fn check_day(&self) -> Result<(), Failure> {
        // Calls that have ended must be durable to count with their real cost. Awaited to the end, because a commit must
        // not be dropped half-way.
        self.context.log.commit().await?;
        let check = self.context.log.check_day(&self.context.plan, self.slot, self.worst_case);
        let checked = self.sending.unless_over(timeout_at(self.deadline.call, check)).await;
        // If the run was cancelled or is out of time, the wait for admission reports it.
        checked.and_then(Result::ok).unwrap_or(Ok(()))
    }

    /// Ends a call that fails without being sent (again).
    fn never(&mut self, attempt: Attempt, failure: Failure) -> Event {
        self.settle(Some(PicoUsd::ZERO));
        self.note_refused_key(&failure);
        let cost = Some(PicoUsd::ZERO);
        Event::Failed { attempt, failure, retry: Retry::Never, cost, elapsed_ms: 0 }
    }

    /// Ends a call that is cancelled before it was sent (again).
    fn unsent(&mut self, attempt: Attempt) -> Event {
        self.settle(Some(PicoUsd::ZERO));
        Event::Cancelled { attempt, answer: None, cost: Some(PicoUsd::ZERO) }
    }

    /// Sends the request and reads its reply to the end, within the timers.
    async fn read(&mut self, permit: Permit) -> Reply {
        let context = Arc::clone(&self.context);
        let stop = self.stop.clone();
        let mut closing = std::pin::pin!(stop.closing(permit.stops_billing()));
        let log = Arc::clone(&self.context.log);
        let mut parts =
            permit.send_guarded(SendGuard::new(move || log.may_send().then_some(()).ok_or_else(lease_over)));
        let _reading = context.turn.reading();
        let mut clock = ReplyClock::starting_now(&context.plan.timers, self.deadline);
        let mut checkpoints = Checkpoints::new(clock.sent());
        let mut reply = Reply {
            text: String::new(),
            reveal: self.reveal.clone(),
            thought: false,
            connected_ms: None,
            first_ms: None,
            first_text_ms: None,
            generation_id: None,
            elapsed_ms: 0,
            end: End::Cancelled,
        };
        reply.end = loop {
            let part = tokio::select! {
                biased;
                () = &mut closing => break End::Cancelled,
                part = clock.next(&mut parts, &context.turn) => part,
                () = checkpoints.due(reply.shown()) => {
                    self.checkpoint(&mut checkpoints, &reply).await;
                    continue;
                }
            };
            match part {
                None => {
                    break End::Broken(Failure::new(Code::Connection, "the reply ended before it was whole"));
                }
                Some(Err(failure)) => break End::Broken(failure),
                Some(Ok(ReplyPart::End(end))) => {
                    let rest = reply.reveal.finish();
                    self.show(&rest);
                    break End::Whole(end);
                }
                Some(Ok(ReplyPart::Text(piece))) if piece.len() > context.turn.room(self.slot) => {
                    let kept = &piece[..piece.floor_char_boundary(context.turn.room(self.slot))];
                    if !kept.is_empty() {
                        self.take(ReplyPart::Text(kept.to_owned()), &mut reply, &clock);
                    }
                    break End::Broken(context.turn.overflow());
                }
                Some(Ok(part)) => {
                    checkpoints.has_staged_id |= matches!(part, ReplyPart::Accepted { .. });
                    self.take(part, &mut reply, &clock);
                }
            }
            self.checkpoint(&mut checkpoints, &reply).await;
        };
        reply.elapsed_ms = millis(clock.sent().elapsed());
        reply
    }

    /// Writes a checkpoint of the reply if one is due.
    async fn checkpoint(&self, checkpoints: &mut Checkpoints, reply: &Reply) {
        if checkpoints.id_is_due() {
            // Awaited, because a commit must not be dropped half-way. A failure appears when the next call is sent, and in
            // the report.
            let _ = self.context.log.commit().await;
        }
        // Other processes show checkpoints, so a text that is withheld here must not be written.
        if self.latch.as_ref().is_none_or(FirstOutputLatch::is_open) {
            checkpoints.save_if_due(reply.shown(), |text| self.context.log.checkpoint(self.attempt(), text));
        }
    }

    fn show(&self, text: &str) {
        if !text.is_empty() && self.latch.as_ref().is_none_or(FirstOutputLatch::opens) {
            self.context.hub.text(self.slot, text);
        }
    }

    fn take(&mut self, part: ReplyPart, reply: &mut Reply, clock: &ReplyClock) {
        match part {
            ReplyPart::Connected => reply.connected_ms = Some(millis(clock.heard_after())),
            ReplyPart::Accepted { generation_id } => {
                // Joins the next commit, or gets its own if none comes soon; see `Checkpoints::id_is_due`.
                self.context
                    .log
                    .stage(Event::Accepted { attempt: self.attempt(), generation_id: generation_id.clone() });
                reply.generation_id = Some(generation_id);
            }
            ReplyPart::Reasoning => {
                if !reply.thought && reply.text.is_empty() {
                    self.context.hub.begun(self.slot);
                }
                reply.thought = true;
            }
            ReplyPart::Text(piece) => {
                reply.first_text_ms.get_or_insert_with(|| millis(clock.heard_after()));
                self.context.turn.add(piece.len());
                reply.text.push_str(&piece);
                let shown = reply.reveal.push(&piece);
                self.show(&shown);
            }
            ReplyPart::Alive | ReplyPart::End(_) => {}
        }
        reply.first_ms = reply.first_ms.or_else(|| clock.first_after().map(millis));
    }

    /// Classifies a reply as the event that ends the try, with the retry decision.
    fn classify(&mut self, reply: &Reply) -> Event {
        let attempt = self.attempt();
        let silent = reply.text.trim().is_empty();
        let (answer, failure) = match &reply.end {
            End::Cancelled => {
                self.settle(None);
                let answer = (!reply.text.is_empty()).then(|| self.answer(reply, &ReplyEnd::default()));
                return Event::Cancelled { attempt, answer, cost: None };
            }
            End::Whole(end) => (self.answer(reply, end), end.failure(silent, reply.thought)),
            End::Broken(failure) => (self.answer(reply, &ReplyEnd::default()), Some(failure.clone())),
        };
        let Some(failure) = failure else {
            self.settle(answer.cost);
            return Event::Answered { attempt, answer };
        };
        self.note_refused_key(&failure);
        if !silent {
            self.settle(answer.cost);
            return Event::Cut { attempt, answer, failure };
        }
        // A refusal before any output costs nothing; the cost of a broken stream is unknown.
        let begun = reply.thought || reply.generation_id.is_some();
        let free = failure.unsent || (failure.is_refusal() && !begun);
        let cost = answer.cost.or_else(|| free.then_some(PicoUsd::ZERO));
        self.settle(cost);
        let retry = self.retry(&failure);
        Event::Failed { attempt, failure, retry, cost, elapsed_ms: reply.elapsed_ms }
    }

    fn answer(&self, reply: &Reply, end: &ReplyEnd) -> Answer {
        let is_whole = matches!(reply.end, End::Whole(_)) && end.finish != Some(Finish::Length);
        let (text, line) = reply.reveal.split(&reply.text, is_whole);
        let mut answer = Answer::new(&*text);
        answer.line = line.map(Arc::from);
        answer.finish.clone_from(&end.finish);
        answer.usage = end.usage;
        // A text of no tokens is a count that nobody made.
        let counted = end.usage.output_tokens.filter(|count| *count > 0 || text.is_empty());
        let computed = || Some(self.seat.price?.cost(end.usage.input_tokens?, counted?));
        answer.cost = end.cost.or_else(computed);
        answer.cost_is_estimate = end.cost.is_none();
        answer.served_model.clone_from(&end.served_model);
        answer.generation_id = end.generation_id.clone().or_else(|| reply.generation_id.clone());
        answer.connected_ms = reply.connected_ms;
        answer.first_token_ms = reply.first_ms;
        answer.first_text_ms = reply.first_text_ms;
        answer.elapsed_ms = reply.elapsed_ms;
        answer
    }

    fn retry(&mut self, failure: &Failure) -> Retry {
        let decision = retry::decide(&Trial {
            failure,
            retries: self.retries,
            retries_max: self.context.plan.retries_max,
            without: &self.without,
            time_left: self.deadline.call.saturating_duration_since(Instant::now()),
            jitter: self.random.unit(),
        });
        match decision {
            Retry::After { .. } | Retry::Without { .. } if self.sending.is_over() => Retry::Never,
            Retry::After { .. } if self.is_key_refused() => Retry::Never,
            Retry::After { .. } if !self.context.retries.withdraw(&self.seat.model.provider) => Retry::Never,
            decision => decision,
        }
    }

    /// Whether another call with the same key has failed in a way that all calls with it would.
    fn is_key_refused(&self) -> bool {
        let refused = self.context.refused_keys.lock();
        refused.contains(&self.seat.model.provider)
    }

    fn note_refused_key(&self, failure: &Failure) {
        if failure.code.stops_key() {
            let mut refused = self.context.refused_keys.lock();
            refused.insert(self.seat.model.provider.clone());
        }
    }

    fn settle(&mut self, cost: Option<PicoUsd>) {
        self.context.budget.settle(std::mem::take(&mut self.reserved), cost);
    }

    fn attempt(&self) -> Attempt {
        Attempt { slot: self.slot, number: self.earlier_requests + self.attempt }
    }

    fn sent(&self) -> Event {
        let planned = self.context.plan.worst_request(self.slot);
        let worst_case = self.worst_case.filter(|most| planned.is_none_or(|planned| *most > planned));
        Event::Sent { attempt: self.attempt(), prompt: self.prompt.record.clone(), worst_case }
    }

    fn call(&self) -> Call {
        let step = self.context.plan.step_at(self.slot);
        Call {
            run_id: self.context.plan.run_id,
            attempt: self.attempt(),
            model: self.seat.model.clone(),
            messages: Arc::clone(&self.prompt.messages),
            temperature: self.seat.temperature,
            max_tokens: self.seat.max_tokens,
            effort: self.seat.effort,
            json: self.seat.json_mode && step.is_some_and(|step| step.key.role.replies_in_json()),
            routing: Arc::clone(&self.context.plan.routing),
            lineage: Arc::clone(&self.context.plan.lineage),
            asked_by: self.context.plan.asked_by.as_deref().map(Arc::from),
            without: self.without.clone(),
        }
    }
}

/// Waits until the run may proceed and its provider admits the call. If the text budget is used up by then, the permit is
/// returned, because an unsent request costs nothing. The caller bounds the wait.
async fn admitted(context: &RunContext, call: Call) -> Result<Permit, Failure> {
    loop {
        context.turn.comes().await;
        let waiting = context.turn.waiting();
        let permit = context.caller.admit(call.clone()).await?;
        drop(waiting);
        if context.turn.may_proceed() {
            return Ok(permit);
        }
    }
}

/// The failure of a call that is not sent, because another process may do the run by now.
fn lease_over() -> Failure {
    let message = "the run database was out of reach for longer than the lease of this run, so nothing more is sent for it here";
    Failure::new(Code::Storage, message).with_next(Operation::ShowRun).with_retryable(false).never_sent()
}

/// The failure of a call that panicked, here or in the caller.
fn defect() -> Failure {
    Failure::new(Code::Internal, "a defect stopped this call")
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
