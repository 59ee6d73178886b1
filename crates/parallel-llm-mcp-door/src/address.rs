//! Where runs and their parts are found by clients that read resources: how an address is written and read, and links to
//! it.

use parallel_llm_engine::RunId;
use rmcp::model::{Annotations, MetaObject, Resource, Role};

use super::part::Part;
use super::result;

/// What every address begins with.
const BASE: &str = "parallel-llm://runs/";
/// The address of a run, and of a part of one.
pub(super) const RUN_TEMPLATE: &str = "parallel-llm://runs/{run_id}";
pub(super) const PART_TEMPLATE: &str = "parallel-llm://runs/{run_id}/{part}";

/// How much a run, and a part of one, matters to a reader: 1 is the most.
pub(super) const RUN_PRIORITY: f32 = 0.5;
pub(super) const PART_PRIORITY: f32 = 0.3;

/// What stands at an address.
pub(super) const MARKDOWN: &str = "text/markdown";
pub(super) const JSON: &str = "application/json";
pub(super) const JSON_LINES: &str = "application/x-ndjson";

/// The member of `_meta` that says whose words a text is.
const THIRD_PARTY: &str = "parallel-llm/third_party";

/// Where a run or a part of it is found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// The run.
    pub(super) run_id: RunId,
    /// `None` is the run as one reads it.
    pub(super) part: Option<Part>,
    /// The part's name.
    pub(super) name: String,
}

impl Address {
    /// Reads an address; `None` where it is none of ours.
    pub(super) fn read(uri: &str) -> Option<Self> {
        let path = uri.get(BASE.len()..).filter(|_| uri[..BASE.len()].eq_ignore_ascii_case(BASE))?;
        let (run_id, name) = path.split_once('/').map_or((path, None), |(run_id, name)| (run_id, Some(name)));
        // A template's value comes with its colon escaped.
        let name = name.map(|name| name.replace("%3A", ":").replace("%3a", ":"));
        let part = name.as_deref().map(Part::read).transpose().ok()?;
        Some(Self { run_id: run_id.parse().ok()?, part, name: name.unwrap_or_default() })
    }

    /// What kind of text stands there.
    pub(super) const fn mime_type(&self) -> &'static str {
        match self.part {
            None | Some(Part::Answer | Part::AnswerOf(_) | Part::Prompt) => MARKDOWN,
            Some(Part::Report | Part::Plan) => JSON,
            Some(Part::Events) => JSON_LINES,
        }
    }

    /// Whether words of other models stand in it.
    pub(super) const fn is_third_party(&self) -> bool {
        !matches!(self.part, Some(Part::Prompt | Part::Plan))
    }
}

/// The address of a run.
pub(super) fn of_run(run_id: RunId) -> String {
    format!("{BASE}{run_id}")
}

/// A link to a text of a run that is too long for its report.
pub(super) fn link(run_id: &str, part: &str, title: String, bytes: u64) -> Resource {
    Resource::new(format!("{BASE}{run_id}/{part}"), format!("{run_id}/{part}"))
        .with_title(title)
        .with_mime_type(MARKDOWN)
        .with_size(bytes)
        .with_annotations(annotations(PART_PRIORITY))
        .with_meta(third_party())
}

/// For whom something is, and how much it matters to a reader.
pub(super) fn annotations(priority: f32) -> Annotations {
    Annotations::default().with_audience(vec![Role::User, Role::Assistant]).with_priority(priority)
}

/// Says that a text is the words of other models.
pub(super) fn third_party() -> MetaObject {
    let mut meta = MetaObject::default();
    meta.0.insert(THIRD_PARTY.to_owned(), result::THIRD_PARTY.into());
    meta
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN_ID: &str = "01JD0M3Z8K5Q2W7V9X4B6N1C0A";

    #[test]
    fn addresses_are_read_and_nothing_else_is() {
        let read = |uri: &str| Address::read(uri).map(|address| (address.run_id.to_string(), address.part));
        let run = |part| Some((RUN_ID.to_owned(), part));
        assert_eq!(read(&format!("{BASE}{RUN_ID}")), run(None));
        assert_eq!(read(&format!("PARALLEL-LLM://runs/{RUN_ID}/answer%3A2")), run(Some(Part::AnswerOf(2))));
        assert_eq!(read(&format!("{BASE}{RUN_ID}/events")), run(Some(Part::Events)));
        for uri in ["", "parallel-llm://runs/", "parallel-llm://runs/@", "file:///etc/passwd", "ä", BASE] {
            assert_eq!(read(uri), None, "{uri}");
        }
        for rest in ["/", "/answers", "/answer:", "/answer/", "/../x", "?x", "%20"] {
            assert_eq!(read(&format!("{BASE}{RUN_ID}{rest}")), None, "{rest}");
        }
    }
}
