//! Follows a run for a stream, piece by piece.
//!
//! Text once sent cannot be taken back, so only what will be the answer is sent: the text of a synthesizer, without the
//! parts that are not for the user, which the engine leaves out as it comes, or that of an only seat. Its beginning is held as long as it may be a
//! refusal, after which another synthesizer would be asked. If what was sent is not the beginning of the answer after all,
//! the stream ends with an error.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::call::hub::{Update, Watch};
use parallel_llm_engine::plan::step::StepRole;
use parallel_llm_engine::prompt::reply;
use parallel_llm_engine::request::strategy::Strategy;
use parallel_llm_engine::value::next::Operation;
use parallel_llm_engine::{CallerSlot, Code, Failure, Run, RunStatus};
use parallel_llm_service::report::event::progress_line;
use parallel_llm_service::{Leaving, RunHandle, Waiting};
use tokio::time::{Instant, sleep_until};

use super::End;
use crate::caller::Caller;
use crate::refusal::Refusal;
use crate::reply::{self as replies, Answer};
use crate::request::Progress;

/// The shortest time between two lines of progress: people read no faster.
const PROGRESS_GAP: Duration = Duration::from_millis(500);
/// The longest silence: proxies cut connections that are silent for half a minute.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// A piece of a stream.
pub(super) enum Piece {
    /// More of the answer.
    Text(String),
    /// How far the panel is, in one line.
    Progress(String),
    /// Nothing, for a while.
    Quiet,
    /// The end.
    End(End),
}

/// Follows a run. Dropped before the end, it gives the run up for its caller.
pub(super) struct Follower {
    caller: Arc<Caller>,
    handle: RunHandle,
    watch: Watch,
    waiting: Waiting,
    leaving: Option<Leaving>,
    progress: Progress,
    text: Streamed,
    ready: VecDeque<Piece>,
    /// When progress was last shown.
    shown_at: Option<Instant>,
    quiet_at: Instant,
}

impl Follower {
    pub(super) fn new(caller: Arc<Caller>, handle: &RunHandle, progress: Progress) -> Self {
        // A client that reads a stream knows that the call goes on.
        let waiting = Waiting::new(None, caller.shutdown.clone());
        let (run, watch) = handle.watch();
        let leaving = Some(waiting.leaving(handle));
        let mut follower = Self {
            caller,
            handle: handle.clone(),
            watch,
            waiting,
            leaving,
            progress,
            text: Streamed::default(),
            ready: VecDeque::new(),
            shown_at: None,
            quiet_at: Instant::now() + SILENCE_MAX,
        };
        follower.take_snapshot(&run);
        if follower.has_answer() {
            follower.show_progress();
        }
        follower
    }

    /// Whether a model has answered, so that there will be a text.
    pub(super) fn has_answer(&self) -> bool {
        self.handle.with_run(|run| run.answered() > 0)
    }

    /// The next piece. Nothing is lost if the wait for it is given up.
    pub(super) async fn next(&mut self) -> Piece {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                self.quiet_at = Instant::now() + SILENCE_MAX;
                return piece;
            }
            tokio::select! {
                biased;
                update = self.watch.next() => self.take(update),
                () = self.waiting.due() => {
                    self.ready.push_back(Piece::End(End::Broken(self.unfinished())));
                }
                () = sleep_until(self.quiet_at) => self.ready.push_back(self.silence()),
            }
        }
    }

    fn take(&mut self, update: Update) {
        match update {
            Update::Text { slot, offset, text } => self.take_text(slot, offset, &text),
            Update::Begun(_) => {}
            Update::Event(_) => {
                self.show_progress();
                self.look();
            }
            Update::Snapshot(run) => self.take_snapshot(&run),
        }
    }

    fn take_text(&mut self, slot: CallerSlot, offset: usize, text: &str) {
        if self.handle.with_run(|run| is_writer(run, slot)) {
            let piece = self.text.take(slot, offset, text);
            self.ready.extend(piece.map(Piece::Text));
        }
    }

    /// Takes the state of a run that may have gone on unseen.
    fn take_snapshot(&mut self, run: &Run) {
        let calls = run.seats.iter().chain(run.called());
        let writing = calls.filter(|view| is_writer(run, view.slot) && !view.partial.is_empty());
        for view in writing {
            let piece = self.text.replace(view.slot, &view.partial);
            self.ready.extend(piece.map(Piece::Text));
        }
        self.look();
    }

    /// Ends the stream if the run has an outcome.
    fn look(&mut self) {
        let is_over =
            self.handle.with_run(|run| run.is_decided() || run.closed || run.status != RunStatus::Running);
        let Some(leaving) = self.leaving.take_if(|_| is_over) else { return };
        leaving.answered();
        let answer = Answer::of(&self.handle, self.handle.report(), &self.caller.services.principal);
        let end = match answer {
            Err(refusal) => End::Broken(refusal),
            Ok(answer) => match self.text.rest(&answer.text) {
                Some(rest) => End::Whole(Box::new(answer), rest),
                None => End::Broken(self.departed()),
            },
        };
        self.ready.push_back(Piece::End(end));
    }

    fn show_progress(&mut self) {
        let is_due = self.shown_at.is_none_or(|at| at.elapsed() >= PROGRESS_GAP);
        if is_due && self.progress != Progress::Off && self.leaving.is_some() {
            self.shown_at = Some(Instant::now());
            self.ready.push_back(Piece::Progress(self.line()));
        }
    }

    fn silence(&self) -> Piece {
        if self.progress == Progress::Off { Piece::Quiet } else { Piece::Progress(self.line()) }
    }

    fn line(&self) -> String {
        let age_ms = self.handle.age_ms();
        self.handle.with_run(|run| progress_line::of(run, age_ms))
    }

    /// The refusal of a stream whose run goes on without it.
    fn unfinished(&self) -> Refusal {
        let id = self.handle.id();
        Refusal::from(replies::unfinished(id)).of_run(id)
    }

    /// The refusal of a stream whose text is not the beginning of the answer.
    fn departed(&self) -> Refusal {
        let id = self.handle.id();
        let message = format!(
            "the text so far is not the answer of run {id}: its synthesizer failed, and another text was made"
        );
        Refusal::from(Failure::new(Code::Incomplete, message).with_next(Operation::ShowRun)).of_run(id)
    }
}

/// Whether a slot writes the text of the run, as far as it is shown.
fn is_writer(run: &Run, slot: CallerSlot) -> bool {
    match slot {
        // The only answer is returned word for word by these strategies.
        CallerSlot::Seat(_) => {
            let is_alone = run.plan.seats.len() == 1 && run.plan.flow.is_none();
            is_alone && matches!(run.plan.strategy, Strategy::Synthesize | Strategy::Vote | Strategy::Race)
        }
        CallerSlot::Synthesizer(_) => true,
        CallerSlot::Step(number) => {
            run.plan.steps.get(number.index()).is_some_and(|step| step.key.role == StepRole::Draft)
        }
    }
}

/// The text of a stream: what has come, and how much of it was sent.
#[derive(Debug, Default)]
struct Streamed {
    slot: Option<CallerSlot>,
    text: String,
    /// The bytes that were sent.
    sent: usize,
    /// Whether another text has begun after a part of this one was sent.
    has_departed: bool,
}

impl Streamed {
    /// Takes a piece that begins at this byte, and returns what can be sent.
    fn take(&mut self, slot: CallerSlot, offset: usize, piece: &str) -> Option<String> {
        if self.slot != Some(slot) || offset == 0 {
            self.begin(slot);
        }
        // What a snapshot already held comes once more.
        let known = self.text.len().checked_sub(offset)?;
        self.text.push_str(piece.get(known..)?);
        self.release()
    }

    /// Takes the whole text of a slot, and returns what can be sent.
    fn replace(&mut self, slot: CallerSlot, text: &str) -> Option<String> {
        if let Some(rest) = text.strip_prefix(self.text.as_str()).filter(|_| self.slot == Some(slot)) {
            self.text.push_str(rest);
        } else {
            self.begin(slot);
            self.text.push_str(text);
        }
        self.release()
    }

    /// Begins another text. Nothing of it is sent if something of another was.
    fn begin(&mut self, slot: CallerSlot) {
        self.slot = Some(slot);
        if self.sent > 0 {
            self.has_departed = true;
        } else {
            self.text.clear();
        }
    }

    fn release(&mut self) -> Option<String> {
        if self.has_departed || (self.sent == 0 && reply::may_be_refusal(&self.text)) {
            return None;
        }
        let piece = self.text[self.sent..].to_owned();
        self.sent = self.text.len();
        (!piece.is_empty()).then_some(piece)
    }

    /// The rest of the answer; `None` if what was sent is not its beginning.
    fn rest(&self, answer: &str) -> Option<String> {
        answer.strip_prefix(&self.text[..self.sent]).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use parallel_llm_engine::SeatNumber;

    use super::*;

    const FIRST: CallerSlot = CallerSlot::Synthesizer(SeatNumber(1));
    const SECOND: CallerSlot = CallerSlot::Synthesizer(SeatNumber(2));

    /// Sends these pieces, and returns what was sent and the rest of the answer.
    fn streamed(pieces: &[(CallerSlot, usize, &str)], answer: &str) -> (String, Option<String>) {
        let mut text = Streamed::default();
        let sent =
            pieces.iter().filter_map(|(slot, offset, piece)| text.take(*slot, *offset, piece)).collect();
        (sent, text.rest(answer))
    }

    #[test]
    fn only_the_beginning_of_the_answer_is_sent() {
        let rest = |text: &str| Some(text.to_owned());
        let check = |pieces: &[(CallerSlot, usize, &str)], answer: &str, sent: &str, left: Option<String>| {
            assert_eq!(streamed(pieces, answer), (sent.to_owned(), left), "{pieces:?}");
        };
        check(&[], "All.", "", rest("All."));
        check(&[(FIRST, 0, "The "), (FIRST, 4, "moon")], "The moon.", "The moon", rest("."));
        // A writer that fails before its first word leaves no trace.
        check(&[(FIRST, 0, ""), (SECOND, 0, "The moon")], "The moon.", "The moon", rest("."));
        // One that fails later does: the text of the next is not sent.
        check(&[(FIRST, 0, "The "), (SECOND, 0, "A moon")], "A moon.", "The ", None);
        check(&[(FIRST, 0, "The "), (SECOND, 0, "The moon")], "The moon.", "The ", rest("moon."));
        // A refusal is held: another is asked after it.
        let refusal = "I can't help with that.";
        check(&[(FIRST, 0, refusal), (SECOND, 0, "The moon")], "The moon.", "The moon", rest("."));
        check(&[(FIRST, 0, refusal)], refusal, "", rest(refusal));
        check(&[(FIRST, 0, "I can"), (FIRST, 5, " see it.")], "I can see it.", "I can see it.", rest(""));
        check(&[(FIRST, 0, "The moon"), (FIRST, 4, "moon is")], "The moon is", "The moon is", rest(""));
    }
}
