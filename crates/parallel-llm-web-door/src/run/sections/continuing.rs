//! What can be done with a run that has its answer: complete it, make another text, ask one more model, remove it.

use askama::Template;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::request::strategy::Strategy;
use parallel_llm_service::Principal;
use parallel_llm_service::report::Resuming;

use crate::respond::rendered;
use crate::run::view::shown::Shown;

#[derive(Template)]
#[template(path = "run/actions.html")]
struct Actions {
    id: String,
    form_token: String,
    is_over: bool,
    is_late: bool,
    can_resume: bool,
    needs_resend: bool,
    resume_title: &'static str,
    resume_about: &'static str,
    has_texts: bool,
    can_ask: bool,
    can_delete: bool,
    synthesizer: String,
    strategy: String,
    strategies: Vec<&'static str>,
    models: Vec<String>,
}

/// The section.
pub(super) fn section(shown: Shown<'_>) -> String {
    let (run, report) = (shown.run, shown.report);
    let settings = &shown.visit.services.settings;
    let needs_resend = report.resuming == Some(Resuming::Resend);
    let models = settings.panel.iter().chain(&settings.synthesizer).cloned();
    let mut models: Vec<String> = models.collect();
    models.sort();
    models.dedup();
    rendered(&Actions {
        id: shown.id(),
        form_token: shown.visit.form_token(),
        is_over: !shown.is_live(),
        is_late: shown.is_late(),
        can_resume: report.resuming.is_some() && shown.visit.may_ask(),
        needs_resend,
        resume_title: "Ask the missing seats",
        resume_about: if needs_resend {
            "The missing seats were asked, and the end of their calls is not known. Asking again may be paid twice."
        } else {
            "Seats without an answer are asked again, then the text is made. Answers that are here are not paid again."
        },
        has_texts: run.plan.store == StoreMode::Full && run.seats.iter().any(|seat| seat.text().is_some()),
        can_ask: shown.visit.may_ask(),
        // A run of another process cannot be ended here, and so cannot be deleted before its end.
        can_delete: *shown.visit.principal() == Principal::Owner && (!shown.is_live() || shown.can_steer),
        synthesizer: settings.synthesizer.first().cloned().unwrap_or_default(),
        strategy: report.strategy.clone(),
        strategies: Strategy::names().collect(),
        models,
    })
}
