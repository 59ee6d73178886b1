//! What a question asks for: a count, an amount, a name, or something in code.
//!
//! It decides which differences in writing mean nothing, so it errs on one side: what is not known to be a number is a name.

use super::sentences::words;
use super::word_set::{PhraseSet, WordSet};

/// How far from a sign its numbers stand, in characters.
const NEAR_CHARS: usize = 4;
/// Words of a request about code.
static CODE_WORDS: WordSet = WordSet::of(
    "code output outputs print prints printed python javascript typescript java rust \
     ruby golang php perl bash shell sql css html regex repr string strings command variable method \
     operator identifier keyword flag compile compiles git linux excel expression",
);
/// Words of a calculation.
static CALCULATION_WORDS: WordSet = WordSet::of(
    "sum difference product quotient times plus minus divided multiplied \
     squared cubed power average mean median area perimeter circumference volume speed distance probability \
     percent percentage remainder total compute calculate evaluate solve temperature weight mass height \
     length width depth measure price cost salary profit pension income bill revenue spend earn",
);
/// Words of a question for an amount of money.
static MONEY_WORDS: WordSet = WordSet::of(
    "dollars euros money price cost costs pay paid salary profit pension spend spent \
     earn earned income bill owe charge charged budget savings revenue fee fees amount wage wages",
);
/// Words of a question in whose answer the way of writing counts.
static WRITING_WORDS: WordSet = WordSet::of(
    "version release chapter section decimal terms mixed simplest digit digits \
     decimals places significant figures precision base binary hexadecimal octal fraction fractions \
     notation form format rounded round ratio date time written write",
);
/// Words of a question in whose answer capitals count.
static CAPITAL_WORDS: WordSet = WordSet::of(
    "file files exactly capital capitals uppercase lowercase case verb noun gene \
     protein username password spelling spelled say said write",
);
/// Words before `number` that leave it a number.
static OF_NUMBERS: WordSet = WordSet::of(
    "the a what which whole total this that same largest smallest greatest least only \
     natural prime even odd real positive negative exact correct one",
);
/// Words between `how many` and what is counted.
const COUNTED_LATER: &[&str] =
    &["total", "more", "additional", "whole", "full", "extra", "other", "new", "remaining", "different"];
/// Units by what they measure. Short forms such as `m` may be anything.
const MEASURES: [&[&str]; 5] = [
    &["second", "minute", "hour", "day", "week", "month", "year", "decade"],
    &[
        "inch",
        "foot",
        "yard",
        "mile",
        "kilometer",
        "kilometre",
        "meter",
        "metre",
        "centimeter",
        "centimetre",
        "km",
        "cm",
        "mm",
    ],
    &["ounce", "pound", "ton", "gram", "kilogram", "kg", "lb", "stone"],
    &["liter", "litre", "gallon", "milliliter", "pint", "quart", "cup", "tablespoon", "teaspoon"],
    &["degree"],
];
/// Words of a question for a measure of several units.
static DERIVED_WORDS: WordSet = WordSet::of(
    "per each every speed rate area volume square cubic density fast quickly ratio \
     percent",
);
/// Phrases of a question for a share in percent.
static PERCENT_PHRASES: PhraseSet = PhraseSet::of(
    "what percent|what percentage|many percent|in percent|the percentage of|\
     as a percentage",
);

/// Whether a request is in English, where a comma separates thousands.
pub(super) fn is_english(request: &str) -> bool {
    let lower = request.to_lowercase();
    let has = |known: &[&str]| words(&lower).any(|word| known.contains(&word));
    has(&[
        "the", "of", "how", "what", "which", "find", "she", "he", "is", "that", "this", "with", "reply",
        "answer", "your", "are", "does", "should", "when", "where", "who",
    ]) && !has(&[
        "der", "und", "ist", "wie", "les", "des", "est", "los", "las", "una", "il", "della", "het", "een",
        "uma",
    ])
}

/// Whether a request, in lower case, asks for a literal of a programming language.
pub(super) fn asks_for_literal(lower: &str) -> bool {
    words(lower).any(|word| matches!(word, "literal" | "assertion"))
}

/// Whether a request, in lower case, names a language in which the two kinds of quotes mean two things.
pub(super) fn tells_quotes_apart(lower: &str) -> bool {
    const LANGUAGES: [&str; 16] = [
        "c", "java", "rust", "go", "golang", "sql", "bash", "shell", "php", "ruby", "perl", "kotlin",
        "swift", "haskell", "char", "json",
    ];
    words(lower).any(|word| LANGUAGES.contains(&word))
}

/// Whether a request, in lower case, is about code or what it prints.
pub(super) fn is_about_code(lower: &str) -> bool {
    lower.contains('`')
        || lower.contains("()")
        || words(lower).any(|word| CODE_WORDS.has(word))
        || lower.contains('(') && words(lower).any(|word| matches!(word, "return" | "returns" | "returned"))
        || ["in c ", "in c?", "in c.", "in c+"].iter().any(|language| lower.contains(language))
}

/// Whether a sentence, in lower case, asks for the result of a calculation, whose form is not asked for.
pub(super) fn calculates(asking: &str) -> bool {
    let near = |text: &str| {
        text.chars().find(|one| !" +*×·÷/^−-(".contains(*one)).is_some_and(|one| one.is_ascii_digit())
    };
    let has_term = |(at, _): (usize, &str)| {
        let before: String = asking[..at].chars().rev().take(NEAR_CHARS).collect();
        let behind: String = asking[at..].chars().take(NEAR_CHARS).collect();
        near(&before) && near(&behind)
    };
    let is_sum = asking.match_indices(['+', '*', '×', '·', '÷', '/', '^', '−']).any(has_term)
        || asking.contains(" x ");
    let calculates = is_sum || words(asking).any(|word| CALCULATION_WORDS.has(word));
    calculates && !words(asking).any(|word| WRITING_WORDS.has(word)) && !is_for_a_name(asking)
}

/// Whether a sentence in lower case asks for a quantity: `how many` begins it or stands behind a comma or an empty word.
pub(super) fn counts(asking: &str) -> bool {
    const HOW: [&str; 6] = ["how many", "how much", "how long", "how far", "how old", "how tall"];
    const BEFORE: [&str; 14] = [
        "then",
        "and",
        "in",
        "for",
        "by",
        "find",
        "determine",
        "calculate",
        "compute",
        "altogether",
        "exactly",
        "is",
        "so",
        "question",
    ];
    HOW.iter().flat_map(|how| asking.match_indices(how)).any(|(at, _)| {
        let before = asking[..at].trim_end();
        let last = before.rsplit(' ').next().unwrap_or_default();
        before.is_empty() || before.ends_with([',', ':', ';', '.', '#', '*']) || BEFORE.contains(&last)
    })
}

/// The sign of the one currency of a text in lower case; `None` if it has none or several.
pub(super) fn currency(lower: &str) -> Option<char> {
    let named =
        [('$', "dollar"), ('€', "euro"), ('£', "pound"), ('¥', "yen"), ('₹', "rupee"), ('F', "franc")];
    let is_named = |name: &str| words(lower).any(|word| word.strip_suffix('s').unwrap_or(word) == name);
    let mut found = named.iter().filter(|(sign, name)| lower.contains(*sign) || is_named(name));
    found.next().filter(|_| found.next().is_none()).map(|(sign, _)| *sign)
}

/// The unit that a word in lower case is, in the singular.
fn measure(word: &str) -> Option<&'static str> {
    let singular = word.strip_suffix('s').unwrap_or(word);
    let same = |unit: &&&str| {
        **unit == word
            || **unit == singular
            || (**unit, word) == ("foot", "feet")
            || (**unit, word) == ("inch", "inches")
    };
    MEASURES.iter().copied().flatten().find(same).copied()
}

/// The units of a text in lower case that are the only ones of what they measure. A bare number of hours is one of hours then.
pub(super) fn units(lower: &str) -> Vec<&'static str> {
    let found: Vec<&'static str> = words(lower).filter_map(measure).collect();
    let only = |dimension: &&[&'static str]| {
        let mut own = found.iter().filter(|unit| dimension.contains(unit));
        own.next().filter(|first| own.all(|other| other == *first)).copied()
    };
    MEASURES.iter().filter_map(only).collect()
}

/// Whether a sentence, in lower case, asks for an amount of money.
pub(super) fn asks_for_money(asking: &str) -> bool {
    let is_in_parts = words(asking).any(|word| matches!(word, "cents" | "cent" | "pence" | "pennies"));
    !is_in_parts && (asking.contains("how much") || words(asking).any(|word| MONEY_WORDS.has(word)))
}

/// Whether a word multiplies the number before it.
pub(super) fn is_magnitude(word: &str) -> bool {
    ["dozen", "hundred", "thousand", "million", "billion", "trillion"]
        .iter()
        .any(|known| word.starts_with(known))
}

/// Whether a sentence asks for a name, or for something in which capitals may count.
pub(super) fn counts_as_written(asking: &str) -> bool {
    let asking = asking.to_lowercase();
    is_for_a_name(&asking) || words(&asking).any(|word| CAPITAL_WORDS.has(word))
}

/// Whether a sentence, in lower case, asks for a number that is a name: an order number.
pub(super) fn is_for_a_name(asking: &str) -> bool {
    let words: Vec<&str> = words(asking).collect();
    words.windows(2).any(|two| matches!(two[1], "number" | "code" | "id") && !OF_NUMBERS.has(two[0]))
}

/// A number without the unit that the asking sentence names: the things that it counts, the currency of an amount, percent, or
/// the unit it asks in.
pub(super) fn without_unit<'a>(
    text: &'a str,
    sentence: &str,
    currency: Option<char>,
    units: &[&str],
) -> &'a str {
    let asking = &sentence.to_lowercase();
    if let Some(currency) = currency.filter(|_| asks_for_money(asking)) {
        let bare = text.strip_prefix('\\').unwrap_or(text);
        let name = match currency {
            '$' => " dollars",
            '€' => " euros",
            _ => "\0",
        };
        let amount = bare.strip_prefix(currency).or_else(|| bare.strip_suffix(currency));
        if let Some(amount) = amount.or_else(|| bare.strip_suffix(name)) {
            return amount.trim();
        }
    }
    let is_percent = PERCENT_PHRASES.has_one(asking, |_| true);
    let percent = ["\\%", "%", " percent"].iter().find_map(|unit| text.strip_suffix(unit));
    if let Some(number) = percent.filter(|_| is_percent) {
        return number.trim_end();
    }
    if let Some(number) =
        text.strip_suffix('°').filter(|_| asking.contains("in degrees") || asking.contains("many degrees"))
    {
        return number;
    }
    // `5 thousands` is another number.
    let is_asked_in = |unit: &str| {
        let is_unit = !unit.contains(' ') && !is_magnitude(unit);
        let behind = sentence.split(" in ").skip(1).find_map(|behind| behind.strip_prefix(unit));
        is_unit
            && behind.is_some_and(|behind| {
                !behind.starts_with(|one: char| one.is_alphanumeric() || "/^²³".contains(one))
            })
    };
    if let Some((number, unit)) = text.split_once(' ')
        && is_asked_in(
            unit.strip_prefix("\\text{").and_then(|unit| unit.strip_suffix('}')).unwrap_or(unit).trim(),
        )
    {
        return number;
    }
    // Speeds and areas have units of units.
    let is_derived = asking.contains('/') || words(asking).any(|word| DERIVED_WORDS.has(word));
    if let Some((number, unit)) = text.split_once(' ').filter(|_| !is_derived)
        && measure(unit).is_some_and(|unit| units.contains(&unit))
    {
        return number;
    }
    let Some((_, counted)) = asking.split_once("how many ") else { return text };
    let Some((number, unit)) = text.split_once(' ').filter(|(_, unit)| !unit.contains(' ')) else {
        return text;
    };
    // `MW` is not `mW`, nor `m` a `ms`.
    let stem = |word: &str| word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word).to_owned();
    let mut counted = words(counted).skip_while(|word| COUNTED_LATER.contains(word));
    let is_unit = counted.next().is_some_and(|first| stem(first) == stem(unit));
    if is_unit { number } else { text }
}
