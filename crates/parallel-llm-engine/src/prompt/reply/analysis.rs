//! Reads the analysis in a reply: the claims of the answers, and who makes or contradicts them.
//!
//! Invariants: only known seats are named, each once per list and in the order of the panel; lists and texts are bounded;
//! malformed parts are dropped without affecting others. The texts are foreign.

use serde_json::{Value, json};

use super::labels::known;
use super::parts::parts;
use super::{Object, last_object};
use crate::request::panel::SeatNumber;

/// The most claims that are read. The prompt asks for a few.
const CLAIMS_MAX: usize = 40;
/// The most remarks and blind spots of one kind.
const REMARKS_MAX: usize = 16;
/// The longest text of one claim, remark or reason, in characters.
const TEXT_CHARS_MAX: usize = 500;

/// The analysis of the answers by a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// The claims of the answers.
    pub claims: Vec<Claim>,
    /// The strongest views that were not followed, with the reasons.
    pub dissent: Vec<Remark>,
    /// Unused answers, with the reasons.
    pub discarded: Vec<Remark>,
    /// Points that no answer covers.
    pub blind_spots: Vec<String>,
    /// The seats whose answers it suspects of instructions.
    pub suspected: Vec<SeatNumber>,
    /// The seat of the best answer.
    pub base: Option<SeatNumber>,
}

/// One claim of the answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The claim in the words of the model.
    pub text: String,
    /// The seats that make the claim.
    pub supported_by: Vec<SeatNumber>,
    /// The seats that contradict it and do not make it as well.
    pub contradicted_by: Vec<SeatNumber>,
    /// Its fate in the final text; `None` if the model does not say.
    pub verdict: Option<ClaimVerdict>,
    /// The reason; may be empty.
    pub reason: String,
}

/// The fate of a claim in the final text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimVerdict {
    /// It was kept.
    Kept,
    /// It was changed.
    Changed,
    /// It was left out.
    Dropped,
}

impl ClaimVerdict {
    /// Its name in prompts, JSON and pages.
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

/// A remark on one answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The seat of the answer.
    pub seat: SeatNumber,
    /// The remark.
    pub text: String,
}

impl Analysis {
    /// Whether it has any claim, remark or blind spot.
    fn has_content(&self) -> bool {
        let remarks = self.dissent.len() + self.discarded.len() + self.blind_spots.len();
        !self.claims.is_empty() || remarks > 0
    }

    /// Renders it as JSON for another model that knows the answers by the same labels, with only what was read.
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

/// Reads the reply of an analyst, which was asked for the analysis only; `None` if there is none.
pub fn comparison(reply: &str, shown: &[(String, SeatNumber)]) -> Option<Analysis> {
    let form = last_object(reply, "claims")?;
    Some(Reader { form: &form, shown }.analysis())
}

/// Reads the analysis in a synthesizer's reply to a prompt with one of these codes; `None` if there is none. `shown` are the
/// labels of the candidates with their seats.
pub fn analysis(reply: &str, codes: &[String], shown: &[(String, SeatNumber)]) -> Option<Analysis> {
    let form: Object = serde_json::from_str(&parts(reply, codes).form?).ok()?;
    let analysis = Reader { form: &form, shown }.analysis();
    analysis.has_content().then_some(analysis)
}

/// The JSON of a reply, and the seats of its labels.
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

    /// The seats of the labels in a value.
    fn seats(&self, named: &Value) -> Vec<SeatNumber> {
        let labels: Vec<String> = self.shown.iter().map(|(label, _)| label.clone()).collect();
        let named = known(named, &labels);
        let is_named = |(label, _): &&(String, SeatNumber)| named.contains(label);
        let mut seats: Vec<SeatNumber> = self.shown.iter().filter(is_named).map(|(_, seat)| *seat).collect();
        seats.sort_unstable();
        seats
    }
}

/// A text that is not empty, cut to its longest length.
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
    fn only_known_fields_are_shown_to_the_writer() {
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
    fn a_reply_without_an_analysis_gives_none() {
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
