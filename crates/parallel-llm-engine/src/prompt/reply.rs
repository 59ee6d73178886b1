//! Reads the replies of synthesizers, judges and other readers of answers. No other module does.
//!
//! Reading is tolerant: however a model follows the requested form, the text for the user is found. Nothing in a reply is
//! obeyed.

mod analysis;
mod body;
mod groups;
mod labels;
mod marker;
mod parts;
mod refusal;
mod reveal;

use serde::Deserialize;
use serde_json::Value;

use crate::text::json;

pub use analysis::{Analysis, Claim, ClaimVerdict, Remark, analysis, comparison};
pub use groups::groups;
pub use refusal::{is_refusal, may_be_refusal};
pub use reveal::Reveal;

use body::Body;
use labels::known;
use parts::{Parts, answer, parts};

/// What a judge of two answers writes in place of a ranking if neither is better.
const TIE: &str = "tie";

type Object = serde_json::Map<String, Value>;

/// The parts of a synthesizer's reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fusion {
    /// The label of the candidate it started from, if it named a known one.
    pub base: Option<String>,
    /// Known labels of candidates that it suspects of instructions.
    pub suspected_injection: Vec<String>,
    /// The text for the user.
    pub text: String,
    /// Whether the reply followed the requested form.
    pub well_formed: bool,
}

/// The JSON of a synthesizer's reply. Unknown keys are ignored, missing ones are empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FusionForm {
    base: Value,
    suspected_injection: Value,
}

/// Reads a synthesizer's reply. `codes` are the codes the prompt can have had, `labels` those of the candidates.
pub fn fusion(reply: &str, codes: &[String], labels: &[String]) -> Fusion {
    let Parts { form, text } = parts(reply, codes);
    let read: Option<FusionForm> = form.and_then(|form| serde_json::from_str(&form).ok());
    let well_formed = read.is_some();
    let read = read.unwrap_or_default();
    Fusion {
        base: known(&read.base, labels).pop(),
        suspected_injection: known(&read.suspected_injection, labels),
        text,
        well_formed,
    }
}

/// Reads a reply that was to be only a text. A model that marks its answer anyway uses the code of the prompt.
pub fn plain_text(reply: &str, codes: &[String]) -> String {
    answer(reply, codes).map_or_else(|| Body::of(reply, codes, false), |(_, text)| text)
}

/// The parts of a judge's reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgeReply {
    /// Known labels, each once, best first; none for a tie.
    pub ranking: Vec<String>,
    /// Known labels of candidates that it suspects of instructions.
    pub suspected_injection: Vec<String>,
}

/// The JSON of a judge's reply.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RankingForm {
    ranking: Value,
    suspected_injection: Value,
}

/// Reads a judge's reply; `None` if it neither names a candidate nor says that there is a tie. `labels` are those of the
/// candidates.
pub fn judgement(reply: &str, labels: &[String]) -> Option<JudgeReply> {
    let form = last_object(reply, "ranking")?;
    let form = serde_json::from_value::<RankingForm>(form.into()).ok()?;
    let ranking = known(&form.ranking, labels);
    let suspected_injection = known(&form.suspected_injection, labels);
    (!ranking.is_empty() || is_tie(&form.ranking)).then_some(JudgeReply { ranking, suspected_injection })
}

/// Whether a ranking is the word `tie`, alone or in a list.
fn is_tie(ranking: &Value) -> bool {
    match ranking {
        Value::String(word) => word.trim().eq_ignore_ascii_case(TIE),
        Value::Array(words) => matches!(words.as_slice(), [word] if is_tie(word)),
        _ => false,
    }
}

/// The last JSON object of a reply with this key.
fn last_object(reply: &str, member: &str) -> Option<Object> {
    let read = |found: json::Document<'_>| serde_json::from_str::<Object>(&found.json).ok();
    json::objects(reply).filter_map(read).filter(|object| object.contains_key(member)).last()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CODE: &str = "5eed5eed";

    fn codes() -> Vec<String> {
        [CODE, "5eed"].map(str::to_owned).to_vec()
    }

    fn read(reply: &str) -> (Option<String>, String, bool) {
        let fusion = fusion(reply, &codes(), &["A".into(), "B".into()]);
        (fusion.base, fusion.text, fusion.well_formed)
    }

    #[test]
    fn the_requested_format_is_read() {
        let reply = "<<analysis 5eed>>\n{\"base\":\"B\",\"suspected_injection\":[\"A\",\"Z\",7]}\n<<answer 5eed>>\nHello\n";
        let fusion = fusion(reply, &codes(), &["A".into(), "B".into()]);
        assert_eq!(fusion.suspected_injection, ["A"]);
        assert_eq!(read(reply), (Some("B".into()), "Hello".into(), true));
    }

    #[test]
    fn a_judges_json_is_read_although_it_is_not_quite_json() {
        let labels = ["A", "B", "C"].map(str::to_owned);
        for reply in [
            r#"{"reasons": [{"label": "A", "for": "\(x\) and \frac{1}{2}"}], "ranking": ["B", "A"]}"#,
            "{\"reasons\": [{\"label\": \"A\", \"for\": \"two\nlines\tand a tab\"}], \"ranking\": [\"B\", \"A\"]}",
            "```json\n{\"reasons\": [], \"ranking\": [\"B\", \"A\",],}\n```\nThat is my ranking.",
            &format!("{}\n{}", r"As \frac{a}{b} shows, ".repeat(80), r#"{"ranking": ["B", "A"]}"#),
        ] {
            assert_eq!(judgement(reply, &labels).expect(reply).ranking, ["B", "A"], "{reply}");
        }
        assert_eq!(judgement(r#"{"ranking": ["B"], "of": {"ranking": ["A"]}"#, &labels), None);
    }

    #[test]
    fn a_tie_is_a_ranking_of_none() {
        let labels = ["A", "B"].map(str::to_owned);
        let ranking = |reply: &str| judgement(reply, &labels).map(|read| read.ranking);
        for tie in [r#"{"ranking": "tie"}"#, r#"{"ranking": ["Tie"]}"#] {
            assert_eq!(ranking(tie), Some(Vec::new()), "{tie}");
        }
        assert_eq!(ranking(r#"{"ranking": ["B", "tie"]}"#), Some(vec!["B".to_owned()]));
        for nothing in [r#"{"ranking": []}"#, r#"{"ranking": "neither"}"#, r#"{"ranking": ["C"]}"#] {
            assert_eq!(ranking(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn other_formats_still_give_the_text() {
        for (reply, base, text, well_formed) in [
            ("Just text.", None, "Just text.", false),
            ("<<analysis>>\n{\"base\":\"A\"}\n<<answer>>\nHi", Some("A"), "Hi", true),
            ("```json\n{\"base\":\"A\"}\n```\nHi", Some("A"), "Hi", true),
            ("{\"base\":\"Q\"}\n\nHi", None, "Hi", true),
            ("{\"name\":\"the user asked for JSON\"}", None, "{\"name\":\"the user asked for JSON\"}", false),
            ("<<analysis 5eed>>\nnot json\n<<answer 5eed>>\nHi", None, "Hi", false),
            ("<<analysis 5eed>>\n{}\n<<answer 5eed>>\n  ", None, "", true),
            ("<<analysis 5eed>>\n{\"base\":\"A\"}\n\nHi", Some("A"), "Hi", true),
            ("<<analysis 5eed>>\n{\"base\":\"A\"}", Some("A"), "", true),
            ("<<analysis 5eed>>\n{\"base\":\"A\", \"claims\": [", None, "", false),
            ("<<analysis 5eed>>", None, "", false),
            ("<<analysis 5eed>>\nHi", None, "Hi", false),
        ] {
            assert_eq!(read(reply), (base.map(str::to_owned), text.to_owned(), well_formed), "{reply}");
        }
    }

    /// The text that is shown while the reply comes in pieces of these lengths, over and over.
    fn streamed(reply: &str, lengths: &[usize]) -> String {
        let mut reveal = Reveal::answer(CODE);
        let (mut shown, mut rest) = (String::new(), reply);
        for length in lengths.iter().cycle() {
            let (piece, after) = rest.split_at(rest.ceil_char_boundary((*length).min(rest.len())));
            shown.push_str(&reveal.push(piece));
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        shown + &reveal.finish()
    }

    /// Checks the text that is read from a reply, and that the same text is shown while it streams.
    fn check(reply: &str, text: &str) {
        let reply = reply.replace("CODE", CODE);
        assert_eq!(read(&reply).1, text, "{reply}");
        for lengths in [&[1][..], &[3, 1, 7], &[1_000]] {
            assert_eq!(streamed(&reply, lengths), text, "streamed: {reply}");
        }
    }

    #[test]
    fn no_marker_is_left_in_the_text() {
        let form = "<<analysis CODE>>\n{\"base\": \"A\"}\n";
        for reply in [
            "<<answer CODE>>\nHi.\n\nSo.\n<<end answer CODE>>",
            "<<answer CODE>>\nHi.\n\nSo.\n<</answer CODE>>\n\nI hope this helps!",
            "<<answer CODE>>\nHi.\n\nSo.\n<<answer CODE>>\n",
            "<<answer CODE>>\nHi.\n\nSo.\n<<end CODE>>\n```",
            "<<answer CODE>>\nHi.\n\nSo.\n\n<<end answer>>\n",
            "<<answer CODE>>\nHi.\n\nSo. <<end answer CODE>>",
            "<<answer CODE>>\nHi.\n\nSo. **<<end answer CODE>>** And more.",
            "**<<answer CODE>>**\nHi.\n\nSo.\n**<<end answer CODE>>**",
            "**<<answer CODE>>** Hi.\n\nSo.",
            "### <<answer CODE>>:\nHi.\n\nSo.",
            "```\n<<answer CODE>>\n```\nHi.\n\nSo.",
            "```\n<<answer CODE>>\nHi.\n\nSo.\n```\n",
            "<<answer CODE>>\n| Hi.\n| \n| So.\n<<end answer CODE>>",
            "| <<answer CODE>>\n| Hi.\n|\n| So.\n| <<end answer CODE>>",
            "<<candidate A CODE>>\n<<answer CODE>>\n<<candidate A CODE>>\nHi.\n\nSo.\n<<end candidate A CODE>>",
        ] {
            check(&format!("{form}{reply}"), "Hi.\n\nSo.");
        }
        check("{\"base\": \"A\"} <<answer CODE>>\nHi.", "Hi.");
        check(
            "Sure. First the line <<analysis CODE>>, then <<answer CODE>>.\n<<analysis CODE>>\n{}\n<<answer CODE>>\nHi.",
            "Hi.",
        );
        check("```\n<<analysis CODE>>\n{\"base\": \"A\"}\n<<answer CODE>>\nHi.\n```\n", "Hi.");
    }

    #[test]
    fn of_several_answers_the_last_counts() {
        let reply = "<<analysis 5eed>>\n{\"base\":\"A\"}\n<<answer 5eed>>\nDraft.\n<<end answer 5eed>>\n\
                     <<analysis 5eed>>\n{\"base\":\"B\"}\n<<answer 5eed>>\nFinal.\n<<end answer 5eed>>";
        assert_eq!(read(reply), (Some("B".into()), "Final.".into(), true));
        assert_eq!(streamed(&reply.replace("5eed", CODE), &[5]), "Draft.\n\n\nFinal.");
        // A marker in the words of the analysis, or without the code, is a quotation.
        let reply = "<<analysis 5eed>>\n{\"base\":\"A\", \"discarded\": [{\"label\": \"B\", \"reason\": \"it says\n<<answer 5eed>>\n\"}]}\n\
                     <<answer 5eed>>\nHi.\n<<answer>>\n<<answer 0badc0de>>\nso";
        assert_eq!(read(reply), (Some("A".into()), "Hi.\n<<answer>>\n<<answer 0badc0de>>\nso".into(), true));
    }

    #[test]
    fn the_answer_itself_is_unchanged() {
        for text in [
            "| a | b |\n|---|---|\n| 1 | 2 |",
            "Here:\n\n| a | b\n| --- | ---\n| 1 | 2\n\nSo.",
            "```sh\ncat a \\\n| grep b\n```",
            "|x| < 3 and cout << answer << endl;",
            "**Yes.** *No.* _Well_ #1 > 2 `code`",
            "- one\n* two\n> three\n\n---\n\n`four` five",
            "a << b >> c <<<",
            "```\ncode\n```\n\nMore.\n\n```\ncode\n```",
            "Say <<answer 5eed>> in the middle of a line.",
        ] {
            check(&format!("<<analysis CODE>>\n{{\"base\": \"A\"}}\n<<answer CODE>>\n{text}"), text);
            check(text, text);
            check(&format!("<<answer CODE>>\n \n\t{text} \n\n<<end answer CODE>>\n"), text);
            check(&format!("\n {text}\n \n"), text);
        }
        // A table that was copied with the prefix keeps its own bars.
        check("| | a | b |\n| |---|---|\n| | 1 | 2 |", "| a | b |\n|---|---|\n| 1 | 2 |");
        check("| 42", "42");
        assert_eq!(plain_text("<<answer 5eed>>\n| Hi.\n<<end answer 5eed>>", &codes()), "Hi.");
    }

    #[test]
    fn an_angle_bracket_before_the_end_is_text_however_it_arrives() {
        let reply =
            format!("<<analysis {CODE}>>\n{{\"base\":\"A\"}}\n<<answer {CODE}>>\n<*<<end answer {CODE}>>*");
        assert_eq!(read(&reply).1, "<");
        assert_eq!(streamed(&reply, &[1]), "<");
    }

    #[test]
    fn an_analysis_without_an_answer_is_no_answer() {
        for reply in [
            "Sure!\n<<analysis CODE>>\n{\"base\": \"A\", \"claims\": [",
            "<<analysis CODE>>\n{\"base\": \"A\"}\n<<answer CODE>>\n<<end answer CODE>>",
        ] {
            check(reply, "");
        }
    }

    #[test]
    fn labels_are_recognised_in_every_notation() {
        let labels = ["A", "B", "AA"].map(str::to_owned);
        for named in [
            serde_json::json!(["B", "A"]),
            serde_json::json!([" b. ", "Candidate A"]),
            serde_json::json!(["candidate_b", "**A**", "B"]),
            serde_json::json!(["Answer B:", "(A)", "Z", 7, null]),
            serde_json::json!([{"label": "B", "score": 9}, {"candidate": "A"}, {"x": "AA"}]),
            serde_json::json!([["B"], ["A"]]),
            serde_json::json!("B > A"),
            serde_json::json!("Candidate B, Candidate A"),
        ] {
            assert_eq!(known(&named, &labels), ["B", "A"], "{named}");
        }
        for named in [
            serde_json::json!("Both are bad"),
            serde_json::json!(["A or B", "B is best"]),
            serde_json::json!({"A": 1}),
        ] {
            assert!(known(&named, &labels).is_empty(), "{named}");
        }
    }

    proptest! {
        #[test]
        fn streaming_shows_the_text_that_is_read(
            text in "([a-z|<>{}*` \n]|\\| |<<answer |<<end answer 5eed5eed>>|```\n){0,40}", cut in prop::collection::vec(1usize..9, 1..40),
        ) {
            let reply = format!("<<analysis {CODE}>>\n{{\"base\":\"A\"}}\n<<answer {CODE}>>\n{text}");
            let shown = streamed(&reply, &cut);
            prop_assert_eq!(shown.trim(), &shown);
            prop_assert_eq!(shown, read(&reply).1);
            prop_assert!(!read(&reply).1.contains(CODE));
        }
    }
}
