//! [`ChatStream`]: a reply part by part.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::stream::{BoxStream, Stream};
use futures_util::{StreamExt, stream};
use parallel_llm_engine::call::reply_timers::ReplyTimers;
use parallel_llm_engine::plan::Timers;
use parallel_llm_engine::port::{ReplyEnd, ReplyPart};
use parallel_llm_engine::{Code, Failure, Finish, PicoUsd};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;

use super::{Slot, failed};
use crate::error::{Cause, Error};
use crate::reply::{ChatEnd, ChatReply};

/// A piece of a reply, in the order it came.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ChatPart {
    /// The model reasons. Its words are not kept.
    Reasoning,
    /// The next piece of the answer. Never empty.
    Text(String),
    /// The answer is whole. Nothing follows.
    End(ChatEnd),
}

/// The parts of a reply. It ends after [`ChatPart::End`] or the first error; dropping it closes the connection.
///
/// It is a [`Stream`]; [`ChatStream::next`] needs no further trait.
pub struct ChatStream(BoxStream<'static, Result<ChatPart, Error>>);

impl ChatStream {
    pub(super) fn new(reading: Reading) -> Self {
        Self(
            stream::unfold(Some(Box::new(reading)), |reading| async move {
                let mut reading = reading?;
                let part = reading.next().await;
                let is_over = !matches!(part, Ok(ChatPart::Reasoning | ChatPart::Text(_)));
                Some((part, (!is_over).then_some(reading)))
            })
            .fuse()
            .boxed(),
        )
    }

    /// The next part; `None` after the end.
    pub async fn next(&mut self) -> Option<Result<ChatPart, Error>> {
        self.0.next().await
    }

    /// The whole reply, of which nothing has been read yet.
    pub(super) async fn whole(mut self) -> Result<ChatReply, Error> {
        let mut text = String::new();
        while let Some(part) = self.next().await {
            match part {
                Ok(ChatPart::Reasoning) => {}
                Ok(ChatPart::Text(piece)) => text.push_str(&piece),
                Ok(ChatPart::End(end)) => return Ok(ChatReply { text, end }),
                Err(Error::Cut { reply, source }) => {
                    return Err(Error::Cut { reply: Box::new(ChatReply { text, ..*reply }), source });
                }
                Err(error) => return Err(error),
            }
        }
        Err(failed(&cut_off()))
    }
}

impl Stream for ChatStream {
    type Item = Result<ChatPart, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(context)
    }
}

impl fmt::Debug for ChatStream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ChatStream")
    }
}

/// A reply that is being read.
pub(super) struct Reading {
    reply: Arc<Slot>,
    /// Set when the client is closed, which takes the reply away.
    closed: CancellationToken,
    limits: Timers,
    /// Begun by the first read, which sends the call.
    timers: Option<ReplyTimers>,
    generation_id: Option<String>,
    is_silent: bool,
    has_thought: bool,
    /// The place among all that share the limiter.
    _place: Option<OwnedSemaphorePermit>,
}

impl Reading {
    pub(super) fn new(
        reply: Arc<Slot>,
        closed: CancellationToken,
        limits: Timers,
        place: Option<OwnedSemaphorePermit>,
    ) -> Self {
        let (timers, generation_id) = (None, None);
        let (is_silent, has_thought) = (true, false);
        Self { reply, closed, limits, timers, generation_id, is_silent, has_thought, _place: place }
    }

    /// The next part that is shown.
    async fn next(&mut self) -> Result<ChatPart, Error> {
        loop {
            match self.next_raw().await? {
                ReplyPart::Connected | ReplyPart::Alive => {}
                ReplyPart::Accepted { generation_id } => self.generation_id = Some(generation_id),
                ReplyPart::Reasoning => {
                    self.has_thought = true;
                    return Ok(ChatPart::Reasoning);
                }
                ReplyPart::Text(text) => {
                    self.is_silent &= text.trim().is_empty();
                    return Ok(ChatPart::Text(text));
                }
                ReplyPart::End(end) => return self.end(end),
            }
        }
    }

    /// The next part as it came, within the timers.
    async fn next_raw(&mut self) -> Result<ReplyPart, Error> {
        let timers = self.timers.get_or_insert_with(|| ReplyTimers::starting_now(&self.limits));
        let (limit, timer) = timers.next_limit();
        let next = poll_fn(|context| match self.reply.lock().as_mut() {
            Some(reply) => reply.poll_next_unpin(context),
            None => Poll::Ready(None),
        });
        let failure = match self.closed.run_until_cancelled(timeout_at(limit, next)).await {
            None => return Err(Error::Closed),
            Some(Ok(Some(Ok(part)))) => {
                timers.note(&part);
                return Ok(part);
            }
            Some(Ok(Some(Err(failure)))) => failure,
            Some(Ok(None)) if self.closed.is_cancelled() => return Err(Error::Closed),
            Some(Ok(None)) => cut_off(),
            Some(Err(_)) => {
                let failure = timers.timeout(timer);
                if let Some(mut reply) = self.reply.lock().take() {
                    reply.timed_out(&failure);
                }
                failure
            }
        };
        let has_come = !self.is_silent || self.has_thought || self.generation_id.is_some();
        Err(if has_come { self.cut(ReplyEnd::default(), &failure) } else { failed(&failure) })
    }

    fn end(&mut self, end: ReplyEnd) -> Result<ChatPart, Error> {
        // The connection goes back to the pool.
        drop(self.reply.lock().take());
        match end.failure(self.is_silent, self.has_thought) {
            Some(failure) => Err(self.cut(end, &failure)),
            None => Ok(ChatPart::End(self.reported(end))),
        }
    }

    /// The error of a reply of which something has come.
    fn cut(&mut self, end: ReplyEnd, failure: &Failure) -> Error {
        let reply = ChatReply { end: self.reported(end), ..ChatReply::default() };
        Error::Cut { reply: Box::new(reply), source: Cause::of(failure) }
    }

    fn reported(&mut self, end: ReplyEnd) -> ChatEnd {
        ChatEnd {
            finish: end.finish.as_ref().map(Finish::as_str).map(str::to_owned),
            usage: end.usage,
            cost_usd: end.cost.map(PicoUsd::as_usd),
            model: end.served_model,
            generation_id: end.generation_id.or_else(|| self.generation_id.take()),
        }
    }
}

fn cut_off() -> Failure {
    Failure::new(Code::Incomplete, "the reply stopped before its end")
}
