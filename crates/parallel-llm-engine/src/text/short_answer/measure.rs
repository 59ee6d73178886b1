//! Units of measure, and which of them fit a question.

use super::words::{is_same, words};

/// The units by kind of quantity, with the words of questions for it.
pub(super) const MEASURES: &[Measure] = &[
    Measure {
        units: &[
            "mile",
            "kilometer",
            "kilometre",
            "meter",
            "metre",
            "centimeter",
            "centimetre",
            "millimeter",
            "inch",
            "feet",
            "foot",
            "yard",
            "km",
            "cm",
            "mm",
        ],
        asked: &[
            "far",
            "distance",
            "length",
            "long",
            "height",
            "tall",
            "high",
            "width",
            "wide",
            "deep",
            "depth",
            "perimeter",
            "radius",
            "diameter",
            "circumference",
        ],
    },
    Measure {
        units: &["second", "minute", "hour", "day", "week", "month", "year"],
        asked: &["long", "time", "old", "age"],
    },
    Measure {
        units: &["gram", "kilogram", "pound", "ounce", "ton", "kg", "tonne"],
        asked: &["weight", "weigh", "heavy", "mass"],
    },
    Measure {
        units: &["liter", "litre", "gallon", "pint", "cup", "milliliter"],
        asked: &["volume", "capacity"],
    },
    Measure { units: &["degree", "radian"], asked: &["angle"] },
];

/// A kind of quantity.
pub(super) struct Measure {
    pub(super) units: &'static [&'static str],
    pub(super) asked: &'static [&'static str],
}

/// A unit as a word.
pub(super) fn unabridged(unit: &str) -> &str {
    let short = [("kg", "kilogram"), ("km", "kilometer"), ("cm", "centimeter"), ("min", "minute")];
    short.iter().find(|(short, _)| *short == unit).map_or(unit, |(_, long)| long)
}

/// The normal form of a unit: `kilometers`, `kilometre` and `km` are the same.
pub(super) fn one_way(unit: &str) -> &str {
    let same: [(&str, &[&str]); 4] = [
        ("km", &["kilometer", "kilometers", "kilometre", "kilometres"]),
        ("cm", &["centimeter", "centimeters", "centimetre", "centimetres"]),
        ("mm", &["millimeter", "millimeters", "millimetre", "millimetres"]),
        ("kg", &["kilogram", "kilograms"]),
    ];
    same.iter().find(|(_, names)| names.contains(&unit)).map_or(unit, |(short, _)| short)
}

/// Whether a word is one of these, or its plural.
pub(super) fn is_among(units: &[&str], word: &str) -> bool {
    units.iter().any(|unit| is_same(unit, word)) || (word == "inches" && units.contains(&"inch"))
}

/// The only unit in a question that fits the asked quantity.
pub(super) fn only_measure(sentence: &[String], question: &str) -> Option<String> {
    let kinds =
        MEASURES.iter().filter(|kind| sentence.iter().any(|word| kind.asked.contains(&word.as_str())));
    let units: Vec<&str> = kinds.flat_map(|kind| kind.units).copied().collect();
    let mut used: Vec<String> = words(question).filter(|word| is_among(&units, word)).collect();
    used.dedup_by(|one, other| is_same(one, other));
    let first = used.first()?;
    used.iter().all(|other| is_same(first, other)).then(|| first.clone())
}
