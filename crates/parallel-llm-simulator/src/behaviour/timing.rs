//! The timing of one reply: latencies drawn once, so that streamed and whole replies agree.

use super::script::Behaviour;
use super::seed::Draw;

/// The timing of one reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// Milliseconds until the first token, before scaling.
    pub(crate) ttft_ms: f64,
    /// 0 sends everything at once.
    tokens_per_s: u32,
    /// Interval of keep-alives; 0 sends none.
    pub(crate) comment_every_ms: u64,
    /// Tokens in one event of a stream, never 0.
    pub(crate) chunk_tokens: u64,
    pub(crate) time_scale: f64,
}

impl Timing {
    /// Draws the timing of this behaviour.
    pub(crate) fn draw(behaviour: &Behaviour, is_synthesis: bool, time_scale: f64, draw: &mut Draw) -> Self {
        let jitter = behaviour.ttft_ms.jitter.min(behaviour.ttft_ms.mean);
        let ttft_ms = behaviour.ttft_ms.mean - jitter + draw.below(2 * jitter + 1);
        let tokens_per_s = match behaviour.synthesis_tokens_per_s {
            faster if is_synthesis && faster > 0 => faster,
            _ => behaviour.tokens_per_s,
        };
        Self {
            ttft_ms: ttft_ms as f64,
            tokens_per_s,
            comment_every_ms: behaviour.comment_every_ms,
            chunk_tokens: u64::from(behaviour.chunk_tokens.max(1)),
            time_scale,
        }
    }

    /// Milliseconds that this many tokens take, before scaling.
    pub(crate) fn ms(&self, tokens: u64) -> f64 {
        if self.tokens_per_s == 0 { 0.0 } else { tokens as f64 * 1000.0 / f64::from(self.tokens_per_s) }
    }
}
