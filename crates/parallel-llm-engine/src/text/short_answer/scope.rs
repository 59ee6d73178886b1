//! Whether a request asks for one short answer and nothing beside it.
//!
//! It decides what may be counted, so it errs on one side: a request that may ask for more is open. English only; of a request
//! in another language it is not known what it asks.

use super::scope_words::{
    AMOUNTS, CLOSED_VERBS, CONJUNCTIONS, ELSEWHERE, FINITE_VERBS, FIRST_PERSON, FORM_VERBS, FORM_WORDS,
    NEUTRAL_VERBS, NO_VERBS, NOT_OPEN, OBJECTS, OPEN_PHRASES, OPEN_VERBS, OPENERS, PREPOSITIONS, QUANTITIES,
    QUESTIONS, REPLY_WORDS, SECOND, VALUE_VERBS, WAYS, WISHES,
};
use super::sentences::{REQUEST_BYTES_MAX, is_code, paragraphs, sentences, words};
use super::word_set::WordSet;

/// Words without blanks around them that join a second request, ask for advice or for a reason.
const JOINED: [&str; 18] = [
    "并",
    "並",
    "以及",
    "还有",
    "同时",
    "および",
    "また",
    "그리고",
    "推荐",
    "推薦",
    "建议",
    "建議",
    "おすすめ",
    "お勧め",
    "추천",
    "为什么",
    "為什麼",
    "なぜ",
];

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// One short answer, by this sentence.
    Closed(String),
    /// More than that.
    Open,
    /// It cannot be told.
    Unknown,
}

/// What a request asks for. `has_options` says that it lists options, one of which is the answer.
pub(super) fn of(request: &str, has_options: bool) -> Scope {
    if request.len() > REQUEST_BYTES_MAX {
        return Scope::Unknown;
    }
    let (mut asking, mut is_known) = (None, true);
    for sentence in paragraphs(request).iter().flat_map(|paragraph| sentences(paragraph)) {
        match kind(sentence, has_options) {
            Kind::Matter if asking.as_deref().is_some_and(is_over) && !is_statement(sentence) => {
                return Scope::Open;
            }
            Kind::Matter | Kind::Form => {}
            Kind::Open => return Scope::Open,
            Kind::Unknown => is_known = false,
            Kind::Closed if asking.is_some() => return Scope::Open,
            Kind::Closed => asking = Some(sentence.to_owned()),
        }
    }
    asking.filter(|_| is_known).map_or(Scope::Unknown, Scope::Closed)
}

/// Whether a text asks for nothing: it says how to reply, or what a question is about.
pub(super) fn asks_nothing(text: &str) -> bool {
    let is_quiet = |sentence: &str| matches!(kind(sentence, true), Kind::Form | Kind::Matter);
    paragraphs(text).iter().flat_map(|paragraph| sentences(paragraph)).all(is_quiet)
}

/// Whether nothing of the question follows it: behind a colon does what it asks about.
fn is_over(asking: &str) -> bool {
    !asking.ends_with(':')
}

/// Whether a sentence behind the question states something or declines more: `Sources too.` asks for something beside it.
fn is_statement(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let words: Vec<&str> = words(&lower).collect();
    // `I'm unsure whether to say something.`
    if words.iter().any(|word| FIRST_PERSON.has(word)) {
        return false;
    }
    let is_declined = words
        .first()
        .is_some_and(|first| matches!(*first, "no" | "not" | "without" | "thanks" | "thank" | "cheers"));
    is_declined
        || words.len() <= 1
        || lower.contains(['$', '=', '\\'])
        || words.iter().any(|word| FINITE_VERBS.has(word) || word.contains(char::is_numeric))
}

/// Whether a request, of which it is not known where its sentences begin, asks for a value somewhere and gives no choice.
pub(super) fn asks_for_value(request: &str) -> bool {
    let lower = request.to_lowercase();
    let words: Vec<&str> = words(&lower).collect();
    let asks = |at: usize| match words[at..] {
        ["how", "high" | "fast", ..] => true,
        ["how", quantity, ..] => QUANTITIES.has(quantity),
        [verb, ..] => VALUE_VERBS.has(verb) && !is_subject(&words, at),
        [] => false,
    };
    let has_choice = words.iter().any(|word| matches!(*word, "or" | "vs" | "versus"));
    !has_choice && (0..words.len()).any(asks)
}

/// Whether a request in words that are not known has one question, behind which nothing stands and in which nothing is joined. Of
/// a document with a question the models say it.
pub(super) fn asks_once(request: &str) -> bool {
    if request.len() > REQUEST_BYTES_MAX {
        return true;
    }
    let paragraphs = paragraphs(request);
    let sentences: Vec<&str> = paragraphs.iter().flat_map(|paragraph| sentences(paragraph)).collect();
    let asks =
        |sentence: &&&str| sentence.trim_end_matches(['"', '”', '»', ' ', '*']).ends_with(['?', '？', '؟']);
    let lower = sentences.last().map(|last| last.to_lowercase()).unwrap_or_default();
    // `または` is or, `合并` is to merge.
    let unspaced = lower.replace("または", "").replace("合并", "");
    let is_joined = words(&lower).any(|word| CONJUNCTIONS.has(word))
        || lower.contains(['，', '、', ';', '；'])
        || JOINED.iter().any(|joined| unspaced.contains(joined));
    let questions = sentences.iter().filter(asks).count();
    let is_joined = is_joined || questions == 0 && lower.contains([',', '—', '(']);
    !is_joined
        && (questions == 1
            && sentences.last().is_some_and(|last| asks(&last))
            && sentences.iter().rev().skip(1).all(|before| words(before).nth(2).is_some())
            || questions == 0 && sentences.len() <= 1)
}

/// What a request is about, in lower case: without what it says of the reply, and with `code` where it shows some.
pub(super) fn matter(request: &str) -> String {
    let is_matter = |sentence: &&str| kind(sentence, false) != Kind::Form;
    let mut matter: String = paragraphs(request)
        .iter()
        .flat_map(|paragraph| {
            sentences(paragraph)
                .into_iter()
                .filter(is_matter)
                .map(|sentence| format!("{sentence}\n"))
                .collect::<Vec<_>>()
        })
        .collect();
    let is_shown = |fence: &str| !fence.starts_with("json") && !fence.trim().starts_with('{');
    if request.lines().any(|line| is_code(line.trim()))
        || request.split("```").skip(1).step_by(2).any(is_shown)
    {
        matter.push_str("code");
    }
    matter.to_lowercase()
}

/// What a sentence does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It tells what the request is about.
    Matter,
    /// It says how to reply.
    Form,
    /// It asks for a value.
    Closed,
    /// It asks for something.
    Unknown,
    /// It asks for more than a value, or for several.
    Open,
}

fn kind(sentence: &str, has_options: bool) -> Kind {
    let lower = without_openers(&sentence.to_lowercase());
    let words: Vec<&str> = words(&lower).collect();
    let [first, ..] = words[..] else { return Kind::Matter };
    if let ["true", "or", "false", rest @ ..] | ["yes", "or", "no", rest @ ..] = &words[..] {
        let is_form = !rest.contains(&"why") && rest.iter().all(|word| is_of_reply(word));
        // `Yes or no.` behind the question says how to reply.
        return match sentence.chars().next_back() {
            Some(':' | '?') if !rest.contains(&"why") => Kind::Closed,
            _ if lower.starts_with("true or false:") => Kind::Closed,
            _ if is_form => Kind::Form,
            _ => Kind::Open,
        };
    }
    // A command of TeX is no order.
    if sentence.starts_with('\\') {
        return Kind::Matter;
    }
    let end = sentence.trim_end_matches(['"', '”', ')', ' ', '$', '*']);
    // Many leave the mark out.
    let is_asking = matches!(first, "what" | "what's" | "who" | "who's" | "which" | "how")
        && !end.ends_with(['.', '!', ':', ';', ',']);
    let is_question = end.ends_with(['?', '？', '؟']) || is_asking;
    if asks_more(&lower, &words, is_question) {
        return Kind::Open;
    }
    // `Name one.` asks, `Name only.` does not.
    let names =
        matches!(words[..], ["name" | "list" | "cite", object, ..] if OBJECTS.has(object) || object == "one");
    if !is_question && !names && self::words(&without_ways(&lower)).all(is_of_reply) {
        return Kind::Form;
    }
    if !is_question && is_about_reply(first, &words, lower.contains(['#', '<', ':', '\\', '"', '`', '\''])) {
        return if asks_beside_reply(&lower, &words) { Kind::Open } else { Kind::Form };
    }
    // `(draw its graph)`, `, explain why`
    let mut insertions =
        lower.split(['(', '[', '—', '–', ';']).skip(1).chain(lower.split(", ").skip(1).filter(has_object));
    if insertions.any(|inside| self::words(inside).next().is_some_and(|verb| OPEN_VERBS.has(verb))) {
        return Kind::Open;
    }
    let is_order = OPEN_VERBS.has(first) || FORM_VERBS.has(first) && !CLOSED_VERBS.has(first);
    if is_order || is_unknown_order(&lower, &words, is_question) {
        return Kind::Open;
    }
    let asks = parts(&words).filter(|part| asks_value(part, is_question)).count();
    let orders = parts(&words).skip(1).any(|part| OPEN_VERBS.has(part[0]));
    match asks {
        // A question in words that are not known.
        0 if is_question && has_open_phrase(&lower, &words, has_options) => Kind::Open,
        _ if !may_be_english(&words) => Kind::Unknown,
        0 if is_question || QUESTIONS.has_one(&lower, |_| true) => Kind::Unknown,
        0 => Kind::Matter,
        1 if !orders && !has_open_phrase(&lower, &words, has_options) => Kind::Closed,
        _ => Kind::Open,
    }
}

/// Whether a sentence asks for something beside a value: it wishes, asks twice, is to the model, or says what to do with it.
fn asks_more(lower: &str, words: &[&str], is_question: bool) -> bool {
    // `in what year, and on what evidence`; `use it in a sentence`; `, remind me of it`
    let joins = |three: &[&str]| {
        matches!(three[0], "and" | "or" | "but")
            && PREPOSITIONS.has(three[1])
            && matches!(three[2], "what" | "which" | "whom")
    };
    // `, and where does it hang?`, `and which ones?`
    let asks_on = |three: &[&str]| {
        matches!(three[0], "and" | "or" | "but" | "plus" | "also")
            && matches!(three[1], "where" | "when" | "which" | "who" | "whose" | "why" | "how" | "what")
            && (FINITE_VERBS.has(three[2]) || matches!(three[2], "one" | "ones"))
    };
    let reminds = |piece: &str| {
        matches!(self::words(piece).nth(1), Some("me" | "us")) && !piece.starts_with(['i', 's', 't'])
    };
    // `Do you mind if …?`
    let is_to_you = matches!(words[..], ["do" | "are" | "have" | "will" | "did", "you", ..]) && is_question;
    let asks_again = SECOND.has(words[0])
        && !matches!(words[0], "if" | "when" | "where" | "whether")
        && [", what ", ", how ", ", why "].iter().any(|again| lower.contains(again));
    let is_used = matches!(words[..], ["use", "it" | "this" | "that" | "them" | "each" | "both", ..]);
    WISHES.has_one(lower, |_| true)
        || is_to_you
        || asks_again
        || is_used
        || words.windows(3).any(joins)
        || is_question && words.windows(3).any(asks_on)
        || lower.split(", ").skip(1).any(reminds)
}

/// A text in lower case without its requests for the way to an answer.
pub(super) fn without_ways(lower: &str) -> String {
    WAYS.split('|').fold(lower.to_owned(), |bare, way| bare.replace(way, ""))
}

/// The question behind `tell me`, or behind what says how to reply: `with one word: what is it?`
fn behind_form(text: &str) -> &str {
    let asks = |rest: &&str| ["how ", "what ", "which ", "who "].iter().any(|word| rest.starts_with(word));
    let behind =
        text.split_once(": ").filter(|(before, _)| words(before).all(is_of_reply)).map(|(_, behind)| behind);
    text.strip_prefix("tell me ").or(behind).filter(asks).unwrap_or(text)
}

/// Whether a word says how to reply, or is a name for any short answer.
pub(super) fn is_of_reply(word: &str) -> bool {
    REPLY_WORDS.has(word) || word.len() == 1 || word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// Whether the second word of a text is an object of the first.
fn has_object(text: &&str) -> bool {
    words(text).nth(1).is_some_and(|object| OBJECTS.has(object) || object == "why")
}

/// Whether a sentence may be in English: one of its words is common there, it has a number, or it is a word alone.
fn may_be_english(words: &[&str]) -> bool {
    let is_common = |word: &&str| {
        [&NO_VERBS, &OBJECTS, &CLOSED_VERBS].iter().any(|all| all.has(word)) && !ELSEWHERE.has(word)
    };
    words.len() == 1 || words.iter().any(|word| is_common(word) || word.contains(char::is_numeric))
}

/// The parts of a sentence: before and behind each conjunction that an ask may follow.
fn parts<'a>(words: &'a [&'a str]) -> impl Iterator<Item = &'a [&'a str]> {
    let is_end = |at: &usize| {
        let is_conjunction = matches!(words[at - 1], "and" | "or" | "but" | "then" | "also" | "plus");
        let is_of_what = PREPOSITIONS.has(words[*at])
            && words.get(at + 1).is_some_and(|next| matches!(*next, "what" | "which" | "whom" | "whose"));
        let begins = |list: &WordSet| list.has(words[*at]);
        // `May` is a month, too.
        let may = words[*at] == "may"
            && words
                .get(at + 1)
                .is_some_and(|next| matches!(*next, "he" | "she" | "they" | "we" | "you" | "i" | "it"));
        is_conjunction
            && (may || is_of_what || begins(&SECOND) || begins(&OPEN_VERBS) || begins(&CLOSED_VERBS))
    };
    let mut ends: Vec<usize> = (1..words.len()).filter(is_end).collect();
    ends.insert(0, 0);
    ends.push(words.len());
    (0..ends.len() - 1).map(move |index| &words[ends[index]..ends[index + 1]]).filter(|part| !part.is_empty())
}

/// Whether a part of a sentence asks for a value.
fn asks_value(part: &[&str], is_question: bool) -> bool {
    // `Which design?` may ask for a judgement.
    let begins = SECOND.has(part[0])
        && !matches!(part[0], "if" | "when" | "where" | "whether" | "what" | "which" | "how" | "why");
    let asks = |words: &[&str]| match words {
        ["how", quantity, ..] => QUANTITIES.has(quantity),
        ["what" | "which" | "what's" | "what’s", _, _, ..] => true,
        _ => false,
    };
    CLOSED_VERBS.has(part[0])
        || is_question && (begins || part[0] == "may" || (0..part.len()).any(|at| asks(&part[at..])))
        || (0..part.len()).any(|at| VALUE_VERBS.has(part[at]) && !is_subject(part, at))
}

/// Whether the verb at this place has a subject before it, so that it is no order: `to find`, `we find`.
fn is_subject(part: &[&str], at: usize) -> bool {
    at > 0
        && matches!(
            part[at - 1],
            "to" | "we"
                | "i"
                | "you"
                | "they"
                | "can"
                | "will"
                | "could"
                | "would"
                | "must"
                | "not"
                | "who"
                | "that"
        )
}

/// Whether a sentence about the reply asks for something beside it.
fn asks_beside_reply(lower: &str, words: &[&str]) -> bool {
    parts(words).skip(1).any(is_beside_reply)
        || has_open_phrase(lower, words, true)
        || QUESTIONS.has_one(lower, |_| true)
}

/// Whether a part of a sentence about the reply asks for more than the answer and the way to it.
fn is_beside_reply(part: &[&str]) -> bool {
    let is_reply = matches!(
        part[0],
        "give" | "show" | "state" | "write" | "explain" | "say" | "express" | "solve" | "simplify"
    );
    let is_clause = matches!(
        part[0],
        "is" | "are"
            | "was"
            | "were"
            | "do"
            | "does"
            | "did"
            | "can"
            | "could"
            | "would"
            | "will"
            | "if"
            | "when"
            | "where"
            | "who"
    );
    let is_of_answer = |word: &&str| {
        matches!(*word, "answer" | "reasoning" | "work" | "steps" | "step" | "final" | "result")
    };
    let is_part_of_reply = is_reply && part.iter().any(is_of_answer);
    !is_clause && !is_part_of_reply && part[0] != "round"
}

/// Whether a sentence says how to reply.
fn is_about_reply(first: &str, words: &[&str], has_form: bool) -> bool {
    let is_of_reply = words.iter().any(|word| FORM_WORDS.has(word));
    // `Reply in English.`, `End with a line Answer: N`
    let is_reply = matches!(first, "answer" | "reply" | "respond") && words.len() <= 6
        || matches!(first, "end" | "finish" | "conclude" | "begin" | "start") && words.contains(&"line")
        || matches!(first, "end" | "finish" | "conclude") && words.get(1) == Some(&"with") && has_form;
    NEUTRAL_VERBS.has(first) && !words.contains(&"why") || FORM_VERBS.has(first) && (is_of_reply || is_reply)
}

/// Whether a sentence is an order that the lists do not know: a verb with its object, `pick a laptop`.
fn is_unknown_order(lower: &str, words: &[&str], is_question: bool) -> bool {
    let [first, second, ..] = words else { return false };
    let is_known = [&NO_VERBS, &CLOSED_VERBS, &NEUTRAL_VERBS].iter().any(|all| all.has(first));
    let is_verb = first.len() > 1 && first.bytes().all(|byte| byte.is_ascii_lowercase());
    // A comma makes it a name with an apposition: `Alfie, the albatross`.
    let is_joined = lower[first.len()..].strip_prefix(' ').is_some_and(|rest| rest.starts_with(second));
    let has_object = OBJECTS.has(second) && !(is_question && SECOND.has(second));
    is_verb && !is_known && !first.ends_with("ly") && !first.ends_with("ing") && is_joined && has_object
}

fn has_open_phrase(lower: &str, words_of: &[&str], has_options: bool) -> bool {
    // Which option is best is answered by its letter, and how many she should buy by a number.
    let is_quantity = words_of
        .windows(2)
        .any(|two| two[0] == "how" && matches!(two[1], "many" | "much" | "long" | "far" | "old"));
    let counts = |phrase: &str| {
        let is_amount = phrase.starts_with("difference") && words_of.iter().any(|word| AMOUNTS.has(word));
        let is_why = matches!(phrase, "why" | "explain" | "your opinion" | "pros and cons" | "do you think");
        let is_advice = matches!(phrase, "should i" | "should we" | "should you");
        let is_answered = has_options || is_quantity && phrase.starts_with("should") && !is_advice;
        is_why || !is_answered && !is_amount
    };
    let plain = NOT_OPEN.iter().fold(lower.to_owned(), |plain, known| plain.replace(known, ""));
    OPEN_PHRASES.has_one(&plain, counts)
}

fn without_openers(lower: &str) -> String {
    let mut text = lower.trim_start_matches(|one: char| !one.is_alphanumeric());
    // `(2) What is it?`
    let number = text.trim_start_matches(|one: char| one.is_ascii_digit());
    if let Some(rest) =
        number.strip_prefix([')', '.']).filter(|rest| number.len() < text.len() && rest.starts_with(' '))
    {
        text = rest.trim_start_matches(|one: char| !one.is_alphanumeric());
    }
    loop {
        let opened = OPENERS.split('|').find_map(|opener| {
            text.strip_prefix(opener).filter(|rest| rest.starts_with(|one: char| !one.is_alphanumeric()))
        });
        match opened {
            Some(rest) => text = rest.trim_start_matches(|one: char| !one.is_alphanumeric()),
            None => return behind_form(text).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(request: &str) -> &'static str {
        match of(request, false) {
            Scope::Closed(_) => "closed",
            Scope::Open => "open",
            Scope::Unknown => "unknown",
        }
    }

    #[test]
    fn one_question_for_a_value_is_closed() {
        for request in [
            "How many legs has a spider?",
            "What is the capital of France? Answer with one word.",
            "Is 7 prime? Answer yes or no.",
            "Tom has 3 apples. He buys 5 more. How many has he now? Think step by step and give the answer as a number.",
            "If the first tank holds 3 litres and the second 4, then how much do both hold?",
            "Find the area of the square. Put your final answer in \\boxed{}.",
            "Let $x + 2 = 5$. Given that $y = x$, find $y$.",
            "Which number is prime: 4 or 7?",
            "How many eggs should she buy?",
            "What should the output of this function be?\n```python\nprint(why and how)\n```",
            "Mr. Smith sold it to Dr. No. What did it cost?",
            "Alfie, the albatross, flies 400 km a day. How long does he fly?",
            "Complete the assertion with a literal.\n[PYTHON]\ndef f(x):\n    return x\nassert f(1) == ??\n[/PYTHON]",
        ] {
            assert_eq!(rendered(request), "closed", "{request}");
        }
    }

    #[test]
    fn a_request_for_more_is_open() {
        for request in [
            "Which is safer, and why?",
            "Explain the tides.",
            "Recommend one of the laptops. End with Answer: <price>",
            "What is the dose? What is the diagnosis?",
            "What is the diagnosis, and which dose do you give?",
            "Pick a laptop for her. What does it cost?",
            "Should we invest? End with Answer: <net present value>",
            "Is it worth it?",
            "What is the best way to store tomatoes?",
            "How does it work?",
            "How many are there? Give three reasons.",
            "Find the total, then recommend a plan.",
            "Compute the yield and explain what it means for us.",
            "Tell me how many there are and what you would do.",
            "What are the risks?",
            "What is the difference between TCP and UDP?",
            "How much does it cost, and is it any good?",
            "Compare the two offers. What is the price of the better one?",
            "Which laptop should I\nbuy? End with Answer: <price>",
            "Would you take the job? Answer with the salary only.",
            "How many legs has a spider? Why?",
            "Write a poem about 7 cats.",
            "Treat the patient. Answer with the dose in mg.",
            "What dose does a child of 20 kg need? Report the side effects.",
            "What is the capital of Australia? Write a short history of it.",
            "What is the capital of Australia? Include sources.",
            "What is the capital of Australia? I'd also like a short history.",
            "What is the price? A short rationale is appreciated.",
            "What dose is right?\n    Also explain its origin.",
        ] {
            assert_eq!(rendered(request), "open", "{request}");
        }
    }

    #[test]
    fn what_no_sentence_asks_is_unknown() {
        for request in [
            "",
            "Paris",
            "Capital of France",
            "Wie viele Beine hat eine Spinne?",
            "The tides.",
            "Warum ist der Himmel blau?",
            "Rust or Go for my startup's backend?",
            "Your thoughts on React?",
            "Which design?",
        ] {
            assert_eq!(rendered(request), "unknown", "{request}");
        }
    }

    #[test]
    fn a_choice_or_a_wish_asks_for_no_value() {
        for request in ["How fast does he run?", "Let \\[x^2 = 4.\\]Find the largest $x$."] {
            assert!(asks_for_value(request), "{request}");
        }
        for request in [
            "Rust or Go for my startup's backend?",
            "Which would you find simpler, Rust vs Go?",
            "Your thoughts on React?",
            "The diagnosis for a child with a rash.",
            "I find both good. Your pick?",
        ] {
            assert!(!asks_for_value(request), "{request}");
        }
    }
}
