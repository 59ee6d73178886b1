//! The panel of a strategy that samples one model several times.

use crate::request::panel::{ModelRef, Seat, SeatNumber};
use crate::request::strategy::StrategyOptions;
use crate::value::code::Code;
use crate::value::next::Advice;
use crate::value::warning::Warning;

/// Makes a panel of one model. A panel of one model stays as it is unless `samples` is set. Of another panel only the
/// strongest seat, else the first, is sampled, and a warning names the models left out.
pub(super) fn sampled_panel(
    panel: Vec<Seat>,
    options: StrategyOptions,
    warnings: &mut Vec<Warning>,
) -> Vec<Seat> {
    let chosen = panel.iter().find(|seat| seat.strongest).or_else(|| panel.first());
    let Some(chosen) = chosen.cloned() else { return panel };
    let mut left_out: Vec<&ModelRef> = Vec::new();
    for seat in panel.iter().filter(|seat| seat.model != chosen.model) {
        if !left_out.contains(&&seat.model) {
            left_out.push(&seat.model);
        }
    }
    let is_one_model = left_out.is_empty() && panel.len() > 1;
    if is_one_model && options.samples.is_none() {
        return panel;
    }
    let count = usize::from(options.samples());
    if !left_out.is_empty() {
        warnings.push(warning(&chosen.model, &left_out, count));
    }
    // Seats of one model may differ in their options; cycling keeps these differences.
    let pattern = if is_one_model { panel } else { vec![chosen] };
    let seats = pattern.into_iter().cycle().take(count).enumerate();
    // A strongest seat is awaited until its own deadline; of equal samples none should be.
    seats.map(|(index, seat)| Seat { number: SeatNumber::at(index), strongest: false, ..seat }).collect()
}

fn warning(chosen: &ModelRef, left_out: &[&ModelRef], count: usize) -> Warning {
    let names: Vec<String> = left_out.iter().map(|model| format!("`{model}`")).collect();
    let names = names.join(", ");
    Warning {
        code: Code::Unneeded,
        message: format!("one model is sampled, `{chosen}`, {count} times; not asked: {names}"),
        next: Advice::MarkStrongest.into(),
    }
}
