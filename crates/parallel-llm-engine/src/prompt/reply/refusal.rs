//! Recognizes a text that as a whole declines the task.
//!
//! This is used only for synthesizers, to find out whether they did their work. An answer of a seat is an answer whatever it
//! says, and the status of a call comes from its protocol. False negatives are better than false positives: a text that says
//! more than that it declines is no refusal.

/// The longest refusal in characters, about three sentences. A longer text has content.
const REFUSAL_CHARS_MAX: usize = 400;
/// Polite phrases before a refusal.
const PREFACES: &[&str] = &[
    "i'm sorry",
    "i am sorry",
    "sorry",
    "i apologize",
    "i apologise",
    "apologies",
    "my apologies",
    "unfortunately",
    "but",
    "however",
    "as an ai",
    "as an ai language model",
    "as an ai model",
    "regrettably",
];
/// Phrases that decline.
const DECLINES: &[&str] = &[
    "i can't",
    "i cannot",
    "i can not",
    "i won't",
    "i will not",
    "i'm unable to",
    "i am unable to",
    "i'm not able to",
    "i am not able to",
    "i'm not allowed to",
    "i am not allowed to",
    "i must decline",
    "i have to decline",
    "i need to decline",
    "i decline",
    "i'm not comfortable",
    "i am not comfortable",
    "i won't be able to",
    "i'm going to have to decline",
    "i can’t",
];
/// What is declined: the task itself, not a part of it. Nothing may follow a phrase that declines outright.
const TASKS: &[&str] = &[
    "help",
    "assist",
    "comply",
    "fulfill",
    "fulfil",
    "answer",
    "do that",
    "do this",
    "continue",
    "provide",
    "proceed",
    "participate",
    "engage",
    "support",
    "create",
    "generate",
    "produce",
    "write",
    "discuss",
    "process",
    "carry out",
    "complete",
    "perform",
    "to ",
    "with ",
    "that ",
    "this ",
];
/// Refusals in other languages, at the beginning of a text.
const ELSEWHERE: &[&str] = &[
    "es tut mir leid, aber ich kann",
    "tut mir leid, aber ich kann",
    "ich kann dabei nicht helfen",
    "ich kann ihnen dabei nicht",
    "dabei kann ich nicht helfen",
    "je suis désolé, mais je ne peux",
    "désolé, mais je ne peux",
    "je ne peux pas vous aider",
    "je ne peux pas répondre à cette",
    "lo siento, pero no puedo",
    "no puedo ayudar",
    "mi dispiace, ma non posso",
    "non posso aiutar",
    "desculpe, mas não posso",
    "não posso ajudar",
    "申し訳ありませんが",
    "申し訳ございませんが",
    "抱歉，我无法",
    "对不起，我无法",
    "很抱歉，我无法",
    "我无法协助",
    "죄송하지만",
    "извините, но я не могу",
    "к сожалению, я не могу помочь",
];

/// Whether a text that begins like this may turn out to be a refusal, so that a reader who cannot be shown another text
/// should not be shown this one yet.
pub fn may_be_refusal(beginning: &str) -> bool {
    let beginning = trimmed(beginning);
    if beginning.chars().count() > REFUSAL_CHARS_MAX {
        return false;
    }
    let lower = normalized(beginning);
    let begins = |phrase: &&str| {
        let phrase = phrase.replace('’', "'");
        lower.starts_with(&phrase) || phrase.starts_with(&lower)
    };
    PREFACES.iter().chain(DECLINES).chain(ELSEWHERE).any(begins)
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(|one: char| one.is_whitespace() || "*_\"'`".contains(one))
}

fn normalized(text: &str) -> String {
    text.to_lowercase().replace('’', "'")
}

/// Whether a text declines and says nothing more.
pub fn is_refusal(text: &str) -> bool {
    let text = trimmed(text);
    if text.is_empty() || text.chars().count() > REFUSAL_CHARS_MAX {
        return false;
    }
    let lower = normalized(text);
    if ELSEWHERE.iter().any(|beginning| lower.starts_with(beginning)) {
        return true;
    }
    let mut rest = lower.as_str();
    while let Some(after) =
        PREFACES.iter().filter_map(|preface| after_word(rest, preface)).min_by_key(|after| after.len())
    {
        rest = after;
    }
    let declined =
        DECLINES.iter().filter_map(|declines| after_word(rest, declines)).min_by_key(|after| after.len());
    declined.is_some_and(|what| what.is_empty() || TASKS.iter().any(|task| what.starts_with(task)))
}

/// The text after one of these phrases at its beginning.
fn after_word<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(words)?;
    let is_whole = !rest.starts_with(|next: char| next.is_alphanumeric() || next == '\'');
    is_whole.then(|| rest.trim_start_matches(|one: char| !one.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSALS: [&str; 9] = [
        "I can't help with that.",
        "I’m sorry, but I can’t assist with that request.",
        "Sorry, I cannot comply with this request. Please ask something else.",
        "**I'm unable to provide an answer to this.**",
        "I apologize, but I must decline.",
        "As an AI, I am not able to fulfill this request.",
        "I won't be able to help here.",
        "Lo siento, pero no puedo ayudar con eso.",
        "申し訳ありませんが、お手伝いできません。",
    ];

    #[test]
    fn a_text_that_only_declines_is_a_refusal() {
        for text in REFUSALS {
            assert!(is_refusal(text), "{text}");
        }
    }

    #[test]
    fn a_refusal_may_be_one_from_its_first_letter_on() {
        for text in REFUSALS {
            for (end, _) in text.char_indices() {
                assert!(may_be_refusal(&text[..end]), "{}", &text[..end]);
            }
        }
        let long = format!("I can't say. {}", "But the moon pulls the sea. ".repeat(20));
        for text in ["The moon pulls the sea.", "It cannot be", "Ich weiß", &long] {
            assert!(!may_be_refusal(text), "{text}");
        }
    }

    #[test]
    fn a_text_with_content_is_no_refusal() {
        for text in [
            "",
            "No.",
            "I can't tell from the picture; it may be a heron.",
            "I cannot verify the date, but the treaty is of 1648.",
            "\"I can't go on, I'll go on\" is the end of it.",
            "Sorry is a word of Old English.",
            "I candidly help.",
            "It can't help with that.",
            &format!("I can't help with that. {}", "But the moon pulls the sea. ".repeat(20)),
        ] {
            assert!(!is_refusal(text), "{text}");
        }
    }
}
