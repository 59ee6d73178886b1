//! The differences between two texts of a run, line by line and word by word.

use std::borrow::Cow;

use askama::Template;
use axum::extract::{Path, Query};
use axum::response::Response;
use imara_diff::{Algorithm, Diff, InternedInput, Token};
use parallel_llm_engine::run::SeatView;
use parallel_llm_engine::text::words::words_and_blanks;
use parallel_llm_engine::value::next::Operation;
use parallel_llm_engine::{Code, Failure, Run, SeatNumber};
use serde::{Deserialize, Serialize};

use crate::layout::Layout;
use crate::respond;
use crate::run::sections::seat::seen;
use crate::run::view::shown::{Shown, TextName};
use crate::run::view::viewed::{Viewed, worded};
use crate::text::figures;
use crate::visit::Visit;

/// The longest text that is compared, in bytes: more would take a browser's and a reader's patience.
const COMPARED_BYTES_MAX: usize = 200_000;
/// The least share of words that lines have in common whose changed words are marked: else the lines are as good as new.
const MARKED_MIN: f64 = 0.5;

/// The two texts.
#[derive(Deserialize)]
pub(crate) struct Choice {
    #[serde(default)]
    left: String,
    #[serde(default)]
    right: String,
}

#[derive(Template)]
#[template(path = "run/compare.html")]
struct ComparePage {
    layout: Layout,
    id: String,
    texts: Vec<TextName>,
    left: TextName,
    right: TextName,
    summary: String,
    lines: Vec<DiffLine>,
}

/// A line of the comparison.
#[derive(Serialize)]
struct DiffLine {
    /// `same`, `left` or `right`.
    class: &'static str,
    #[serde(skip)]
    is_left: bool,
    spans: Vec<DiffSpan>,
}

/// A piece of a line.
#[derive(Serialize)]
struct DiffSpan {
    text: String,
    is_changed: bool,
}

/// Two texts and their differences.
struct Compared {
    texts: Vec<TextName>,
    left: TextName,
    right: TextName,
    /// The share of equal words, 0 to 1.
    ratio: f64,
    lines: Vec<DiffLine>,
}

/// Shows the differences.
pub(crate) async fn show(visit: Visit, Path(run): Path<String>, Query(choice): Query<Choice>) -> Response {
    let page = async {
        let viewed = Viewed::find(&visit, &run).await?;
        let id = viewed.handle.id().to_string();
        let Compared { texts, left, right, ratio, lines } = compared(&visit, &viewed, &choice)?;
        let summary = format!("{:.0} % of the words are the same, in the same order.", ratio * 100.0);
        Ok(respond::page(&ComparePage { layout: visit.layout(), id, texts, left, right, summary, lines }))
    };
    let page = page.await;
    visit.answer(page)
}

/// The same in JSON.
pub(crate) async fn json(visit: Visit, Path(run): Path<String>, Query(choice): Query<Choice>) -> Response {
    let json = async {
        let viewed = Viewed::find(&visit, &run).await?;
        let Compared { left, right, ratio, lines, .. } = compared(&visit, &viewed, &choice)?;
        let json = serde_json::json!({
            "schema": 1, "run_id": viewed.handle.id().to_string(),
            "left": left.name, "right": right.name, "same_share": ratio, "lines": lines,
        });
        Ok(respond::json(json.to_string()))
    };
    let json = json.await;
    visit.answer(json)
}

fn compared(visit: &Visit, viewed: &Viewed, choice: &Choice) -> Result<Compared, Failure> {
    let run = viewed.handle.snapshot();
    let report = worded(visit, viewed.handle.report());
    let shown = Shown {
        run: &run,
        report: &report,
        events: &[],
        visit,
        can_steer: false,
        age_ms: 0,
        is_followed: false,
    };
    let chosen = |name: &str| {
        let found = shown.texts().into_iter().find(|text| text.name == name);
        let missing = || {
            Failure::new(
                Code::Usage,
                format!("the run has no text `{}`", parallel_llm_engine::text::safe::excerpt(name, 20)),
            )
        };
        let named = found.ok_or_else(|| missing().with_next(Operation::ShowRun))?;
        let text = text_of(&run, name).unwrap_or_default();
        if text.len() > COMPARED_BYTES_MAX {
            let size = figures::bytes(COMPARED_BYTES_MAX as u64);
            let message = format!(
                "texts are compared up to {size}, and this one has {}",
                figures::bytes(text.len() as u64)
            );
            return Err(Failure::new(Code::Usage, message).with_next(Operation::ShowRun));
        }
        Ok((named, seen(&text)))
    };
    let (left, left_text) = chosen(&choice.left)?;
    let (right, right_text) = chosen(&choice.right)?;
    let (ratio, lines) = differences(&left_text, &right_text);
    Ok(Compared { texts: shown.texts(), left, right, ratio, lines })
}

fn text_of<'a>(run: &'a Run, name: &str) -> Option<Cow<'a, str>> {
    if name == "final" {
        return run.outcome.as_ref()?.text.as_deref().map(Cow::Borrowed);
    }
    run.seat(SeatNumber(name.parse().ok()?)).and_then(SeatView::text).map(Cow::Borrowed)
}

fn differences(left: &str, right: &str) -> (f64, Vec<DiffLine>) {
    // A last line without a line end would differ from the same line with one.
    let [left, right] = [left, right].map(|text| format!("{}\n", text.trim_end()));
    let lines = InternedInput::new(left.as_str(), right.as_str());
    let mut diff = Diff::compute(Algorithm::Histogram, &lines);
    diff.postprocess_lines(&lines);
    let texts = |tokens: &[Token]| tokens.iter().map(|token| lines.interner[*token]).collect::<Vec<_>>();
    let same = |tokens: &[Token]| texts(tokens).into_iter().map(|line| DiffLine::of("same", [(line, false)]));
    let (mut shown, mut at) = (Vec::new(), 0);
    for hunk in diff.hunks() {
        let [before, after] =
            [&hunk.before, &hunk.after].map(|lines| lines.start as usize..lines.end as usize);
        shown.extend(same(&lines.before[at..before.start]));
        at = before.end;
        shown.extend(changed(&texts(&lines.before[before]), &texts(&lines.after[after])));
    }
    shown.extend(same(&lines.before[at..]));
    (Words::of(&[&left], &[&right]).ratio(), shown)
}

/// The lines of one side and those that stand for them on the other, with their changed words marked.
fn changed(left: &[&str], right: &[&str]) -> Vec<DiffLine> {
    let words = Words::of(left, right);
    let is_whole = words.ratio() < MARKED_MIN;
    let side = |class, lines: &[&str], is_changed: fn(&Diff, u32) -> bool| {
        let mut places = 0..;
        let line = |line: &&str| {
            let placed = words_and_blanks(line).zip(&mut places);
            DiffLine::of(class, placed.map(|(word, at)| (word, is_whole || is_changed(&words.diff, at))))
        };
        lines.iter().map(line).collect::<Vec<_>>()
    };
    let sides = [side("left", left, Diff::is_removed), side("right", right, Diff::is_added)];
    sides.into_iter().flatten().collect()
}

/// Two texts, word by word.
struct Words {
    /// How many words and blanks both have together.
    count: usize,
    diff: Diff,
}

impl Words {
    fn of(left: &[&str], right: &[&str]) -> Self {
        let mut words = InternedInput::default();
        words.update_before(left.iter().flat_map(|text| words_and_blanks(text)));
        words.update_after(right.iter().flat_map(|text| words_and_blanks(text)));
        let count = words.before.len() + words.after.len();
        Self { count, diff: Diff::compute(Algorithm::Histogram, &words) }
    }

    /// The share of words and blanks that both have.
    fn ratio(&self) -> f64 {
        let changed = self.diff.count_removals() + self.diff.count_additions();
        1.0 - f64::from(changed) / (self.count as f64).max(1.0)
    }
}

impl DiffLine {
    /// A line of these pieces, each with whether it is changed. Neighbours of one kind become one.
    fn of<'a>(class: &'static str, pieces: impl IntoIterator<Item = (&'a str, bool)>) -> Self {
        let mut spans: Vec<DiffSpan> = Vec::new();
        for (text, is_changed) in pieces {
            let text = text.trim_end_matches('\n');
            match spans.last_mut() {
                Some(last) if last.is_changed == is_changed => last.text.push_str(text),
                _ => spans.push(DiffSpan { text: text.to_owned(), is_changed }),
            }
        }
        Self { class, is_left: class == "left", spans }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_words_are_marked_in_their_lines() {
        let (ratio, lines) = differences("One two three.\nSame.\n", "One 2 three.\nSame.\nNew.\n");
        let shown: Vec<String> = lines
            .iter()
            .map(|line| {
                let spans = line
                    .spans
                    .iter()
                    .map(|span| if span.is_changed { format!("[{}]", span.text) } else { span.text.clone() });
                format!("{} {}", line.class, spans.collect::<String>())
            })
            .collect();
        assert_eq!(shown, ["left One [two] three.", "right One [2] three.", "same Same.", "right [New.]"]);
        assert!(ratio > 0.5 && ratio < 1.0, "{ratio}");
        let (_, lines) = differences("Same.", "Same.\nNew.");
        let classes: Vec<&str> = lines.iter().map(|line| line.class).collect();
        assert_eq!(classes, ["same", "right"], "a last line has no line end");
    }
}
