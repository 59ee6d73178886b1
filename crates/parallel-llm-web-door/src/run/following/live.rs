//! The live page: the sections that have changed and the text that has come, as server-sent events.
//!
//! Sections are numbered by the `seq` of the newest event in them. A page says what it has when it connects, and gets the rest:
//! a reload or a lost connection loses nothing. Whatever comes within a tick is sent at once, and the more seats write, the longer
//! it is, so that a browser has time to draw. Bytes are for texts: what is long and changes with each event is sent again only as
//! often as the texts pay for it.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, Query};
use axum::response::sse::{Event as Message, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use parallel_llm_engine::call::hub::{Update, Watch};
use parallel_llm_engine::run::{Run, SeatView};
use parallel_llm_engine::{Event, RunStatus};
use parallel_llm_http::Policy;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout, timeout_at};

use super::page_copy::{self, PageCopy};
use crate::run::sections::moment::{self, Sections};
use crate::run::view::shown::{Shown, element};
use crate::run::view::viewed::{Viewed, worded};
use crate::run::view::written::TextPiece;
use crate::visit::Visit;

/// The pause between two messages: ten a second are smooth to the eye.
const TICK: Duration = Duration::from_millis(100);
/// How much longer it is for each seat that writes: nobody reads sixty-four at once, but a browser draws them.
const TICK_PER_TEXT: Duration = Duration::from_millis(6);
/// The bytes that a text has more before they are sent, for each text that is written: a piece costs eighty bytes by itself.
const PIECE_BYTES_PER_TEXT: usize = 4;
/// How long fewer bytes wait.
const PIECE_WAIT: Duration = Duration::from_secs(2);
/// The pause after which a silent stream says that it is there. A page that hears nothing for longer looks for the server,
/// and proxies close no stream that is never silent.
const BEAT: Duration = Duration::from_secs(1);
/// The longest stream. The page connects again and loses nothing, and a session that was ended, or a token that was revoked, gets
/// no further.
const STREAM_MAX: Duration = Duration::from_secs(60);

/// What a page has already.
#[derive(Deserialize)]
pub(crate) struct Position {
    /// The newest event in its sections.
    #[serde(default)]
    seq: u64,
    /// Each text in progress: where its open blocks begin, its bytes, its finished blocks and their hash, as
    /// `seat-1:1234:1300:2:9f0c,seat-2:0:0:0:0`.
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
    let beat = Message::default().event("beat").data("1");
    let stream = Sse::new(messages).keep_alive(KeepAlive::new().interval(BEAT).event(beat));
    Policy::Api.on(stream.into_response())
}

/// Follows a run for one page.
struct Follower {
    visit: Visit,
    viewed: Viewed,
    watch: Watch,
    copy: PageCopy,
    /// When a few bytes of text that wait are sent.
    flush: Option<Instant>,
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
        let positions = page_copy::positions(&position.at);
        let is_at = |view: &SeatView| positions.get(&element(view.slot));
        // First words change the state of their seat without an event.
        let has_begun =
            |view: &SeatView| !view.partial.is_empty() && is_at(view).is_some_and(|at| at.bytes == 0);
        let is_current = run.seq == position.seq && !run.seats.iter().any(has_begun);
        // Events between the reading of the store and the watch come with it.
        viewed.events.retain(|recorded| recorded.seq <= run.seq);
        // A text that the page has, and not in progress, has ended there, unless the run was opened again.
        let is_new = |event: &Event| matches!(event, Event::Reopened { .. });
        let is_reopened =
            viewed.events.iter().any(|recorded| recorded.seq > position.seq && is_new(&recorded.event));
        let has_texts = position.seq > 0 && !is_reopened;
        let ended =
            run.seats.iter().filter(|view| has_texts && is_at(view).is_none()).filter_map(known).collect();
        let mut follower = Self {
            announced: Announced::of(&run),
            visit,
            viewed,
            watch,
            copy: PageCopy::new(positions, ended),
            flush: None,
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
        let mut news = News::default();
        let first = match self.flush {
            Some(flush) => timeout_at(flush, self.watch.next()).await.ok(),
            None => Some(self.watch.next().await),
        };
        match first {
            Some(update) => self.take(update, &mut news),
            None => news.has_text = true,
        }
        // Updates are taken as they come: a watch that is not read falls behind.
        while let Ok(update) = timeout_at(self.next_tick, self.watch.next()).await {
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
                let slot = element(slot);
                news.has_facts |= self.copy.text_bytes_of(&slot) == 0;
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
            is_followed: true,
        };
        let is_live = shown.is_live();
        let announced = Announced::of(run);
        let is_turn = announced.is_decided != self.announced.is_decided || !is_live;
        let mut sections = moment::facts(shown);
        if is_current && is_live {
            self.copy.know(&sections);
            sections.clear();
        }
        sections.retain(|id, html| self.copy.is_due(id, html, is_turn));
        // Before the sections: the last ones end the stream.
        let rests = self.copy.end_texts(shown, &mut sections);
        self.send_pieces(&rests);
        let announce = (announced != self.announced).then(|| announced.described(run));
        self.announced = announced;
        self.is_over = !is_live;
        if !is_current || !is_live {
            let changed = Changed { seq: run.seq, sections, live: is_live, announce };
            self.ready.push(message("sections", &changed).id(run.seq.to_string()));
        }
        self.send_texts();
    }

    /// Sends what has been written since the last time, unless it is little and has not waited.
    fn send_texts(&mut self) {
        let now = Instant::now();
        let is_late = self.flush.is_some_and(|flush| flush <= now);
        let run = self.viewed.handle.snapshot();
        let writing: Vec<&SeatView> =
            run.seats.iter().chain(&run.synthesizers).filter(|view| is_written(view)).collect();
        let count = writing.len();
        let mut pieces = Vec::new();
        let mut is_waiting = false;
        for view in writing {
            let written = self.copy.written(view, &view.partial);
            let more = view.partial.len().saturating_sub(written.bytes());
            if (1..count * PIECE_BYTES_PER_TEXT).contains(&more) && written.bytes() > 0 && !is_late {
                is_waiting = true;
                continue;
            }
            pieces.extend(written.advance(&view.partial).map(|piece| piece.of(element(view.slot))));
        }
        self.flush = is_waiting.then(|| self.flush.filter(|_| !is_late).unwrap_or(now + PIECE_WAIT));
        self.next_tick = now + TICK + TICK_PER_TEXT * u32::try_from(count).unwrap_or(u32::MAX);
        self.send_pieces(&pieces);
    }

    fn send_pieces(&mut self, pieces: &[TextPiece]) {
        if !pieces.is_empty() {
            self.copy.count(pieces);
            self.ready.push(message("texts", &pieces));
        }
    }
}

/// Whether the text of a call is on its way.
fn is_written(view: &SeatView) -> bool {
    !view.status.is_final() && (!view.partial.is_empty() || view.attempts > 1)
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
