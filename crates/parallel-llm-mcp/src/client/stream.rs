//! [`ChatStream`]: a reply part by part, and [`ChatReply`]: a whole one.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{BoxStream, Stream};
use futures_util::{StreamExt, stream};
use parallel_llm_engine::port::{ReplyEnd, ReplyPart};
use parallel_llm_engine::{Code, Failure, Finish, PicoUsd, Usage};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{Slot, failed};
use crate::error::Error;

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

/// What a provider reports at the end of a reply.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ChatEnd {
    /// Why the model stopped, in the protocol's word: `stop` for a complete answer, `length` for one at its cap.
    pub finish: Option<String>,
    /// The token counts.
    pub usage: Usage,
    /// The cost in USD, if the provider reports it.
    pub cost_usd: Option<f64>,
    /// The model that answered, as the provider names it.
    pub model: Option<String>,
    /// The provider's id of the call.
    pub generation_id: Option<String>,
}

/// A whole reply.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChatReply {
    /// The answer. Never empty.
    pub text: String,
    /// What the provider reported with it.
    pub end: ChatEnd,
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
            match part? {
                ChatPart::Reasoning => {}
                ChatPart::Text(piece) => text.push_str(&piece),
                ChatPart::End(end) => return Ok(ChatReply { text, end }),
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
    idle_max: Duration,
    call_max: Duration,
    /// When the call must be over, counted from its first read, which sends it.
    deadline: Option<Instant>,
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
        idle_max: Duration,
        call_max: Duration,
        place: Option<OwnedSemaphorePermit>,
    ) -> Self {
        let (deadline, generation_id) = (None, None);
        let (is_silent, has_thought) = (true, false);
        Self {
            reply,
            closed,
            idle_max,
            call_max,
            deadline,
            generation_id,
            is_silent,
            has_thought,
            _place: place,
        }
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
        let now = Instant::now();
        let call_by = *self.deadline.get_or_insert(now + self.call_max);
        let idle_by = now + self.idle_max;
        let next = poll_fn(|context| match self.reply.lock().as_mut() {
            Some(reply) => reply.poll_next_unpin(context),
            None => Poll::Ready(None),
        });
        let part = self.closed.run_until_cancelled(timeout_at(idle_by.min(call_by), next)).await;
        match part {
            None => Err(Error::Closed),
            Some(Ok(Some(part))) => part.map_err(|failure| failed(&failure)),
            Some(Ok(None)) if self.closed.is_cancelled() => Err(Error::Closed),
            Some(Ok(None)) => Err(failed(&cut_off())),
            Some(Err(_)) => {
                let of_call = call_by <= idle_by;
                let (timer, limit) =
                    if of_call { ("call_timeout", self.call_max) } else { ("idle_timeout", self.idle_max) };
                let message = format!("the reply took longer than its `{timer}` of {} ms", limit.as_millis());
                let failure = Failure::new(Code::Timeout, message);
                if let Some(mut reply) = self.reply.lock().take() {
                    reply.timed_out(&failure);
                }
                Err(failed(&failure))
            }
        }
    }

    fn end(&mut self, end: ReplyEnd) -> Result<ChatPart, Error> {
        // The connection goes back to the pool.
        drop(self.reply.lock().take());
        if let Some(failure) = end.failure(self.is_silent, self.has_thought) {
            return Err(failed(&failure));
        }
        Ok(ChatPart::End(ChatEnd {
            finish: end.finish.as_ref().map(Finish::as_str).map(str::to_owned),
            usage: end.usage,
            cost_usd: end.cost.map(PicoUsd::as_usd),
            model: end.served_model,
            generation_id: end.generation_id.or_else(|| self.generation_id.take()),
        }))
    }
}

fn cut_off() -> Failure {
    Failure::new(Code::Incomplete, "the reply stopped before its end")
}
