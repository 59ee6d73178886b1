//! Whether the seats and synthesizers of a plan can be asked: their keys, and what their providers cannot do.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use parallel_llm_engine::plan::worst_case::WorstCase;
use parallel_llm_engine::request::panel::{ModelRef, Seat};
use parallel_llm_engine::request::wait::Wait;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Failure, ProviderId, Routing, RunPlan, RunRequest};
use parallel_llm_provider::{Dialect, EffortField};

use crate::access::Principal;
use crate::models::providers::Providers;
use parallel_llm_settings::settings::{EffectiveValue, Origin, Settings};

/// The parts of a plan that this call names. They are refused if they cannot be asked; any other part fails its own
/// seat.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Typed {
    panel: bool,
    synthesizer: bool,
}

impl Typed {
    pub(crate) const fn of(request: &RunRequest) -> Self {
        Self { panel: request.models.is_some(), synthesizer: request.synthesizer.is_some() }
    }

    /// The seats and synthesizers that the call names. A named synthesizer is the first of its chain.
    pub(crate) fn seats(self, plan: &RunPlan) -> Vec<&Seat> {
        let seats = if self.panel { plan.seats.as_slice() } else { &[] };
        seats.iter().chain(plan.synthesizers.iter().take(usize::from(self.synthesizer))).collect()
    }
}

/// Fails if any of the named seats lacks a key, or if all of `seats` do, before the run begins.
pub(super) async fn check_keys(
    providers: &Providers,
    typed: &[&Seat],
    seats: &[&Seat],
) -> Result<(), Failure> {
    let all = typed.iter().chain(seats);
    let ids: BTreeSet<&ProviderId> = all.map(|seat| &seat.model.provider).collect();
    let checks = ids.into_iter().map(|id| async move { Some((id, providers.check_key(id).await.err()?)) });
    let keyless: BTreeMap<&ProviderId, Failure> = join_all(checks).await.into_iter().flatten().collect();
    let failure = |seat: &&Seat| keyless.get(&seat.model.provider);
    let all = || seats.iter().all(|seat| failure(seat).is_some());
    let refused = typed.iter().find_map(failure);
    refused.or_else(|| seats.first().and_then(failure).filter(|_| all())).cloned().map_or(Ok(()), Err)
}

/// Fails if a principal other than the owner names a provider that the owner has not set up. A local server that is
/// only presumed may be any program that listens there.
pub(super) fn check_reach(
    providers: &Providers,
    principal: &Principal,
    request: &RunRequest,
) -> Result<(), Failure> {
    if *principal == Principal::Owner {
        return Ok(());
    }
    let is_set_up = |model: &ModelRef| {
        providers.find(&model.provider).is_some_and(|provider| !providers.is_presumed(provider))
    };
    let typed = request.models.iter().flatten().chain(&request.synthesizer);
    match typed.filter_map(|reference| providers.model_of(reference)).find(|model| !is_set_up(model)) {
        None => Ok(()),
        Some(model) => {
            let message = format!("`{}` is no provider that can be asked here", model.provider);
            Err(Failure::new(Code::ModelUnknown, message))
        }
    }
}

/// Fails if the provider of a named seat cannot take a file of the question. A seat from the settings is skipped
/// instead.
pub(super) fn check_inputs(providers: &Providers, plan: &RunPlan, typed: Typed) -> Result<(), Failure> {
    let seats = plan.seats.iter().filter(|_| typed.panel);
    let mut asked = seats.filter_map(|seat| providers.find(&seat.model.provider));
    asked.try_for_each(|provider| provider.dialect.check_inputs(&provider.id, &plan.messages))
}

/// The warning about models without a known price, whose run is asked because its budget is `none`.
pub(super) fn unpriced(worst_case: &WorstCase) -> Option<Warning> {
    let message =
        format!("no price is known for {}, so what the run costs has no bound", worst_case.unpriced_words()?);
    let next = worst_case.unpriced().first().map(|model| Next::GivePrice(model.to_string().into()));
    Some(Warning::new(Code::PriceUnknown, message).with_next(next.into_iter().collect::<Vec<_>>()))
}

/// Fails if this call waits for more answers than the panel has seats. The same value from the settings, which serve
/// other panels too, is a warning: all seats are waited for.
pub(super) fn check_wait(settings: &Settings, plan: &RunPlan) -> Result<Option<Warning>, Failure> {
    let Wait::Seats { count } = plan.wait else { return Ok(None) };
    let seats = plan.seats.len();
    if usize::from(count) <= seats {
        return Ok(None);
    }
    let message = format!("`quorum:{count}` wants more answers than a panel of {seats} can give");
    let is_typed = |shown: &EffectiveValue| shown.name == "wait" && matches!(shown.origin, Origin::Flag(_));
    if settings.shown().iter().any(is_typed) {
        return Err(Failure::new(Code::Usage, message).with_next(Next::WaitForSeats(seats as u64)));
    }
    let next = Advice::WaitForFewer.into();
    Ok(Some(Warning { code: Code::SettingsInvalid, message, next }))
}

/// Warnings for requested features that a provider of these seats lacks; each list has the name of its kind.
pub(super) fn inabilities(
    providers: &Providers,
    routing: &Routing,
    groups: &[(&str, &[Seat])],
) -> Vec<Warning> {
    INABILITIES.iter().filter_map(|inability| inability.warning(routing, groups, providers)).collect()
}

/// A feature that some providers lack.
struct Inability {
    is_met: fn(&Routing, &Seat, &Dialect) -> bool,
    message: &'static str,
    next: &'static [Advice],
}

const INABILITIES: &[Inability] = &[
    Inability {
        is_met: |routing, _, dialect| routing.is_private() && !dialect.routes,
        message: "only a router accepts limits on what is kept of a question; these are asked under their providers' own terms",
        next: &[Advice::AskThroughRouter, Advice::LeaveModelsOut, Advice::ReadProvidersTerms],
    },
    Inability {
        is_met: |_, seat, dialect| seat.effort.is_some() && dialect.effort_field == EffortField::Nowhere,
        message: "the effort of these cannot be set; their models decide",
        next: &[Advice::NameModelsWithoutEffort, Advice::AskThroughRouter],
    },
];

impl Inability {
    fn warning(
        &self,
        routing: &Routing,
        groups: &[(&str, &[Seat])],
        providers: &Providers,
    ) -> Option<Warning> {
        let is_met = |seat: &&Seat| {
            let provider = providers.find(&seat.model.provider);
            provider.is_some_and(|provider| (self.is_met)(routing, seat, &provider.dialect))
        };
        let names = groups.iter().flat_map(|(kind, seats)| {
            seats.iter().filter(is_met).map(move |seat| format!("{kind} {} (`{}`)", seat.number, seat.model))
        });
        let names: Vec<String> = names.collect();
        (!names.is_empty()).then(|| Warning {
            code: Code::SettingsInvalid,
            message: format!("{}: {}", self.message, names.join(", ")),
            next: self.next.iter().copied().map(Next::Do).collect(),
        })
    }
}
