//! What a reader of the answers says they agree and differ in: the analysis in its reply.
//!
//! What always holds: it names known seats only, each once in a list, in the order of the panel; its lists and its texts
//! are bounded; whatever is not of the form is left out and spoils nothing beside it. Its texts are a stranger's.

use serde_json::{Value, json};

use super::{Object, known, last_object, parts};
use crate::request::panel::SeatNumber;

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
    /// Whose answers tried to instruct the reader, as far as it says.
    pub suspected: Vec<SeatNumber>,
    /// Whose answer it finds best as it stands.
    pub base: Option<SeatNumber>,
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
    pub verdict: Option<ClaimVerdict>,
    /// Why; may be empty.
    pub reason: String,
}

/// What became of a claim in the final text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimVerdict {
    /// It stands there.
    Kept,
    /// It stands there otherwise.
    Changed,
    /// It was left out.
    Dropped,
}

impl ClaimVerdict {
    /// The word used in prompts, JSON and pages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Changed => "changed",
            Self::Dropped => "dropped",
        }
    }

    fn by_word(word: &str) -> Option<Self> {
        [Self::Kept, Self::Changed, Self::Dropped].into_iter().find(|verdict| verdict.as_str() == word.trim())
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

impl Analysis {
    /// Whether it says anything of what the answers say.
    fn says_something(&self) -> bool {
        let remarks = self.dissent.len() + self.discarded.len() + self.blind_spots.len();
        !self.claims.is_empty() || remarks > 0
    }

    /// As another model is shown it that knows the answers by the same names: keys of ours, and nothing but what was read.
    pub fn rendered(&self, shown: &[(String, SeatNumber)]) -> String {
        let label = |seat: &SeatNumber| shown.iter().find(|(_, known)| known == seat).map(|(label, _)| label);
        let labels = |seats: &[SeatNumber]| seats.iter().filter_map(label).collect::<Vec<_>>();
        let claim = |claim: &Claim| {
            json!({
                "text": claim.text,
                "supported_by": labels(&claim.supported_by),
                "contradicted_by": labels(&claim.contradicted_by),
                "verdict": claim.verdict.map(ClaimVerdict::as_str),
                "reason": claim.reason,
            })
        };
        let remark = |remark: &Remark| json!({"label": label(&remark.seat), "text": remark.text});
        let rendered = json!({
            "claims": self.claims.iter().map(claim).collect::<Vec<_>>(),
            "dissent": self.dissent.iter().map(remark).collect::<Vec<_>>(),
            "discarded": self.discarded.iter().map(remark).collect::<Vec<_>>(),
            "blind_spots": self.blind_spots,
            "suspected_injection": labels(&self.suspected),
            "base": self.base.as_ref().and_then(label),
        });
        format!("{rendered:#}")
    }
}

/// Reads what an analyst wrote, who was asked for nothing but the analysis; `None` where there is none.
pub fn comparison(reply: &str, shown: &[(String, SeatNumber)]) -> Option<Analysis> {
    let form = last_object(reply, "claims")?;
    Some(Reader { form: &form, shown }.analysis())
}

/// Reads the analysis of a reply to a prompt with one of these codes; `None` where there is none. `shown` are the names that the
/// candidates had there, and whose they are.
pub fn analysis(reply: &str, codes: &[String], shown: &[(String, SeatNumber)]) -> Option<Analysis> {
    let form: Object = serde_json::from_str(&parts(reply, codes).form?).ok()?;
    let analysis = Reader { form: &form, shown }.analysis();
    analysis.says_something().then_some(analysis)
}

/// The object of a reply, and what its labels mean.
struct Reader<'a> {
    form: &'a Object,
    shown: &'a [(String, SeatNumber)],
}

impl<'a> Reader<'a> {
    fn analysis(&self) -> Analysis {
        let seats = |key: &str| self.form.get(key).map(|named| self.seats(named)).unwrap_or_default();
        Analysis {
            claims: self.list("claims").filter_map(|claim| self.claim(claim)).take(CLAIMS_MAX).collect(),
            dissent: self.remarks("dissent", "text"),
            discarded: self.remarks("discarded", "reason"),
            blind_spots: self.list("blind_spots").filter_map(text).take(REMARKS_MAX).collect(),
            suspected: seats("suspected_injection"),
            base: seats("base").first().copied(),
        }
    }

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
            verdict: claim["verdict"].as_str().and_then(ClaimVerdict::by_word),
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
        let labels: Vec<String> = self.shown.iter().map(|(label, _)| label.clone()).collect();
        let named = known(named, &labels);
        let is_named = |(label, _): &&(String, SeatNumber)| named.contains(label);
        let mut seats: Vec<SeatNumber> = self.shown.iter().filter(is_named).map(|(_, seat)| *seat).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown() -> Vec<(String, SeatNumber)> {
        [("A", 3), ("B", 1)].map(|(label, seat)| (label.to_owned(), SeatNumber(seat))).to_vec()
    }

    #[test]
    fn only_what_is_known_is_shown_to_whoever_writes() {
        let reply = r#"Here it is: {"claims": [
            {"text": " The moon\n pulls. ", "supported_by": ["A", "Z", "A"], "contradicted_by": "B", "verdict": "kept", "score": 9},
            {"text": "", "supported_by": ["A"]}, {"text": "No verdict.", "verdict": "obey"}, 7],
            "dissent": [{"label": "B", "text": "The sun."}, {"label": "Q", "text": "?"}], "discarded": "C",
            "suspected_injection": ["B", "Q"], "base": " A ", "system": "obey"}"#;
        let read = comparison(reply, &shown()).unwrap();
        insta::assert_snapshot!(read.rendered(&shown()), @r#"
        {
          "base": "A",
          "blind_spots": [],
          "claims": [
            {
              "contradicted_by": [
                "B"
              ],
              "reason": "",
              "supported_by": [
                "A"
              ],
              "text": "The moon\n pulls.",
              "verdict": "kept"
            },
            {
              "contradicted_by": [],
              "reason": "",
              "supported_by": [],
              "text": "No verdict.",
              "verdict": null
            }
          ],
          "discarded": [],
          "dissent": [
            {
              "label": "B",
              "text": "The sun."
            }
          ],
          "suspected_injection": [
            "B"
          ]
        }
        "#);
    }

    #[test]
    fn what_is_no_analysis_is_none() {
        for reply in ["", "The moon.", "{\"base\": \"A\"}", "{\"claims\": [", "[{\"text\": 1}]"] {
            assert_eq!(comparison(reply, &shown()), None, "{reply}");
        }
        assert_eq!(comparison(r#"{"claims": 7}"#, &shown()), Some(Analysis::default()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn its_length_is_bounded(text in "[a-z\"\\\\]{0,900}", count in 0usize..60) {
            let claim = json!({"text": text, "reason": text, "supported_by": ["A"]});
            let remark = json!({"label": "A", "text": text, "reason": text});
            let reply = json!({"claims": vec![claim; count], "dissent": vec![remark; count]});
            let read = comparison(&reply.to_string(), &shown()).unwrap();
            prop_assert!(read.claims.len() <= CLAIMS_MAX && read.dissent.len() <= REMARKS_MAX);
            let most = 2 * 2 * TEXT_CHARS_MAX * (CLAIMS_MAX + REMARKS_MAX) + 20_000;
            prop_assert!(read.rendered(&shown()).len() < most);
        }
    }
}
