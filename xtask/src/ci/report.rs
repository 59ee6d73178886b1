//! The results of the stages, and their table.

/// The result of one stage.
#[derive(Debug)]
pub(super) enum Verdict {
    Passed,
    Failed(String),
    Skipped(String),
}

/// A line of the table.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) verdict: Verdict,
    pub(super) minutes: f64,
}

/// The table of stages with their minutes and results.
pub(super) fn table(lines: &[Line]) -> String {
    let width = lines.iter().map(|line| line.name.len()).max().unwrap_or(0);
    let head = format!("\n{:<width$}  minutes  result", "stage");
    let rows = lines.iter().map(|line| {
        let result = match &line.verdict {
            Verdict::Passed => "ok".to_owned(),
            Verdict::Failed(why) => format!("FAILED: {why}"),
            Verdict::Skipped(why) => format!("skipped: {why}"),
        };
        format!("{:<width$}  {:>7.1}  {result}", line.name, line.minutes)
    });
    let minutes: f64 = lines.iter().map(|line| line.minutes).sum();
    let foot = format!("{:<width$}  {minutes:>7.1}", "all");
    let all: Vec<String> = std::iter::once(head).chain(rows).chain([foot]).collect();
    all.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_stage_its_result_and_its_minutes() {
        let lines = [
            Line { name: "fmt", verdict: Verdict::Passed, minutes: 0.04 },
            Line { name: "clippy", verdict: Verdict::Failed("it ended".to_owned()), minutes: 2.0 },
            Line { name: "readme", verdict: Verdict::Skipped("no binary".to_owned()), minutes: 0.0 },
        ];
        let expected = "
stage   minutes  result
fmt         0.0  ok
clippy      2.0  FAILED: it ended
readme      0.0  skipped: no binary
all         2.0";
        assert_eq!(table(&lines), expected);
    }
}
