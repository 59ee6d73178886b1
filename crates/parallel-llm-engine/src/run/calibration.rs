//! Calibration: a table of how often answers with a given agreement were right, and what it says of a run.
//!
//! The caller reads the file. Invariants: a share is reported only if it was counted on answers with the same agreement, and
//! only for a text that agrees with the largest cluster. Nothing is inferred from the number of votes, because models err
//! together.

use std::collections::HashMap;

use serde::Deserialize;

use crate::agreement::Agreement;
use crate::agreement::interval::wilson;
use crate::request::StoreMode;
use crate::request::panel::ModelRef;
use crate::run::Run;
use crate::run::outcome::{Outcome, OutcomeKind};
use crate::text::short_answer::{Form, Value};
use crate::value::answer::steers;
use crate::value::warning::Warning;

/// The supported version of the file.
const VERSION: u64 = 1;
/// The most rows: enough for a thousand panels with ten kinds of agreement each.
pub const ROWS_MAX: usize = 10_000;
/// The longest name of a set in characters, so that it fits into a line of a report.
const SET_CHARS_MAX: usize = 80;
/// The longest name of a model, in characters.
const MODEL_CHARS_MAX: usize = 200;
/// The most answers of a row: as many as a panel can have.
const ANSWERS_MAX: u32 = 64;
/// The fewest questions of a row that is reported: even for 19 right of 19 the interval reaches down to 83 %.
pub const ASKED_MIN: u32 = 20;
/// The least lower end of the interval for the band `high`. Both bounds are arbitrary, so reports show the share, its
/// interval and the count beside the band.
const HIGH_MIN: f64 = 0.9;
/// The least lower end of the interval for the band `medium`.
const MEDIUM_MIN: f64 = 0.7;

/// The calibration of an installation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Calibration {
    /// There is no table.
    #[default]
    Absent,
    /// The table cannot be used.
    Unusable(Warning),
    /// A usable table.
    Table(Table),
}

/// How often answers were right on a set of questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The name of the set of questions.
    pub set: String,
    /// The day it was made, as `2026-11-22`.
    pub made: String,
    /// The counted rows.
    pub rows: Vec<Row>,
}

/// How often answers of one kind of agreement were right.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(expecting = "counts in an object")]
pub struct Row {
    /// The models that answered, each as `vendor/model`, sorted; `None` means any models.
    #[serde(default)]
    pub panel: Option<Vec<String>>,
    /// The form of the questions.
    pub form: RowForm,
    /// How many answers agreed.
    pub agree: u32,
    /// The number of answers.
    pub of: u32,
    /// How often the agreed value was right.
    pub right: u32,
    /// The number of questions.
    pub asked: u32,
}

/// The kind of short answer a question asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowForm {
    /// One of the named options.
    Choice,
    /// A number.
    Number,
    /// Yes or no.
    YesNo,
    /// Any of these.
    Any,
}

/// The confidence in the answer of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Confidence<'a> {
    /// The table has counted such answers.
    Counted {
        /// The band.
        band: Band,
        /// The table.
        table: &'a Table,
        /// The row with the counts.
        row: &'a Row,
    },
    /// There is no confidence, and this is why.
    Uncalibrated(Why<'a>),
}

/// The band of a share by the lower end of its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// At least nine of ten are right.
    High,
    /// At least seven of ten are right.
    Medium,
    /// Fewer, or too few questions to be sure.
    Low,
}

/// Why there is no confidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why<'a> {
    /// There is no table.
    NoTable,
    /// The table cannot be used.
    Unusable,
    /// The question is open; tables count questions with a short answer.
    Open,
    /// The texts to compare are not kept.
    NotKept,
    /// No answer, or not the final text, has a plain value.
    Unsaid,
    /// The final text has another value than the largest cluster.
    Otherwise,
    /// The table has no row for such an agreement.
    NoRow(&'a Table),
    /// The row counts too few questions.
    TooFew(&'a Table, &'a Row),
}

impl Band {
    /// Its name in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }

    /// The band for the lower end of an interval.
    fn from(low: f64) -> Self {
        match low {
            HIGH_MIN.. => Self::High,
            MEDIUM_MIN.. => Self::Medium,
            _ => Self::Low,
        }
    }
}

impl Calibration {
    /// The confidence in the answer of a run; `None` while there is no outcome.
    pub fn confidence(&self, run: &Run) -> Option<Confidence<'_>> {
        let outcome = run.outcome.as_ref()?;
        let confidence = match self {
            Self::Absent => Err(Why::NoTable),
            Self::Unusable(_) => Err(Why::Unusable),
            Self::Table(table) => table.confidence(run, outcome),
        };
        Some(confidence.unwrap_or_else(Confidence::Uncalibrated))
    }
}

impl Table {
    fn confidence(&self, run: &Run, outcome: &Outcome) -> Result<Confidence<'_>, Why<'_>> {
        let agreement = outcome.agreement.as_ref().ok_or(Why::Open)?;
        let form = agreed_form(run, outcome, agreement)?;
        let models = outcome.considered.iter().filter_map(|seat| run.seat(*seat)).map(|view| &view.model);
        let row = self.row(&panel_of(models), form, agreement).ok_or(Why::NoRow(self))?;
        if row.asked < ASKED_MIN {
            return Err(Why::TooFew(self, row));
        }
        Ok(Confidence::Counted { band: Band::from(row.interval()[0]), table: self, row })
    }

    /// The most specific row for such answers: first by panel, then by form.
    fn row(&self, panel: &[String], form: RowForm, agreement: &Agreement) -> Option<&Row> {
        let fits = |row: &&Row| {
            (row.agree as usize, row.of as usize) == (agreement.equal, agreement.of)
                && row.panel.as_ref().is_none_or(|wanted| wanted == panel)
                && (row.form == form || row.form == RowForm::Any)
        };
        let is_special = |row: &&Row| (row.panel.is_some(), row.form != RowForm::Any);
        self.rows.iter().filter(fits).max_by_key(is_special)
    }

    /// Parses a table. The error names the wrong row, counted from 1.
    pub fn read(json: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        #[serde(expecting = "`version`, `set`, `made` and `rows` in an object")]
        struct Shape {
            version: u64,
            set: String,
            made: String,
            rows: Vec<serde_json::Value>,
        }
        let shape: Shape = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        if shape.version != VERSION {
            return Err(format!("its `version` is {}, and {VERSION} is read", shape.version));
        }
        is_name(&shape.set, SET_CHARS_MAX)
            .then_some(())
            .ok_or_else(|| format!("`set` is no name of 1 to {SET_CHARS_MAX} characters on one line"))?;
        is_day(&shape.made).then_some(()).ok_or("`made` is no day such as `2026-11-22`")?;
        if shape.rows.len() > ROWS_MAX {
            return Err(format!("it has {} rows, and {ROWS_MAX} are read", shape.rows.len()));
        }
        let (mut rows, mut seen) = (Vec::new(), HashMap::new());
        for (row, number) in shape.rows.into_iter().zip(1..) {
            let row = Row::read(row).map_err(|wrong| format!("row {number}: {wrong}"))?;
            let key = (row.panel.clone(), row.form, row.agree, row.of);
            if let Some(before) = seen.insert(key, number) {
                return Err(format!("row {number} describes the same answers as row {before}"));
            }
            rows.push(row);
        }
        Ok(Self { set: shape.set, made: shape.made, rows })
    }
}

impl Row {
    fn read(row: serde_json::Value) -> Result<Self, String> {
        let mut row: Self = serde_json::from_value(row).map_err(|error| error.to_string())?;
        let Self { agree, of, right, asked, .. } = row;
        if !(2..=ANSWERS_MAX).contains(&of) || !(1..=of).contains(&agree) {
            return Err(format!("{agree} of {of} is no agreement of 2 to {ANSWERS_MAX} answers"));
        }
        if asked == 0 || right > asked {
            return Err(format!("{right} right of {asked} asked is no share"));
        }
        if let Some(panel) = &mut row.panel {
            if panel.len() != of as usize {
                return Err(format!("`panel` has {} models, and `of` is {of}", panel.len()));
            }
            let wrong = panel.iter().position(|model| {
                !is_name(model, MODEL_CHARS_MAX) || !model.contains('/') || model.starts_with('~')
            });
            if let Some(wrong) = wrong {
                return Err(format!("model {} of `panel` is not written as `vendor/model`", wrong + 1));
            }
            panel.sort_unstable();
        }
        Ok(row)
    }

    /// The share that was right.
    pub fn share(&self) -> f64 {
        f64::from(self.right) / f64::from(self.asked)
    }

    /// The 95 % interval of that share.
    pub fn interval(&self) -> [f64; 2] {
        wilson(f64::from(self.right), f64::from(self.asked))
    }
}

/// The models of these answers as a row names them: each as `vendor/model`, sorted.
fn panel_of<'a>(models: impl Iterator<Item = &'a ModelRef>) -> Vec<String> {
    let named = models.map(|model| {
        let (vendor, name) = model.vendor_and_name();
        format!("{vendor}/{name}")
    });
    let mut panel: Vec<String> = named.collect();
    panel.sort_unstable();
    panel
}

/// The form of the question, if the final text has the value of the largest cluster.
fn agreed_form<'a>(run: &Run, outcome: &Outcome, agreement: &Agreement) -> Result<RowForm, Why<'a>> {
    // A run that keeps only metadata must report the same right after it ends as later, when its texts are gone.
    let (question, is_kept) = (run.plan.question(), run.plan.store != StoreMode::Metadata);
    let text = outcome.text.as_deref().filter(|text| is_kept && !text.is_empty() && !question.is_empty());
    let text = text.ok_or(Why::NotKept)?;
    let form = Form::of(&question).ok_or(Why::Open)?;
    agreement.value().ok_or(Why::Unsaid)?;
    let cluster = match outcome.base_seat.filter(|_| outcome.kind != OutcomeKind::Fused) {
        // An answer as it came: with its answer line.
        Some(seat) => {
            agreement.clusters.iter().find(|cluster| cluster.seats.contains(&seat)).ok_or(Why::Unsaid)?
        }
        None => agreement.cluster_of(&form.read(text, None).ok_or(Why::Unsaid)?).ok_or(Why::Otherwise)?,
    };
    if cluster.seats.len() < agreement.equal {
        return Err(Why::Otherwise);
    }
    Ok(match cluster.value.as_deref() {
        _ if form.options().is_some() => RowForm::Choice,
        Some(value) if Value::is_truth(value) => RowForm::YesNo,
        Some(value) if Value::is_number(value) => RowForm::Number,
        _ => RowForm::Any,
    })
}

fn is_name(text: &str, chars_max: usize) -> bool {
    !text.trim().is_empty() && text.chars().count() <= chars_max && !text.chars().any(steers)
}

/// Whether a text has the form of a date; the calendar is not checked.
fn is_day(text: &str) -> bool {
    let shape = |byte: u8| if byte.is_ascii_digit() { '0' } else { char::from(byte) };
    text.bytes().map(shape).collect::<String>() == "0000-00-00"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::panel::{DEFAULT_PROVIDER, ProviderId, SeatNumber};

    fn table(rows: &str) -> String {
        format!(r#"{{"version": 1, "set": "mine", "made": "2026-11-22", "later": true, "rows": [{rows}]}}"#)
    }

    #[test]
    fn an_error_names_its_row() {
        const GOOD: &str = r#"{"form": "any", "agree": 3, "of": 3, "right": 9, "asked": 10}"#;
        let row = |old: &str, new: &str| table(&format!("{GOOD}, {}", GOOD.replace(old, new)));
        let many = vec!["0"; ROWS_MAX + 1].join(",");
        for (json, expected) in [
            (String::new(), "EOF while parsing a value at line 1 column 0"),
            (
                "[]".to_owned(),
                "invalid length 0, expected `version`, `set`, `made` and `rows` in an object at line 1 column 2",
            ),
            (table("").replace("1,", "2,"), "its `version` is 2, and 1 is read"),
            (table("").replace("mine", "a\\nb"), "`set` is no name of 1 to 80 characters on one line"),
            (table("").replace("mine", " "), "`set` is no name of 1 to 80 characters on one line"),
            (table("").replace("11-22", "11"), "`made` is no day such as `2026-11-22`"),
            (table(&many), "it has 10001 rows, and 10000 are read"),
            (row("", ""), "row 2 describes the same answers as row 1"),
            (
                row("any", "prose"),
                "row 2: unknown variant `prose`, expected one of `choice`, `number`, `yes_no`, `any`",
            ),
            (row("\"agree\": 3, ", ""), "row 2: missing field `agree`"),
            (row("\"agree\": 3", "\"agree\": 4"), "row 2: 4 of 3 is no agreement of 2 to 64 answers"),
            (
                row("\"agree\": 3, \"of\": 3", "\"agree\": 1, \"of\": 1"),
                "row 2: 1 of 1 is no agreement of 2 to 64 answers",
            ),
            (row("9", "11"), "row 2: 11 right of 10 asked is no share"),
            (row("9, \"asked\": 10", "0, \"asked\": 0"), "row 2: 0 right of 0 asked is no share"),
            (row("9", "-1"), "row 2: invalid value: integer `-1`, expected u32"),
            (row("{", r#"{"panel": ["a/1", "b/2"], "#), "row 2: `panel` has 2 models, and `of` is 3"),
            (
                row("{", r#"{"panel": ["a/1", "b/2", "c"], "#),
                "row 2: model 3 of `panel` is not written as `vendor/model`",
            ),
        ] {
            assert_eq!(Table::read(json.as_bytes()).unwrap_err(), expected);
        }
    }

    #[test]
    fn the_most_specific_row_is_used() {
        let rows = [
            r#"{"form": "any", "agree": 2, "of": 3, "right": 1, "asked": 100}"#,
            r#"{"form": "number", "agree": 2, "of": 3, "right": 2, "asked": 100}"#,
            r#"{"panel": ["z/1", "b/2", "b/2"], "form": "any", "agree": 2, "of": 3, "right": 3, "asked": 100}"#,
            r#"{"panel": ["b/2", "b/2", "z/1"], "form": "choice", "agree": 2, "of": 3, "right": 4, "asked": 100}"#,
            r#"{"form": "any", "agree": 3, "of": 3, "right": 5, "asked": 100}"#,
        ];
        let table = Table::read(table(&rows.join(", ")).as_bytes()).unwrap();
        let model = |name: &str| ModelRef {
            provider: ProviderId(DEFAULT_PROVIDER.to_owned()),
            model: name.to_owned(),
        };
        let check = |models: [&str; 3], form, equal, expected| {
            let models = models.map(model);
            let agreement = Agreement { equal, of: 3, unread: vec![SeatNumber(1)], ..Agreement::default() };
            let row = table.row(&panel_of(models.iter()), form, &agreement);
            assert_eq!(row.map(|row| row.right), expected, "{models:?} {form:?} {equal}");
        };
        let (theirs, others) = (["b/2:free", "~z/1", "b/2"], ["b/2", "z/1", "z/1"]);
        check(theirs, RowForm::Choice, 2, Some(4));
        check(theirs, RowForm::Number, 2, Some(3));
        check(others, RowForm::Number, 2, Some(2));
        check(others, RowForm::YesNo, 2, Some(1));
        check(theirs, RowForm::YesNo, 3, Some(5));
        check(theirs, RowForm::YesNo, 1, None);
    }

    #[test]
    fn the_band_follows_the_lower_end_of_the_interval() {
        let check = |right, asked, expected| {
            let row = Row { panel: None, form: RowForm::Any, agree: 2, of: 2, right, asked };
            assert_eq!(Band::from(row.interval()[0]).as_str(), expected, "{right} of {asked}");
        };
        check(196, 200, "high");
        check(35, 35, "high");
        check(34, 34, "medium");
        check(20, 20, "medium");
        check(160, 200, "medium");
        check(18, 20, "low");
        check(0, 50, "low");
    }
}
