//! Generates bad flow files. The generator knows the line and column of each mistake, and a part of its message.

use std::ops::Range;

use super::place_at;

/// A bad file: where a mistake in it is, and what the message says.
pub(super) struct Mistake {
    pub(super) text: String,
    pub(super) place: (usize, usize),
    pub(super) says: String,
}

impl Mistake {
    fn at(place: (usize, usize), text: String, says: impl Into<String>) -> Self {
        Self { text, place, says: says.into() }
    }
}

/// A line `key = value` of a good file.
struct Line<'a> {
    good: &'a str,
    start: usize,
    text: &'a str,
    key: &'a str,
    value: &'a str,
}

impl Line<'_> {
    /// The mistake made by another value. It is `offset` bytes behind the beginning of the value.
    fn with_value(&self, value: &str, offset: usize, says: &str) -> Mistake {
        let start = self.start + self.key.len() + 3;
        replaced(self.good, start..self.start + self.text.len(), value, offset, says)
    }

    /// The mistake made by another key.
    fn with_key(&self, key: &str, says: &str) -> Mistake {
        replaced(self.good, self.start..self.start + self.key.len(), key, 0, says)
    }

    /// The name of its stage.
    fn stage(&self) -> &str {
        let stage = self.good[..self.start].rsplit("[stages.").next();
        stage.and_then(|rest| rest.split(']').next()).unwrap_or_default()
    }
}

/// The mistake made by replacing, in a good file, what is between two bytes.
fn replaced(good: &str, range: Range<usize>, with: &str, offset: usize, says: &str) -> Mistake {
    let text = format!("{}{with}{}", &good[..range.start], &good[range.end..]);
    Mistake::at(place_at(&text, range.start + offset), text, says)
}

/// Aimed mistakes in one good file.
pub(super) fn mistakes(good: &str) -> Vec<Mistake> {
    let starts = [0].into_iter().chain(good.match_indices('\n').map(|(at, _)| at + 1));
    let lines = starts
        .filter(|at| *at < good.len())
        .map(|start| (start, good[start..].lines().next().unwrap_or_default()));
    lines.flat_map(|(start, text)| of_line(good, start, text)).collect()
}

fn of_line(good: &str, start: usize, text: &str) -> Vec<Mistake> {
    let is_plain = |(key, value): &(&str, &str)| !key.contains(' ') && *value != "[";
    let Some((key, value)) = text.split_once(" = ").filter(is_plain) else {
        return of_table(good, start, text);
    };
    let line = Line { good, start, text, key, value };
    let mut all = of_keys(&line);
    let is_whole = !value.starts_with(['[', '{']) && !value.starts_with("'''") || value.ends_with(']');
    if is_whole {
        all.extend(of_types(&line));
        all.extend(of_values(&line));
    }
    all
}

/// A misspelt or a doubled table, or one of a wrong name.
fn of_table(good: &str, start: usize, line: &str) -> Vec<Mistake> {
    let Some(name) = line.strip_prefix("[stages.").and_then(|rest| rest.strip_suffix(']')) else {
        return Vec::new();
    };
    let whole = start..start + line.len();
    vec![
        replaced(good, whole.clone(), &format!("[stage.{name}]"), 1, "there is no key `stage`"),
        replaced(good, whole.clone(), "[stages.\"a b\"]", 8, "the name of a stage"),
        replaced(good, whole, &format!("{line}\n{line}"), line.len() + 9, "duplicate"),
    ]
}

/// Misspelt, unknown, foreign and doubled keys.
fn of_keys(line: &Line<'_>) -> Vec<Mistake> {
    let of_stage = ["panel", "from", "strategy", "synthesizer", "temperature", "max_tokens"];
    if !of_stage.contains(&line.key) {
        return Vec::new();
    }
    let end = line.start + line.text.len();
    let twice = format!("{0}\n{0}", line.text);
    vec![
        line.with_key(&format!("{}q", line.key), "there is no key"),
        line.with_key("colour", "there is no key `colour`"),
        line.with_key("store", "a setting of the whole run"),
        replaced(line.good, line.start..end, &twice, line.text.len() + 1, "duplicate"),
    ]
}

/// Every type of TOML but those that fit.
fn of_types(line: &Line<'_>) -> Vec<Mistake> {
    let types = [
        ("true", "a boolean"),
        ("1979-05-27", "a date"),
        ("{ x = 1 }", "a table"),
        ("1.5", "a decimal number"),
        ("7", "a whole number"),
        ("[3]", "a whole number"),
        ("[[\"a\"]]", "a list"),
    ];
    let takes_numbers = matches!(line.key, "temperature" | "budget_usd" | "max_tokens");
    let is_list = matches!(line.key, "panel" | "from" | "synthesizer");
    let wrong = types
        .into_iter()
        .filter(|(text, noun)| text.starts_with('[') || !(takes_numbers && noun.ends_with("number")));
    let mistake = |(text, noun): (&str, &str)| match (text.starts_with('['), is_list) {
        (true, true) => line.with_value(text, 1, noun),
        (true, false) => line.with_value(text, 0, "a list"),
        (false, _) => line.with_value(text, 0, noun),
    };
    wrong.map(mistake).collect()
}

fn of_values(line: &Line<'_>) -> Vec<Mistake> {
    match line.key {
        "panel" | "synthesizer" => of_models(line),
        "from" => of_reads(line),
        "strategy" => of_strategies(line),
        "temperature" => ["2.5", "-1", "\"warm\"", "nan"]
            .map(|wrong| line.with_value(wrong, 0, "`temperature` is a number from 0 to 2"))
            .into(),
        "max_tokens" => ["0", "-1", "1.5", "\"many\""]
            .map(|wrong| line.with_value(wrong, 0, "`max_tokens` is a whole number"))
            .into(),
        _ => Vec::new(),
    }
}

fn of_models(line: &Line<'_>) -> Vec<Mistake> {
    let wrong = ["a/x*0", "a/x*-1", "a/x*65", "a/x@speed=1", "a/x@temperature=9", "a b/x", "a/x,b/y"];
    let second = |wrong| line.with_value(&format!("[\"ok/ok\", \"{wrong}\"]"), 10, "cannot read the model");
    let mut all: Vec<Mistake> = wrong.map(second).into();
    all.extend(["[]", "\"\""].map(|none| line.with_value(none, 0, "names none of the models")));
    if line.key == "panel" {
        all.push(line.with_value("[\"a/x*40\", \"b/x*40\"]", 0, "at most 64"));
    } else {
        let nine: Vec<String> = (0..9).map(|nth| format!("\"a/{nth}\"")).collect();
        let ninth = 1 + 8 * "\"a/0\", ".len();
        all.push(line.with_value(&format!("[{}]", nine.join(", ")), ninth, "at most 8 synthesizers"));
    }
    all
}

fn of_reads(line: &Line<'_>) -> Vec<Mistake> {
    let first = line.value.trim_start_matches('[').split(',').next().unwrap_or_default().trim();
    vec![
        line.with_value("[\"nobody\", \"none\"]", 1, "there is no stage `nobody`"),
        line.with_value("[]", 0, "names none of the stages"),
        line.with_value(&format!("[{first}, {first}]"), first.len() + 3, "twice"),
        line.with_value(&format!("[\"{}\", {first}]", line.stage()), 1, "reads itself"),
    ]
}

fn of_strategies(line: &Line<'_>) -> Vec<Mistake> {
    let wrong = [
        ("fuse", "there is no strategy `fuse`"),
        ("", "there is no strategy ``"),
        ("moa@layers=9", "cannot be `9`"),
        ("vote@quickly=1", "has no option `quickly`"),
        ("synthesize@gate", "cannot be ``"),
        ("synthesize@analysis=bold", "cannot be `bold`"),
        ("tournament", "is now `best-of-n@by=pairs`"),
    ];
    wrong.map(|(wrong, says)| line.with_value(&format!("\"{wrong}\""), 0, says)).into()
}

/// Mistakes that need a file of their own: circles, several ends, too many stages, strategies that cannot do with texts.
pub(super) fn whole_files() -> Vec<Mistake> {
    let circles = (2..=14).map(circle);
    let ends = (2..=14).map(two_ends);
    let long = (17..25).map(|count| Mistake::at((33, 9), leaves(count), "at most 16 stages"));
    let asking = ["moa", "council"].map(|strategy| {
        let text = format!(
            "[stages]\na.panel = \"a/x\"\nb.panel = \"b/x\"\nc.from = [\"a\", \"b\"]\nc.strategy = \"{strategy}\"\n"
        );
        Mistake::at((5, 14), text, format!("`{strategy}` asks models again"))
    });
    let steering = ["race", "cascade", "auto", "vote@first=2", "synthesize@early=2", "race@hedge_after_ms=9"];
    let steering = steering.map(|strategy| {
        let text = format!(
            "[stages]\na.panel = \"a/x*3\"\na.strategy = \"{strategy}\"\nb.panel = \"b/x\"\nc.from = [\"a\", \"b\"]\n"
        );
        Mistake::at((3, 14), text, "decides who is asked first")
    });
    circles.chain(ends).chain(long).chain(asking).chain(steering).collect()
}

/// So many stages that ask one model.
fn leaves(count: usize) -> String {
    (0..count).map(|stage| ["[stages.l", &stage.to_string(), "]\npanel = \"a/x\"\n"].concat()).collect()
}

/// Stages that read each other in a circle, and all read a leaf.
fn circle(length: usize) -> Mistake {
    let reader = |stage: usize| {
        let next = (stage + 1) % length;
        ["[stages.s", &stage.to_string(), "]\nfrom = [\"leaf\", \"s", &next.to_string(), "\"]\n"].concat()
    };
    let readers: String = (0..length).map(reader).collect();
    let text = format!("[stages.leaf]\npanel = \"a/x\"\n{readers}[stages.end]\nfrom = [\"leaf\", \"s0\"]\n");
    Mistake::at((4, 17), text, "circle: `s0`, `s1`")
}

/// So many leaves, of which two stages that nobody reads read two.
fn two_ends(count: usize) -> Mistake {
    let ends = "[stages.one]\nfrom = [\"l0\", \"l1\"]\n[stages.two]\nfrom = [\"l0\", \"l1\"]\n";
    let (line, name) = if count > 2 { (5, "l2") } else { (2 * count + 1, "one") };
    Mistake::at((line, 9), leaves(count) + ends, format!("the stage `{name}` is read by no other"))
}
