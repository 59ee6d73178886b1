//! What a reader of the answers says they agree and differ in: the analysis in its reply.
//!
//! What always holds: it names known seats only, each once in a list, in the order of the panel; its lists and its texts
//! are bounded; whatever is not of the form is left out and spoils nothing beside it. Its texts are a stranger's.

use serde_json::Value;

use super::{Object, split};
use crate::panel::SeatNumber;

/// The most claims that are read. A few are asked for; more are not an analysis any more.
const CLAIMS_MAX: usize = 40;
/// The most remarks and blind spots of one kind.
const REMARKS_MAX: usize = 16;
/// The longest text of one claim, remark or reason, in characters.
const TEXT_CHARS_MAX: usize = 500;

/// What a reader says that the answers agree and differ in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// What the answers say, with who says it.
    pub claims: Vec<Claim>,
    /// The strongest views that were not followed, with why.
    pub dissent: Vec<Remark>,
    /// Answers of which nothing was used, with why.
    pub discarded: Vec<Remark>,
    /// What the reader thinks that none of the answers covers.
    pub blind_spots: Vec<String>,
}

/// One thing that answers say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// In the reader's words.
    pub text: String,
    /// Who says so.
    pub supported_by: Vec<SeatNumber>,
    /// Who says otherwise, and does not say so as well.
    pub contradicted_by: Vec<SeatNumber>,
    /// What became of it; `None` where the reader does not say so.
    pub ruling: Option<Ruling>,
    /// Why; may be empty.
    pub reason: String,
}

/// What became of a claim in the final text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It stands there.
    Kept,
    /// It stands there otherwise.
    Changed,
    /// It was left out.
    Dropped,
}

impl Ruling {
    /// The word used in prompts, JSON and pages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Changed => "changed",
            Self::Dropped => "dropped",
        }
    }

    fn by_word(word: &str) -> Option<Self> {
        [Self::Kept, Self::Changed, Self::Dropped].into_iter().find(|ruling| ruling.as_str() == word.trim())
    }
}

/// What is said of one answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Whose.
    pub seat: SeatNumber,
    /// What.
    pub text: String,
}

/// Reads the analysis of a reply to a prompt with this code; `None` where there is none. `shown` are the names that the
/// candidates had there, and whose they are.
pub fn analysis(reply: &str, nonce: &str, shown: &[(String, SeatNumber)]) -> Option<Analysis> {
    let form = split(reply, nonce).0?;
    let mut objects = serde_json::Deserializer::from_str(&form[form.find('{')?..]).into_iter::<Object>();
    let form = objects.next()?.ok()?;
    let read = Reader { form: &form, shown };
    let analysis = Analysis {
        claims: read.list("claims").filter_map(|claim| read.claim(claim)).take(CLAIMS_MAX).collect(),
        dissent: read.remarks("dissent", "text"),
        discarded: read.remarks("discarded", "reason"),
        blind_spots: read.list("blind_spots").filter_map(text).take(REMARKS_MAX).collect(),
    };
    (analysis != Analysis::default()).then_some(analysis)
}

/// The object of a reply, and what its labels mean.
struct Reader<'a> {
    form: &'a Object,
    shown: &'a [(String, SeatNumber)],
}

impl<'a> Reader<'a> {
    fn list(&self, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.form.get(key).and_then(Value::as_array).into_iter().flatten()
    }

    fn claim(&self, claim: &Value) -> Option<Claim> {
        let supported_by = self.seats(&claim["supported_by"]);
        let mut contradicted_by = self.seats(&claim["contradicted_by"]);
        contradicted_by.retain(|seat| !supported_by.contains(seat));
        Some(Claim {
            text: text(&claim["text"])?,
            supported_by,
            contradicted_by,
            ruling: claim["verdict"].as_str().and_then(Ruling::by_word),
            reason: text(&claim["reason"]).unwrap_or_default(),
        })
    }

    fn remarks(&self, key: &str, words: &str) -> Vec<Remark> {
        let remark = |remark: &Value| {
            let seat = *self.seats(&remark["label"]).first()?;
            Some(Remark { seat, text: text(&remark[words])? })
        };
        self.list(key).filter_map(remark).take(REMARKS_MAX).collect()
    }

    /// Whose candidates are named, in a list or alone.
    fn seats(&self, named: &Value) -> Vec<SeatNumber> {
        let names = match named {
            Value::Array(names) => names.as_slice(),
            _ => std::slice::from_ref(named),
        };
        let is_named = |label: &str| names.iter().filter_map(Value::as_str).any(|name| name.trim() == label);
        let mut seats: Vec<SeatNumber> =
            self.shown.iter().filter(|(label, _)| is_named(label)).map(|(_, seat)| *seat).collect();
        seats.sort_unstable();
        seats
    }
}

/// A text that says something, as far as it is kept.
fn text(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    let kept: String = text.chars().take(TEXT_CHARS_MAX).collect();
    (!kept.is_empty()).then_some(kept)
}
