//! The answers as a model is shown them: anonymous, in random order, shortened only to fit or by an option.

use std::collections::BTreeMap;

use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::plan::caller_slot::CallerSlot;
use crate::plan::seed::{self, SeededRandom};
use crate::plan::step::{StepKey, StepRole};
use crate::prompt::{self, Candidate, Exhibits, PeerRank, Task};
use crate::request::Message;
use crate::request::panel::{Seat, SeatNumber};
use crate::run::outcome::{Reading, Shortened};
use crate::run::prompt_record::{Prompt, PromptRecord};
use crate::value::answer::Answer;
use crate::value::usage::tokens_in;

/// The bytes of the markers around a text of another model, at most.
const REMARK_BYTES: usize = 100;

/// The order in which answers are shown. A judge sees both directions, so that the position in the list decides nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Forward,
    Backward,
    /// For the model of this seat, without its own answer: the answers after it, then those before it. Over all seats each
    /// answer is once at each position, so that a position bias of the readers cancels out.
    After(SeatNumber),
}

/// The task of a reader, and the order in which it is shown the answers.
#[derive(Clone, Copy)]
pub(crate) struct Assignment {
    pub(crate) task: Task,
    pub(crate) order: Order,
}

impl Assignment {
    /// A task for which the answers are read once.
    pub(crate) const fn once(task: Task) -> Self {
        Self { task, order: Order::Forward }
    }
}

/// The answers one model is shown, and the code of its prompt.
pub(crate) struct Shown {
    reader: CallerSlot,
    task: Task,
    pub(crate) nonce: String,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) shortened: Vec<Shortened>,
    beside: Beside,
}

/// What other models wrote of the shown answers.
pub(crate) enum Beside {
    Nothing,
    Analysis(ShownAnalysis),
    Peers(Peers),
}

/// An analysis of the shown answers by another model.
pub(crate) struct ShownAnalysis {
    /// The reply it was read from.
    pub(crate) reading: Reading,
    /// It, with the labels of the answers.
    pub(crate) text: String,
}

/// The ranks of the shown answers and the objections to them, by the authors of the others.
#[derive(Clone)]
pub(crate) struct Peers {
    pub(crate) ranks: BTreeMap<SeatNumber, PeerRank>,
    pub(crate) objections: BTreeMap<SeatNumber, Vec<String>>,
    /// The replies with the objections, in the order in which these are merged.
    pub(crate) readings: Vec<Reading>,
}

impl Beside {
    /// The foreign texts.
    fn texts(&self) -> Vec<&str> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Analysis(analysis) => vec![&analysis.text],
            Self::Peers(peers) => peers.objections.values().flatten().map(String::as_str).collect(),
        }
    }

    /// The analysis; empty if there is none.
    fn analysis(&self) -> &str {
        match self {
            Self::Analysis(analysis) => &analysis.text,
            Self::Nothing | Self::Peers(_) => "",
        }
    }

    /// The replies that the texts are read from.
    fn readings(&self) -> (Option<&Reading>, &[Reading]) {
        match self {
            Self::Nothing => (None, &[]),
            Self::Analysis(analysis) => (Some(&analysis.reading), &[]),
            Self::Peers(peers) => (None, &peers.readings),
        }
    }
}

impl Shown {
    /// The answers for the model of a slot.
    pub(crate) fn to(
        context: &RunContext,
        slot: CallerSlot,
        assignment: Assignment,
        usable: &[Usable],
    ) -> Self {
        Self::beside(context, slot, assignment, usable, Beside::Nothing)
    }

    /// The answers and what other models wrote of them. An analysis uses the same labels.
    pub(crate) fn beside(
        context: &RunContext,
        slot: CallerSlot,
        Assignment { task, order }: Assignment,
        usable: &[Usable],
        beside: Beside,
    ) -> Self {
        let key = match slot {
            CallerSlot::Step(number) => context.plan.steps.get(number.index()).map(|step| step.key),
            CallerSlot::Seat(_) | CallerSlot::Synthesizer(_) => None,
        };
        let mut random = SeededRandom::new(&context.plan, &order_purpose(key));
        // The first bytes used to be the code of the prompt: skip them to keep the order of stored runs.
        random.nonce();
        let mut shuffled: Vec<&Usable> = usable.iter().collect();
        random.shuffle(&mut shuffled);
        match order {
            Order::Forward => {}
            Order::Backward => shuffled.reverse(),
            Order::After(own) => {
                let own_index = shuffled.iter().position(|one| one.seat == own).unwrap_or(0);
                shuffled.rotate_left(own_index);
                shuffled.retain(|one| one.seat != own);
            }
        }
        let asked = context.plan.messages.iter().flat_map(Message::texts);
        let answers = usable.iter().map(|one| &*one.answer.text);
        let texts: Vec<&str> = answers.chain(asked).chain(beside.texts()).collect();
        let nonce = seed::code_of(&context.plan, slot, &texts);
        let mut candidates: Vec<Candidate> =
            shuffled.into_iter().enumerate().map(|(index, one)| candidate(index, one, &beside)).collect();
        let reader = context.plan.seat_at(slot).expect("a strategy calls slots of its plan only");
        let beside_bytes = if task.answers() {
            reader.persona_prompt_bytes()
        } else {
            beside.texts().iter().map(|text| (text.len() + REMARK_BYTES) as u64).sum()
        };
        let shortened = shorten(context, reader, task, beside_bytes, &mut candidates);
        Self { reader: slot, task, nonce, candidates, shortened, beside }
    }

    /// The prompt.
    pub(crate) fn prompt(&self, context: &RunContext) -> Prompt {
        let exhibits = Exhibits { candidates: &self.candidates, analysis: self.beside.analysis() };
        let reader = context.plan.seat_at(self.reader).expect("a strategy calls slots of its plan only");
        let messages = self.task.messages_to(reader, &context.plan.messages, exhibits, &self.nonce);
        let record = PromptRecord::new(self.task, &self.nonce, exhibits, self.beside.readings(), &messages);
        Prompt { messages, record: Some(Box::new(record)) }
    }

    /// The codes a reply can have, including those of prompts of earlier parts.
    pub(crate) fn codes(&self, context: &RunContext) -> Vec<String> {
        seed::codes_of(&context.plan, self.reader)
    }

    /// The labels of the candidates.
    pub(crate) fn labels(&self) -> Vec<String> {
        self.candidates.iter().map(|candidate| candidate.label.clone()).collect()
    }

    /// The labels of the candidates with their texts.
    pub(crate) fn labelled_texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.candidates.iter().map(|candidate| (candidate.label.as_str(), candidate.text.as_str()))
    }

    /// The seat of the candidate at this index of [`Self::labelled_texts`].
    pub(crate) fn seat_at(&self, index: usize) -> SeatNumber {
        self.candidates[index].seat
    }

    /// The shown text of a seat's answer.
    pub(crate) fn text_of(&self, seat: SeatNumber) -> &str {
        self.candidates.iter().find(|one| one.seat == seat).map_or("", |one| &one.text)
    }

    /// Whether one of the candidates is whole.
    pub(crate) fn has_whole(&self) -> bool {
        self.candidates.iter().any(|candidate| !candidate.stops_early)
    }

    /// The labels of the candidates with their seats.
    pub(crate) fn labelled_seats(&self) -> Vec<(String, SeatNumber)> {
        self.candidates.iter().map(|candidate| (candidate.label.clone(), candidate.seat)).collect()
    }

    /// A reference to the reply, by which the analysis in it can be read again.
    pub(crate) fn reading(&self, reply: &Answer) -> Reading {
        let shown = self.candidates.iter().map(|one| one.seat).collect();
        Reading { by: self.reader, reply_hash: reply.text_hash.clone(), shown }
    }

    /// The seat of the candidate with this label.
    pub(crate) fn seat_of(&self, label: &str) -> Option<SeatNumber> {
        self.candidates.iter().find(|one| one.label == label).map(|one| one.seat)
    }
}

/// The purpose by which the random order is derived. Each round of answers has its own, so that no seat keeps a position. All
/// readers of the same answers share one order, forward or backward.
fn order_purpose(key: Option<StepKey>) -> String {
    match key {
        Some(StepKey { role: StepRole::Proposer, round, .. }) => {
            format!("the order for a proposer in round {round}")
        }
        _ => "synthesis".to_owned(),
    }
}

fn candidate(index: usize, one: &Usable, beside: &Beside) -> Candidate {
    let peers = match beside {
        Beside::Peers(peers) => Some(peers),
        Beside::Nothing | Beside::Analysis(_) => None,
    };
    Candidate {
        label: prompt::label(index),
        seat: one.seat,
        text: one.answer.text.to_string(),
        shown_bytes: None,
        answer_hash: one.answer.text_hash.clone(),
        stops_early: one.cut || one.answer.truncated(),
        peer_rank: peers.and_then(|peers| peers.ranks.get(&one.seat).copied()),
        objections: peers.and_then(|peers| peers.objections.get(&one.seat).cloned()).unwrap_or_default(),
    }
}

/// Shortens candidates to the option and to the context of the reader, which also holds `beside_bytes` of other text.
fn shorten(
    context: &RunContext,
    reader: &Seat,
    task: Task,
    beside_bytes: u64,
    candidates: &mut [Candidate],
) -> Vec<Shortened> {
    let context_tokens = reader.context_tokens.unwrap_or(u64::MAX);
    let room = prompt::ContextWindow {
        context_tokens: context_tokens.saturating_sub(tokens_in(beside_bytes)),
        output_tokens: reader.max_tokens,
        candidate_tokens: context.plan.strategy_options.shown_tokens_max,
    };
    let cut = prompt::fit(task, candidates, &context.plan.messages, room);
    let shown =
        |seat| candidates.iter().find(|one| one.seat == seat).map_or(0, |one| one.text.chars().count());
    cut.into_iter()
        .map(|(seat, from)| Shortened { seat, from_chars: from as u64, to_chars: shown(seat) as u64 })
        .collect()
}
