//! Runs as resources: a list of the newest, and every run and part by address.
//!
//! What always holds: a principal finds only its own runs, because the service acts for it; a text is complete or names
//! the call for the rest; texts of other models are marked, in the list and when read.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use parallel_llm_engine::run::Run;
use parallel_llm_engine::{Code, Failure, RunId};
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, MetaObject, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde_json::json;

use super::vocabulary;
use crate::results::address::{
    self, Address, JSON, JSON_LINES, MARKDOWN, PART_PRIORITY, PART_TEMPLATE, RUN_PRIORITY, RUN_TEMPLATE,
    annotations, third_party,
};
use crate::results::part::{self, Part};
use crate::results::run_result;
use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_service::report::cost::Cost;
use parallel_llm_service::report::next_steps::next_step;
use parallel_llm_service::{Principal, RunFilter, RunHandle, RunSummary, Services};
use parallel_llm_settings::clock;

/// The runs on a page of the list.
const PAGE_RUNS: usize = 50;
/// The most runs listed in all. Some clients fetch every page at their start; older runs are found by address.
const RUNS_MAX: usize = 200;
/// The most characters of a text: ten pages of `get_run`, and less than any known client refuses.
const TEXT_CHARS_MAX: usize = 400_000;
/// The longest title made of a question, in characters.
const TITLE_CHARS: usize = 80;
/// The longest excerpt of an unknown address in a message, in characters.
const ADDRESS_CHARS: usize = 120;

/// How long answers may be cached: a run in progress changes at any moment, a closed one only when it is continued, the
/// list with each question, the templates with the program.
const RUNNING_TTL_MS: u64 = 1_000;
const CLOSED_TTL_MS: u64 = 600_000;
const LIST_TTL_MS: u64 = 5_000;
const TEMPLATES_TTL_MS: u64 = 3_600_000;

/// The media type of incomplete JSON.
const PLAIN: &str = "text/plain";

/// Members of `_meta`.
const STATUS: &str = "parallel-llm/status";
const NEXT: &str = "parallel-llm/next";

/// A page of the newest runs, from a cursor on.
pub(super) async fn list(service: &Services, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let from = Cursor::read(cursor)?;
    let room = RUNS_MAX.saturating_sub(from.listed).min(PAGE_RUNS);
    let filter = RunFilter { limit: room + 1, before: from.before, ..RunFilter::default() };
    let mut runs =
        service.runs.list(filter).await.map_err(|failure| error_of(&service.principal, failure))?;
    let is_more = runs.len() > room;
    runs.truncate(room);
    let next = Cursor { listed: from.listed + runs.len(), before: runs.last().map(|run| run.run_id) };
    let mut listed = ListResourcesResult::with_all_items(runs.iter().map(resource).collect());
    listed.next_cursor = (is_more && next.listed < RUNS_MAX).then(|| next.write());
    Ok(listed.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Private))
}

/// The templates of addresses.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let run = ResourceTemplate::new(RUN_TEMPLATE, "run")
        .with_title("A run")
        .with_description("The answer of a run, or what there is of it, and how it came about.")
        .with_mime_type(MARKDOWN)
        .with_annotations(annotations(RUN_PRIORITY));
    let part = ResourceTemplate::new(PART_TEMPLATE, "part-of-run")
        .with_title("A part of a run")
        .with_description(
            "One of: answer, answer:<seat>, prompt (Markdown), plan, report (JSON), events (JSON lines).",
        )
        .with_annotations(annotations(PART_PRIORITY));
    ListResourceTemplatesResult::with_all_items(vec![run, part])
        .with_ttl_ms(TEMPLATES_TTL_MS)
        .with_cache_scope(CacheScope::Public)
}

/// Reads the resource at an address.
pub(super) async fn read(service: &Services, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let lost = |message: &str| ErrorData::resource_not_found(message.to_owned(), Some(json!({ "uri": uri })));
    let Some(address) = Address::read(uri) else {
        let shown = excerpt(uri, ADDRESS_CHARS);
        let message =
            format!("there is no resource `{shown}`: there are `{RUN_TEMPLATE}` and `{PART_TEMPLATE}`");
        return Err(lost(&message));
    };
    let described = |failure: Failure| match failure.code {
        Code::RunNotFound | Code::Usage => lost(&sentence(&service.principal, &failure)),
        _ => error_of(&service.principal, failure),
    };
    let run = service.runs.watch(&address.run_id.to_string()).await.map_err(described)?;
    let text = text(&address, service, &run).await.map_err(described)?;
    let (status, is_closed) = run.with_run(|run| (run.status.as_str(), run.closed));
    let contents = contents(&address, uri, text, status);
    let ttl_ms = if is_closed { CLOSED_TTL_MS } else { RUNNING_TTL_MS };
    Ok(ReadResourceResult::new(vec![contents]).with_ttl_ms(ttl_ms).with_cache_scope(CacheScope::Private))
}

/// A failure unrelated to the address, as a protocol error that this principal may read.
pub(super) fn error_of(principal: &Principal, failure: Failure) -> ErrorData {
    let failure = principal.redact(failure);
    let data = json!({ "code": failure.code, "next": next_step(&failure, vocabulary::of(principal)) });
    match failure.code {
        Code::ScopeMissing | Code::TokenRefused => {
            ErrorData::invalid_request(sentence(principal, &failure), Some(data))
        }
        _ => ErrorData::internal_error(sentence(principal, &failure), Some(data)),
    }
}

fn sentence(principal: &Principal, failure: &Failure) -> String {
    format!("{}: {}", failure.message, next_step(failure, vocabulary::of(principal)))
}

/// A run in the list.
fn resource(run: &RunSummary) -> Resource {
    let question = run.question_excerpt.as_deref().map(|question| excerpt(question, TITLE_CHARS));
    let (answered, seats) = (run.answered, run.seats);
    let cost = Cost::of_sum(run.cost, run.cost_lacks_calls, run.cost_is_estimate).described();
    let changed_ms = run.closed_at_ms.or(run.decided_at_ms).unwrap_or(run.created_at_ms);
    let damaged = if run.is_damaged { "damaged: this line is not what was written; " } else { "" };
    let mut marks = annotations(RUN_PRIORITY);
    marks.last_modified = u64::try_from(changed_ms).ok().map(clock::stamp);
    Resource::new(address::of_run(run.run_id), run.run_id.to_string())
        .with_title(question.unwrap_or_else(|| "a question that is not kept".to_owned()))
        .with_description(format!("{damaged}{}, {answered} of {seats} answered, {cost}", run.status.as_str()))
        .with_mime_type(MARKDOWN)
        .with_annotations(marks)
        .with_meta(third_party())
}

/// The start of a page of the list, opaque to clients.
#[derive(Debug, Default, PartialEq, Eq)]
struct Cursor {
    /// The number of runs on earlier pages.
    listed: usize,
    /// The last of these runs.
    before: Option<RunId>,
}

impl Cursor {
    fn write(&self) -> String {
        let before = self.before.map(|run_id| run_id.to_string()).unwrap_or_default();
        BASE64_URL_SAFE_NO_PAD.encode(format!("{}.{before}", self.listed))
    }

    fn read(cursor: Option<&str>) -> Result<Self, ErrorData> {
        let Some(cursor) = cursor else { return Ok(Self::default()) };
        let read = || {
            let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
            let (listed, before) = text.split_once('.')?;
            Some(Self { listed: listed.parse().ok()?, before: Some(before.parse().ok()?) })
        };
        read().filter(|cursor| cursor.listed < RUNS_MAX).ok_or_else(|| {
            let message = "this `cursor` is not one of this list: leave it out for the first page";
            ErrorData::invalid_params(message, None)
        })
    }
}

/// The text of the resource.
async fn text(address: &Address, service: &Services, run: &RunHandle) -> Result<String, Failure> {
    let principal = &service.principal;
    match address.part {
        None => Ok(first_text(&run_result::of_run(principal, run.report()).content)),
        Some(Part::Report) => {
            let described = run_result::of_report(principal, run.report()).structured_content;
            Ok(described.unwrap_or_default().to_string())
        }
        Some(Part::Events) => part::events(service, run).await,
        Some(part) => Ok(run.with_run(|run: &Run| part.text(principal, run))?.to_string()),
    }
}

/// The text, cut if it is too long, with its metadata.
fn contents(address: &Address, uri: &str, text: String, status: &str) -> ResourceContents {
    let mut meta = if address.is_third_party() { third_party() } else { MetaObject::default() };
    meta.0.insert(STATUS.to_owned(), status.into());
    let (mut text, is_cut) = cut(text, address.mime_type() == JSON_LINES);
    let mut mime_type = address.mime_type();
    if is_cut {
        let rest = part::call(&address.run_id.to_string(), &address.name, text.chars().count());
        let next = format!("the rest: get_run with {rest}");
        if mime_type == MARKDOWN {
            text = format!("{text}\n\n[{next}]");
        } else if mime_type == JSON {
            mime_type = PLAIN;
        }
        meta.0.insert(NEXT.to_owned(), next.into());
    }
    ResourceContents::text(text, uri).with_mime_type(mime_type).with_meta(meta)
}

fn first_text(content: &[rmcp::model::ContentBlock]) -> String {
    content.first().and_then(|block| block.as_text()).map(|block| block.text.clone()).unwrap_or_default()
}

/// Cuts a text to [`TEXT_CHARS_MAX`]; returns whether it was cut. Lines stay whole if required.
fn cut(mut text: String, keeps_lines: bool) -> (String, bool) {
    let Some((end, _)) = text.char_indices().nth(TEXT_CHARS_MAX) else { return (text, false) };
    let end = if keeps_lines { text[..end].rfind('\n').map_or(end, |at| at + 1) } else { end };
    text.truncate(end);
    (text, true)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const RUN_ID: &str = "01JD0M3Z8K5Q2W7V9X4B6N1C0A";

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_no_other() {
        let cursor = Cursor { listed: 50, before: RUN_ID.parse().ok() };
        assert_eq!(Cursor::read(Some(&cursor.write())).unwrap(), cursor);
        let beyond = Cursor { listed: RUNS_MAX, ..cursor }.write();
        for wrong in ["", "x", "NTAu", &beyond, "\u{0}"] {
            assert_eq!(Cursor::read(Some(wrong)).unwrap_err().code.0, -32602, "{wrong}");
        }
    }

    #[test]
    fn a_cut_text_names_the_call_that_reads_the_rest() {
        let contents = |name: &str, text: String| {
            let address = Address::read(&format!("parallel-llm://runs/{RUN_ID}/{name}")).unwrap();
            json!(super::contents(&address, "uri", text, "complete"))
        };
        let described = contents("answer:3", "ä".repeat(TEXT_CHARS_MAX + 1));
        let next = format!(
            "the rest: get_run with {{\"run_id\":\"{RUN_ID}\",\"part\":\"answer:3\",\"offset\":400000}}"
        );
        assert_eq!(described["_meta"][NEXT], next);
        assert!(described["text"].as_str().unwrap().ends_with(&format!("ä\n\n[{next}]")));
        let described = contents("events", "{\"seq\":1}\n".repeat(TEXT_CHARS_MAX / 9));
        assert!(described["text"].as_str().unwrap().ends_with("}\n"));
        assert_eq!(
            (&described["mimeType"], described["_meta"][NEXT].is_string()),
            (&json!(JSON_LINES), true)
        );
        let described = contents("plan", "[".repeat(TEXT_CHARS_MAX + 1));
        assert_eq!(described["mimeType"], PLAIN);
        let described = contents("answer", "ä".repeat(TEXT_CHARS_MAX));
        assert_eq!((&described["mimeType"], &described["_meta"][NEXT]), (&json!(MARKDOWN), &Value::Null));
        assert_eq!(described["_meta"]["parallel-llm/third_party"], crate::results::result::THIRD_PARTY);
    }
}
