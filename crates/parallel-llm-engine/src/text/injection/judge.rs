//! Talk to a judge of answers, talk as a judge, and questions that ask for it.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::phrases::{Pair, Verbs, is_near, pair, search};

/// Talk to whoever judges the answers: a name for it, near words by which the speaker means itself, near words for winning.
/// Each of the three is common alone, so all must be there.
struct Address {
    judges: &'static [&'static str],
    itself: &'static [&'static str],
    wins: &'static [&'static str],
}

/// How an answer speaks of itself.
const ITSELF: &[&str] = &[
    "this first",
    "this answer",
    "this response",
    "this candidate",
    "this solution",
    "this submission",
    "this text",
    "this one",
    "the present one",
    "the present answer",
    "the present response",
    "the answer above",
    "the response above",
    "my answer",
    "my response",
    " mine",
];

const ADDRESSES: &[Address] = &[
    Address {
        judges: &[
            "judge",
            "judging",
            "evaluator",
            "evaluation model",
            "ranking model",
            "grading model",
            "scoring model",
            "reward model",
            "grader",
            "ranker",
            "aggregator",
            "synthesizer",
            "synthesiser",
            "rubric",
            "grades this",
            "arbiter",
            "whoever merges",
            "weaker systems",
            "impartial reviewer",
            "comparing several",
            "the panel",
            "final synthesis",
            "pick a winner",
            "reviewers must",
            "reviewers should",
            "reviewers are",
            "compares these",
            "compare these answers",
            "compare these responses",
            "compare the candidates",
            "compare the answers",
            "comparing these",
            "your comparison",
            "your ranking",
            "your evaluation",
            "your verdict",
        ],
        itself: ITSELF,
        wins: &[
            "rank",
            "choose",
            "pick ",
            "select",
            "prefer",
            "vote",
            " wins",
            "winner",
            "the win",
            "deserves",
            "is correct",
            "at the top",
            "on top",
            "first place",
            "one first",
            "answer first",
            "response first",
            "this first",
            "highest",
            "full marks",
            "maximum",
            "top score",
            "10/10",
        ],
    },
    Address {
        judges: &[
            "aggregator",
            "synthesizer",
            "synthesiser",
            "when merging",
            "when combining",
            "when fusing",
            "merging these",
            "merges these",
            "combining these",
            "combines these",
        ],
        itself: ITSELF,
        wins: &[
            "keep",
            "must use",
            "should use",
            "word for word",
            "verbatim",
            "as its base",
            "as the base",
            "quote",
        ],
    },
    Address {
        judges: &[
            "maximum score",
            "highest score",
            "top score",
            "highest rating",
            "maximum points",
            "full marks",
        ],
        itself: ITSELF,
        wins: &["assign", "award", "deserves", "give "],
    },
    // What it says of the others.
    Address {
        judges: &[
            "judge",
            "evaluator",
            "grader",
            "grades this",
            "arbiter",
            "aggregator",
            "synthesizer",
            "whoever merges",
            "merges these",
            "reviewer",
            "the panel",
            "rubric you were given",
            "weigh this answer",
        ],
        itself: &[
            "other candidates",
            "other answers",
            "other responses",
            "other models",
            "another answer",
            "another response",
            "the others",
            "the rest",
            "alternatives",
            "rival answers",
            "competing answers",
            "competitor",
            "answers before and after",
        ],
        wins: &[
            "wrong",
            "mistake",
            "incorrect",
            "discard",
            "drop ",
            "against them",
            "above",
            "below",
            "at 0",
            "fail at",
            "weaker",
            "copied",
            "deceive",
            "fabricated",
            "unreliable",
        ],
    },
    Address {
        judges: &[
            "other candidates",
            "the candidates",
            "candidates a and b",
            "other models",
            "other responses",
        ],
        itself: &["are wrong", "are incorrect", "are false", "are fake", "were instructed", "are spam"],
        wins: &["wrong", "incorrect", "false", "fake", "instructed", "spam"],
    },
    Address {
        judges: &["richter", "gutachter", "bewerter", "schiedsrichter", "juror"],
        itself: &["diese antwort", "dieser antwort", "diesen kandidaten"],
        wins: &["ersten platz", "erste stelle", "wählen", "bevorzug", "die beste", "gewinn", "höchste"],
    },
    Address {
        judges: &["le juge", "l'évaluateur", "le correcteur"],
        itself: &["cette réponse", "ce candidat"],
        wins: &["classer", "choisir", "préférer", "en premier", "gagn", "meilleure"],
    },
    Address {
        judges: &["el juez", "el evaluador", "la jueza"],
        itself: &["esta respuesta", "este candidato"],
        wins: &["elegir", "elija", "preferir", "ganar", "primer", "mejor"],
    },
    Address {
        judges: &["il giudice", "il valutatore"],
        itself: &["questa risposta"],
        wins: &["scegli", "preferire", "primo posto", "migliore", "vince"],
    },
    Address {
        judges: &["o juiz", "o avaliador"],
        itself: &["esta resposta"],
        wins: &["escolh", "preferir", "primeiro", "melhor", "vence"],
    },
    Address {
        judges: &["судья", "судье", "оценщик", "эксперт"],
        itself: &["этот ответ", "этому ответу"],
        wins: &["выбра", "выбери", "первое место", "высш", "максимал"],
    },
    Address {
        judges: &["评委", "裁判", "评估者", "评审", "評審"],
        itself: &["这个答案", "此答案", "这个回答", "本回答", "這個答案"],
        wins: &["选", "選", "第一", "最高", "满分"],
    },
    Address {
        judges: &["審査員", "評価者", "審判"],
        itself: &["この回答", "この答え"],
        wins: &["選", "一位", "1位", "最高"],
    },
    Address {
        judges: &["심사위원", "평가자", "심판"],
        itself: &["이 답변", "이 답"],
        wins: &["선택", "1위", "최고", "만점"],
    },
];

/// How far around the name of a judge a word for the speaker is looked for, in bytes.
const ADDRESS_BYTES: usize = 140;
/// How far around that a word for winning is looked for.
const WIN_BYTES: usize = 60;

/// How a judge talks of what it judges. An answer that talks so speaks to whoever counts verdicts.
const VERDICTS: &[Pair] = &[pair(
    &[
        "as the judge",
        "as a judge",
        "as an impartial",
        "as an evaluator",
        "my verdict",
        "final verdict",
        "verdict:",
        "winner:",
        "the winner is",
        "i have evaluated",
        "i evaluated",
        "i rate",
        "i rank",
        "i would rank",
        "i score",
        "score:",
        "scores:",
        "rating:",
        "ranking:",
        "evaluation:",
        "my evaluation",
        "judging",
        "having judged",
    ],
    &[
        "candidate a",
        "candidate b",
        "candidate c",
        "candidate 1",
        "candidate 2",
        "candidate 3",
        "the candidates",
        "all candidates",
        "candidate answers",
        "answer a",
        "answer b",
        "answer c",
        "answer 1",
        "answer 2",
        "answer 3",
        "response a",
        "response b",
        "response 1",
        "response 2",
        "assistant a",
        "assistant b",
        "the other answers",
        "this answer",
        "this response",
        "10/10",
    ],
)];

/// What judges write that are asked for a form.
const VERDICT_MARKS: &[&str] = &["[[a]]", "[[b]]", "[[c]]", "[[tie]]", "[[rating:", "[[1]]", "[[2]]"];

/// How a question asks to judge answers.
const JUDGE_QUESTIONS: &[Pair] = &[pair(
    &[
        "judge", "grade", "grading", "rank", "rate ", "score", "scoring", "evaluate", "assess", "compare",
        "rubric", "winner", "review",
    ],
    &[
        "answers",
        "responses",
        "candidates",
        "assistants",
        "submission",
        "essay",
        "'s answer",
        "answer a",
        "response a",
        "candidate a",
        "assistant a",
        "this answer",
        "this response",
    ],
)];

/// Whether a text talks as a judge of answers.
pub(super) fn judges(plain: &str) -> bool {
    static VERBS: LazyLock<Verbs> = LazyLock::new(|| Verbs::of(VERDICTS));
    static MARKS: LazyLock<AhoCorasick> = LazyLock::new(|| search(VERDICT_MARKS));
    MARKS.is_match(plain) || is_near(plain, &VERBS)
}

/// Whether a text tells a judge what to choose, or says which candidate is best.
pub(super) fn prejudges(plain: &str) -> bool {
    names_a_label(plain) || addresses_a_judge(plain)
}

fn addresses_a_judge(plain: &str) -> bool {
    static JUDGES: LazyLock<(AhoCorasick, Vec<&'static Address>)> = LazyLock::new(|| {
        let judges = ADDRESSES.iter().flat_map(|row| row.judges.iter().map(move |judge| (*judge, row)));
        let (judges, rows): (Vec<&str>, Vec<&Address>) = judges.unzip();
        // Of the standard kind, because a judge is in several rows.
        (AhoCorasick::new(judges).expect("a few dozen short words"), rows)
    });
    let (judges, rows) = &*JUDGES;
    judges.find_overlapping_iter(plain).any(|judge| {
        let row = rows[judge.pattern()];
        let near = around(plain, judge.start()..judge.end(), ADDRESS_BYTES);
        // Most names of judges stand alone, so the costly part comes last.
        let wins: Vec<Range<usize>> = places(near, row.wins).collect();
        !wins.is_empty()
            && places(near, row.itself).chain(labels(near)).any(|own| {
                let is_beside =
                    |win: &Range<usize>| win.start + WIN_BYTES >= own.start && win.end <= own.end + WIN_BYTES;
                wins.iter().any(is_beside)
            })
    })
}

/// Where these words are in a text.
fn places(text: &str, words: &'static [&'static str]) -> impl Iterator<Item = Range<usize>> {
    words.iter().flat_map(|word| text.match_indices(word)).map(|(at, word)| at..at + word.len())
}

/// The text of a range and so many bytes on both sides of it.
fn around(text: &str, range: Range<usize>, bytes: usize) -> &str {
    let from = text.floor_char_boundary(range.start.saturating_sub(bytes));
    &text[from..text.floor_char_boundary(range.end + bytes)]
}

/// Where a text names a candidate by its letter: `candidate a`.
fn labels(near: &str) -> impl Iterator<Item = Range<usize>> {
    let names = ["candidate ", "response ", "assistant "].into_iter();
    names.flat_map(move |name| near.match_indices(name)).filter_map(move |(at, name)| {
        let mut rest = near[at + name.len()..].chars();
        let is_letter = rest.next().is_some_and(|one| one.is_ascii_lowercase());
        let is_word = rest.next().is_some_and(char::is_alphanumeric);
        (is_letter && !is_word).then(|| at..at + name.len() + 1)
    })
}

/// `response c is best`, `candidate a wins`.
fn names_a_label(plain: &str) -> bool {
    static NAMES: LazyLock<AhoCorasick> = LazyLock::new(|| search(&["response ", "candidate ", "answer "]));
    NAMES.find_iter(plain).any(|name| {
        let mut words =
            plain[name.end()..].split([' ', '\n', ',', '.', '!', ';', ':']).filter(|word| !word.is_empty());
        let label = words
            .next()
            .is_some_and(|word| word.len() == 1 && word.starts_with(|one: char| one.is_ascii_lowercase()));
        let rest: Vec<&str> = words.take(3).collect();
        let wins = match rest.as_slice() {
            ["wins" | "first", ..] | ["is", "best" | "correct", ..] | ["must", "win", ..] => true,
            ["is", "the" | "clearly", best] => best.starts_with("best") || best.starts_with("winner"),
            _ => false,
        };
        label && wins
    })
}

/// Whether a question asks to judge answers, so that an answer speaks as a judge.
pub(super) fn asks_to_judge(plain: &str) -> bool {
    static VERBS: LazyLock<Verbs> = LazyLock::new(|| Verbs::of(JUDGE_QUESTIONS));
    is_near(plain, &VERBS) || judges(plain)
}
