//! The configured models: whether they are offered, price, context, and the age of the lists.

use parallel_llm_engine::plan::worst_case;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, ModelRef, PicoUsd, ProviderId};

use crate::doctor::finding::{Finding, Health, blocks_calls};
use crate::doctor::instruments::Doctor;
use crate::models::check::{CheckedModel, ModelState};
use crate::models::find::ListLine;
use crate::report::age::age;

/// The most models named in a shared finding; `models --check` names all.
const NAMED_MAX: usize = 3;

pub(crate) async fn examine(doctor: &Doctor) -> Vec<Finding> {
    let model_check = doctor.configured.check().await;
    let count = |standing| model_check.models.iter().filter(|model| model.state == standing).count();
    let well = count(ModelState::Alive) + count(ModelState::Expiring);
    let all = model_check.models.len();
    let mut findings = vec![Finding::ok(format!("{well} of {all} configured models are offered"))];
    findings.extend(grouped(&model_check.models));
    findings.extend(model_check.lists.iter().filter_map(list_finding));
    findings.extend(unpriced_finding(doctor, &model_check.models).await);
    findings
}

/// That every usual question is refused, because the budget cannot hold a model that is offered without a price.
async fn unpriced_finding(doctor: &Doctor, models: &[CheckedModel]) -> Option<Finding> {
    let lists = &doctor.configured.lists;
    if lists.providers.settings.budget.is_unlimited() {
        return None;
    }
    let is_well = |name: &str| models.iter().any(|model| model.id == name && model.message.is_none());
    let unpriced = lists.without_price().await.into_iter().filter(|model| is_well(&model.to_string()));
    let unpriced: Vec<ModelRef> = unpriced.collect();
    let first = unpriced.first()?;
    let found = format!("no price is known for {}, so a question is refused", worst_case::names(&unpriced));
    let next = [Next::GivePrice(first.to_string().into())];
    Some(Finding::warning(found, next.as_slice()))
}

/// One finding for each model; models with the same problem share one, in the place of the first.
fn grouped(models: &[CheckedModel]) -> Vec<Finding> {
    let mut groups: Vec<Vec<&CheckedModel>> = Vec::new();
    for model in models {
        match groups.iter_mut().find(|group| lack_the_same(group[0], model)) {
            Some(group) => group.push(model),
            None => groups.push(vec![model]),
        }
    }
    groups.into_iter().map(|group| group_finding(&group)).collect()
}

fn lack_the_same(one: &CheckedModel, other: &CheckedModel) -> bool {
    let is_same = (&one.message, &one.next) == (&other.message, &other.next);
    one.message.is_some() && is_same && model_finding(one).state == model_finding(other).state
}

fn group_finding(group: &[&CheckedModel]) -> Finding {
    let alone = model_finding(group[0]);
    let (count, Some(message)) = (group.len(), &group[0].message) else { return alone };
    if count == 1 {
        return alone;
    }
    let named: Vec<&str> = group.iter().take(NAMED_MAX).map(|model| model.id.as_str()).collect();
    let more = if count > NAMED_MAX { format!(" and {} more", count - NAMED_MAX) } else { String::new() };
    Finding { found: format!("{count} models ({}{more}): {message}", named.join(", ")), ..alone }
}

fn model_finding(model: &CheckedModel) -> Finding {
    // A preset is used only by name; the panel and the synthesizers are used by every question.
    let is_in_use =
        model.places.iter().any(|place| !place.starts_with("presets.") && !place.starts_with("flows."));
    let state = match model.state {
        ModelState::Alive => Health::Ok,
        ModelState::Dead if is_in_use => Health::Failed,
        ModelState::Dead | ModelState::Expiring | ModelState::Unknown => Health::Warning,
    };
    let what = match (&model.message, model.state) {
        (Some(message), _) => message.clone(),
        (None, ModelState::Unknown) => "it is not known whether it is offered".to_owned(),
        (None, _) => terms(model),
    };
    let alias = model.alias_of.as_ref().map(|target| format!(", now {target}")).unwrap_or_default();
    Finding::of(
        state,
        format!("{}{alias} ({}): {what}", model.id, model.places.join(", ")),
        model.next.as_deref().map(Into::into),
    )
}

/// The price and context window of a model, as its list gives them.
fn terms(model: &CheckedModel) -> String {
    let usd = |price: Option<f64>| PicoUsd::from_f64(price?);
    let price = match (usd(model.input_usd_per_million), usd(model.output_usd_per_million)) {
        (Some(input), Some(output)) => format!("{input} in and {output} out for a million tokens"),
        _ => "its price is not listed".to_owned(),
    };
    let context = model.context_tokens.map(|tokens| format!(", {tokens} tokens of context"));
    price + &context.unwrap_or_default()
}

/// The age of a list. If the list needs a missing key, the check of keys reports that.
fn list_finding(list: &ListLine) -> Option<Finding> {
    let ListLine { provider, name, models, age_ms, embedded_on, error, .. } = list;
    let age = age_ms.map(age);
    let old = match (&age, embedded_on) {
        (Some(age), _) => format!("its last list was fetched {age} ago"),
        (None, Some(day)) => format!("the list carried along is of {day}"),
        (None, None) => "there is none of it".to_owned(),
    };
    match error {
        Some(error) if error.code == Code::KeyMissing.as_str() => None,
        Some(error) => {
            let found = format!("the list of {name} cannot be fetched, {old}: {}", error.message);
            let mutes = blocks_calls(&error.code).then(|| ProviderId(provider.clone()));
            Some(Finding { mutes, ..Finding::warning(found, error.steps.as_slice()) })
        }
        None if list.source == "none" => None,
        None => Some(Finding::ok(match age {
            Some(age) => format!("the list of {name} was fetched {age} ago: {models} models"),
            None => format!("{old} ({name}): {models} models"),
        })),
    }
}
