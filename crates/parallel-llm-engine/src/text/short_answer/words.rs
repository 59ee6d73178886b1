//! Negations, hedges and retractions in many languages, and the comparison of words.

/// Words that retract, weaken or bound a statement.
const TURNING: &[&str] = &[
    "not",
    "no",
    "never",
    "neither",
    "nor",
    "cannot",
    "cant",
    "without",
    "none",
    "nobody",
    "nothing",
    "hardly",
    "barely",
    "least",
    "most",
    "minimum",
    "maximum",
    "about",
    "around",
    "approximately",
    "approx",
    "roughly",
    "nearly",
    "almost",
    "close",
    "under",
    "over",
    "below",
    "above",
    "beyond",
    "exceeds",
    "exceeding",
    "fewer",
    "less",
    "more",
    "than",
    "between",
    "or",
    "either",
    "if",
    "unless",
    "whether",
    "otherwise",
    "maybe",
    "perhaps",
    "possibly",
    "probably",
    "likely",
    "unlikely",
    "might",
    "may",
    "could",
    "would",
    "should",
    "suppose",
    "supposing",
    "assume",
    "assuming",
    "doubt",
    "doubtful",
    "unsure",
    "uncertain",
    "guess",
    "wrong",
    "incorrect",
    "incorrectly",
    "false",
    "falsely",
    "mistake",
    "mistaken",
    "mistakenly",
    "instead",
    "rather",
    "except",
    "excluding",
    "refuse",
    "deny",
    "denies",
    "reject",
    "rejects",
    "estimate",
    "estimated",
    "seems",
    "claim",
    "claims",
    "claimed",
    "pretend",
    "contrary",
    "but",
    "however",
    "although",
    "though",
    "wait",
    "actually",
    "nicht",
    "kein",
    "keine",
    "keinen",
    "nie",
    "ohne",
    "oder",
    "wenn",
    "falls",
    "etwa",
    "ungefähr",
    "mindestens",
    "höchstens",
    "weniger",
    "mehr",
    "aber",
    "keinesfalls",
    "keineswegs",
    "mitnichten",
    "niemals",
    "kleiner",
    "größer",
    "pas",
    "ne",
    "jamais",
    "sans",
    "ou",
    "si",
    "environ",
    "moins",
    "plus",
    "mais",
    "nunca",
    "sin",
    "o",
    "menos",
    "más",
    "pero",
    "casi",
    "unos",
    "alrededor",
    "non",
    "senza",
    "ma",
    "não",
    "не",
    "нет",
    "ни",
    "без",
    "или",
    "если",
    "около",
    "примерно",
    "менее",
    "более",
    "меньше",
    "больше",
    "но",
    "si",
    "sio",
    "hapana",
    "au",
    "kama",
    "karibu",
    "minimal",
    "maximal",
    "circa",
    "ca",
    "knapp",
    "rund",
    "kaum",
    "über",
    "unter",
    "bis",
    "weder",
    "presque",
    "jusqu'à",
    "moitié",
    "guère",
    "máximo",
    "mínimo",
    "sumo",
    "hasta",
    "apenas",
    "aproximadamente",
    "mitad",
    "quase",
    "cerca",
    "até",
    "sem",
    "nem",
    "quasi",
    "almeno",
    "meno",
    "più",
    "fino",
    "почти",
    "свыше",
    "минимум",
    "максимум",
    "никогда",
    "upwards",
    "excess",
    "ish",
];
/// The same in scripts that put no blanks between words, or write it as a part of one.
const TURNING_PARTS: &[&str] = &[
    "n't",
    "n’t",
    "不",
    "没",
    "沒",
    "非",
    "约",
    "大約",
    "至少",
    "至多",
    "或",
    "如果",
    "ない",
    "ません",
    "違",
    "未満",
    "ليس",
    "नहीं",
    "約",
    "もし",
    "ไม่",
    "หรือ",
    "ประมาณ",
    "อย่างน้อย",
    "না",
    "নয়",
    "প্রায়",
    "కాదు",
    "లేదు",
    "దాదాపు",
    "아니",
    "않",
    "≈",
    "≠",
    "≥",
    "≤",
    "±",
    "~",
    "\\ne",
    "\\ge",
    "\\le",
    "\\approx",
    "\\pm",
    "\\sim",
    "最多",
    "最少",
    "超过",
    "超過",
    "大于",
    "大於",
    "小于",
    "小於",
    "少于",
    "少於",
    "低于",
    "高于",
    "接近",
    "以上",
    "以下",
    "以内",
    "左右",
    "大概",
    "可能",
    "几乎",
    "およそ",
    "ほぼ",
    "くらい",
    "ぐらい",
    "이상",
    "이하",
    "미만",
    "초과",
    "약 ",
    "❌",
    "✗",
    "✘",
];

/// Words that make a whole text doubtful: corrections, suppositions, reported speech.
const DOUBTING: &[&str] = &[
    "wait",
    "actually",
    "hmm",
    "hm",
    "oops",
    "sorry",
    "correction",
    "scratch",
    "wrong",
    "wrongly",
    "incorrect",
    "incorrectly",
    "mistake",
    "mistaken",
    "guess",
    "guessing",
    "suppose",
    "supposing",
    "assume",
    "assumes",
    "assuming",
    "assumption",
    "alternatively",
    "however",
    "unless",
    "doubt",
    "unclear",
    "ambiguous",
    "depends",
    "depending",
    "interpretation",
    "interpreted",
    "perhaps",
    "maybe",
    "might",
    "otherwise",
    "says",
    "said",
    "say",
    "thinks",
    "thought",
    "believes",
    "claims",
    "claimed",
    "according",
    "supposedly",
    "allegedly",
    "falsch",
    "sorry",
    "faux",
    "falso",
    "неверно",
    "неправильно",
];
/// The same in scripts that put no blanks between words.
const DOUBTING_PARTS: &[&str] = &["错", "錯", "不对", "間違", "ผิด", "ভুল", "తప్పు", "틀렸", "?", "？"];

/// Words that negate a question: `do not play`.
const DENYING: &[&str] = &[
    "not", "no", "never", "without", "cannot", "nicht", "kein", "keine", "keinen", "nie", "ohne", "ne",
    "pas", "sans", "jamais", "nunca", "sin", "non", "senza", "não", "sem", "не", "без", "sio", "hapana",
];
/// The same in scripts that put no blanks between words, or write it as a part of one.
const DENYING_PARTS: &[&str] = &[
    "n't",
    "n’t",
    "不",
    "没",
    "沒",
    "非",
    "未",
    "ない",
    "ません",
    "नहीं",
    "ไม่",
    "না",
    "নয়",
    "కాదు",
    "లేదు",
    "아니",
    "않",
];

/// Words before a counted thing that do not describe it.
pub(super) const QUANTIFIERS: &[&str] = &[
    "more",
    "fewer",
    "less",
    "total",
    "different",
    "other",
    "additional",
    "extra",
    "of",
    "the",
    "whole",
    "full",
    "de",
    "d",
    "in",
];

/// Whether a text has a word that makes all of it doubtful.
pub(super) fn doubts(text: &str) -> bool {
    DOUBTING_PARTS.iter().any(|part| text.contains(part))
        || words(text).any(|word| DOUBTING.contains(&word.as_str()))
}

/// The words of a text in lower case, without surrounding marks.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let is_between = |one: char| {
        one.is_whitespace()
            || (one.is_ascii_punctuation() && !matches!(one, '\'' | '-'))
            || "—…：；，、。！？（）「」।".contains(one)
    };
    let is_around = |one: char| matches!(one, '\'' | '-' | '¿' | '¡' | '“' | '”' | '–');
    text.split(is_between)
        .map(move |word| word.trim_matches(is_around).to_lowercase())
        .filter(|word| !word.is_empty())
}

/// Whether a text has a word that retracts, weakens or bounds it.
pub(super) fn turns(text: &str) -> bool {
    let lower = text.to_lowercase();
    TURNING_PARTS.iter().any(|part| lower.contains(part))
        || words(text).any(|word| TURNING.contains(&word.as_str()))
}

/// Whether a text has a negation.
pub(super) fn denies(text: &str) -> bool {
    let lower = text.to_lowercase();
    DENYING_PARTS.iter().any(|part| lower.contains(part))
        || words(text).any(|word| DENYING.contains(&word.as_str()))
}

/// Whether two words are equal except for number.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let is_plural =
        |ending: &str| (short.len() > 2 || short == "go") && long.strip_suffix(ending) == Some(short);
    one == other
        || is_plural("s")
        || is_plural("es")
        || (short.len() > 3
            && short.strip_suffix('y').is_some_and(|stem| long.strip_suffix("ies") == Some(stem)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negations_and_contrasts_are_found_in_many_languages() {
        for text in ["It isn't so", "at least", "nicht so", "ce n’est pas", "我不认为", "x \\ne", "8, but"]
        {
            assert!(turns(text), "{text}");
        }
        for text in ["Therefore, the answer is", "Also lautet die", "所以", "Jibu"] {
            assert!(!turns(text), "{text}");
        }
    }

    #[test]
    fn singular_and_plural_are_the_same_word() {
        for (one, other, same) in [
            ("leg", "legs", true),
            ("box", "boxes", true),
            ("berry", "berries", true),
            ("m", "ms", false),
            ("leg", "eggs", false),
        ] {
            assert_eq!(is_same(one, other), same, "{one} {other}");
        }
    }
}
