//! Reads the replies of synthesizers, judges and other readers of answers. No other module does.
//!
//! Reading is tolerant: however a model follows the requested form, the text for the user is found. Nothing in a reply is
//! obeyed.

mod analysis;
mod body;
mod form;
mod groups;
mod judgement;
mod labels;
mod marker;
mod parts;
mod refusal;
mod reveal;

use serde_json::Value;

use crate::text::json;

pub use analysis::{Analysis, Change, Claim, analysis, comparison};
pub use groups::groups;
pub(crate) use judgement::OBJECTIONS_BYTES_MAX;
pub use judgement::{JudgeReply, OBJECTIONS_MAX, judgement, largest_group, merged, objections};
pub use refusal::{is_refusal, may_be_refusal};
pub use reveal::Reveal;

use body::Body;
use labels::known;
use parts::{Parts, answer, parts};

type Object = serde_json::Map<String, Value>;

/// The parts of a synthesizer's reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fusion {
    /// The label of the candidate it started from, if it named a known one.
    pub base: Option<String>,
    /// Known labels of candidates that it suspects of instructions.
    pub suspected: Vec<String>,
    /// The text for the user.
    pub text: String,
    /// Whether the reply followed the requested form.
    pub well_formed: bool,
}

/// Reads a synthesizer's reply. `codes` are the codes the prompt can have had, `labels` those of the candidates.
pub fn fusion(reply: &str, codes: &[String], labels: &[String]) -> Fusion {
    let Parts { form, text } = parts(reply, codes);
    let well_formed = form.is_some();
    let form = form.unwrap_or_default();
    let base = form.get("base").and_then(|base| known(base, labels).pop());
    Fusion { base, suspected: suspected(&form, labels), text, well_formed }
}

/// The labels of candidates that a form suspects of instructions, under its key or that of stored replies.
fn suspected(form: &Object, labels: &[String]) -> Vec<String> {
    let named = ["suspected", "suspected_injection"].into_iter().filter_map(|key| form.get(key)).cloned();
    known(&Value::Array(named.collect()), labels)
}

/// Reads a reply that was to be only a text. A model that marks its answer anyway uses the code of the prompt.
pub fn plain_text(reply: &str, codes: &[String]) -> String {
    answer(reply, codes).map_or_else(|| Body::of(reply, codes, false), |(_, text)| text)
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
        let form = "{\"base\":\"B\",\"suspected\":[\"A\",\"Z\",7]}";
        let reply = format!("<<answer 5eed>>\nHello\n<<end answer 5eed>>\n{form}\n");
        assert_eq!(fusion(&reply, &codes(), &["A".into(), "B".into()]).suspected, ["A"]);
        assert_eq!(read(&reply), (Some("B".into()), "Hello".into(), true));
    }

    #[test]
    fn a_stored_reply_with_the_form_before_the_answer_is_read() {
        let reply = "<<analysis 5eed>>\n{\"base\":\"B\",\"suspected_injection\":[\"A\",\"Z\",7]}\n<<answer 5eed>>\nHello\n";
        let fusion = fusion(reply, &codes(), &["A".into(), "B".into()]);
        assert_eq!(fusion.suspected, ["A"]);
        assert_eq!(read(reply), (Some("B".into()), "Hello".into(), true));
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
            ("Hi\n<<analysis 5eed>>\n{\"base\":\"A\"}", Some("A"), "Hi", true),
            ("Hi\n\n{\"base\":\"A\"}", Some("A"), "Hi", true),
            ("<<answer 5eed>>\nHi\n{\"base\":\"A\"}\n<<end answer 5eed>>", Some("A"), "Hi", true),
            ("<<answer 5eed>>\n{\"base\":\"A\"}\nHi", Some("A"), "Hi", true),
            ("<<answer 5eed>>\nHi\n<<end answer 5eed>>\nnot json", None, "Hi", false),
            ("<<answer 5eed>>\nHi\n<<end answer 5eed>>", None, "Hi", false),
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

    /// The form, whole; `CUT` is a part of it.
    const FORM: &str = "{\"base\": \"A\", \"changes\": [{\"what\": \"a {brace}\", \"why\": \"\", \"from\": [\"B\"]}], \"claims\": [], \"dissent\": \"\", \"suspected\": []}";

    #[test]
    fn the_form_behind_the_answer_never_shows() {
        let text = "Hi.\n\nSo.";
        for behind in [
            "\n<<end answer CODE>>\nFORM",
            "\nFORM",
            "\n\nFORM\n",
            " FORM",
            "\nFORM\n<<end answer CODE>>",
            "\n<<end answer>>\nFORM",
            "\n<<end answer CODE\nFORM",
            "\n<<end anwser CODE>>\nFORM",
            "\n<<end answer 0bad0bad>>\nFORM",
            "\n<</answer CODE>>\n```json\nFORM\n```",
            "\n```json\nFORM\n```",
            "\n```\nFORM\n```\n",
            "\n```json\nFORM",
            "\n\n**Analysis:**\n\nFORM",
            "\n<<analysis CODE>>\nFORM",
            "\n<<analysis>>\nFORM",
            "\nJSON:\n```json\nFORM\n```",
            "\n---\nFORM",
            "\nFORM\nFORM",
            "\n{\n  \"base\": \"A\",\n  \"claims\": [\n    {\"text\": \"x\"}\n  ]\n}",
            "\n{\"base\": null, \"confidence\": \"high\", \"claims\": []}",
            "\n{\"claims\": [{\"text\": \"say \"hi\"\", \"for\": [\"A\"]}]}",
            "\n{'base': 'A', 'claims': []}",
            "\n{\"dissent\": \"It is not",
        ] {
            for before in ["<<answer CODE>>\n", "", "**<<answer CODE>>**\n", "Sure.\n<<answer CODE>>\n"] {
                if before.is_empty() && behind.contains("CODE") && !behind.contains("CODE>>") {
                    continue;
                }
                check(&format!("{before}{text}{}", behind.replace("FORM", FORM)), text);
            }
        }
        check(&format!("<<answer>>\n{text}\n<<end answer>>\n{FORM}"), text);
        check(&format!("<<answer 0bad0bad>>\n{text}\n<<end answer 0bad0bad>>\n```json\n{FORM}\n```"), text);
        // However the reply is cut.
        for (end, _) in FORM.char_indices().skip(1) {
            check(&format!("<<answer CODE>>\n{text}\n{}", &FORM[..end]), text);
            check(&format!("<<answer CODE>>\n{text}\n```json\n{}", &FORM[..end]), text);
            check(&format!("<<answer CODE>>\n{text}\n<<end answer CODE>>\n{}", &FORM[..end]), text);
        }
        check(&format!("<<answer CODE>>\nHi.\n\n{FORM}\n\nI hope this helps!"), "Hi.\n\nI hope this helps!");
    }

    #[test]
    fn json_that_is_asked_for_is_the_answer() {
        for text in [
            "{\"base\": \"USD\", \"rates\": {\"EUR\": 0.9}}",
            "Send this:\n\n```json\n{\"base\": \"USD\", \"rates\": {}}\n```",
            "Send this:\n\n```json\n{\"base\": 10, \"changes\": 7}\n```\n\nThen wait.",
            "The token:\n```json\n{\"claims\": [\"sub\", \"aud\"]}\n```",
            "The token:\n```json\n{\"claims\": [{\"sub\": 1}], \"alg\": \"none\"}\n```",
            "{\"changes\": []}",
            "fn main() {\n    let base = 1;\n}",
            "```lua\nif a then\nend\n```",
            "a {",
        ] {
            for reply in [format!("<<answer CODE>>\n{text}\n<<end answer CODE>>\n{FORM}"), text.to_owned()] {
                check(&reply, text);
            }
            let text = format!("So:\n{text}");
            check(&format!("<<answer CODE>>\n{text}\n{FORM}"), &text);
        }
        check("<<answer CODE>>\n{\"base\": \"A\"}\n<<end answer CODE>>", "{\"base\": \"A\"}");
        check("<<answer CODE>>\n```lua\nend\n```\n{\"base\": \"A\"}", "```lua\nend\n```");
        check("<<answer CODE>>\nEnds with\n\nAnalysis\n<<end answer CODE>>\n{}", "Ends with\n\nAnalysis");
        check("<<answer CODE>>\n42\n{\"base\": \"A\"}", "42");
    }

    #[test]
    fn the_first_word_shows_at_once() {
        let mut reveal = Reveal::answer(CODE);
        assert_eq!(reveal.push(&format!("<<answer {CODE}>>")), "");
        assert_eq!(reveal.push("\n"), "");
        assert_eq!(reveal.push("The"), "The");
        assert_eq!(reveal.push(" sky"), " sky");
        assert_eq!(reveal.push(" is blue.\n{\"ba"), " is blue.");
        assert_eq!(reveal.push("se\": \"A\"}"), "");
        assert_eq!(reveal.finish(), "");
    }

    #[test]
    fn a_huge_reply_of_openings_is_read_in_linear_time() {
        for piece in [
            "{\"base\": \"A\", ",
            "{ ",
            "```json\n",
            "{\"claims\": [{",
            "{\"base\": \"A\"}\n",
            "{\"base\": \"USD\"} ",
        ] {
            let reply = format!("<<answer {CODE}>>\nHi.\n{}", piece.repeat(400_000 / piece.len()));
            let began = tokio::time::Instant::now();
            let read = read(&reply).1;
            assert_eq!(streamed(&reply, &[4_096]), read);
            assert!(began.elapsed().as_secs() < 20, "{piece}: {:?}", began.elapsed());
        }
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
            "<<analysis CODE>>\n{\"base\": \"A\", \"claims\": [",
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
            text in "([a-z|<>{}*` \n]|\\| |<<answer |<<end answer 5eed5eed>>|```\n|```json\n|\\{\"base\": \"A\"|\\{\"ba|json|analysis|[}]){0,40}", cut in prop::collection::vec(1usize..9, 1..40),
        ) {
            let reply = format!("<<answer {CODE}>>\n{text}");
            let shown = streamed(&reply, &cut);
            prop_assert_eq!(shown.trim(), &shown);
            prop_assert_eq!(shown, read(&reply).1);
            prop_assert!(!read(&reply).1.contains(CODE));
        }
    }
}
