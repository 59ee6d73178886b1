//! Reads which short answers mean the same, as a model says.
//!
//! Invariant: a reply that contradicts itself says nothing, and a label that it leaves out stands alone.

use serde_json::Value;

use super::labels::known;
use super::last_object;

/// The groups of several labels in a reply, in the spelling of `labels`. `None` if it has no groups, or a label is in two.
pub fn groups(reply: &str, labels: &[String]) -> Option<Vec<Vec<String>>> {
    let form = last_object(reply, "groups")?;
    let Value::Array(listed) = form.get("groups")? else { return None };
    let groups: Vec<Vec<String>> = listed.iter().map(|group| known(members(group), labels)).collect();
    let mut seen: Vec<&String> = Vec::new();
    for label in groups.iter().flatten() {
        if seen.contains(&label) {
            return None;
        }
        seen.push(label);
    }
    (!seen.is_empty()).then(|| groups.into_iter().filter(|group| group.len() > 1).collect())
}

/// The labels of a group, which some models put into an object.
pub(super) fn members(group: &Value) -> &Value {
    group.get("labels").or_else(|| group.get("answers")).unwrap_or(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(reply: &str, expected: Option<&str>) {
        let labels = ["A", "B", "C"].map(str::to_owned);
        let rendered = groups(reply, &labels)
            .map(|groups| groups.iter().map(|group| group.join("=")).collect::<Vec<_>>().join(" "));
        assert_eq!(rendered.as_deref(), expected, "{reply}");
    }

    #[test]
    fn groups_are_read_in_every_format() {
        let form = r#"{"groups": [["A", "c."], ["B"]]}"#;
        check(form, Some("A=C"));
        check(&format!("Let me see.\n```json\n{form}\n```\nDone."), Some("A=C"));
        check(r#"{"groups": [{"labels": ["B", "C"], "answer": "8"}]}"#, Some("B=C"));
        check(r#"{"groups": [["A", "B", "C"]]}"#, Some("A=B=C"));
        check(r#"{"groups": ["A, C", "B"]}"#, Some("A=C"));
        check(r#"{"groups": [["Candidate A"], ["B"], ["C"]]}"#, Some(""));
    }

    #[test]
    fn a_reply_that_says_nothing_or_two_things_has_no_groups() {
        for reply in [
            "",
            "A and B are the same.",
            r#"{"groups": []}"#,
            r#"{"groups": "A=B"}"#,
            r#"{"groups": [["D", "E"]]}"#,
            r#"{"same": ["A", "B"]}"#,
            r#"{"groups": [["A", "B"], ["B", "C"]]}"#,
            r#"{"groups": [["A", "B"], ["C"], ["a"]]}"#,
        ] {
            check(reply, None);
        }
    }

    #[test]
    fn a_label_that_is_left_out_stands_alone() {
        check(r#"{"groups": [["A", "B"]]}"#, Some("A=B"));
        check(r#"{"groups": [["A", "A", "Z"]]}"#, Some(""));
    }
}
