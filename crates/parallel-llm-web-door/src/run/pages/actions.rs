//! What a visitor does to a run: stop it, hurry it, skip a seat, continue it, delete it. Each is a form.

use std::ops::ControlFlow;
use std::time::Duration;

use askama::Template;
use axum::Form;
use axum::extract::Path;
use axum::response::Response;
use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_engine::value::next::{Advice, Operation};
use parallel_llm_engine::{Code, Failure, RunRequest, SeatNumber};
use parallel_llm_service::{Begun, Consent, Continuation, KnownRun, Order, PurgeSelection, RunHandle};
use serde::Deserialize;
use tokio::time::timeout;

use crate::layout::Layout;
use crate::respond;
use crate::visit::Visit;

/// The longest question on the page that asks for confirmation, in characters.
const QUESTION_CHARS: usize = 400;

/// The longest wait for the end of late seats: their connections are closed at once.
const END_MAX: Duration = Duration::from_secs(5);

/// The fields of all forms on a run's page.
#[derive(Deserialize)]
pub(crate) struct ActionFields {
    #[serde(default)]
    form_token: String,
    seat: Option<u8>,
    resend: Option<String>,
    #[serde(default)]
    synthesizer: String,
    #[serde(default)]
    strategy: String,
    #[serde(default)]
    model: String,
}

#[derive(Template)]
#[template(path = "run/delete.html")]
struct DeletePage {
    layout: Layout,
    id: String,
    question: String,
    form_token: String,
}

/// Does what a form asks for, and returns to the page.
pub(crate) async fn act(
    visit: Visit,
    Path((run, action)): Path<(String, String)>,
    Form(fields): Form<ActionFields>,
) -> Response {
    let done = async {
        visit.check_form(&fields.form_token)?;
        match action.as_str() {
            "stop" => {
                steer(&visit, &run, |handle| {
                    handle.cancel();
                    true
                })
                .await
            }
            "end" => {
                let is_ended = end_late_seats(&visit, &run).await?;
                let busy = || Failure::new(Code::Busy, "the run has no late seats that can be ended here");
                is_ended.then(|| respond::see(&format!("/runs/{run}"))).ok_or_else(busy)
            }
            "hurry" => steer(&visit, &run, RunHandle::hurry).await,
            "skip" => {
                let seat = SeatNumber(fields.seat.unwrap_or_default());
                steer(&visit, &run, |handle| handle.skip(seat)).await
            }
            "resume" => {
                let resend = fields.resend.is_some();
                continued(&visit, run, Continuation::Resume { resend, budget: None }).await
            }
            "rewrite" => continued(&visit, run, Continuation::Rewrite(fields.request())).await,
            "add" => continued(&visit, run, Continuation::Add(fields.request())).await,
            "delete" => delete(&visit, run).await,
            _ => {
                let action = excerpt(&action, 40);
                Err(Failure::new(Code::Usage, format!("a run has no action `{action}`"))
                    .with_next(Operation::ShowRun))
            }
        }
    };
    let done = done.await;
    visit.answer(done)
}

impl ActionFields {
    fn request(self) -> RunRequest {
        let named = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        RunRequest {
            models: named(self.model).map(|model| vec![model]),
            synthesizer: named(self.synthesizer),
            strategy: named(self.strategy),
            ..RunRequest::default()
        }
    }
}

/// Steers a run that is under way here.
async fn steer(
    visit: &Visit,
    run: &str,
    steer: impl FnOnce(&RunHandle) -> bool,
) -> Result<Response, Failure> {
    let KnownRun::Live(handle) = visit.services.runs.find(run).await? else {
        let message = "the run is not under way in this server";
        return Err(Failure::new(Code::Usage, message).with_next(Operation::ShowRun));
    };
    if !handle.is_here() || !steer(&handle) {
        let message = "another caller waits for this run too, or you may only read it";
        return Err(Failure::new(Code::Busy, message).with_next(Advice::WaitForItsEnd));
    }
    Ok(respond::see(&format!("/runs/{}", handle.id())))
}

async fn continued(visit: &Visit, run: String, continuation: Continuation) -> Result<Response, Failure> {
    let order = Order::on(run, continuation);
    match Box::pin(visit.services.ask.begin_with_consent(order, Consent::CannotBeAsked)).await? {
        Begun::Run(handle) => Ok(respond::see(&format!("/runs/{}", handle.id()))),
        Begun::Unapproved(unapproved) => Err(unapproved.refused),
    }
}

/// Ends the wait for the late seats of a run that has its answer, and returns whether the run is closed.
async fn end_late_seats(visit: &Visit, run: &str) -> Result<bool, Failure> {
    let KnownRun::Live(handle) = visit.services.runs.find(run).await? else { return Ok(false) };
    if !handle.is_here() || !handle.with_run(parallel_llm_engine::Run::is_decided) {
        return Ok(false);
    }
    handle.abort();
    Ok(timeout(END_MAX, handle.closed()).await.is_ok())
}

async fn delete(visit: &Visit, run: String) -> Result<Response, Failure> {
    visit.principal().check_owner()?;
    end_late_seats(visit, &run).await?;
    let selection = PurgeSelection::Named(vec![run]);
    let purged = visit.services.retention.purge(&selection, &mut |_| ControlFlow::Continue(())).await?;
    match (purged.under_way.first(), purged.failed.first()) {
        (Some(id), _) => {
            let message = format!("the run {id} is under way");
            Err(Failure::new(Code::Busy, message).with_next(Advice::WaitForItsEnd))
        }
        (None, Some(failed)) => Err(Failure::new(Code::OutputUnwritable, failed.message.clone())),
        (None, None) => Ok(respond::see("/runs")),
    }
}

/// Deletes a run after the question. The question has the path to itself, so [`act`] does not get this form.
pub(crate) async fn delete_confirmed(
    visit: Visit,
    Path(run): Path<String>,
    fields: Form<ActionFields>,
) -> Response {
    act(visit, Path((run, "delete".to_owned())), fields).await
}

/// Asks whether a run is to be deleted.
pub(crate) async fn confirm_deletion(visit: Visit, Path(run): Path<String>) -> Response {
    let page = async {
        visit.principal().check_owner()?;
        let handle = visit.services.runs.watch(&run).await?;
        let question = handle.with_run(|run| run.plan.question());
        let id = handle.id().to_string();
        let question = crate::run::sections::seat::seen(&excerpt(&question, QUESTION_CHARS));
        Ok(respond::page(&DeletePage {
            layout: visit.layout(),
            id,
            question,
            form_token: visit.form_token(),
        }))
    };
    let page = page.await;
    visit.answer(page)
}
