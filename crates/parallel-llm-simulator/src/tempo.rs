//! The speed of one reply: a behaviour's latencies, drawn once, so that streaming and waiting agree.

use crate::script::Behaviour;
use crate::seed::Draw;

/// How fast one reply is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tempo {
    /// Unscaled milliseconds until the first token.
    pub(crate) ttft_ms: f64,
    /// 0 is at once.
    tokens_per_s: u32,
    /// 0 is never.
    pub(crate) comment_every_ms: u64,
    /// White space of a body that is not streamed; 0 is never.
    pub(crate) pad_every_ms: u64,
    pub(crate) time_scale: f64,
}

impl Tempo {
    /// The speed of this behaviour, jittered by the draw.
    pub(crate) fn draw(behaviour: &Behaviour, is_synthesis: bool, time_scale: f64, draw: &mut Draw) -> Self {
        let jitter = behaviour.ttft_ms.jitter.min(behaviour.ttft_ms.mean);
        let usual_ms = behaviour.ttft_ms.mean - jitter + draw.below(2 * jitter + 1);
        let in_tail = draw.fraction() < behaviour.ttft_ms.tail_p;
        let ttft_ms = usual_ms + if in_tail { behaviour.ttft_ms.tail_ms } else { 0 };
        let tokens_per_s = match behaviour.synthesis_tokens_per_s {
            faster if is_synthesis && faster > 0 => faster,
            _ => behaviour.tokens_per_s,
        };
        let comment_every_ms = behaviour.comment_every_ms;
        let pad_every_ms = behaviour.pad_whitespace_every_ms.unwrap_or(comment_every_ms);
        Self { ttft_ms: ttft_ms as f64, tokens_per_s, comment_every_ms, pad_every_ms, time_scale }
    }

    /// Unscaled milliseconds that so many tokens take.
    pub(crate) fn ms(&self, tokens: u64) -> f64 {
        if self.tokens_per_s == 0 { 0.0 } else { tokens as f64 * 1000.0 / f64::from(self.tokens_per_s) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Latency;

    /// Milliseconds until the first token, for so many requests.
    fn drawn(ttft_ms: Latency) -> Vec<u64> {
        let behaviour = Behaviour { ttft_ms, ..Behaviour::default() };
        let draw = |number: u64| Draw::new(7, &[&number.to_string()]);
        (0..1000)
            .map(|number| Tempo::draw(&behaviour, false, 1.0, &mut draw(number)).ttft_ms as u64)
            .collect()
    }

    #[test]
    fn the_tail_is_met_as_often_as_it_is_likely() {
        let usual = Latency { jitter: 10, ..Latency::of(100) };
        let tail = |tail_p| drawn(Latency { tail_p, tail_ms: 5000, ..usual });
        assert!(drawn(usual).iter().all(|ms| (90..=110).contains(ms)));
        assert_eq!(tail(0.0), drawn(usual));
        assert!(tail(1.0).iter().all(|ms| (5090..=5110).contains(ms)));
        let met = tail(0.25).into_iter().filter(|ms| *ms > 5000).count();
        assert!((200..300).contains(&met), "{met}");
    }
}
