//! Exams: requests that call themselves multiple choice.

use super::option::of_line;
use super::scope::asks_nothing;
use super::sentences::REQUEST_BYTES_MAX;

/// The asking sentence of an exam: a request that calls itself multiple choice and lists options, behind which nothing more is
/// asked. Whatever the question says (`Explain …`), the answer is one of them.
pub(super) fn asked(request: &str) -> Option<String> {
    let lower = request.to_lowercase();
    let is_exam = ["multiple choice", "multiple-choice"].iter().any(|name| lower.contains(name));
    let lines: Vec<&str> = request.lines().collect();
    let is_option = |line: &&str| of_line(line).is_some();
    let last = lines.iter().rposition(is_option).filter(|_| is_exam && request.len() <= REQUEST_BYTES_MAX)?;
    let asking = lines[..last].iter().rev().find(|line| !line.trim().is_empty() && !is_option(line))?;
    let is_all = asks_nothing(lines[0]) && asks_nothing(&lines[last + 1..].join("\n"));
    is_all.then(|| (*asking).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exam_asks_for_one_of_its_options() {
        let exam = "The following are multiple choice questions (with answers) about law. Finish with \"the answer is (X)\".\n";
        let options = "Explain the rule.\nOptions:\nA. one\nB. two\n";
        for (behind, is_closed) in
            [("Answer: Let's think step by step.", true), ("", true), ("Then explain your choice.", false)]
        {
            let asking = asked(&format!("{exam}{options}{behind}"));
            assert_eq!(asking.is_some(), is_closed, "{behind}");
        }
        assert_eq!(asked(options), None);
    }
}
