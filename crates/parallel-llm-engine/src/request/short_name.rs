//! Short names of models: `opus` for the one model of a catalogue that it names.
//!
//! Invariants: only a unique match resolves, and the id of the match holds every word of the short name. Only the
//! provider's own alias for the newest version chooses among versions.

use std::collections::BTreeSet;

use crate::request::catalogue::Catalogue;
use crate::value::nearest::nearest_few;

/// The suffixes with which OpenRouter's users choose how a model is served, besides those that a list names.
const VARIANTS: [&str; 8] = ["beta", "exacto", "extended", "floor", "free", "nitro", "online", "thinking"];
/// Marks the provider's alias for the newest version of a model.
const ALIAS_MARK: char = '~';
/// The end of such an alias.
const NEWEST: &str = "-latest";
/// Part the words of a name.
const SEPARATORS: [char; 4] = ['-', '_', '/', ' '];
/// The fewest digits of a date: a month and a day.
const DATE_DIGITS_MIN: usize = 4;
/// The most similar names that are suggested: more are no suggestion.
const SIMILAR_MAX: usize = 3;

/// The models of a catalogue that a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedModels {
    /// No model.
    None,
    /// Exactly one, by its id.
    One(String),
    /// Several, by their ids: aliases for the newest first, otherwise in the provider's order.
    Several(Vec<String>),
}

impl Catalogue {
    /// The models that a short name stands for. It is the whole name behind the vendor, with or without `-latest` at an
    /// alias, or its last words. A name with a vendor is an id, so only its `~` and `-latest` may
    /// be missing. Case is ignored. A variant such as `:free` is kept.
    pub fn named(&self, short: &str) -> NamedModels {
        let (name, variant) = match short.split_once(':') {
            Some((name, variant)) if self.is_variant(variant) => (name, Some(variant)),
            Some(_) => return NamedModels::None,
            None => (short, None),
        };
        let name = name.trim_start_matches(ALIAS_MARK).to_ascii_lowercase();
        let (vendor, name) = match name.split_once('/') {
            Some((vendor, name)) => (Some(vendor), name),
            None => (None, &*name),
        };
        let mut bases = BTreeSet::new();
        let bases =
            self.models().iter().filter_map(|model| base(&model.id, variant)).filter(|id| bases.insert(*id));
        let known: Vec<Known<'_>> = bases.map(Known::of).collect();
        let of_vendor = || known.iter().filter(|known| vendor.is_none_or(|vendor| known.vendor == vendor));
        let mut found: Vec<&Known<'_>> = of_vendor().filter(|known| known.name == name).collect();
        if found.is_empty() {
            found = of_vendor().filter(|known| known.is_alias && known.family() == name).collect();
        }
        if found.is_empty() && vendor.is_none() {
            found = by_words(&known, name);
        }
        found.sort_by_key(|known| !known.is_alias);
        let full = |known: &&Known<'_>| match variant {
            Some(variant) => format!("{}:{variant}", known.id),
            None => known.id.to_owned(),
        };
        match found.as_slice() {
            [] => NamedModels::None,
            [one] => NamedModels::One(full(one)),
            several => NamedModels::Several(several.iter().map(full).collect()),
        }
    }

    /// Whether this suffix of a model's name chooses how the model is served.
    pub fn is_variant(&self, suffix: &str) -> bool {
        let ends = |id: &str| id.split_once(':').is_some_and(|(_, variant)| variant == suffix);
        VARIANTS.contains(&suffix) || self.models().iter().any(|model| ends(&model.id))
    }

    /// The vendors of the listed models, each once.
    pub(crate) fn vendors(&self) -> BTreeSet<&str> {
        let ids = self.models().iter().map(|model| model.id.trim_start_matches(ALIAS_MARK));
        ids.filter_map(|id| id.split_once('/')).map(|(vendor, _)| vendor).collect()
    }

    /// The listed ids most similar to an unknown name, the most similar first: one for a name with a vendor, a few for a
    /// short name.
    pub(crate) fn similar(&self, name: &str) -> Vec<&str> {
        if name.contains('/') {
            return self.nearest(name).into_iter().collect();
        }
        let meant = self.meant(name);
        if !meant.is_empty() {
            return meant;
        }
        let count = words(name).len();
        let ids = self.models().iter().map(|model| &*model.id);
        let parts = ids.flat_map(|id| word_runs(id, count).into_iter().map(move |part| (part, id)));
        let mut seen = BTreeSet::new();
        let mut similar = nearest_few(name, parts, usize::MAX);
        similar.retain(|id| seen.insert(*id));
        similar.truncate(SIMILAR_MAX);
        similar
    }
}

impl Catalogue {
    /// The listed ids that are this short name if points are written as hyphens, or if it ends with a date that they lack.
    fn meant(&self, name: &str) -> Vec<&str> {
        let written = |name: &str| name.to_ascii_lowercase().replace('.', "-");
        let asked = written(name);
        let undated = asked.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '-');
        let is_dated = asked[undated.len()..].bytes().filter(u8::is_ascii_digit).count() >= DATE_DIGITS_MIN;
        let is_meant = |id: &&str| {
            let known = written(id.split_once('/').map_or(id, |(_, name)| name));
            known == asked || (is_dated && asked.strip_prefix(&known).is_some_and(is_date))
        };
        let ids: BTreeSet<&str> = self.models().iter().map(|model| &*model.id).filter(is_meant).collect();
        ids.into_iter().take(SIMILAR_MAX).collect()
    }
}

/// Whether the end of a name is a date: `-2024-08-06`, `-20240806`, `-0806`.
fn is_date(end: &str) -> bool {
    end.starts_with('-') && end.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// The id without this variant; `None` for another variant.
fn base<'a>(id: &'a str, variant: Option<&str>) -> Option<&'a str> {
    match id.split_once(':') {
        None => Some(id),
        Some((base, own)) => (variant == Some(own)).then_some(base),
    }
}

/// A listed model, split for the comparison with a short name.
struct Known<'a> {
    id: &'a str,
    vendor: String,
    /// The name behind the vendor.
    name: String,
    /// Whether it is an alias for the newest version.
    is_alias: bool,
}

impl<'a> Known<'a> {
    fn of(id: &'a str) -> Self {
        let plain = id.trim_start_matches(ALIAS_MARK).to_ascii_lowercase();
        let (vendor, name) = plain.split_once('/').unwrap_or(("", &plain));
        let is_alias = id.starts_with(ALIAS_MARK) && name.ends_with(NEWEST);
        Self { id, vendor: vendor.to_owned(), name: name.to_owned(), is_alias }
    }

    /// The name without `-latest`, if it is an alias.
    fn family(&self) -> &str {
        self.name.strip_suffix(NEWEST).filter(|_| self.is_alias).unwrap_or(&self.name)
    }
}

/// The models whose names hold all words of `name`, next to each other; one alone must end with them. One of several
/// stands for all if nothing is lost by it: the alias for the newest of them, or the one of this version that is no
/// special kind.
fn by_words<'k, 'a>(known: &'k [Known<'a>], name: &str) -> Vec<&'k Known<'a>> {
    let asked = words(name);
    let holds = |known: &&Known<'_>| {
        !asked.is_empty() && words(&known.name).windows(asked.len()).any(|part| part == asked)
    };
    let found: Vec<&Known<'_>> = known.iter().filter(holds).collect();
    let of_newest =
        |one: &&Known<'_>| one.is_alias && found.iter().all(|other| one.is_more_general_than(other));
    let of_version = |one: &&Known<'_>| {
        let is_only_special = |other: &&Known<'_>| {
            one.is_more_general_than(other) && numbers(&one.name) == numbers(&other.name)
        };
        numbers(name) > 0 && words(&one.name).ends_with(&asked) && found.iter().all(is_only_special)
    };
    let only = |matches: &dyn Fn(&&Known<'_>) -> bool| {
        let mut matching = found.iter().copied().filter(|one| matches(one));
        matching.next().filter(|_| matching.next().is_none())
    };
    // A word behind the last one asked for makes another model of it: `gpt-6` is not `gpt-6-luna`.
    let is_meant = |one: &&Known<'_>| words(one.family()).ends_with(&asked);
    match (only(&of_newest).or_else(|| only(&of_version)).filter(is_meant), found.as_slice()) {
        (Some(one), _) => vec![one],
        (None, [one]) if !is_meant(one) => Vec::new(),
        (None, _) => found,
    }
}

impl Known<'_> {
    /// Whether the other model is of the same vendor and has all words of this one's family, in their order.
    fn is_more_general_than(&self, other: &Self) -> bool {
        let others = words(&other.name);
        let mut rest = others.iter();
        self.vendor == other.vendor && words(self.family()).iter().all(|word| rest.any(|other| other == word))
    }
}

/// The parts of an id behind its vendor that consist of so many words.
fn word_runs(id: &str, count: usize) -> Vec<&str> {
    let name = id.split_once('/').map_or(id, |(_, name)| name);
    let mut start = 0;
    let mut spans = Vec::new();
    for word in name.split(SEPARATORS) {
        spans.push((start, start + word.len()));
        // Every separator is one byte long.
        start += word.len() + 1;
    }
    spans.windows(count.max(1)).map(|run| &name[run[0].0..run[run.len() - 1].1]).collect()
}

/// The words of a name. A point parts no words: `6` is no word of `gpt-6.1`.
fn words(name: &str) -> Vec<&str> {
    name.split(SEPARATORS).filter(|word| !word.is_empty()).collect()
}

/// How many words hold a digit, which is how versions and dates are written.
fn numbers(name: &str) -> usize {
    words(name).into_iter().filter(|word| word.bytes().any(|byte| byte.is_ascii_digit())).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::request::catalogue::ModelInfo;

    const LISTED: &[&str] = &[
        "openai/gpt-6.1-sol",
        "openai/gpt-6.1-sol-pro",
        "openai/gpt-6-luna",
        "openai/gpt-oss-120b",
        "openai/gpt-oss-120b:free",
        "anthropic/claude-opus-5",
        "anthropic/claude-opus-5.5",
        "anthropic/claude-opus-5.5-fast",
        "x-ai/grok-4.7",
        "x-ai/grok-code-2",
        "other/grok-4.7",
        "amazon/nova-2",
        "openai/gpt-nova-1",
        "google/gemma-4-31b-it:free",
        "deepseek/deepseek-r1",
        "deepseek/deepseek-r1-0528",
        "~openai/gpt-sol-latest",
        "~openai/gpt-nova-latest",
        "~anthropic/claude-opus-latest",
        "~x-ai/grok-latest",
    ];

    fn named(short: &str) -> String {
        let catalogue = Catalogue::new(LISTED.iter().map(|id| ModelInfo::named(*id)).collect(), true);
        match catalogue.named(short) {
            NamedModels::None => "none".to_owned(),
            NamedModels::One(id) => id,
            NamedModels::Several(ids) => format!("[{}]", ids.join(" ")),
        }
    }

    #[test]
    fn a_short_name_resolves_to_its_only_match() {
        for (short, full) in [
            ("opus", "~anthropic/claude-opus-latest"),
            ("Claude-Opus", "~anthropic/claude-opus-latest"),
            ("gpt-sol", "~openai/gpt-sol-latest"),
            ("sol", "~openai/gpt-sol-latest"),
            ("gpt-sol-latest", "~openai/gpt-sol-latest"),
            ("openai/gpt-sol", "~openai/gpt-sol-latest"),
            ("~openai/gpt-sol", "~openai/gpt-sol-latest"),
            ("grok", "~x-ai/grok-latest"),
            ("claude-opus-5.5", "anthropic/claude-opus-5.5"),
            ("opus-5.5", "anthropic/claude-opus-5.5"),
            ("opus-5.5-fast", "anthropic/claude-opus-5.5-fast"),
            ("opus-5", "anthropic/claude-opus-5"),
            ("luna", "openai/gpt-6-luna"),
            ("6.1-sol", "openai/gpt-6.1-sol"),
            ("sol-pro", "openai/gpt-6.1-sol-pro"),
            ("opus:online", "~anthropic/claude-opus-latest:online"),
            ("oss-120b:free", "openai/gpt-oss-120b:free"),
            ("31b-it:free", "google/gemma-4-31b-it:free"),
            ("grok-code-2", "x-ai/grok-code-2"),
            ("deepseek-r1", "deepseek/deepseek-r1"),
        ] {
            assert_eq!(named(short), full, "{short}");
        }
    }

    #[test]
    fn several_matches_are_all_listed_and_none_is_picked() {
        for (short, full) in [
            ("grok-4.7", "[x-ai/grok-4.7 other/grok-4.7]"),
            ("nova", "[~openai/gpt-nova-latest amazon/nova-2 openai/gpt-nova-1]"),
            ("r1", "[deepseek/deepseek-r1 deepseek/deepseek-r1-0528]"),
            ("gpt-6.1", "[openai/gpt-6.1-sol openai/gpt-6.1-sol-pro]"),
            (
                "gpt",
                "[~openai/gpt-sol-latest ~openai/gpt-nova-latest openai/gpt-6.1-sol openai/gpt-6.1-sol-pro \
                 openai/gpt-6-luna openai/gpt-oss-120b openai/gpt-nova-1]",
            ),
        ] {
            assert_eq!(named(short), full, "{short}");
        }
    }

    #[test]
    fn a_misspelled_word_suggests_similar_models() {
        let catalogue = Catalogue::new(LISTED.iter().map(|id| ModelInfo::named(*id)).collect(), true);
        let similar = |name: &str| catalogue.similar(name).join(" ");
        assert_eq!(
            similar("opuss"),
            "anthropic/claude-opus-5 anthropic/claude-opus-5.5 anthropic/claude-opus-5.5-fast"
        );
        assert_eq!(similar("gpt5"), "openai/gpt-6.1-sol openai/gpt-6.1-sol-pro openai/gpt-6-luna");
        assert_eq!(similar("gork-4.7"), "x-ai/grok-4.7 other/grok-4.7");
        assert_eq!(similar("anthropic/claude-opus5"), "anthropic/claude-opus-5");
        assert_eq!((similar("qqqq"), similar("")), (String::new(), String::new()));
    }

    #[test]
    fn a_part_of_a_word_or_of_an_id_matches_nothing() {
        for short in [
            "",
            "-",
            "/",
            ":",
            "~",
            "gpt-6.",
            "gpt5",
            "opu",
            "claude-opus-5.",
            "gpt-luna",
            "openai",
            "openai/opus",
            "anthropic/opus",
            "openai/gpt-6",
            "opus:gpt",
            "opnai:gpt-6-luna",
            "gemma-4-31b-it",
            "gpt-oss-120b:free:x",
            "gpt-6",
            "gpt-oss",
            "gemma-4:free",
        ] {
            assert_eq!(named(short), "none", "{short}");
        }
    }

    /// A name made of random words.
    fn name(words: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = String> {
        let word =
            proptest::sample::select(vec!["gpt", "opus", "claude", "6", "6.1", "5.5", "fast", "pro", "mini"]);
        proptest::collection::vec(word, words).prop_map(|words| words.join("-"))
    }

    /// Ids of a few vendors: models, aliases for the newest, and free variants.
    fn ids() -> impl Strategy<Value = Vec<String>> {
        let vendor = proptest::sample::select(vec!["lab", "other"]);
        let id = (vendor, name(1..=4), 0..6_u8).prop_map(|(vendor, name, kind)| match kind {
            0 => format!("~{vendor}/{name}-latest"),
            1 => format!("{vendor}/{name}:free"),
            _ => format!("{vendor}/{name}"),
        });
        proptest::collection::btree_set(id, 0..12).prop_map(|ids| ids.into_iter().collect()).prop_shuffle()
    }

    fn catalogue(ids: &[String]) -> Catalogue {
        Catalogue::new(ids.iter().map(ModelInfo::named).collect(), true)
    }

    fn has(id: &str, asked: &str) -> bool {
        let (id, asked) = (words(id.trim_start_matches('~')), words(asked));
        id.windows(asked.len()).any(|part| part == asked)
    }

    proptest! {
        #[test]
        fn only_models_with_all_the_words_match(ids in ids(), short in name(1..=3), free in any::<bool>()) {
            let asked = if free { format!("{short}:free") } else { short.clone() };
            let meant = match catalogue(&ids).named(&asked) {
                NamedModels::None => vec![],
                NamedModels::One(id) => vec![id],
                NamedModels::Several(ids) => ids,
            };
            for id in meant {
                let base = id.trim_end_matches(":free").to_owned();
                prop_assert_eq!(free, id != base);
                prop_assert!(has(&base, &short), "{} is no {}", id, short);
                prop_assert!(ids.contains(&id) || (free && ids.contains(&base)), "{} is not listed", id);
            }
        }

        #[test]
        fn only_a_unique_match_is_taken(ids in ids(), short in name(1..=3)) {
            let fitting: Vec<&String> = ids.iter().filter(|id| !id.contains(':') && has(id, &short)).collect();
            match catalogue(&ids).named(&short) {
                NamedModels::None => prop_assert!(fitting.len() < 2, "{:?}", fitting),
                NamedModels::Several(several) => prop_assert!(several.len() > 1),
                NamedModels::One(id) => {
                    let (vendor, name) = id.trim_start_matches('~').split_once('/').unwrap();
                    let family = name.strip_suffix("-latest").unwrap_or(name);
                    prop_assert!(words(family).ends_with(&words(&short)) || name == short, "{} is more than {}", id, short);
                    // Every other fit is a special kind or another version of this very model, at the same vendor, unless
                    // the name was written out.
                    for other in fitting.iter().filter(|other| ***other != id && family != short) {
                        let (others, rest) = other.trim_start_matches('~').split_once('/').unwrap();
                        let mut rest = words(rest).into_iter();
                        let holds = words(family).into_iter().all(|word| rest.any(|own| own == word));
                        prop_assert!(others == vendor && holds, "{} and {} fit {}", id, other, short);
                        prop_assert!(id.starts_with('~') || numbers(other) == numbers(&id), "a version was picked");
                    }
                }
            }
        }

        #[test]
        fn the_order_of_the_list_does_not_matter(ids in ids(), short in name(1..=3)) {
            let sorted = |ids: &[String]| match catalogue(ids).named(&short) {
                NamedModels::Several(mut several) => {
                    several.sort();
                    NamedModels::Several(several)
                }
                named => named,
            };
            let reversed: Vec<String> = ids.iter().rev().cloned().collect();
            prop_assert_eq!(sorted(&ids), sorted(&reversed));
        }

        #[test]
        fn any_text_is_read(short in any::<String>(), ids in ids()) {
            catalogue(&ids).named(&short);
        }
    }
}
