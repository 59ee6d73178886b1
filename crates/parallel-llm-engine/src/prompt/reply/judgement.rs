//! Reads the replies of judges, reviewers and readers that group answers.
//!
//! Invariants: only known labels count, each once; a reply that says nothing of an order or a tie gives none; objections are
//! bounded in number and length. Their texts are foreign.

use std::collections::BTreeMap;

use serde_json::Value;

use super::groups::members;
use super::labels::known;
use super::{last_object, suspected};
use crate::request::panel::SeatNumber;

/// What a judge may write in place of a ranking if no answer is better.
const TIE: &str = "tie";
/// The most objections to an answer that are shown to the writer of the text.
pub const OBJECTIONS_MAX: usize = 2;
/// The longest objection in characters.
const OBJECTION_CHARS_MAX: usize = 300;
/// The most bytes of the objections to an answer.
pub(crate) const OBJECTIONS_BYTES_MAX: u64 = (OBJECTIONS_MAX * OBJECTION_CHARS_MAX * 4) as u64;
/// What a reviewer writes who has no objection.
const NO_OBJECTION: [&str; 5] = ["none", "nothing", "n/a", "no objection", "no objections"];

/// The parts of a judge's reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgeReply {
    /// Known labels, each once, best first; none if no answer is best.
    pub ranking: Vec<String>,
    /// The labels that are first together; none if one is first, or if all are.
    pub tied: Vec<String>,
    /// Known labels of candidates that it suspects of instructions.
    pub suspected: Vec<String>,
}

/// Reads a judge's reply; `None` if it neither names a candidate nor says that there is a tie. `labels` are those of the
/// candidates.
pub fn judgement(reply: &str, labels: &[String]) -> Option<JudgeReply> {
    let form = last_object(reply, "ranking").or_else(|| last_object(reply, "tie"))?;
    let named = form.get("ranking").unwrap_or(&Value::Null);
    let suspected = suspected(&form, labels);
    let mut ranking = known(named, labels);
    let mut tied = first_together(named, labels);
    if is_tie(named) || form.get("tie").is_some_and(is_true) || tied.len() == labels.len() {
        (ranking, tied) = (Vec::new(), Vec::new());
    } else if ranking.is_empty() {
        return None;
    }
    Some(JudgeReply { ranking, tied, suspected })
}

/// Reads a reply that groups answers by what they say: the largest group is first together. If several are largest, none is
/// best. `None` if it names no candidate. A label in two groups is in neither.
pub fn largest_group(reply: &str, labels: &[String]) -> Option<JudgeReply> {
    let form = last_object(reply, "groups")?;
    let named = |group: &Value| known(members(group), labels);
    let groups: Vec<Vec<String>> = form.get("groups")?.as_array()?.iter().map(named).collect();
    let count = |label: &String| groups.iter().filter(|group| group.contains(label)).count();
    let alone = |group: &Vec<String>| group.iter().filter(|label| count(label) == 1).cloned().collect();
    let mut groups: Vec<Vec<String>> =
        groups.iter().map(alone).filter(|one: &Vec<_>| !one.is_empty()).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    let most = groups.first()?.len();
    let largest: Vec<&Vec<String>> = groups.iter().take_while(|group| group.len() == most).collect();
    let is_one = largest.len() == 1;
    let first: Vec<String> = largest.into_iter().flatten().cloned().collect();
    let ranking = if is_one { groups.concat() } else { Vec::new() };
    let tied = if first.len() > 1 { first } else { Vec::new() };
    Some(JudgeReply { ranking, tied, suspected: suspected(&form, labels) })
}

/// The labels that a ranking puts first together: a list in the list, or equal ranks.
fn first_together(ranking: &Value, labels: &[String]) -> Vec<String> {
    let Some(ranks) = ranking.as_array() else { return Vec::new() };
    let rank = |one: &Value| one.get("rank").and_then(Value::as_f64);
    let first = ranks.iter().filter_map(rank).min_by(f64::total_cmp);
    let equal = match (ranks.first(), first) {
        (Some(first @ Value::Array(_)), _) => first.clone(),
        (_, Some(first)) => {
            ranks.iter().filter(|one| rank(one).is_some_and(|own| own <= first)).cloned().collect()
        }
        _ => Value::Null,
    };
    Some(known(&equal, labels)).filter(|equal| equal.len() > 1).unwrap_or_default()
}

/// Whether a ranking is the word `tie`, alone or in a list.
fn is_tie(ranking: &Value) -> bool {
    match ranking {
        Value::String(word) => word.trim().eq_ignore_ascii_case(TIE),
        Value::Array(words) => matches!(words.as_slice(), [Value::String(_)]) && is_tie(&words[0]),
        _ => false,
    }
}

fn is_true(flag: &Value) -> bool {
    flag.as_bool().unwrap_or_else(|| flag.as_str().is_some_and(|word| word.eq_ignore_ascii_case("true")))
}

/// The objections of a reviewer to the answers it was shown. `shown` are the labels of the candidates with their seats.
pub fn objections(reply: &str, shown: &[(String, SeatNumber)]) -> Vec<(SeatNumber, String)> {
    let Some(form) = last_object(reply, "ranking") else { return Vec::new() };
    let labels: Vec<String> = shown.iter().map(|(label, _)| label.clone()).collect();
    let reviews = form.get("reviews").and_then(Value::as_array).into_iter().flatten();
    let objection = |review: &Value| {
        let label = known(&review["label"], &labels).pop()?;
        let seat = shown.iter().find(|(known, _)| *known == label)?.1;
        Some((seat, against(&review["against"])?))
    };
    reviews.filter_map(objection).take(shown.len()).collect()
}

/// An objection in one line of bounded length, from a string or a list of strings.
fn against(objection: &Value) -> Option<String> {
    let said = match objection {
        Value::String(said) => said.clone(),
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; "),
        _ => return None,
    };
    let mut line = String::new();
    for word in said.split_whitespace() {
        if line.len() > OBJECTION_CHARS_MAX * 4 {
            break;
        }
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(word);
    }
    let line: String = line.chars().take(OBJECTION_CHARS_MAX).collect();
    let bare = line.trim_matches(|one: char| !one.is_alphanumeric()).to_lowercase();
    (!bare.is_empty() && !NO_OBJECTION.contains(&bare.as_str())).then_some(line)
}

/// The first objections to each answer, by reviewers in this order. The same words count once.
pub fn merged(
    reviews: impl IntoIterator<Item = Vec<(SeatNumber, String)>>,
) -> BTreeMap<SeatNumber, Vec<String>> {
    let mut merged: BTreeMap<SeatNumber, Vec<String>> = BTreeMap::new();
    for (seat, objection) in reviews.into_iter().flatten() {
        let known = merged.entry(seat).or_default();
        let is_new = !known.iter().any(|one| one.eq_ignore_ascii_case(&objection));
        if is_new && known.len() < OBJECTIONS_MAX {
            known.push(objection);
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Vec<String> {
        ["A", "B", "C"].map(str::to_owned).to_vec()
    }

    /// The ranking, then the labels that are first together; `none` if there is no judgement.
    fn check(read: Option<JudgeReply>, expected: &str, reply: &str) {
        let rendered = read.map(|read| format!("{} | {}", read.ranking.join(" "), read.tied.join(" ")));
        assert_eq!(rendered.unwrap_or("none".to_owned()).trim(), expected, "{reply}");
    }

    #[test]
    fn a_judges_json_is_read_although_it_is_not_quite_json() {
        for reply in [
            r#"{"requirements": ["\(x\) and \frac{1}{2}"], "ranking": ["B", "A"], "tie": false}"#,
            "{\"reasons\": [{\"label\": \"A\", \"for\": \"two\nlines\tand a tab\"}], \"ranking\": [\"B\", \"A\"]}",
            "```json\n{\"candidates\": [], \"ranking\": [\"B\", \"A\",],}\n```\nThat is my ranking.",
            r#"{"ranking": [["B"], ["A"]]}"#,
            &format!("{}\n{}", r"As \frac{a}{b} shows, ".repeat(80), r#"{"ranking": ["B", "A"]}"#),
        ] {
            check(judgement(reply, &labels()), "B A |", reply);
        }
        check(judgement(r#"{"ranking": ["B"], "of": {"ranking": ["A"]}"#, &labels()), "none", "");
    }

    #[test]
    fn answers_may_be_first_together() {
        for (reply, expected) in [
            (r#"{"ranking": "tie"}"#, "|"),
            (r#"{"ranking": ["Tie"]}"#, "|"),
            (r#"{"ranking": ["B", "A"], "tie": true}"#, "|"),
            (r#"{"ranking": [], "tie": "true"}"#, "|"),
            (r#"{"tie": true}"#, "|"),
            (r#"{"ranking": [["A", "B", "C"]]}"#, "|"),
            (r#"{"ranking": ["B", "tie"]}"#, "B |"),
            (r#"{"ranking": [["B", "C"], "A"], "tie": false}"#, "B C A | B C"),
            (r#"{"ranking": ["A", ["B", "C"]]}"#, "A B C |"),
            (
                r#"{"ranking": [{"label": "C", "rank": 1}, {"label": "A", "rank": 2}, {"label": "B", "rank": 1}]}"#,
                "C A B | C B",
            ),
            (r#"{"ranking": []}"#, "none"),
            (r#"{"ranking": "neither"}"#, "none"),
            (r#"{"ranking": ["D"], "tie": false}"#, "none"),
        ] {
            check(judgement(reply, &labels()), expected, reply);
        }
    }

    #[test]
    fn the_largest_group_is_first_together() {
        for (reply, expected) in [
            (
                r#"{"groups": [{"labels": ["B"], "answer": "6"}, {"labels": ["A", "C"], "answer": "8"}], "none": []}"#,
                "A C B | A C",
            ),
            (r#"{"groups": [["C", "A"], ["B"]]}"#, "C A B | C A"),
            (r#"{"groups": [["A"], ["B"], ["C"]]}"#, "| A B C"),
            (r#"{"groups": [["A"], ["B"]], "none": ["C"]}"#, "| A B"),
            (r#"{"groups": [["A", "B"], ["B", "C"]]}"#, "| A C"),
            (r#"{"groups": [["A", "A"]]}"#, "A |"),
            (r#"{"groups": [["D"]]}"#, "none"),
            (r#"{"groups": "A"}"#, "none"),
            (r#"{"ranking": ["A"]}"#, "none"),
        ] {
            check(largest_group(reply, &labels()), expected, reply);
        }
    }

    #[test]
    fn objections_are_bounded_and_name_known_answers() {
        let shown: Vec<(String, SeatNumber)> = labels().into_iter().zip([3, 1, 2].map(SeatNumber)).collect();
        let long = "ä ".repeat(9_000);
        let reply = format!(
            r#"{{"reviews": [{{"label": "B", "against": " It says\n8. "}}, {{"label": "A", "against": ["x", "y"]}},
                {{"label": "Z", "against": "x"}}, {{"label": "C", "against": "None."}}, {{"label": "C", "against": 7}},
                {{"label": "C", "against": "{long}"}}], "ranking": ["A"]}}"#
        );
        let read = objections(&reply, &shown);
        let short: Vec<String> = read
            .iter()
            .map(|(seat, text)| format!("{seat} {}", text.chars().take(9).collect::<String>()))
            .collect();
        assert_eq!(short, ["1 It says 8", "3 x; y", "2 ä ä ä ä ä"]);
        assert_eq!(read[2].1.chars().count(), OBJECTION_CHARS_MAX);
        let one = |text: &str| vec![(SeatNumber(1), text.to_owned())];
        let merged = merged([one("First."), one("first."), one("Second."), one("Third.")]);
        assert_eq!(merged[&SeatNumber(1)], ["First.", "Second."]);
        assert!(objections("{\"reviews\": [{\"label\": \"A\", \"against\": \"x\"}]}", &shown).is_empty());
    }
}
