//! The live page: the sections that have changed and the text that has come, as server-sent events.
//!
//! Sections are numbered by the `seq` of the newest event in them. A page says what it has when it connects, and gets the rest:
//! a reload or a lost connection loses nothing. Whatever comes within [`TICK`] is sent at once, so that a browser draws at most
//! ten times a second for any number of seats.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, Query};
use axum::response::sse::{Event as Message, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use parallel_llm_engine::call::hub::{Update, Watch};
use parallel_llm_engine::run::{Run, SeatStatus, SeatView};
use parallel_llm_engine::{CallerSlot, RunStatus};
use parallel_llm_http::Policy;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::seat::seen;
use super::sections::{self, Sections};
use super::shown::{Shown, element};
use super::viewed::{Viewed, worded};
use crate::visit::Visit;

/// The pause between two messages: ten a second are smooth to the eye.
const TICK: Duration = Duration::from_millis(100);
/// The pause between comments that keep proxies from closing a silent stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The longest stream. The page connects again and loses nothing, and a session that was ended, or a token that was revoked, gets
/// no further.
const STREAM_MAX: Duration = Duration::from_secs(60);
/// The most positions a page may name: more than a run has calls.
const POSITIONS_MAX: usize = 256;

/// What a page has already.
#[derive(Deserialize)]
pub(crate) struct Position {
    /// The newest event in its sections.
    #[serde(default)]
    seq: u64,
    /// The bytes of each text in progress, as `seat-1:1234,seat-2:0`.
    #[serde(default)]
    at: String,
}

/// Sections that have changed.
#[derive(Serialize)]
struct Changed {
    /// The newest event in them.
    seq: u64,
    /// HTML by the id of the element that it replaces.
    sections: Sections,
    /// Whether more may come.
    live: bool,
    /// What to say to those who do not see the page; left out if there is nothing new to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    announce: Option<String>,
}

/// A piece of a text in progress.
#[derive(Debug, PartialEq, Serialize)]
struct TextPiece {
    slot: String,
    /// The byte of the text at which it begins; at 0 the page begins anew.
    offset: usize,
    /// The byte behind it.
    end: usize,
    text: String,
}

/// Streams a run to a page.
pub(crate) async fn follow(
    visit: Visit,
    Path(run): Path<String>,
    Query(position): Query<Position>,
) -> Response {
    let viewed = match Viewed::find(&visit, &run).await {
        Ok(viewed) => viewed,
        Err(failure) => return visit.answer(Err(failure)),
    };
    let end = visit.web.end.clone();
    let messages = Follower::new(visit, viewed, &position).messages();
    let over = async move { drop(timeout(STREAM_MAX, end.cancelled_owned()).await) };
    let messages = futures_util::StreamExt::take_until(messages, Box::pin(over));
    let stream = Sse::new(messages).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    Policy::Api.on(stream.into_response())
}

/// Follows a run for one page.
struct Follower {
    visit: Visit,
    viewed: Viewed,
    watch: Watch,
    /// The sections as the page has them, by hash.
    sent: BTreeMap<String, blake3::Hash>,
    /// The seats whose final text the page has, with their status.
    ended: BTreeMap<String, SeatStatus>,
    /// The bytes of each text in progress that the page has.
    at: BTreeMap<String, usize>,
    /// Messages to send before the next wait.
    ready: Vec<Message>,
    announced: Announced,
    is_over: bool,
    next_tick: Instant,
}

/// How far a run was when it was last announced.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Announced {
    ended: usize,
    is_decided: bool,
}

/// What has come since the last message.
#[derive(Default)]
struct News {
    /// Whether a section may have changed.
    has_facts: bool,
    has_text: bool,
}

impl Follower {
    fn new(visit: Visit, mut viewed: Viewed, position: &Position) -> Self {
        let (run, watch) = viewed.handle.watch();
        let known = |view: &SeatView| view.status.is_final().then(|| (element(view.slot), view.status));
        let at = positions(&position.at);
        // First words change the state of their seat without an event.
        let has_begun = |view: &SeatView| !view.partial.is_empty() && at.get(&element(view.slot)) == Some(&0);
        let is_current = run.seq == position.seq && !run.seats.iter().any(has_begun);
        // Events between the reading of the store and the watch come with it.
        viewed.events.retain(|recorded| recorded.seq <= run.seq);
        let mut follower = Self {
            ended: run.seats.iter().filter_map(known).filter(|_| is_current).collect(),
            announced: Announced::of(&run),
            visit,
            viewed,
            watch,
            sent: BTreeMap::new(),
            at,
            ready: Vec::new(),
            is_over: false,
            next_tick: Instant::now(),
        };
        follower.look(&run, is_current);
        follower
    }

    fn messages(self) -> impl Stream<Item = Result<Message, Infallible>> {
        stream::unfold(self, |mut follower| async move {
            while follower.ready.is_empty() {
                if follower.is_over {
                    return None;
                }
                follower.wait().await;
            }
            let message = follower.ready.remove(0);
            Some((Ok(message), follower))
        })
    }

    /// Waits for news, collects what comes with it, and makes messages of it.
    async fn wait(&mut self) {
        let first = self.watch.next().await;
        sleep_until(self.next_tick).await;
        self.next_tick = Instant::now() + TICK;
        let mut news = News::default();
        self.take(first, &mut news);
        // What is there already is taken without waiting for more.
        while let Ok(update) = timeout_at(Instant::now(), self.watch.next()).await {
            self.take(update, &mut news);
        }
        if news.has_text {
            self.send_texts();
        }
        if news.has_facts {
            let run = self.viewed.handle.snapshot();
            self.look(&run, false);
        }
    }

    fn take(&mut self, update: Update, news: &mut News) {
        match update {
            Update::Event(recorded) => {
                news.has_facts = true;
                self.viewed.events.push((*recorded).clone());
            }
            Update::Begun(_) => news.has_facts = true,
            Update::Text { slot, .. } => {
                news.has_text = true;
                // The first words turn "thinking" into "writing", and a first draft has no element yet.
                // A page names a text that has not begun as one of 0 bytes.
                news.has_facts |= self.at.get(&element(slot)).is_none_or(|bytes| *bytes == 0);
            }
            Update::Snapshot(_) => *news = News { has_facts: true, has_text: true },
        }
    }

    /// Sends the sections that have changed. A page that has the current ones gets none.
    fn look(&mut self, run: &Run, is_current: bool) {
        let report = worded(&self.visit, self.viewed.handle.report());
        let shown = Shown {
            run,
            report: &report,
            events: &self.viewed.events,
            visit: &self.visit,
            can_steer: self.viewed.can_steer,
            age_ms: self.viewed.handle.age_ms(),
        };
        let is_live = shown.is_live();
        let mut sections = sections::facts(shown);
        let texts = sections::ended_texts(shown, &self.ended);
        sections.retain(|id, html| {
            let hash = blake3::hash(html.as_bytes());
            self.sent.insert(id.clone(), hash) != Some(hash)
        });
        sections.extend(texts);
        let ended = run.seats.iter().filter(|view| view.status.is_final());
        self.ended = ended.map(|view| (element(view.slot), view.status)).collect();
        let announced = Announced::of(run);
        let announce = (announced != self.announced).then(|| announced.described(run));
        self.announced = announced;
        self.is_over = !is_live;
        if !is_current || !is_live {
            let changed = Changed { seq: run.seq, sections, live: is_live, announce };
            self.ready.push(message("sections", &changed).id(run.seq.to_string()));
        }
        // The draft in the section that was just sent holds the whole text so far.
        for view in run.called().filter(|view| matches!(view.slot, CallerSlot::Synthesizer(_))) {
            self.at.insert(element(view.slot), view.partial.len());
        }
        self.send_texts();
    }

    /// Sends what has been written since the last time.
    fn send_texts(&mut self) {
        let at = &mut self.at;
        let pieces: Vec<TextPiece> = self.viewed.handle.with_run(|run| {
            let writing = run.seats.iter().chain(&run.synthesizers).filter(|view| !view.status.is_final());
            writing.filter_map(|view| piece(view, at)).collect()
        });
        if !pieces.is_empty() {
            self.ready.push(message("texts", &pieces));
        }
    }
}

/// The piece of a text that a page lacks, if any.
fn piece(view: &SeatView, at: &mut BTreeMap<String, usize>) -> Option<TextPiece> {
    let slot = element(view.slot);
    let known = at.get(&slot).copied().unwrap_or_default();
    let end = view.partial.len();
    if known == end {
        return None;
    }
    // A text shorter than before is that of another try.
    let (offset, text) = view.partial.get(known..).map_or((0, view.partial.as_str()), |rest| (known, rest));
    at.insert(slot.clone(), end);
    Some(TextPiece { slot, offset, end, text: seen(text) })
}

fn positions(text: &str) -> BTreeMap<String, usize> {
    let position = |entry: &str| {
        let (slot, bytes) = entry.split_once(':')?;
        Some((slot.to_owned(), bytes.parse().ok()?))
    };
    text.split(',').take(POSITIONS_MAX).filter_map(position).collect()
}

fn message(name: &str, data: &impl Serialize) -> Message {
    let data = serde_json::to_string(data).expect("a message is plain data with string keys");
    Message::default().event(name).data(data)
}

impl Announced {
    fn of(run: &Run) -> Self {
        let ended = run.seats.iter().filter(|view| view.status.is_final()).count();
        Self { ended, is_decided: run.is_decided() }
    }

    fn described(self, run: &Run) -> String {
        match (self.is_decided, run.status) {
            (true, RunStatus::Complete | RunStatus::Partial) => "The answer is here.".to_owned(),
            (true, status) => format!("The run is {}.", status.as_str()),
            (false, _) => format!("{} of {} seats have ended.", self.ended, run.seats.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_a_page_are_read_and_nothing_else() {
        let read = |text: &str| format!("{:?}", positions(text));
        assert_eq!(read("seat-1:12,synthesizer-1:0"), r#"{"seat-1": 12, "synthesizer-1": 0}"#);
        assert_eq!(read(""), "{}");
        assert_eq!(read("seat-1,seat-2:x,:,seat-3:-1"), "{}");
    }
}
