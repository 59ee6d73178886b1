//! Parts of a run that are too long for its report, page by page.

use std::sync::Arc;

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::SeatView;
use parallel_llm_engine::value::next::{Advice, Next, Operation};
use parallel_llm_engine::{Code, Failure, Outcome, OutcomeKind, Recorded, Run};
use rmcp::model::CallToolResult;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::next_step::NextStep;
use super::result;
use crate::vocabulary;
use parallel_llm_service::attachment;
use parallel_llm_service::report::next_steps::render_next_steps;
use parallel_llm_service::{Principal, RunHandle, Services};

/// Characters on a page: fewer than the 50,000 beyond which a common client writes a result to a file.
const PAGE_CHARS: usize = 40_000;

/// The names of the parts.
const PARTS: [&str; 6] = ["`report`", "`answer`", "`answer:1` (a seat)", "`prompt`", "`plan`", "`events`"];
/// The message about a text that is not kept.
pub(super) const TEXTS_NOT_KEPT: &str = "the texts of this run were not kept";

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The report; not paged.
    Report,
    /// The final text.
    Answer,
    /// The answer of a seat, counted from 1.
    AnswerOf(usize),
    /// The question.
    Prompt,
    /// The resolved plan.
    Plan,
    /// The events.
    Events,
}

impl Part {
    /// Parses a part's name.
    pub(crate) fn read(name: &str) -> Result<Self, Failure> {
        let seat = || name.strip_prefix("answer:").and_then(|seat| seat.parse().ok());
        match name {
            "report" => Ok(Self::Report),
            "answer" => Ok(Self::Answer),
            "prompt" => Ok(Self::Prompt),
            "plan" => Ok(Self::Plan),
            "events" => Ok(Self::Events),
            _ => seat().map(Self::AnswerOf).ok_or_else(|| {
                let shown = parallel_llm_engine::text::safe::excerpt(name, 40);
                Failure::new(Code::Usage, format!("the argument `part` is not `{shown}`"))
                    .with_next(Next::choose_one(PARTS))
            }),
        }
    }

    /// The text of this part as this principal may read it. Events are read from the store, not here.
    pub(crate) fn text(self, principal: &Principal, run: &Run) -> Result<Arc<str>, Failure> {
        let missing = |what: String| Err(Failure::new(Code::Usage, what).with_next(Advice::SeeReportPart));
        let not_kept = || Err(Failure::new(Code::Usage, TEXTS_NOT_KEPT).with_next(Operation::KeepTexts));
        match self {
            Self::Answer => match &run.outcome {
                Some(Outcome { text: Some(text), .. }) => Ok(Arc::clone(text)),
                Some(outcome) if outcome.kind != OutcomeKind::None => not_kept(),
                _ => missing(format!("the run is {} and has no answer", run.status.as_str())),
            },
            Self::AnswerOf(number) => {
                let seat = number.checked_sub(1).and_then(|index| run.seats.get(index));
                match seat.map(|seat| (seat, seat.text())) {
                    Some((_, Some(text))) => Ok(text.into()),
                    Some((SeatView { answer: Some(answer), .. }, None)) if answer.text_bytes > 0 => {
                        not_kept()
                    }
                    Some((seat, None)) => {
                        missing(format!("seat {number} is {} and has no text", seat.status.as_str()))
                    }
                    None => missing(format!("there is no seat {number}: the panel has {}", run.seats.len())),
                }
            }
            Self::Prompt if run.plan.messages.is_empty() => not_kept(),
            Self::Prompt => Ok(attachment::prompt_text(&run.plan.messages).into()),
            Self::Plan => {
                let mut plan = attachment::plan_json(&principal.redact_plan(&run.plan));
                render_next_steps(&mut plan, vocabulary::of(principal));
                Ok(format!("{plan:#}").into())
            }
            Self::Report | Self::Events => missing("this part is no text of the run".to_owned()),
        }
    }
}

/// The stored events of a run, one on each line.
pub(crate) async fn events(service: &Services, run: &RunHandle) -> Result<String, Failure> {
    if run.with_run(|run| run.plan.store) == StoreMode::None {
        let message = "the events of this run are not kept: its `store` is `none`";
        return Err(Failure::new(Code::RunNotFound, message)
            .with_next([Next::Use(Operation::KeepTexts), Next::Use(Operation::KeepFacts)]));
    }
    lines(&service.principal, service.runs.load(run.id()).await?.events)
}

/// Events as this principal may read them, one on each line.
pub(crate) fn lines(principal: &Principal, events: Vec<Recorded>) -> Result<String, Failure> {
    let line = |event| {
        let line = serde_json::to_string(&principal.redact_event(event))?;
        if !line.contains("\"next\":[") {
            return Ok(line);
        }
        let mut event: Value = serde_json::from_str(&line)?;
        render_next_steps(&mut event, vocabulary::of(principal));
        Ok::<_, serde_json::Error>(event.to_string())
    };
    let lines = events.into_iter().map(line).collect::<Result<Vec<_>, _>>();
    let lines =
        lines.map_err(|error| Failure::new(Code::Internal, format!("an event cannot be told: {error}")))?;
    Ok(lines.join("\n"))
}

/// The arguments of `get_run` that fetch a part.
pub(crate) fn call(run_id: &str, part: &str, offset: usize) -> String {
    match offset {
        0 => format!("{{\"run_id\":\"{run_id}\",\"part\":\"{part}\"}}"),
        offset => format!("{{\"run_id\":\"{run_id}\",\"part\":\"{part}\",\"offset\":{offset}}}"),
    }
}

/// A page of a part.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Page {
    /// The part, or a page of it.
    text: String,
    /// For the other tools.
    run_id: String,
    /// The part's name.
    part: String,
    /// The first character, from 0.
    offset: usize,
    /// The length of the whole part.
    total_chars: usize,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    next_offset: Option<usize>,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    next: Option<NextStep>,
    /// Whose words these are.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    third_party: Option<&'static str>,
}

/// One page of a text from a character offset, and the offset of the next.
pub(crate) fn page(run_id: &str, part: &str, text: &str, offset: usize) -> CallToolResult {
    let total = text.chars().count();
    let shown: String = text.chars().skip(offset).take(PAGE_CHARS).collect();
    let end = offset.min(total) + shown.chars().count();
    let next = (end < total).then(|| NextStep::part(run_id, part, end, "the next page"));
    let footer = next.as_ref().map(|next| format!("\n\n[characters {offset} to {end} of {total}; {next}]"));
    let is_third_party = matches!(Part::read(part), Ok(Part::Answer | Part::AnswerOf(_)));
    let readable = format!("{shown}{}", footer.unwrap_or_default());
    let page = Page {
        text: shown,
        run_id: run_id.to_owned(),
        part: part.to_owned(),
        offset,
        total_chars: total,
        next_offset: next.is_some().then_some(end),
        next,
        third_party: is_third_party.then_some(result::THIRD_PARTY),
    };
    result::of(json!(page), readable, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_by_name() {
        let read = |name: &str| Part::read(name).ok();
        assert_eq!(read("answer:12"), Some(Part::AnswerOf(12)));
        assert_eq!(read("events"), Some(Part::Events));
        assert_eq!([read("answer:"), read("answer:-1"), read("answers"), read("")], [None; 4]);
    }

    #[test]
    fn pages_follow_each_other_by_characters() {
        let text = "ä".repeat(PAGE_CHARS + 1);
        let described = page("01X", "answer", &text, 0).structured_content.unwrap();
        assert_eq!(
            (&described["next_offset"], &described["total_chars"]),
            (&json!(PAGE_CHARS), &json!(PAGE_CHARS + 1))
        );
        let described = page("01X", "answer", &text, PAGE_CHARS).structured_content.unwrap();
        assert_eq!((&described["text"], described.get("next_offset")), (&json!("ä"), None));
        assert_eq!(page("01X", "answer", &text, 90_000).structured_content.unwrap()["text"], "");
    }
}
