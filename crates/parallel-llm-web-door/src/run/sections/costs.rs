//! Where the money went, and whether fusing was worth it.

use askama::Template;
use parallel_llm_engine::run::SeatView;
use parallel_llm_engine::{OutcomeKind, PicoUsd, Run};
use parallel_llm_service::report::cost::Cost;

use crate::respond::rendered;
use crate::run::view::shown::{Shown, element};
use crate::text::figures;

/// A text that differs from its base by less than this was hardly changed.
const EDITED_MIN: f64 = 0.05;

#[derive(Template)]
#[template(path = "run/costs.html")]
struct Costs {
    sentence: String,
    lines: Vec<CostLine>,
}

/// The tokens and cost of one call.
struct CostLine {
    label: String,
    input: String,
    output: String,
    reasoning: String,
    speed: String,
    cost: String,
    share: String,
}

#[derive(Template)]
#[template(path = "run/worth.html")]
struct Worth {
    sentence: String,
    facts: Vec<Fact>,
}

/// A named value.
struct Fact {
    name: &'static str,
    value: String,
}

/// The section about money.
pub(super) fn section(shown: Shown<'_>) -> String {
    let (run, report) = (shown.run, shown.report);
    let all = report.cost().known.unwrap_or_default();
    let most = report.skipped.as_ref().map(|skipped| {
        format!(
            " {} calls were skipped because the answers agreed, which saved up to ${:.4}.",
            skipped.calls, skipped.cost_max_usd
        )
    });
    let budget = format!("The run cost {}; its budget is {}.", report.cost_described(), run.plan.budget);
    let lines = run.seats.iter().chain(run.called()).map(|view| line(run, view, all)).collect();
    rendered(&Costs { sentence: budget + most.as_deref().unwrap_or_default(), lines })
}

fn line(run: &Run, view: &SeatView, all: PicoUsd) -> CostLine {
    let usage = view.answer.as_ref().map(|answer| answer.usage).unwrap_or_default();
    let tokens = |count: Option<u64>| count.map_or_else(|| "–".to_owned(), figures::count);
    let share = match view.known_cost() {
        Some(cost) if all > PicoUsd::ZERO => cost.as_usd() / all.as_usd() * 100.0,
        _ => 0.0,
    };
    let writing = view.answer.as_ref().and_then(|answer| {
        let ms = answer.elapsed_ms.checked_sub(answer.first_token_ms?).filter(|ms| *ms > 0)?;
        Some(answer.usage.output_tokens? as f64 * 1_000.0 / ms as f64)
    });
    CostLine {
        label: label(run, view),
        input: tokens(usage.input_tokens),
        output: tokens(usage.output_tokens),
        reasoning: tokens(usage.reasoning_tokens),
        speed: writing.map_or_else(|| "–".to_owned(), |speed| format!("{speed:.0}")),
        cost: if view.attempts == 0 { "–".to_owned() } else { Cost::of_seat(view).short() },
        share: format!("{share:.1}"),
    }
}

/// The name of a call: `2 openai/gpt`, `fusing: google/gemini`.
pub(crate) fn label(run: &Run, view: &SeatView) -> String {
    match run.task(view.slot) {
        Some(task) => format!("{task}: {}", view.model),
        None => format!("{} {}", element(view.slot).trim_start_matches("seat-"), view.who()),
    }
}

/// The section about what fusing added.
pub(super) fn worth(shown: Shown<'_>) -> String {
    let Some(worth) = &shown.report.worth else {
        let is_fused = shown.run.outcome.as_ref().is_some_and(|outcome| outcome.kind == OutcomeKind::Fused);
        let sentence = if is_fused {
            "The text was not made from one answer that it could be compared with, so what fusing added is not known."
        } else {
            "Nothing was fused in this run, so there is nothing to weigh."
        };
        if !shown.run.is_decided() {
            return "<div id=\"worth\"></div>".to_owned();
        }
        return rendered(&Worth { sentence: sentence.to_owned(), facts: Vec::new() });
    };
    let base = shown.report.answers.iter().find(|seat| seat.seat == worth.base_seat);
    let base = base.map_or_else(
        || format!("seat {}", worth.base_seat),
        |seat| format!("{} (seat {})", seat.who(), seat.seat),
    );
    let sentence = match worth.edit_ratio {
        Some(ratio) if ratio < EDITED_MIN => {
            format!("Fusing changed almost nothing in the answer of {base}.")
        }
        Some(ratio) => format!("Fusing changed {:.0} % of the answer of {base}.", ratio * 100.0),
        None => format!("The text started from the answer of {base}; how much it differs is not known."),
    };
    let cost = worth.extra_cost_usd.and_then(PicoUsd::from_f64);
    let facts = vec![
        Fact {
            name: "Fusing cost",
            value: cost.map_or_else(|| "unknown".to_owned(), |cost| cost.to_string()),
        },
        Fact { name: "Fusing took", value: figures::duration(worth.extra_ms) },
    ];
    rendered(&Worth { sentence, facts })
}
