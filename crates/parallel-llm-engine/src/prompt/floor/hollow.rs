//! Recognizes a text that says nothing: each of its sentences only acknowledges, promises or introduces an answer, greets,
//! speaks of its author, or asks back.

use super::FloorBasis;
use super::vocabulary::{ACKNOWLEDGEMENTS, ASKED_FOR, CONSENTS, NOTHINGS, PROMISED};
use super::words::{head, lower};

/// The longest text in bytes that may say nothing.
const HOLLOW_BYTES_MAX: usize = 600;
/// How much of a candidate is read to learn whether it speaks so, too.
const READ_BYTES: usize = 1_200;
/// The most words of a sentence that only introduces.
const INTRODUCTION_WORDS_MAX: usize = 16;
/// The most words of an answer that may be such a word itself: `null`.
const WORD_ANSWER_WORDS_MAX: usize = 3;
/// The fewest numbers of an empty list.
const NUMBERS_MIN: usize = 3;

/// What stands before a sentence and adds nothing to it. The longer ones come first.
const COURTESIES: &[&str] = &[
    "to answer this question ",
    "to answer this ",
    "as an ai language model ",
    "as a large language model ",
    "as a language model ",
    "as an ai assistant ",
    "as an ai ",
    "i m sorry but ",
    "i am sorry but ",
    "i apologize but ",
    "of course ",
    "all right ",
    "sure thing ",
    "got it ",
    "sure ",
    "certainly ",
    "absolutely ",
    "okay ",
    "ok ",
    "alright ",
    "sorry but ",
    "sorry ",
    "well ",
    "now ",
    "so ",
    "first ",
    "then ",
    "and ",
    "hello ",
    "hi ",
];

/// How a promise begins.
const PROMISES: &[&str] = &[
    "i will ",
    "i ll ",
    "let me ",
    "let us ",
    "let s ",
    "i am going to ",
    "i m going to ",
    "i need to ",
    "i must ",
    "i should ",
    "i have to ",
    "i shall ",
    "i am about to ",
    "i m about to ",
    "i can now ",
    "i am now ",
    "we need to ",
    "we will ",
    "we ll ",
];

/// How an introduction begins.
const INTRODUCTIONS: &[&str] = &[
    "here is ",
    "here s ",
    "here are ",
    "here you go",
    "here it is",
    "below is ",
    "below are ",
    "the following is ",
    "the following are ",
    "please find ",
    "hier ist ",
    "hier sind ",
    "voici ",
    "aquí está ",
    "aqui está ",
    "ecco ",
    "oto ",
    "вот ",
    "my answer is as follows",
    "the answer is as follows",
    "the answer is below",
];

/// How a sentence begins that asks back or offers help.
const OFFERS: &[&str] = &[
    "how can i ",
    "how may i ",
    "what can i ",
    "what would you like ",
    "what do you ",
    "what is your question",
    "what s your question",
    "please provide ",
    "please share ",
    "please specify ",
    "please clarify",
    "please tell me ",
    "please give me ",
    "please let me know",
    "please ask ",
    "please feel free ",
    "could you ",
    "can you ",
    "would you ",
    "let me know",
    "feel free to ",
    "i need more ",
    "i d need more ",
    "i would need more ",
    "i need some more ",
    "i require more ",
    "if you have ",
    "if you need ",
    "is there anything ",
    "i d be happy to ",
    "i would be happy to ",
    "i d be glad to ",
    "i would be glad to ",
    "i m happy to ",
    "i am happy to ",
    "i m glad to ",
    "i m here to ",
    "i am here to ",
    "i m ready to ",
    "i am ready to ",
    "i can help ",
    "i can assist ",
    "happy to ",
];

/// The most words of a sentence that only thanks or flatters.
const COURTESY_WORDS_MAX: usize = 8;
/// How an author asks for patience.
const WAITS: &[&str] = &[
    "give me a moment",
    "one moment",
    "just a moment",
    "please wait",
    "coming right up",
    "hold on",
    "stay tuned",
    "bear with me",
];
/// How a sentence begins that flatters the asker.
const COMPLIMENTS: &[&str] =
    &["great", "good", "nice", "excellent", "interesting", "lovely", "wonderful", "what"];

/// How a sentence begins that finds nothing to answer.
const MISSING: &[&str] = &[
    "i don t see ",
    "i do not see ",
    "i don t have any ",
    "i don t have enough ",
    "i don t have the ",
    "i do not have any ",
    "i do not have enough ",
    "i do not have the ",
    "i didn t ",
    "i did not ",
    "i don t understand ",
    "i do not understand ",
    "i couldn t ",
    "i could not ",
    "i am not sure what ",
    "i m not sure what ",
    "there is no ",
    "there s no ",
    "it seems ",
    "it looks like ",
    "you haven t ",
    "you have not ",
    "you didn t ",
    "no ",
];

/// How a sentence begins that ends a conversation.
const FAREWELLS: &[&str] = &[
    "you re welcome",
    "you are welcome",
    "have a great day",
    "have a nice day",
    "have a good day",
    "have a good one",
    "do you want to hear ",
];

/// What authors of texts call themselves.
const SELVES: &[&str] = &["language model", " ai ", "assistant", "chatbot", "chat bot"];

/// How a question begins that yes or no answers.
const ASKS_FOR_CONSENT: &[&str] = &[
    "is", "are", "was", "were", "do", "does", "did", "can", "could", "should", "would", "will", "has",
    "have", "may", "must", "am", "shall",
];

/// Whether a text says nothing, and no candidate speaks so.
pub(super) fn is_all(text: &str, basis: &FloorBasis<'_>) -> bool {
    if text.len() > HOLLOW_BYTES_MAX {
        return false;
    }
    let words = lower(text);
    if is_empty_list(text, &words, basis) {
        return true;
    }
    let said = words.join(" ");
    if NOTHINGS.contains(&said.as_str()) {
        return !is_answered_so(&said, basis);
    }
    let sentences = sentences(text);
    let is_hollow = |one: &Sentence<'_>| one.is_hollow(sentences.len());
    !sentences.is_empty() && sentences.iter().all(is_hollow) && !is_asked(&said, basis) && !speak_so(basis)
}

/// A text that is only a list of numbers without entries.
fn is_empty_list(text: &str, words: &[String], basis: &FloorBasis<'_>) -> bool {
    let is_next = |(at, word): (usize, &String)| word.parse() == Ok(at + 1);
    words.len() >= NUMBERS_MIN
        && text.matches(['.', ')']).count() >= words.len()
        && words.iter().enumerate().all(is_next)
        && basis.candidates.iter().all(|(_, one)| one.contains(char::is_alphabetic))
}

/// Whether a word for nothing may be the answer: the request or a candidate has it, or the candidates are single words, too.
fn is_answered_so(said: &str, basis: &FloorBasis<'_>) -> bool {
    let is_value = !said.contains(' ');
    let has = |known: &str| format!(" {} ", lower(known).join(" ")).contains(&format!(" {said} "));
    let is_word = |known: &str| lower(known).len() <= WORD_ANSWER_WORDS_MAX;
    basis.material().any(has) || is_value && basis.candidates.iter().any(|(_, one)| is_word(one))
}

/// Whether the request asks for these words, or for a consent.
fn is_asked(said: &str, basis: &FloorBasis<'_>) -> bool {
    let asked = lower(basis.request);
    let is_short = |text: &str| lower(text).len() <= WORD_ANSWER_WORDS_MAX;
    let consents = asked.first().is_some_and(|first| ASKS_FOR_CONSENT.contains(&first.as_str()))
        && (is_short(said) && basis.candidates.iter().any(|(_, one)| is_short(one))
            || asked.windows(3).any(|three| three == ["yes", "or", "no"]));
    let is_brief = asked.len() <= 3 && asked.iter().any(|word| word.contains(char::is_alphabetic));
    let is_reworded =
        asked.iter().any(|word| matches!(word.as_str(), "rephrase" | "reword" | "rewrite" | "question"));
    consents || is_brief || is_reworded || format!(" {} ", asked.join(" ")).contains(&format!(" {said} "))
}

/// Whether a candidate says as little, or begins with a consent.
fn speak_so(basis: &FloorBasis<'_>) -> bool {
    let speaks = |text: &str| {
        let sentences = sentences(head(text, READ_BYTES));
        let hollow = sentences.iter().filter(|one| one.is_hollow(sentences.len())).count();
        let first = sentences.first().and_then(|one| one.words.first());
        let consents = first.is_some_and(|word| matches!(word.as_str(), "yes" | "no" | "true" | "correct"));
        hollow * 2 >= sentences.len() || consents || sentences.first().is_some_and(Sentence::acknowledges)
    };
    basis.candidates.iter().any(|(_, text)| speaks(text))
}

/// A sentence, or the part before a colon.
struct Sentence<'a> {
    text: &'a str,
    words: Vec<String>,
    /// Whether it is the last and a colon ends it.
    introduces: bool,
}

fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let text = text.trim().trim_end_matches(['*', '_', '`', ' ', '-', '=', '\n']);
    let mut found: Vec<Sentence<'_>> = Vec::new();
    for part in text.split_inclusive(['.', '!', '?', ':', '\n', ';', '…', '。', '！', '？', '：']) {
        let words = lower(part);
        if !words.is_empty() {
            found.push(Sentence { text: part, words, introduces: false });
        }
    }
    if let Some(last) = found.last_mut() {
        last.introduces = text.ends_with([':', '：']);
    }
    found
}

impl Sentence<'_> {
    /// Whether it says nothing. `of` is how many sentences the text has.
    fn is_hollow(&self, of: usize) -> bool {
        let said = format!("{} ", self.words.join(" "));
        let rest = plain(&said);
        let words = || rest.split_whitespace();
        let begins = |list: &[&str]| list.iter().any(|one| rest.starts_with(one));
        let waits = WAITS.iter().any(|wait| said.contains(wait));
        let is_short = self.words.len() <= COURTESY_WORDS_MAX;
        let thanks = is_short && (rest.starts_with("thanks for ") || rest.starts_with("thank you for "));
        let flatters = is_short
            && self.text.trim_end().ends_with('!')
            && self.words.first().is_some_and(|first| COMPLIMENTS.contains(&first.as_str()));
        if of > 1 && (waits || thanks || flatters) {
            return true;
        }
        if self.acknowledges() || rest.trim().is_empty() && self.words.iter().any(|word| CONSENTS.has(word)) {
            return true;
        }
        if self.text.contains(['=', '`']) || words().any(|word| matches!(word, "but" | "cannot")) {
            return false;
        }
        self.promises(rest)
            || begins(FAREWELLS)
            || self.is_introduction(rest, of)
            || begins(OFFERS) && self.words.iter().any(|word| ASKED_FOR.has(word))
            || begins(MISSING) && self.words.iter().any(|word| MISSED.contains(&word.as_str()))
            || speaks_of_itself(rest)
    }

    fn acknowledges(&self) -> bool {
        self.words.iter().all(|word| ACKNOWLEDGEMENTS.has(word))
            && self.words.iter().any(|word| CONSENTS.has(word))
    }

    fn promises(&self, rest: &str) -> bool {
        let promise = PROMISES.iter().find_map(|one| rest.strip_prefix(one));
        let is_numeric = self.words.iter().any(|word| word.starts_with(|one: char| one.is_ascii_digit()));
        !is_numeric
            && promise.is_some_and(|rest| rest.split_whitespace().take(3).any(|word| PROMISED.has(word)))
    }

    /// Whether it introduces what does not follow: it ends the text with a colon, or is all of it.
    fn is_introduction(&self, rest: &str, of: usize) -> bool {
        let is_short = self.words.len() <= INTRODUCTION_WORDS_MAX;
        let begins = INTRODUCTIONS.iter().any(|one| rest.starts_with(one));
        let ends = ["follows ", "following ", "below ", "answer ", "response ", "steps ", "summary "];
        let is_closed = !self.text.trim_end().ends_with([',', ';']) && !self.text.contains([',', '(']);
        is_short
            && (begins && (self.introduces || of <= 2 && is_closed)
                || self.introduces && ends.iter().any(|end| rest.ends_with(end)))
    }
}

/// What a sentence that finds nothing to answer misses.
const MISSED: &[&str] =
    &["question", "request", "message", "information", "context", "prompt", "attachment", "input"];

/// A sentence without the courtesies before it.
fn plain(said: &str) -> &str {
    let mut rest = said;
    while let Some(after) = COURTESIES.iter().find_map(|one| rest.strip_prefix(one)) {
        rest = after;
    }
    rest
}

/// `I am a large language model trained to assist you.`
fn speaks_of_itself(rest: &str) -> bool {
    let begins = ["i am a ", "i am an ", "i m a ", "i m an ", "i m just a", "i am just a", "my name is "];
    begins.iter().any(|one| rest.starts_with(one)) && SELVES.iter().any(|one| rest.contains(one))
}
