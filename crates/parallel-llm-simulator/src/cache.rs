//! OpenRouter's response cache: a request that asks for it, word for word the same as an earlier one, is given the
//! earlier reply with a new id, at once and without charge.
//!
//! It keeps replies, not answers. Whether a reply may be kept, and what it says, is left to `postscript`.

use std::collections::{HashMap, VecDeque};

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use crate::reply::Step;

/// Replies kept; the oldest is forgotten first.
const REPLIES_MAX: usize = 1000;

/// The longest reply that is kept; with the number above it bounds the cache.
const REPLY_BYTES_MAX: usize = 256 * 1024;

/// How long a reply is kept unless the request says, and at most.
const TTL_S: u64 = 300;
const TTL_S_MAX: u64 = 86_400;

/// What a request wants of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheOrder {
    pub(crate) ttl_s: u64,
    /// Forgets what is kept for this request.
    pub(crate) clear: bool,
}

impl CacheOrder {
    /// `None`: the cache is not to be used.
    pub(crate) fn read(headers: &HeaderMap) -> Option<Self> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let on = |name: &str| text(name).is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let clear = on("x-openrouter-cache-clear");
        let asked_s = text("x-openrouter-cache-ttl").and_then(|value| value.parse().ok());
        let ttl_s = asked_s.unwrap_or(TTL_S).clamp(1, TTL_S_MAX);
        (on("x-openrouter-cache") || clear).then_some(Self { ttl_s, clear })
    }
}

/// What a reply is kept under.
pub(crate) type CacheKey = blake3::Hash;

/// The key of a request: who asks, by the hash of his key, and for what.
pub(crate) fn cache_key(caller: &blake3::Hash, body: &[u8]) -> CacheKey {
    let mut hasher = blake3::Hasher::new();
    hasher.update(caller.as_bytes()).update(body);
    hasher.finalize()
}

/// A reply that was kept.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) generation_id: String,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) steps: Vec<Step>,
    pub(crate) since_us: u64,
    pub(crate) ttl_s: u64,
}

impl Kept {
    /// Whole seconds that it has been kept for.
    pub(crate) fn age_s(&self, now_us: u64) -> u64 {
        now_us.saturating_sub(self.since_us) / 1_000_000
    }
}

/// All replies that are kept.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    replies: HashMap<CacheKey, Kept>,
    order: VecDeque<CacheKey>,
}

impl Cache {
    /// The reply for this key, unless it is too old.
    pub(crate) fn find(&self, key: &CacheKey, now_us: u64) -> Option<&Kept> {
        self.replies.get(key).filter(|kept| kept.age_s(now_us) < kept.ttl_s)
    }

    pub(crate) fn forget(&mut self, key: &CacheKey) {
        self.replies.remove(key);
        self.order.retain(|kept| kept != key);
    }

    /// Keeps a reply, unless it is longer than anybody would keep.
    pub(crate) fn keep(&mut self, key: CacheKey, kept: Kept) {
        let sizes = kept.steps.iter().map(|step| match step {
            Step::Send { bytes, .. } => bytes.len(),
            _ => 0,
        });
        if sizes.sum::<usize>() > REPLY_BYTES_MAX {
            return;
        }
        self.forget(&key);
        if self.order.len() == REPLIES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.replies.remove(&oldest);
        }
        self.order.push_back(key);
        self.replies.insert(key, kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[(&'static str, &'static str)]) -> Option<CacheOrder> {
        let pairs = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        CacheOrder::read(&pairs.collect())
    }

    #[test]
    fn the_headers_say_what_is_wanted() {
        let order = |ttl_s, clear| Some(CacheOrder { ttl_s, clear });
        let cases: [(&[(&str, &str)], _); 6] = [
            (&[], None),
            (&[("x-openrouter-cache", "false")], None),
            (&[("x-openrouter-cache", "true")], order(300, false)),
            (&[("x-openrouter-cache", "true"), ("x-openrouter-cache-ttl", "5")], order(5, false)),
            (&[("x-openrouter-cache", "true"), ("x-openrouter-cache-ttl", "100000")], order(86_400, false)),
            (&[("x-openrouter-cache-clear", "true")], order(300, true)),
        ];
        for (headers, expected) in cases {
            assert_eq!(read(headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn a_reply_is_kept_until_it_is_too_old_or_too_many_came_after() {
        let kept = |since_us| Kept {
            generation_id: String::new(),
            headers: Vec::new(),
            steps: Vec::new(),
            since_us,
            ttl_s: 2,
        };
        let key = |number: usize| cache_key(&blake3::hash(b"key"), number.to_string().as_bytes());
        let mut cache = Cache::default();
        cache.keep(key(0), kept(0));
        assert!(cache.find(&key(0), 1_999_999).is_some());
        assert!(cache.find(&key(0), 2_000_000).is_none());
        for number in 1..=REPLIES_MAX {
            cache.keep(key(number), kept(0));
        }
        assert!(cache.find(&key(0), 0).is_none() && cache.find(&key(1), 0).is_some());
        assert_eq!((cache.replies.len(), cache.order.len()), (REPLIES_MAX, REPLIES_MAX));
    }
}
