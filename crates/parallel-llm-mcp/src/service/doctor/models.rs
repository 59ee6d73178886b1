//! Whether every configured model is still offered: the roll call, with a line for each that is not well.

use super::{Finding, Health, Service};
use crate::service::roll_call::{Present, Standing};

pub(super) async fn look(service: &Service) -> Vec<Finding> {
    let roll_call = service.call_roll().await;
    let count = |standing| roll_call.models.iter().filter(|model| model.standing == standing).count();
    let well = count(Standing::Alive) + count(Standing::Expiring);
    let all = roll_call.models.len();
    let mut findings = vec![Finding::ok(format!("{well} of {all} configured models are offered"))];
    findings.extend(roll_call.models.iter().filter_map(finding));
    findings
}

fn finding(model: &Present) -> Option<Finding> {
    // A preset is asked by name only; the panel and the synthesizers are asked by every question.
    let is_in_use = model.places.iter().any(|place| !place.starts_with("presets."));
    let state = match model.standing {
        Standing::Alive => return None,
        Standing::Dead if is_in_use => Health::Failed,
        Standing::Dead | Standing::Expiring | Standing::Unknown => Health::Warning,
    };
    let message = model.message.as_deref().unwrap_or("nobody can tell");
    let found = format!("{} ({}): {message}", model.id, model.places.join(", "));
    Some(Finding::of(state, found, model.next.clone()))
}
