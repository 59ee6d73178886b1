//! Reads the analysis in a reply: where the text started, what was changed, and which answers stand behind a claim.
//!
//! It is the model's own report. Invariants: only known seats are named, each once per list and in the order of the panel; a
//! seat that is against a claim is never for it; lists and texts are bounded; malformed parts are dropped without affecting
//! others. The texts are foreign. Replies of stored runs have other keys, which are read, too.

use serde_json::{Value, json};

use super::labels::known;
use super::parts::parts;
use super::{Object, last_object};
use crate::request::panel::SeatNumber;

/// The most claims that are read. The prompt asks for six.
const CLAIMS_MAX: usize = 16;
/// The most changes that are read.
const CHANGES_MAX: usize = 16;
/// The longest text of one field, in characters.
const TEXT_CHARS_MAX: usize = 500;
/// What a reply of a stored run says of a claim that is not in the text.
const DROPPED: &str = "dropped";

/// The analysis of the answers by a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// The seat of the answer that the text started from.
    pub base: Option<SeatNumber>,
    /// What was changed in it.
    pub changes: Vec<Change>,
    /// The claims that the text rests on.
    pub claims: Vec<Claim>,
    /// The strongest view that was not followed, and why; may be empty.
    pub dissent: String,
    /// The seats whose answers it suspects of instructions.
    pub suspected: Vec<SeatNumber>,
}

/// A change of the answer that the text started from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What was changed.
    pub what: String,
    /// The reason; may be empty.
    pub why: String,
    /// The seats whose answers it was taken from.
    pub from: Vec<SeatNumber>,
}

/// A claim of the text. At least one seat is for or against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The claim in the words of the model.
    pub text: String,
    /// The seats that make it and do not contradict it.
    pub r#for: Vec<SeatNumber>,
    /// The seats that contradict it.
    pub against: Vec<SeatNumber>,
}

impl Analysis {
    /// Whether it says anything beyond the base.
    fn has_content(&self) -> bool {
        !self.claims.is_empty() || !self.changes.is_empty() || !self.dissent.is_empty()
    }

    /// Renders it as JSON for another model that knows the answers by the same labels, with only what was read.
    pub fn rendered(&self, shown: &[(String, SeatNumber)]) -> String {
        let label = |seat: &SeatNumber| shown.iter().find(|(_, known)| known == seat).map(|(label, _)| label);
        let labels = |seats: &[SeatNumber]| seats.iter().filter_map(label).collect::<Vec<_>>();
        let change =
            |change: &Change| json!({"what": change.what, "why": change.why, "from": labels(&change.from)});
        let claim = |claim: &Claim| json!({"text": claim.text, "for": labels(&claim.r#for), "against": labels(&claim.against)});
        let rendered = json!({
            "base": self.base.as_ref().and_then(label),
            "changes": self.changes.iter().map(change).collect::<Vec<_>>(),
            "claims": self.claims.iter().map(claim).collect::<Vec<_>>(),
            "dissent": self.dissent,
            "suspected": labels(&self.suspected),
        });
        format!("{rendered:#}")
    }
}

/// Reads the reply of an analyst, which was asked for the analysis only; `None` if there is none.
pub fn comparison(reply: &str, shown: &[(String, SeatNumber)]) -> Option<Analysis> {
    let form = last_object(reply, "claims").or_else(|| last_object(reply, "changes"))?;
    Some(Reader { form: &form, shown }.analysis())
}

/// Reads the analysis in a synthesizer's reply to a prompt with one of these codes; `None` if there is none. `shown` are the
/// labels of the candidates with their seats.
pub fn analysis(reply: &str, codes: &[String], shown: &[(String, SeatNumber)]) -> Option<Analysis> {
    let analysis = Reader { form: &parts(reply, codes).form?, shown }.analysis();
    analysis.has_content().then_some(analysis)
}

/// The JSON of a reply, and the seats of its labels.
struct Reader<'a> {
    form: &'a Object,
    shown: &'a [(String, SeatNumber)],
}

impl<'a> Reader<'a> {
    fn analysis(&self) -> Analysis {
        let seats = |key: &str| self.form.get(key).map(|named| self.seats(named));
        Analysis {
            base: seats("base").and_then(|seats| seats.first().copied()),
            changes: self.list("changes").filter_map(|one| self.change(one)).take(CHANGES_MAX).collect(),
            claims: self.list("claims").filter_map(|one| self.claim(one)).take(CLAIMS_MAX).collect(),
            dissent: self.form.get("dissent").map(said).unwrap_or_default(),
            suspected: seats("suspected").or_else(|| seats("suspected_injection")).unwrap_or_default(),
        }
    }

    fn list(&self, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.form.get(key).and_then(Value::as_array).into_iter().flatten()
    }

    fn change(&self, change: &Value) -> Option<Change> {
        let what = text(&change["what"]).or_else(|| text(change))?;
        let why = text(&change["why"]).unwrap_or_default();
        Some(Change { what, why, from: self.seats(&change["from"]) })
    }

    fn claim(&self, claim: &Value) -> Option<Claim> {
        let named = |key: &str, of_stored: &str| {
            let named = claim.get(key).or_else(|| claim.get(of_stored));
            named.map(|named| self.seats(named)).unwrap_or_default()
        };
        let against = named("against", "contradicted_by");
        let mut made_by = named("for", "supported_by");
        made_by.retain(|seat| !against.contains(seat));
        let is_in_text = claim["verdict"].as_str() != Some(DROPPED);
        let is_told = is_in_text && !(made_by.is_empty() && against.is_empty());
        is_told.then_some(Claim { text: text(&claim["text"])?, r#for: made_by, against })
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

/// A text, or the texts of a list, as one. Stored runs have a list of remarks.
fn said(value: &Value) -> String {
    let remarks = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let remarks = remarks.iter().filter_map(|one| text(one).or_else(|| text(&one["text"])));
    remarks.take(CHANGES_MAX).collect::<Vec<_>>().join("; ").chars().take(TEXT_CHARS_MAX).collect()
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
            {"text": " The moon\n pulls. ", "for": ["A", "Z", "A"], "against": "B", "score": 9},
            {"text": "", "for": ["A"]}, {"text": "Nobody says so."}, 7],
            "changes": [{"what": "The tide", "why": "It was wrong.", "from": ["B", "Q"]}, "a word", {"why": "x"}],
            "dissent": " The sun. ", "suspected": ["B", "Q"], "base": " A ", "system": "obey"}"#;
        let read = comparison(reply, &shown()).unwrap();
        insta::assert_snapshot!(read.rendered(&shown()), @r#"
        {
          "base": "A",
          "changes": [
            {
              "from": [
                "B"
              ],
              "what": "The tide",
              "why": "It was wrong."
            },
            {
              "from": [],
              "what": "a word",
              "why": ""
            }
          ],
          "claims": [
            {
              "against": [
                "B"
              ],
              "for": [
                "A"
              ],
              "text": "The moon\n pulls."
            }
          ],
          "dissent": "The sun.",
          "suspected": [
            "B"
          ]
        }
        "#);
    }

    #[test]
    fn a_seat_against_a_claim_is_never_for_it() {
        let sides = |claim: &str| {
            let read = comparison(&format!("{{\"claims\": [{claim}]}}"), &shown()).unwrap();
            let seats =
                |seats: &[SeatNumber]| seats.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            read.claims.first().map(|claim| format!("{} | {}", seats(&claim.r#for), seats(&claim.against)))
        };
        for (claim, expected) in [
            (r#"{"text": "x", "for": ["A", "B"], "against": []}"#, Some("1 3 | ")),
            (r#"{"text": "x", "for": ["A"], "against": ["B"]}"#, Some("3 | 1")),
            (r#"{"text": "x", "for": ["A", "B"], "against": ["B"]}"#, Some("3 | 1")),
            (r#"{"text": "x", "for": ["A"], "against": ["Candidate A"]}"#, Some(" | 3")),
            (r#"{"text": "x", "for": "all", "against": ["Z"]}"#, None),
            (r#"{"text": "x"}"#, None),
            (
                r#"{"text": "x", "supported_by": ["A", "B"], "contradicted_by": ["A"], "verdict": "kept"}"#,
                Some("1 | 3"),
            ),
            (r#"{"text": "x", "supported_by": ["A"], "verdict": "dropped"}"#, None),
        ] {
            assert_eq!(sides(claim).as_deref(), expected, "{claim}");
        }
    }

    #[test]
    fn a_stored_analysis_is_read() {
        let reply = r#"{"claims": [{"text": "The moon pulls.", "supported_by": ["A"], "contradicted_by": ["B"], "reason": "It does.", "verdict": "kept"}],
            "dissent": [{"label": "B", "text": "The sun."}, {"label": "A", "text": "Wind."}], "discarded": [{"label": "B", "reason": "?"}],
            "blind_spots": ["x"], "suspected_injection": ["B"], "base": "A"}"#;
        let read = comparison(reply, &shown()).unwrap();
        assert_eq!(
            (read.claims.len(), &*read.dissent, &*read.suspected),
            (1, "The sun.; Wind.", &[SeatNumber(1)][..])
        );
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
            let claim = json!({"text": text, "for": ["A"]});
            let change = json!({"what": text, "why": text});
            let reply = json!({"claims": vec![claim; count], "changes": vec![change; count], "dissent": vec![text; count]});
            let read = comparison(&reply.to_string(), &shown()).unwrap();
            prop_assert!(read.claims.len() <= CLAIMS_MAX && read.changes.len() <= CHANGES_MAX);
            let most = 2 * TEXT_CHARS_MAX * (CLAIMS_MAX + 2 * CHANGES_MAX + 1) + 20_000;
            prop_assert!(read.rendered(&shown()).len() < most);
        }
    }
}
