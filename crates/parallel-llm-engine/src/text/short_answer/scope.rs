//! Whether a request asks for one short answer and nothing beside it.
//!
//! It decides what may be counted, so it errs on one side: a request that may ask for more is open. English only; of a request
//! in another language it is not known what it asks.

use super::sentences::{REQUEST_BYTES_MAX, is_code, paragraphs, sentences, words};
use super::word_list::{PhraseList, WordList};

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

/// Verbs that ask for a text.
static OPEN_VERBS: WordList = WordList::of(
    "quote remind create build generate invent paraphrase rephrase praise rate draw \
     plot sort arrange recommend suggest advise propose explain describe discuss compare contrast justify \
     argue defend criticize critique review assess analyze analyse summarize summarise outline draft write \
     compose design plan implement refactor rewrite translate improve list name prove derive interpret \
     diagnose brainstorm tell say comment elaborate illustrate debug fix help teach persuade sketch weigh \
     rank pick choose select decide prescribe treat give show state identify include mention cite add \
     provide make indicate present report check warn point specify clarify define",
);
/// Verbs that ask for a value.
static CLOSED_VERBS: WordList = WordList::of(
    "find compute calculate determine evaluate simplify solve factor expand express \
     convert count add subtract multiply divide complete estimate predict classify round",
);
/// Those of them that ask for a value wherever they stand.
static VALUE_VERBS: WordList = WordList::of("find compute calculate determine evaluate");
/// Words behind `how` that ask for a quantity.
static QUANTITIES: WordList = WordList::of("many much long far old tall big high fast wide deep heavy large");
/// Verbs that say how to reply.
static FORM_VERBS: WordList = WordList::of(
    "answer put end finish conclude respond reply return output present format provide \
     give write state enter round express report show make begin start explain place submit indicate print \
     choose select pick type leave say solve simplify include add specify",
);
/// Words by which a sentence about the reply is told from one about the matter.
static FORM_WORDS: WordList = WordList::of(
    "answer json boxed reasoning work letter option field nearest decimal digit digits \
     yes true nothing only prose radians degrees",
);
/// Verbs of a sentence that neither asks nor says how to reply: `let x be`, `think step by step`.
static NEUTRAL_VERBS: WordList = WordList::of(
    "let let's assume suppose note consider use think reason remember read be do \
     don't no only your work keep follow ignore imagine recall",
);
/// Words that join two things, in the languages of Europe.
static CONJUNCTIONS: WordList = WordList::of(
    "and or und oder sowie et ou y e o u en of ed och eller og i oraz lub albo nebo \
     и или і ve veya és vagy και ή",
);
/// Words of a sentence that only says how to reply, and names for any short answer.
static REPLY_WORDS: WordList = WordList::of(
    "return returns repr a after again an and answer answers any as assertion at bare \
     base be begin begins behind between block box boxed braces brackets bullet by capital case character \
     choice common concise conclude containing correct decimal decimals degrees digit digits directly do e \
     e.g enclose end ends enter exact exactly express expression false field fields final finally finish \
     first followed for form format formatted fraction full g give have here i.e identifier in include \
     inside integer interval is it its json just key keys label last latex letter letters like line lines \
     literal lower lowest may must n name nearest new no not notation nothing number numeric numerical \
     object of on one only option or out output own per percent percentage place places plain please point \
     present provide provided put python quotes radians radical readable reasoning reduced reply respond \
     response result return round rounded row separate set short should show sign significant simplest \
     simplified single solution standard starting starts state step steps string such tag tags terms text \
     that the then there there's think this through to true tuple two type under unit units up upper use \
     using valid value vector verdict which whole with within without word working wrap write x xml yes you \
     your zero",
);
/// Ways to ask for the way to an answer, which is shown before it.
const WAYS: &str = "think step by step|reason step by step|think carefully|work it out|work step by step|\
     step by step|show your work|show your steps|think it through|reason carefully";
/// Phrases of a wish for more, in any sentence.
static WISHES: PhraseList = PhraseList::of(
    "with justification|how so|what way|would be good|i'd love|i would love|would do|\
     i have no idea|i'd have|with reasons|with a reason|with sources|with examples|with an example|\
     your take|in your view|in your opinion|to your mind|must tell|must add|must include|always add|\
     always include|always end|always close|always tell|supply references|is appreciated|are appreciated|\
     be appreciated|would be nice|would be great|would be helpful|would help|are welcome|is welcome|\
     i'd like|i'd also|i would like|i would also|i also want|i want|i need to know|we want|we'd like|\
     we would like|line on each|sentence on each|it for me|them for me|this for me|if so|if not|if yes|\
     i need a|i need an|i need some|we need a|i am looking for|i'm looking for|any tips|any advice|\
     any ideas|any suggestions|any thoughts|any recommendations",
);
/// Words that begin a second question behind `and`, `or`, `but`, `then` or a comma.
static SECOND: WordList = WordList::of(
    "might shall should why what how which who whom whose when where is are was were do \
     does did can could would will whether if",
);
/// Verbs by which a statement is known.
static FINITE_VERBS: WordList = WordList::of(
    "is are was were has have had can cannot will must may does do did don't doesn't \
     isn't aren't means equals contains costs weighs starts ends takes lives",
);
/// Words for who asks.
static FIRST_PERSON: WordList = WordList::of(
    "i i'm i’m i've i’ve i'd i’d i'll i’ll me my mine myself we we're we’re we've we’ve us our ours",
);
/// Words that may stand before the word that asks.
static PREPOSITIONS: WordList = WordList::of("by on in at for with of from to under");
/// Words that no imperative begins with, so that `In a week …` is none.
static NO_VERBS: WordList = WordList::of(
    "a an the in on at of for from with by to as if when while after before during since \
     until because although though and or but so then that this these those each every all both half some \
     any no not only just it he she they we you i there here what which who whose why how where is are was \
     were has have had do does did can could will would should may might must given let suppose assume \
     assuming imagine consider note per than between among into over under about like unlike despite inside \
     outside once twice today yesterday also even still however besides along within without using until \
     upon out off up down across through around behind near one",
);
/// Those of them that are words of other languages too.
static ELSEWHERE: WordList = WordList::of("in an on so was will no do as per is of over under me us come");
/// Words behind a verb that make a sentence an order: `pick a laptop`.
static OBJECTS: WordList = WordList::of(
    "a an the one two three some any all each both my your his her its our their me us \
     him it them which what whether how between exactly these those this that",
);
/// Openers that say nothing of what is asked.
const OPENERS: &str = "please|now|then|also|and|so|finally|first|next|briefly|kindly|question:|instruction|\
     task:|problem:|can you|could you|would you";
/// Phrases of a question for a judgement, advice or an account.
static OPEN_PHRASES: PhraseList = PhraseList::of(
    "safest|easiest way|fastest way|along with|together with|coupled with|\
     accompanied by|as well as|preferably|ideally|optimally|including what|including how|including why|\
     including a|another word|other words|is it worth|be fair|too much for|too many for|with a short|\
     with some|with its|on what evidence|why|should i|should we|should he|should she|should they|should you|\
     should one|should a|should my|should our|should the|would you|do you think|do you recommend|\
     do you prefer|your opinion|your view|pros and cons|trade-off|tradeoff|advantages|disadvantages|\
     worth it|worth the|better|best|worse|worst|prefer|preferable|advisable|recommend|suggest|how do|\
     how does|how did|how can|how could|how would|how should|how to|how is|how are|what happens|\
     what are the|what causes|what do|what does it mean|difference between|differences|compare|explain|\
     describe|bad for|good for|wise|acceptable|ethical|moral|immoral|overrated|underrated|reason|what if|\
     what can|what could|what else|which of the two|appropriate|suitable",
);
/// Words whose difference is an amount.
static AMOUNTS: WordList = WordList::of(
    "age ages price prices cost costs height heights weight weights length lengths score \
     scores amount amounts number numbers salary salaries income time times distance distances",
);
/// What such a phrase may begin without asking for that: what a program prints, what something is called.
const NOT_OPEN: &[&str] = &[
    "what do you call",
    "what do we call",
    "should the output",
    "should be the output",
    "should the result",
    "should the answer",
    "should the code",
];

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
    let is_joined =
        words(&lower).any(|word| CONJUNCTIONS.has(word)) || lower.contains(['，', '、', ';', '；']);
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
    if WISHES.has_one(&lower, |_| true) {
        return Kind::Open;
    }
    // `in what year, and on what evidence`; `use it in a sentence`; `, remind me of it`
    let joins = |three: &[&str]| {
        matches!(three[0], "and" | "or" | "but")
            && PREPOSITIONS.has(three[1])
            && matches!(three[2], "what" | "which" | "whom")
    };
    let reminds = |piece: &str| {
        matches!(self::words(piece).nth(1), Some("me" | "us")) && !piece.starts_with(['i', 's', 't'])
    };
    let asks_again = SECOND.has(first)
        && !matches!(first, "if" | "when" | "where" | "whether")
        && [", what ", ", how ", ", why "].iter().any(|again| lower.contains(again));
    let is_used = matches!(words[..], ["use", "it" | "this" | "that" | "them" | "each" | "both", ..]);
    if asks_again || is_used || words.windows(3).any(joins) || lower.split(", ").skip(1).any(reminds) {
        return Kind::Open;
    }
    if !is_question && self::words(&without_ways(&lower)).all(is_of_reply) {
        return Kind::Form;
    }
    if !is_question && is_about_reply(first, &words, lower.contains(['#', '<', ':', '\\', '"', '`', '\''])) {
        let is_beside = parts(&words).skip(1).any(is_beside_reply);
        return if is_beside || has_open_phrase(&lower, &words, true) { Kind::Open } else { Kind::Form };
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
        0 if is_question => Kind::Unknown,
        0 => Kind::Matter,
        1 if !orders && !has_open_phrase(&lower, &words, has_options) => Kind::Closed,
        _ => Kind::Open,
    }
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
        let begins = |list: &WordList| list.has(words[*at]);
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
