//! A chunk of a stream, or a whole completion, which only differs in using `message` instead of `delta`.

use std::borrow::Cow;
use std::fmt;

use parallel_llm_engine::{PicoUsd, Usage};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::codec::piece::Spent;
use crate::wire::loose;

/// One JSON object of a reply. Borrows from the received bytes.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) model: Option<&'a RawValue>,
    /// The first choice. A second is never requested.
    #[serde(borrow, deserialize_with = "first_choice")]
    pub(super) choices: Choices<'a>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    detail: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    x_groq: Option<&'a RawValue>,
}

/// The choices, as far as they are read.
#[derive(Debug, Default)]
pub(super) struct Choices<'a> {
    /// Whether there is a list of them, even an empty one.
    is_list: bool,
    /// The first.
    pub(super) first: Option<Choice<'a>>,
}

/// One completion.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice<'a> {
    #[serde(borrow)]
    index: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) message: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) native_finish_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

/// The new part in a chunk, or the whole message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_text: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_details: Option<&'a RawValue>,
}

/// One part of a content that is a list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ContentPart<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
}

impl<'a> Chunk<'a> {
    /// Reads one JSON object.
    pub(super) fn read(json: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(json)
    }

    /// Whether it contains any part of a completion.
    pub(super) const fn has_content(&self) -> bool {
        self.choices.is_list
    }

    /// Whether it is an error without an `error` field, as from Mistral or a FastAPI server.
    pub(super) fn is_error(&self) -> bool {
        !self.has_content() && (loose::holds_any(self.message) || loose::holds_any(self.detail))
    }

    /// Usage and cost, from wherever the provider puts them.
    pub(super) fn usage(&self) -> Option<Spent> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Groq<'a> {
            #[serde(borrow)]
            usage: Option<&'a RawValue>,
        }
        let in_choice = || self.choices.first.as_ref().and_then(|choice| choice.usage);
        let in_groq = || loose::part::<Groq<'_>>(self.x_groq).usage;
        self.usage.or_else(in_choice).or_else(in_groq).map(read_spent)
    }
}

impl Choice<'_> {
    /// Whether this is the first choice; the index may be missing.
    fn is_first(&self) -> bool {
        self.index.is_none() || loose::count(self.index) == Some(0)
    }
}

impl<'a> Delta<'a> {
    /// The new text of the answer. A list of parts is joined without its thinking.
    pub(super) fn text(&self) -> Cow<'a, str> {
        let Some(content) = self.content else { return Cow::Borrowed("") };
        loose::text(content).unwrap_or_else(|| {
            let parts: Vec<ContentPart<'_>> = loose::part(Some(content));
            Cow::Owned(parts.iter().filter_map(|part| loose::text_of(part.text)).collect())
        })
    }

    /// Whether it contains reasoning under any name. The reasoning itself is not kept.
    pub(super) fn has_reasoning(&self) -> bool {
        [self.reasoning_content, self.reasoning, self.reasoning_text, self.reasoning_details]
            .into_iter()
            .any(loose::holds_any)
            || self.has_thinking_part()
    }

    fn has_thinking_part(&self) -> bool {
        self.content.is_some_and(|content| content.get().starts_with('['))
            && loose::part::<Vec<ContentPart<'_>>>(self.content)
                .iter()
                .any(|part| loose::holds_any(part.thinking))
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChatUsage<'a> {
    #[serde(borrow)]
    prompt_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    completion_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    total_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt_tokens_details: Option<&'a RawValue>,
    #[serde(borrow)]
    completion_tokens_details: Option<&'a RawValue>,
    /// DeepSeek's field for cached tokens.
    #[serde(borrow)]
    prompt_cache_hit_tokens: Option<&'a RawValue>,
    /// Moonshot's field for cached tokens.
    #[serde(borrow)]
    cached_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    cost: Option<&'a RawValue>,
    /// xAI's field for the cost.
    #[serde(borrow)]
    cost_in_usd_ticks: Option<&'a RawValue>,
    #[serde(borrow)]
    is_byok: Option<&'a RawValue>,
    #[serde(borrow)]
    cost_details: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawDetails<'a> {
    #[serde(borrow)]
    cached_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_tokens: Option<&'a RawValue>,
    #[serde(borrow)]
    upstream_inference_cost: Option<&'a RawValue>,
}

fn read_spent(raw: &RawValue) -> Spent {
    let usage: ChatUsage<'_> = loose::part(Some(raw));
    let sent: RawDetails<'_> = loose::part(usage.prompt_tokens_details);
    let received: RawDetails<'_> = loose::part(usage.completion_tokens_details);
    let cached = [sent.cached_tokens, usage.prompt_cache_hit_tokens, usage.cached_tokens];
    Spent {
        usage: Usage {
            input_tokens: loose::count(usage.prompt_tokens),
            output_tokens: usage.written(loose::count(received.reasoning_tokens)),
            reasoning_tokens: loose::count(received.reasoning_tokens),
            cached_tokens: cached.into_iter().find_map(loose::count),
        },
        cost: usage.cost(),
    }
}

impl ChatUsage<'_> {
    /// The full price. With the user's own upstream key (BYOK), `cost` is only the fee.
    fn cost(&self) -> Option<PicoUsd> {
        let Some(cost) = loose::usd(self.cost) else { return self.cost_of_ticks() };
        let own_key = self.is_byok.is_some_and(|raw| raw.get() == "true");
        let details: RawDetails<'_> = loose::part(self.cost_details);
        let upstream = loose::usd(details.upstream_inference_cost).filter(|_| own_key);
        Some(upstream.map_or(cost, |upstream| cost.plus(upstream)))
    }

    /// Output tokens including reasoning. xAI counts reasoning separately, which can only be seen from the total.
    fn written(&self, reasoning: Option<u64>) -> Option<u64> {
        let written = loose::count(self.completion_tokens)?;
        let with_reasoning = written.checked_add(reasoning.unwrap_or(0))?;
        let sum = loose::count(self.prompt_tokens).and_then(|sent| sent.checked_add(with_reasoning));
        Some(if sum.is_some() && sum == loose::count(self.total_tokens) { with_reasoning } else { written })
    }

    /// Ten thousand million ticks are a dollar.
    fn cost_of_ticks(&self) -> Option<PicoUsd> {
        const PICO_USD_PER_TICK: i64 = 100;
        let ticks = i64::try_from(loose::count(self.cost_in_usd_ticks)?).ok()?;
        ticks.checked_mul(PICO_USD_PER_TICK).map(PicoUsd)
    }
}

/// Reads the first choice of a list without keeping the list.
fn first_choice<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Choices<'de>, D::Error> {
    struct First;

    impl<'de> Visitor<'de> for First {
        type Value = Choices<'de>;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("a list of choices")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Choices::default())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while let Some(choice) = list.next_element::<Choice<'de>>()? {
                if choice.is_first() {
                    while list.next_element::<IgnoredAny>()?.is_some() {}
                    return Ok(Choices { is_list: true, first: Some(choice) });
                }
            }
            Ok(Choices { is_list: true, first: None })
        }
    }

    deserializer.deserialize_any(First)
}

/// The same JSON without fields of the wrong type: choices that are not a list of objects, and deltas and messages that
/// are not objects. `None` if it is not a JSON object at all.
pub(super) fn repaired(json: &str) -> Option<String> {
    let mut chunk: Value = serde_json::from_str(json).ok()?;
    let fields = chunk.as_object_mut()?;
    if !fields.get("choices").is_none_or(Value::is_array) {
        fields.insert("choices".to_owned(), json!([]));
    }
    if let Some(choices) = fields.get_mut("choices").and_then(Value::as_array_mut) {
        choices.retain(Value::is_object);
        for choice in choices.iter_mut().filter_map(Value::as_object_mut) {
            choice.retain(|name, value| !matches!(name.as_str(), "delta" | "message") || value.is_object());
        }
    }
    Some(chunk.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delta(json: &str) -> (String, bool) {
        let delta: Delta<'_> = serde_json::from_str(json).unwrap();
        (delta.text().into_owned(), delta.has_reasoning())
    }

    fn spent(json: &str) -> Option<Spent> {
        Chunk::read(json).unwrap().usage()
    }

    #[test]
    fn content_is_read_in_every_shape() {
        for (json, text, reasoning) in [
            (r#"{"content":"hi"}"#, "hi", false),
            (r#"{"content":null,"reasoning":"hm"}"#, "", true),
            (r#"{"content":"","reasoning_content":"hm","reasoning":"hm"}"#, "", true),
            (r#"{"reasoning":"","reasoning_details":[]}"#, "", false),
            (r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}"#, "", true),
            (r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#, "ab", false),
            (r#"{"content":[{"type":"thinking","thinking":[{"text":"hm"}]},{"text":"b"}]}"#, "b", true),
            (r#"{"content":7,"role":null,"new":{"x":[1]}}"#, "", false),
        ] {
            assert_eq!(delta(json), (text.to_owned(), reasoning), "{json}");
        }
    }

    #[test]
    fn only_the_first_choice_is_read() {
        let json =
            r#"{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes"}},{}]}"#;
        let choice = Chunk::read(json).unwrap().choices.first.unwrap();
        assert_eq!(choice.delta.unwrap().text(), "yes");
        for none in [r#"{"choices":[]}"#, r#"{"choices":null}"#, "{}"] {
            assert!(Chunk::read(none).unwrap().choices.first.is_none(), "{none}");
        }
        assert!(
            Chunk::read(r#"{"choices":[{"delta":null}]}"#).unwrap().choices.first.unwrap().delta.is_none()
        );
    }

    #[test]
    fn usage_is_found_wherever_it_is() {
        let usage = r#"{"prompt_tokens":16,"completion_tokens":80,"cost":0.000832,
            "prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":76}}"#;
        let expected = Spent {
            usage: Usage {
                input_tokens: Some(16),
                output_tokens: Some(80),
                reasoning_tokens: Some(76),
                cached_tokens: Some(4),
            },
            cost: Some(PicoUsd(832_000_000)),
        };
        for json in [
            format!(r#"{{"usage":{usage}}}"#),
            format!(r#"{{"usage":null,"choices":[{{"usage":{usage}}}]}}"#),
            format!(r#"{{"x_groq":{{"usage":{usage}}}}}"#),
        ] {
            assert_eq!(spent(&json), Some(expected), "{json}");
        }
        assert_eq!(spent(r#"{"usage":null}"#), None);
    }

    #[test]
    fn strange_usage_is_unknown_and_never_negative() {
        let json =
            r#"{"usage":{"prompt_tokens":-5,"completion_tokens":"7","cost":-1,"prompt_tokens_details":3}}"#;
        assert_eq!(spent(json), Some(Spent::default()));
        assert_eq!(spent(r#"{"usage":"none"}"#), Some(Spent::default()));
    }

    #[test]
    fn reasoning_that_is_counted_apart_is_added() {
        let written = |total: &str| {
            let details = r#""completion_tokens_details":{"reasoning_tokens":250}"#;
            let json = format!(
                r#"{{"usage":{{"prompt_tokens":703,"completion_tokens":260,"total_tokens":{total},{details}}}}}"#
            );
            spent(&json).unwrap().usage.output_tokens
        };
        assert_eq!(written("1213"), Some(510));
        assert_eq!(written("963"), Some(260));
        assert_eq!(written("null"), Some(260));
    }

    #[test]
    fn ticks_are_dollars() {
        let cost =
            |ticks: &str| spent(&format!(r#"{{"usage":{{"cost_in_usd_ticks":{ticks}}}}}"#)).unwrap().cost;
        assert_eq!(cost("318319000"), PicoUsd::from_decimal("0.0318319"));
        assert_eq!(cost("-1"), None);
        assert_eq!(cost("9223372036854775807"), None);
    }

    #[test]
    fn with_the_users_own_key_the_upstream_price_is_added() {
        let json = r#"{"usage":{"cost":0.1,"is_byok":true,"cost_details":{"upstream_inference_cost":2}}}"#;
        assert_eq!(spent(json).unwrap().cost, PicoUsd::from_decimal("2.1"));
        let json = r#"{"usage":{"cost":2,"is_byok":false,"cost_details":{"upstream_inference_cost":2}}}"#;
        assert_eq!(spent(json).unwrap().cost, PicoUsd::from_decimal("2"));
    }

    #[test]
    fn what_is_of_another_kind_is_left_out() {
        let repaired = |json: &str| {
            let text = repaired(json).unwrap();
            let chunk = Chunk::read(&text).unwrap();
            let first = chunk
                .choices
                .first
                .as_ref()
                .map(|choice| (choice.finish_reason.is_some(), choice.delta.is_some()));
            (chunk.has_content(), first, chunk.usage().is_some())
        };
        let stop = r#"{"choices":[null,{"delta":"","finish_reason":"stop"}],"usage":{}}"#;
        assert_eq!(repaired(stop), (true, Some((true, false)), true));
        assert_eq!(repaired(r#"{"choices":{},"usage":{"prompt_tokens":1}}"#), (true, None, true));
        assert!(super::repaired("[1]").is_none() && super::repaired("{").is_none());
    }
}
