//! The invariants of a run over all its processes, checked from outside: by durable events, by what each process
//! showed, and by the requests that were sent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parallel_llm_engine::plan::RunPlan;
use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::plan::step::Step;
use parallel_llm_engine::run::event::{Attempt, Event, Recorded};
use parallel_llm_engine::run::prompt;
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::{OutcomeKind, PicoUsd, Reopening, Run, Seat, SeatNumber, SeatStatus, plan::budget};

use crate::invariants::{outcomes_name_seats, stages_are_decided_in_order};
use crate::scenario::ends_call;
use crate::script::COST;
use crate::simulation::disk::Durable;
use crate::simulation::process::{ProcessEnd, ProcessPlan, ProcessResult};
use crate::transcript;

/// A run so far.
pub(super) struct History {
    pub(super) plan: Arc<RunPlan>,
    pub(super) durable: Durable,
    /// The requests sent by all processes.
    left: BTreeSet<(CallerSlot, u32)>,
    /// Complete answers that were shown as durable.
    answers: Vec<(CallerSlot, Arc<str>)>,
    /// Final texts that were shown as durable.
    texts: Vec<Arc<str>>,
}

impl History {
    pub(super) fn new(plan: Arc<RunPlan>, durable: Durable) -> Self {
        Self { plan, durable, left: BTreeSet::new(), answers: Vec::new(), texts: Vec::new() }
    }

    /// The run as a new process finds it, once any event is durable.
    pub(super) fn run(&self) -> Option<Run> {
        let events = self.durable.events();
        let mut run = Run::fold(Arc::clone(&self.plan), &events);
        run.interrupt();
        (!events.is_empty()).then_some(run)
    }

    /// Records what a process did, and checks it.
    pub(super) fn record(&mut self, process_plan: &ProcessPlan, process: &ProcessResult) {
        assert!(process.complaints.is_empty(), "{:?}", process.complaints);
        if matches!(process.end, ProcessEnd::Refused(_)) {
            let breaks_at_once = process_plan.breaks_at.is_some_and(|commit| commit <= 2);
            assert!(breaks_at_once, "only a disk that breaks at once refuses a run: {:?}", process.end);
            assert!(process.asked.is_empty(), "a run that is refused has cost nothing");
        }
        assert!(!process.sent_after_end(), "no request is sent once a run is given up or decided");
        let events = self.durable.events();
        for asked in &process.asked {
            let Attempt { slot, number } = asked.call.attempt;
            assert!(self.left.insert((slot, number)), "{slot} #{number} was sent once");
        }
        self.requests_are_recorded(&events);
        self.prompts_are_made_again(process, &events);
        self.remember(process, &events);
        self.nothing_is_lost(&events);
    }

    /// Every request that was sent has its own durable `Sent` event.
    fn requests_are_recorded(&self, events: &[Recorded]) {
        let sent = events.iter().filter_map(|recorded| match recorded.event {
            Event::Sent { attempt, .. } => Some((attempt.slot, attempt.number)),
            _ => None,
        });
        let all: Vec<_> = sent.collect();
        let noted: BTreeSet<_> = all.iter().copied().collect();
        assert_eq!(all.len(), noted.len(), "a request is recorded once");
        assert!(self.left.is_subset(&noted), "sent but not recorded: {:?}", self.left.difference(&noted));
    }

    /// The prompt of every request is made again from what is durable, letter by letter.
    fn prompts_are_made_again(&self, process: &ProcessResult, events: &[Recorded]) {
        let plan = Run::fold(Arc::clone(&self.plan), events).plan;
        for asked in &process.asked {
            let attempt = asked.call.attempt;
            let again = prompt::of(&plan, events, attempt);
            assert_eq!(again.as_deref(), Some(&*asked.call.messages), "{} #{}", attempt.slot, attempt.number);
        }
    }

    /// A process shows exactly what is durable, unless its disk broke, which it then reports.
    fn remember(&mut self, process: &ProcessResult, events: &[Recorded]) {
        if process.broke {
            return;
        }
        let mut live = process.live.clone();
        let until = events.partition_point(|recorded| recorded.seq <= live.seq);
        let mut result = Run::fold(Arc::clone(&self.plan), &events[..until]);
        live.interrupt();
        result.interrupt();
        transcript::assert_same(&live, &result, "the live run is the fold of its durable events");
        let views = live.seats.iter().chain(&live.synthesizers);
        let answered = views.filter(|view| view.status == SeatStatus::Answered);
        let answers = answered.filter_map(|view| Some((view.slot, Arc::clone(&view.answer.as_ref()?.text))));
        self.answers.extend(answers);
        self.texts.extend(live.outcome.iter().filter_map(|outcome| outcome.text.clone()));
    }

    /// Every later process still has what was shown as durable.
    fn nothing_is_lost(&self, events: &[Recorded]) {
        let run = Run::fold(Arc::clone(&self.plan), events);
        for (slot, text) in &self.answers {
            let is_given = |recorded: &Recorded| {
                let is_own = recorded.event.attempt().is_some_and(|attempt| attempt.slot == *slot);
                is_own && recorded.event.answer().is_some_and(|answer| answer.text == *text)
            };
            assert!(events.iter().any(is_given), "an answer of {slot} was lost");
            let view = run.view(*slot).expect("a slot stays");
            let kept = view.answer.as_ref().map(|answer| &answer.text);
            let is_seat = matches!(slot, CallerSlot::Seat(_));
            assert!(
                !is_seat || (kept == Some(text) && view.status == SeatStatus::Answered),
                "{slot} is lost"
            );
        }
        for text in &self.texts {
            let mut outcomes = run.outcome.iter().chain(&run.earlier);
            assert!(outcomes.any(|outcome| outcome.text.as_ref() == Some(text)), "a final text was lost");
        }
    }

    /// Checks the whole run once it has closed.
    pub(super) fn close(&self) {
        let commits = self.durable.commits();
        let events = commits.concat();
        assert!(events.is_sorted_by_key(|recorded| recorded.elapsed_ms), "time does not go back");
        let mut accounts = Accounts::new(&self.plan);
        for recorded in &events {
            accounts.read(&recorded.event);
        }
        let run = self.run().expect("the run has a history");
        assert!(run.closed && matches!(events.last().map(|last| &last.event), Some(Event::Closed { .. })));
        accounts.compare(&run);
        let mut left = BTreeMap::<CallerSlot, u64>::new();
        for (slot, _) in &self.left {
            *left.entry(*slot).or_default() += 1;
        }
        for view in run.views() {
            let paid = COST.times(left.get(&view.slot).copied().unwrap_or(0));
            let cost = view.cost.unwrap_or_default();
            assert!(cost <= paid, "{} reports {cost}, and cost at most {paid}", view.slot);
        }
        fused_texts_are_stored_with_their_replies(&commits);
        stages_are_decided_in_order(&self.plan, &events);
        outcomes_name_seats(&run.plan, &events);
    }
}

/// A fused text is durable in the same commit as its reply, unless that reply is a draft or from an earlier process.
/// Otherwise a process that takes over in between would have to pay again.
fn fused_texts_are_stored_with_their_replies(commits: &[Vec<Recorded>]) {
    let mut left_behind = false;
    for commit in commits {
        for recorded in commit {
            let is_reply = |other: &Recorded, is_place: fn(CallerSlot) -> bool| {
                let is_own = other.event.attempt().is_some_and(|attempt| is_place(attempt.slot));
                is_own && matches!(other.event, Event::Answered { .. })
            };
            left_behind |= matches!(recorded.event, Event::Reopened { .. })
                || is_reply(recorded, |slot| matches!(slot, CallerSlot::Step(_)));
            let Event::Decided { outcome } = &recorded.event else { continue };
            let is_together =
                commit.iter().any(|other| is_reply(other, |slot| matches!(slot, CallerSlot::Synthesizer(_))));
            assert!(
                outcome.kind != OutcomeKind::Fused || is_together || left_behind,
                "a fused text and its reply are one commit"
            );
        }
    }
}

/// One caller slot, according to its events.
#[derive(Default)]
struct Account {
    /// The request in flight.
    open: Option<u32>,
    /// The newest request, if its result is unknown.
    lost: Option<u32>,
    answered: bool,
    /// It has given an answer that no outcome covers yet.
    unreported: bool,
    is_skipped: bool,
    sent: u32,
    /// Requests sent in this part of the run.
    sent_now: u32,
    retries_now: u32,
    ended_now: u32,
    is_asked: bool,
    known: PicoUsd,
    costs: BTreeMap<u32, PicoUsd>,
    /// Finished requests of unknown cost.
    unpriced: u64,
}

/// Reads the events of a run in order and keeps independent accounts, as simple as possible.
struct Accounts {
    plan: RunPlan,
    by_slot: BTreeMap<CallerSlot, Account>,
    named: Vec<SeatNumber>,
    decided: bool,
    closed: bool,
}

impl Accounts {
    fn new(plan: &RunPlan) -> Self {
        Self { plan: plan.clone(), by_slot: BTreeMap::new(), named: Vec::new(), decided: false, closed: true }
    }

    fn read(&mut self, event: &Event) {
        match event {
            Event::Started { .. } => {
                assert!(self.by_slot.is_empty() && self.closed, "a run starts once");
                let asked: Vec<SeatNumber> = self.plan.seats.iter().map(|seat| seat.number).collect();
                self.begin(asked);
            }
            Event::Reopened { reopening, .. } => self.reopen(reopening),
            Event::Skipped { seats } => self.skip(seats),
            Event::Decided { .. } => {
                assert!(!self.decided && !self.closed, "each part is decided at most once");
                self.decided = true;
                self.by_slot.values_mut().for_each(|account| account.unreported = false);
            }
            Event::Closed { cost } => self.close(*cost),
            event => {
                assert!(!self.closed, "nothing happens between two parts");
                self.read_call(event);
            }
        }
    }

    fn reopen(&mut self, reopening: &Reopening) {
        self.plan = reopening.extend(&self.plan);
        let new = reopening.seats.iter().map(|seat| seat.number);
        let asked = reopening.ask.iter().copied().chain(new);
        self.named.clone_from(&reopening.ask);
        self.begin(asked.collect());
    }

    /// Seats that were held back are skipped: they were never asked, and the strategy asks only some seats first.
    fn skip(&mut self, seats: &[SeatNumber]) {
        // A race asks one seat after the other, and a cascade asks three unless set otherwise.
        let strategy_options = self.plan.strategy_options;
        let usual = if strategy_options.hedge_after_ms.is_some() { 1 } else { 3 };
        let is_first = self.plan.strategy.name() == "cascade" || strategy_options.hedge_after_ms.is_some();
        let first =
            strategy_options.first.or(is_first.then_some(usual)).expect("the strategy asks some first");
        assert!(!self.decided && !self.closed, "seats are skipped before the answer");
        for seat in seats {
            let account = self.by_slot.entry(CallerSlot::Seat(*seat)).or_default();
            assert!(account.is_asked && account.sent == 0, "seat {seat} is skipped and was asked");
            assert!(seat.index() >= usize::from(first), "seat {seat} is one of the first {first}");
            (account.is_asked, account.is_skipped) = (false, true);
        }
    }

    fn begin(&mut self, asked: Vec<SeatNumber>) {
        (self.decided, self.closed) = (false, false);
        for account in self.by_slot.values_mut() {
            if let Some(lost) = account.open.take() {
                account.lost = Some(lost);
                account.unpriced += 1;
            }
            (account.sent_now, account.retries_now, account.ended_now, account.is_asked) = (0, 0, 0, false);
        }
        for seat in asked {
            let account = self.by_slot.entry(CallerSlot::Seat(seat)).or_default();
            account.is_asked = !account.answered;
            account.is_skipped = false;
        }
    }

    fn read_call(&mut self, event: &Event) {
        let Some(Attempt { slot, number }) = event.attempt() else { return };
        if matches!(event, Event::Sent { .. }) {
            self.read_sent(slot, number);
            return;
        }
        let account = self.by_slot.entry(slot).or_default();
        if let Event::Reconciled { cost, .. } = event {
            account.unpriced = account.unpriced.checked_sub(1).expect("only an unknown cost is looked up");
            account.pay(number, *cost);
            return;
        }
        let cost = event.cost();
        let is_over = ends_call(event) || matches!(event, Event::Failed { .. });
        if is_over && account.open.take().is_some() {
            match cost {
                Some(cost) => account.pay(number, cost),
                None => account.unpriced += 1,
            }
        }
        let is_again = matches!(event, Event::Failed { retry, .. } if *retry != Retry::Never);
        account.retries_now += u32::from(is_again);
        if ends_call(event) {
            // A seat that was to be asked again but was not sent a request stays unknown.
            if account.sent_now > 0 || event.answer().is_some() {
                account.lost = None;
            }
            account.ended_now += 1;
            account.answered |= matches!((event, slot), (Event::Answered { .. }, CallerSlot::Seat(_)));
            account.unreported |= matches!(event, Event::Answered { .. } | Event::Cut { .. });
            assert!(
                account.is_asked || !matches!(slot, CallerSlot::Seat(_)),
                "{slot} ends and was not asked"
            );
        }
    }

    fn read_sent(&mut self, slot: CallerSlot, number: u32) {
        let is_named = matches!(slot, CallerSlot::Seat(seat) if self.named.contains(&seat));
        let account = self.by_slot.entry(slot).or_default();
        assert!(!account.answered, "{slot} has an answer and is asked again");
        let is_seat = matches!(slot, CallerSlot::Seat(_));
        assert!(is_seat || !account.unreported, "{slot} was paid for this outcome and is asked again");
        assert!(!account.is_skipped, "{slot} is skipped and sent");
        assert!(account.lost.is_none() || is_named, "{slot} may have been paid and is asked again unnamed");
        assert!(account.open.is_none() && number == account.sent + 1, "{slot} sends one after the other");
        assert!(account.is_asked || !matches!(slot, CallerSlot::Seat(_)), "{slot} is sent and was not asked");
        (account.open, account.lost) = (Some(number), None);
        account.sent += 1;
        account.sent_now += 1;
        self.check_budget(slot);
        if let CallerSlot::Step(number) = slot {
            self.check_step(&self.plan.steps[number.index()]);
        }
    }

    /// No step begins after the decision, and a spare step begins only once those it replaces are over.
    fn check_step(&self, step: &Step) {
        assert!(!self.decided, "no step begins after the decision");
        let stage_of = |step: &Step| {
            let flow = self.plan.flow.as_ref();
            flow.and_then(|flow| flow.of_slot(&self.plan, CallerSlot::Step(step.number)))
        };
        // The stages of a flow are executed side by side.
        let is_beside = |other: &Step| stage_of(other) == stage_of(step) && other.key.by != step.key.by;
        let is_open = |other: &Step| {
            let account = self.by_slot.get(&CallerSlot::Step(other.number));
            is_beside(other) && account.is_some_and(|account| account.open.is_some())
        };
        let open = self.plan.steps.iter().find(|other| step.is_spare && is_open(other));
        assert!(open.is_none(), "step {} is made beside step {:?}", step.number, open);
    }

    /// Spent plus reserved exceeds the budget by at most one output cap for each call in flight.
    fn check_budget(&self, slot: CallerSlot) {
        let (mut held, mut slack) = (PicoUsd::ZERO, PicoUsd::ZERO);
        for (slot, account) in &self.by_slot {
            let seat = self.seat(*slot);
            let worst = budget::worst_call(seat, &self.plan.messages, u64::MAX);
            let worst = worst.known().expect("every price is known");
            let under_way = u64::from(account.open.is_some());
            held = held.plus(account.known).plus(worst.times(account.unpriced + under_way));
            let price = seat.price.expect("every price is known");
            slack = slack.plus(price.cost(0, u64::from(seat.max_tokens)).times(under_way));
        }
        let limit = self.plan.budget.plus(slack);
        assert!(held <= limit, "{slot} leaves with {held} spent and held; the limit is {limit}");
    }

    fn seat(&self, slot: CallerSlot) -> &Seat {
        self.plan.seat_at(slot).expect("every slot has a model")
    }

    fn close(&mut self, cost: PicoUsd) {
        assert!(self.decided && !self.closed, "a part is closed once, and after it is decided");
        self.closed = true;
        let known: PicoUsd = self.by_slot.values().map(|account| account.known).sum();
        assert_eq!(known, cost, "costs add up");
        for (slot, account) in &self.by_slot {
            let Account { sent_now: sent, retries_now: retries, ended_now: ended, .. } = account;
            assert!(account.open.is_none(), "{slot} has no open request at the end");
            let most = if matches!(slot, CallerSlot::Seat(_)) { u32::from(account.is_asked) } else { 1 };
            assert!(
                *ended <= most && (*ended == most || !matches!(slot, CallerSlot::Seat(_))),
                "{slot} ends once"
            );
            assert!(*sent == *retries || *sent == retries + 1, "{slot}: {sent} sent, {retries} retries");
        }
    }

    /// Compares the accounts with the run.
    fn compare(&self, run: &Run) {
        for view in run.views() {
            let nothing = Account::default();
            let account = self.by_slot.get(&view.slot).unwrap_or(&nothing);
            let slot = view.slot;
            assert_eq!(view.attempts, account.sent, "{slot} counts its requests");
            assert_eq!(view.cost.unwrap_or_default(), account.known, "{slot} reports its cost");
            assert!(account.unpriced == 0 || view.cost_is_estimate, "{slot} marks its cost as an estimate");
            assert_eq!(view.is_unneeded(), account.is_skipped, "{slot} is skipped or not");
            let is_unknown = view.status == SeatStatus::Unknown;
            assert_eq!(is_unknown, account.lost.is_some(), "{slot} is {}", view.status.as_str());
            assert!(view.status.is_final() || !matches!(slot, CallerSlot::Seat(_)), "{slot} has ended");
        }
    }
}

impl Account {
    /// No request costs more than it is billed, however often its cost is reported.
    fn pay(&mut self, number: u32, cost: PicoUsd) {
        let paid = self.costs.entry(number).or_default();
        *paid = paid.plus(cost);
        assert!(*paid <= COST, "request #{number} is paid twice");
        self.known = self.known.plus(cost);
    }
}
