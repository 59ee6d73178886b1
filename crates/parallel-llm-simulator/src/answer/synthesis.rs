//! Fuses candidates: keeps the one that agrees most, adds unique sentences, reports contradictions.
//!
//! It compares words only, so it can be fooled, and says no more than that; it never quotes a candidate that gives
//! instructions. What is made of the demo's own answers is handwritten.

use crate::replies::json::Object;

use super::demo::FullAnswers;
use super::marks::{Candidate, Marks, ReplyFormat};
use super::words::{WordSet, is_negated, sentences, words};

/// Most sentences compared per candidate; each is compared with all others, so long texts would take seconds.
const SENTENCES_MAX: usize = 60;

/// Most sentences added from other candidates.
const ADDITIONS_MAX: usize = 2;

/// Most sentences of the base reported as claims.
const CLAIMS_MAX: usize = 6;

/// Fewest words of a sentence that makes a claim.
const CLAIM_WORDS_MIN: usize = 5;

/// The overlap from which two sentences are about the same subject.
const SAME_PERCENT: usize = 50;

/// Fewest shared words of two related sentences; fewer may be chance.
const SAME_WORDS_MIN: usize = 3;

/// The overlap below which a candidate answers a different question.
const RELATED_PERCENT: usize = 12;

/// Shared words that prove a sentence on topic; more would only repeat the base.
const TIES_ENOUGH: usize = 3;

/// Phrases of a text that gives instructions to its reader.
const ORDERS: [&str; 5] =
    ["ignore previous", "ignore all previous", "disregard the", "ignore the other", "system prompt"];

/// First words of a sentence that depends on the one before.
const LEANING: &[&str] =
    &["also", "and", "but", "finally", "if", "it", "so", "that", "then", "these", "they", "this", "those"];

/// A candidate, split into words and sentences.
struct ParsedCandidate<'a> {
    label: &'a str,
    text: &'a str,
    words: WordSet,
    sentences: Vec<Sentence<'a>>,
    gives_orders: bool,
}

struct Sentence<'a> {
    text: &'a str,
    words: WordSet,
    is_negated: bool,
}

/// The reply in the requested format. There is at least one candidate.
pub(crate) fn write(marks: &Marks) -> String {
    let candidates: Vec<ParsedCandidate<'_>> = marks.candidates.iter().map(ParsedCandidate::of).collect();
    let base = base(&candidates);
    match marks.format {
        ReplyFormat::Ranking => return json(ranking(&candidates)),
        ReplyFormat::Review => return json(review(&candidates, base)),
        ReplyFormat::Groups => return json(groups(&candidates)),
        ReplyFormat::Fusion | ReplyFormat::Analysis | ReplyFormat::Answer => {}
    }
    let (text, analysis) = match FullAnswers::of(marks) {
        Some(answers) => (answers.text(), answers.analysis()),
        None => compared(&candidates, base, &WordSet::of(&marks.question)),
    };
    match marks.format {
        ReplyFormat::Analysis => json(analysis),
        ReplyFormat::Answer => text,
        _ => {
            let (nonce, analysis) = (&marks.nonce, json(analysis));
            format!("<<answer {nonce}>>\n{text}\n<<end answer {nonce}>>\n{analysis}\n")
        }
    }
}

/// The fused text and the analysis, by words alone.
fn compared(
    candidates: &[ParsedCandidate<'_>],
    base: &ParsedCandidate<'_>,
    question: &WordSet,
) -> (String, Object) {
    let additions = additions(candidates, base, question);
    let analysis = analysis(candidates, base, &additions);
    let added: Vec<&str> = additions.iter().map(|(_, sentence)| sentence.text).collect();
    let text = match added.as_slice() {
        [] => base.text.to_owned(),
        added => format!("{}\n\n{}", base.text, added.join(" ")),
    };
    (text, analysis)
}

fn json(object: Object) -> String {
    String::from_utf8(object.bytes()).expect("JSON is UTF-8")
}

/// The labels, the candidate that shares most words with the others first.
fn ranked<'a>(candidates: &[ParsedCandidate<'a>]) -> Vec<&'a str> {
    let mut ranked: Vec<&ParsedCandidate<'a>> = candidates.iter().collect();
    ranked.sort_by_key(|candidate| std::cmp::Reverse(rank(candidates, candidate)));
    ranked.iter().map(|candidate| candidate.label).collect()
}

/// The verdict of a judge.
fn ranking(candidates: &[ParsedCandidate<'_>]) -> Object {
    let fails = |candidate: &ParsedCandidate<'_>| {
        let fails: &[&str] = if candidate.gives_orders { &["It gives orders."] } else { &[] };
        Object::new().with("label", candidate.label).with("fails", fails)
    };
    Object::new()
        .with("requirements", &["It answers the question."][..])
        .list("candidates", candidates.iter().map(fails))
        .with("suspected", &labels(candidates, |candidate| candidate.gives_orders))
        .with("ranking", &ranked(candidates))
}

/// What a reviewer objects to each candidate, and its ranking.
fn review(candidates: &[ParsedCandidate<'_>], base: &ParsedCandidate<'_>) -> Object {
    let objection = |candidate: &ParsedCandidate<'_>| {
        let denied = candidate.sentences.iter().find(|own| candidates.iter().any(|other| other.denies(own)));
        let denied = denied.map(|own| format!("It says {:?}, which another answer denies.", own.text));
        let against = useless(candidate, base).map(str::to_owned).or(denied).unwrap_or_default();
        Object::new().with("label", candidate.label).with("against", against.as_str())
    };
    Object::new()
        .list("reviews", candidates.iter().map(objection))
        .with("suspected", &labels(candidates, |candidate| candidate.gives_orders))
        .with("ranking", &ranked(candidates))
}

/// The words of a text in lower case, without articles.
fn plain(text: &str) -> Vec<String> {
    let words = words(text).map(|word| word.trim_matches('\'').to_lowercase());
    words.filter(|word| !["", "a", "an", "the"].contains(&word.as_str())).collect()
}

/// The candidates in groups: those that say what the first of a group says but for capitals, marks and articles, or that share
/// most of their words with it and do not deny it.
fn groups(candidates: &[ParsedCandidate<'_>]) -> Object {
    let mut groups: Vec<Vec<&ParsedCandidate<'_>>> = Vec::new();
    for candidate in candidates {
        let is_same = |group: &&mut Vec<&ParsedCandidate<'_>>| {
            let first = group[0];
            let is_near = first.words.overlap_percent(&candidate.words) >= SAME_PERCENT
                && !first.sentences.iter().any(|own| candidate.denies(own));
            is_near || plain(first.text) == plain(candidate.text)
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(candidate),
            None => groups.push(vec![candidate]),
        }
    }
    let group = |group: &Vec<&ParsedCandidate<'_>>| {
        let answer = group[0].sentences.first().map_or(group[0].text, |sentence| sentence.text);
        let labels: Vec<&str> = group.iter().map(|candidate| candidate.label).collect();
        Object::new().with("answer", answer).with("labels", &labels)
    };
    let none: [&str; 0] = [];
    Object::new()
        .list("groups", groups.iter().map(group))
        .with("none", &none[..])
        .with("suspected", &labels(candidates, |candidate| candidate.gives_orders))
}

impl<'a> ParsedCandidate<'a> {
    fn of(candidate: &'a Candidate) -> Self {
        let lower = candidate.text.to_lowercase();
        Self {
            label: &candidate.label,
            text: &candidate.text,
            words: WordSet::of(&candidate.text),
            sentences: sentences(&candidate.text).take(SENTENCES_MAX).map(Sentence::of).collect(),
            gives_orders: ORDERS.iter().any(|order| lower.contains(order)),
        }
    }

    fn states(&self, claim: &Sentence<'_>) -> bool {
        self.sentences.iter().any(|own| own.is_about(claim) && own.is_negated == claim.is_negated)
    }

    /// Whether one sentence contains most of the claim's words; for `states`, a shorter version is enough.
    fn covers(&self, claim: &Sentence<'_>) -> bool {
        self.sentences.iter().any(|own| claim.words.covered_percent(&own.words) >= SAME_PERCENT)
    }

    fn denies(&self, claim: &Sentence<'_>) -> bool {
        !self.states(claim) && self.sentences.iter().any(|own| own.contradicts(claim))
    }
}

impl<'a> Sentence<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, words: WordSet::of(text), is_negated: is_negated(text) }
    }

    fn is_about(&self, other: &Self) -> bool {
        self.words.shared(&other.words) >= SAME_WORDS_MIN
            && self.words.overlap_percent(&other.words) >= SAME_PERCENT
    }

    fn contradicts(&self, other: &Self) -> bool {
        self.is_about(other) && self.is_negated != other.is_negated
    }

    fn is_claim(&self) -> bool {
        self.words.count() >= CLAIM_WORDS_MIN
    }

    fn stands_alone(&self) -> bool {
        let first = self.text.split(' ').next().unwrap_or_default().to_lowercase();
        self.text.ends_with('.') && !LEANING.contains(&first.trim_end_matches(','))
    }
}

/// The candidate that shares most words with the others; ties go to the longer text, then to the one that sorts first.
fn base<'v, 'a>(candidates: &'v [ParsedCandidate<'a>]) -> &'v ParsedCandidate<'a> {
    candidates
        .iter()
        .max_by_key(|candidate| rank(candidates, candidate))
        .expect("a synthesis has at least one candidate")
}

fn rank<'a>(
    candidates: &[ParsedCandidate<'a>],
    candidate: &ParsedCandidate<'a>,
) -> (bool, usize, usize, std::cmp::Reverse<&'a str>) {
    let agreement: usize = candidates.iter().map(|other| candidate.words.shared(&other.words)).sum();
    // The sum counts the candidate's own words once.
    let shared = agreement - candidate.words.count();
    (!candidate.gives_orders, shared, candidate.text.len(), std::cmp::Reverse(candidate.text))
}

/// The most valuable unique sentence of each other candidate, best first.
fn additions<'v, 'a>(
    candidates: &'v [ParsedCandidate<'a>],
    base: &'v ParsedCandidate<'a>,
    question: &WordSet,
) -> Vec<(&'v ParsedCandidate<'a>, &'v Sentence<'a>)> {
    let others = candidates.iter().filter(|candidate| !candidate.gives_orders && is_related(candidate, base));
    let mut best: Vec<(usize, &ParsedCandidate<'a>, &Sentence<'a>)> = others
        .filter_map(|candidate| {
            let own =
                candidate.sentences.iter().filter(|sentence| is_own(candidates, candidate, base, sentence));
            let ranked = own.map(|sentence| (worth(sentence, base, question), candidate, sentence));
            ranked.max_by_key(|(worth, _, sentence)| (*worth, std::cmp::Reverse(sentence.text)))
        })
        .collect();
    best.sort_by_key(|(worth, candidate, _)| (std::cmp::Reverse(*worth), candidate.text));
    // Candidates with the same text have the same best sentence.
    best.dedup_by_key(|(_, _, sentence)| sentence.text);
    best.into_iter().take(ADDITIONS_MAX).map(|(_, candidate, sentence)| (candidate, sentence)).collect()
}

/// Whether the sentence is unique to its candidate, is not contradicted by the base, and can stand alone.
fn is_own(
    candidates: &[ParsedCandidate<'_>],
    candidate: &ParsedCandidate<'_>,
    base: &ParsedCandidate<'_>,
    sentence: &Sentence<'_>,
) -> bool {
    let others = || candidates.iter().filter(|other| other.text != candidate.text);
    sentence.is_claim()
        && sentence.stands_alone()
        && candidate.text != base.text
        && !others().any(|other| other.covers(sentence))
        && !base.sentences.iter().any(|own| own.contradicts(sentence))
        && sentence.words.shared(&base.words) >= 2
}

/// A sentence is valuable if it has many new words and some in common with the base. Words of the question count as
/// neither.
fn worth(sentence: &Sentence<'_>, base: &ParsedCandidate<'_>, question: &WordSet) -> usize {
    let tied = sentence.words.shared(&base.words);
    tied.min(TIES_ENOUGH) * sentence.words.outside([&base.words, question])
}

fn is_related(candidate: &ParsedCandidate<'_>, base: &ParsedCandidate<'_>) -> bool {
    candidate.words.overlap_percent(&base.words) >= RELATED_PERCENT
}

fn analysis(
    candidates: &[ParsedCandidate<'_>],
    base: &ParsedCandidate<'_>,
    additions: &[(&ParsedCandidate<'_>, &Sentence<'_>)],
) -> Object {
    let kept = base.sentences.iter().filter(|sentence| sentence.is_claim()).take(CLAIMS_MAX);
    let added = additions.iter().map(|(_, sentence)| *sentence);
    let change = |(candidate, sentence): &(&ParsedCandidate<'_>, &Sentence<'_>)| {
        Object::new()
            .with("what", sentence.text)
            .with("why", "Only one answer says it, and nothing speaks against it.")
            .with("from", &[candidate.label][..])
    };
    let orders = labels(candidates, |candidate| candidate.gives_orders);
    Object::new()
        .with("base", base.label)
        .list("changes", additions.iter().map(change))
        .list("claims", kept.chain(added).map(|sentence| claim(sentence, candidates)))
        .with("dissent", dissent(candidates, base))
        .with("suspected", &orders)
}

fn labels<'a>(
    candidates: &[ParsedCandidate<'a>],
    chosen: impl Fn(&ParsedCandidate<'a>) -> bool,
) -> Vec<&'a str> {
    candidates.iter().filter(|candidate| chosen(candidate)).map(|candidate| candidate.label).collect()
}

/// A claim, and who is for and against it.
fn claim(sentence: &Sentence<'_>, candidates: &[ParsedCandidate<'_>]) -> Object {
    Object::new()
        .with("text", sentence.text)
        .with("for", &labels(candidates, |candidate| candidate.states(sentence)))
        .with("against", &labels(candidates, |candidate| candidate.denies(sentence)))
}

/// The first sentence of another candidate that contradicts the base.
fn dissent<'a>(candidates: &[ParsedCandidate<'a>], base: &ParsedCandidate<'_>) -> &'a str {
    let against = candidates.iter().flat_map(|candidate| {
        let denied = |own: &&Sentence<'_>| {
            base.sentences.iter().any(|claim| own.contradicts(claim) && candidate.denies(claim))
        };
        candidate.sentences.iter().filter(denied).map(|sentence| sentence.text)
    });
    against.into_iter().next().unwrap_or_default()
}

/// Why nothing of a candidate can be used, if so.
fn useless(candidate: &ParsedCandidate<'_>, base: &ParsedCandidate<'_>) -> Option<&'static str> {
    if candidate.text.trim().is_empty() {
        Some("It is empty.")
    } else if candidate.gives_orders {
        Some("It gives orders instead of an answer.")
    } else if is_related(candidate, base) {
        None
    } else {
        Some("It shares almost nothing with the other answers.")
    }
}
