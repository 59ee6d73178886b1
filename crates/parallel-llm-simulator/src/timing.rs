//! The speed of one reply: a behaviour's latencies, drawn once, so that streaming and waiting agree.

use crate::script::Behaviour;
use crate::seed::Draw;

/// How fast one reply is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// Unscaled milliseconds until the first token.
    pub(crate) ttft_ms: f64,
    /// 0 is at once.
    tokens_per_s: u32,
    /// 0 is never.
    pub(crate) comment_every_ms: u64,
    /// Tokens in one event of a stream, not 0.
    pub(crate) chunk_tokens: u64,
    pub(crate) time_scale: f64,
}

impl Timing {
    /// The speed of this behaviour, jittered by the draw.
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

    /// Unscaled milliseconds that so many tokens take.
    pub(crate) fn ms(&self, tokens: u64) -> f64 {
        if self.tokens_per_s == 0 { 0.0 } else { tokens as f64 * 1000.0 / f64::from(self.tokens_per_s) }
    }
}
