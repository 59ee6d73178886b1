//! Addresses of runs and their parts as resources: parsing, writing, and links.

use parallel_llm_engine::RunId;
use rmcp::model::{Annotations, MetaObject, Resource, Role};

use super::part::Part;
use super::result;

/// The prefix of every address.
const BASE: &str = "parallel-llm://runs/";
/// The templates of the addresses of a run and of its parts.
pub(crate) const RUN_TEMPLATE: &str = "parallel-llm://runs/{run_id}";
pub(crate) const PART_TEMPLATE: &str = "parallel-llm://runs/{run_id}/{part}";

/// The priority of a run and of its parts for a reader: 1 is the highest.
pub(crate) const RUN_PRIORITY: f32 = 0.5;
pub(crate) const PART_PRIORITY: f32 = 0.3;

/// Media types of resources.
pub(crate) const MARKDOWN: &str = "text/markdown";
pub(crate) const JSON: &str = "application/json";
pub(crate) const JSON_LINES: &str = "application/x-ndjson";

/// The member of `_meta` that marks texts of other models.
const THIRD_PARTY: &str = "parallel-llm/third_party";

/// The address of a run or of a part of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// The run.
    pub(crate) run_id: RunId,
    /// `None` for the run as readable text.
    pub(crate) part: Option<Part>,
    /// The part's name.
    pub(crate) name: String,
}

impl Address {
    /// Parses an address; `None` if it is not ours.
    pub(crate) fn read(uri: &str) -> Option<Self> {
        let path = uri.get(BASE.len()..).filter(|_| uri[..BASE.len()].eq_ignore_ascii_case(BASE))?;
        let (run_id, name) = path.split_once('/').map_or((path, None), |(run_id, name)| (run_id, Some(name)));
        // Clients escape the colon in a template's value.
        let name = name.map(|name| name.replace("%3A", ":").replace("%3a", ":"));
        let part = name.as_deref().map(Part::read).transpose().ok()?;
        Some(Self { run_id: run_id.parse().ok()?, part, name: name.unwrap_or_default() })
    }

    /// The media type of the resource.
    pub(crate) const fn mime_type(&self) -> &'static str {
        match self.part {
            None | Some(Part::Answer | Part::AnswerOf(_) | Part::Prompt) => MARKDOWN,
            Some(Part::Report | Part::Plan) => JSON,
            Some(Part::Events) => JSON_LINES,
        }
    }

    /// Whether it contains text of other models.
    pub(crate) const fn is_third_party(&self) -> bool {
        !matches!(self.part, Some(Part::Prompt | Part::Plan))
    }
}

/// The address of a run.
pub(crate) fn of_run(run_id: RunId) -> String {
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

/// The audience of a resource and its priority.
pub(crate) fn annotations(priority: f32) -> Annotations {
    Annotations::default().with_audience(vec![Role::User, Role::Assistant]).with_priority(priority)
}

/// The mark of a text by other models.
pub(crate) fn third_party() -> MetaObject {
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
