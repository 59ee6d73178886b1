//! The form as an earlier run was asked, so that it can be asked again or changed.

use parallel_llm_engine::request::panel::Seat;
use parallel_llm_engine::request::strategy::AUTO;
use parallel_llm_engine::run::Run;
use parallel_llm_engine::{Part, Role};
use parallel_llm_settings::settings::Settings;

use super::fields::{Fields, OWN_PANEL, SeatFields};
use super::file_set::GONE;

/// The form, and what could not be taken over.
pub(super) fn fields(run: &Run, settings: &Settings) -> (Fields, Vec<String>) {
    let (plan, mut notes) = (&run.plan, Vec::new());
    let files = plan.messages.last().map_or(0, |last| last.parts.iter().filter(|part| is_file(part)).count());
    match files {
        0 => {}
        1 => notes.push("Choose its picture or PDF again: the form has none.".to_owned()),
        count => notes.push(format!("Choose its {count} pictures and PDFs again: the form has none.")),
    }
    let kept = if files > 0 { GONE.to_owned() } else { String::new() };
    let asked = Fields {
        question: plan.question(),
        continued: plan.continues.map(|earlier| earlier.to_string()).unwrap_or_default(),
        // A conversation brings the instructions with it.
        system: if plan.continues.is_none() { system(run) } else { String::new() },
        fresh: true,
        kept,
        ..Fields::default()
    };
    if let Some(flow) = &plan.flow {
        let is_there = settings.flows.get(&flow.name).is_some_and(|file| file.flow.is_ok());
        if is_there {
            return (Fields { panel: flow.name.clone(), ..asked }, notes);
        }
        notes.push(format!("There is no flow “{}” any more: below, its models are one panel.", flow.name));
    }
    let strategy = match &plan.chosen_because {
        Some(_) => AUTO.to_owned(),
        None => plan.strategy_choice().to_string(),
    };
    let cap = plan.seats.first().map(|seat| seat.max_tokens);
    let is_shared = |cap: &u32| plan.seats.iter().all(|seat| seat.max_tokens == *cap);
    let cap = cap.filter(|cap| is_shared(cap) && *cap != settings.max_tokens);
    let of_panel = Fields {
        panel: OWN_PANEL.to_owned(),
        seats: plan.seats.iter().map(seat).collect(),
        strategy,
        synthesizer: run.chain().first().map(|seat| seat.model.to_string()).unwrap_or_default(),
        max_tokens: cap.map(|cap| cap.to_string()).unwrap_or_default(),
        ..asked
    };
    (of_panel, notes)
}

/// A seat with its own options; its persona has a field beside it.
fn seat(seat: &Seat) -> SeatFields {
    let mut entry = seat.entry();
    let persona = entry.options.persona.take().unwrap_or_default();
    SeatFields { model: entry.to_string(), persona }
}

/// The instructions in front of the question.
fn system(run: &Run) -> String {
    let first = run.plan.messages.first().filter(|first| first.role == Role::System);
    let texts = first.iter().flat_map(|first| &first.parts).filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        Part::File(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

const fn is_file(part: &Part) -> bool {
    matches!(part, Part::File(_))
}
