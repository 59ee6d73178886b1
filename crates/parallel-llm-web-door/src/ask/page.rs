//! The page and what its buttons do: show the price, or ask.

use std::time::Duration;

use askama::Template;
use axum::extract::{Multipart, Query};
use axum::http::StatusCode;
use axum::response::Response;
use parallel_llm_engine::plan::flow::Stage;
use parallel_llm_engine::request::catalogue::PriceSource;
use parallel_llm_engine::request::panel::Seat;
use parallel_llm_engine::request::strategy::{AUTO, Strategy, StrategyChoice as ChosenStrategy};
use parallel_llm_engine::run::Run;
use parallel_llm_engine::value::nearest;
use parallel_llm_engine::value::next::{Advice, Argument, Next};
use parallel_llm_engine::{Effort, Failure, RunPlan};
use parallel_llm_http::status;
use parallel_llm_service::report::ErrorReport;
use parallel_llm_service::report::expected_cost::ExpectedCost;
use parallel_llm_service::{Begun, Consent, ModelLine, ModelQuery, Order, Services};
use parallel_llm_settings::settings::Preset;
use serde::Deserialize;

use super::again;
use super::attached::{self, AttachedView};
use super::fields::{Fields, OWN_PANEL, SeatFields};
use super::question::question;
use super::signed_out;
use crate::layout::Layout;
use crate::respond;
use crate::visit::Visit;

/// The longest wait for the list of models; without it their names are typed without help.
const MODELS_MAX: Duration = Duration::from_secs(2);
/// The empty rows for models without the script, which adds more.
const ROWS_MIN: usize = 5;

/// The price of a model that no list has a price for.
const UNKNOWN: &str = "unknown";
/// The most names that are suggested in place of a mistyped one.
const MEANT_MAX: usize = 3;

#[derive(Template)]
#[template(path = "ask/page.html")]
struct AskPage {
    layout: Layout,
    fields: Fields,
    form_token: String,
    error: Option<ErrorReport>,
    attached: AttachedView,
    /// Whether the visitor is asked, or has said, to send files that seem to hold secrets.
    asks_for_secrets: bool,
    /// What the form could not take over from an earlier run.
    notes: Vec<String>,
    quote: Option<QuoteView>,
    panels: Vec<PanelChoice>,
    rows: Vec<SeatFields>,
    personas: Vec<String>,
    strategies: Vec<StrategyChoice>,
    efforts: Vec<&'static str>,
    models: Vec<ModelLine>,
    defaults: Defaults,
}

/// The page for a visitor who may not ask.
#[derive(Template)]
#[template(path = "ask/not_allowed.html")]
struct NotAllowedPage {
    layout: Layout,
}

/// A panel to choose.
struct PanelChoice {
    value: String,
    name: String,
    about: String,
    models: Vec<String>,
    is_chosen: bool,
}

/// A named value to choose.
struct StrategyChoice {
    name: &'static str,
    about: &'static str,
}

/// What holds where a field is empty.
struct Defaults {
    synthesizer: String,
    strategy: String,
    max_tokens: u32,
    budget: String,
    attachment_bytes: u64,
}

/// What a question may cost.
struct QuoteView {
    /// What is attached, counted.
    attached: Option<String>,
    summary: String,
    /// Why asking would be refused.
    refused: Option<ErrorReport>,
    seats: Vec<QuotedSeat>,
    /// What is said of names that no list of models has.
    unlisted: Vec<String>,
}

/// A seat of the quote with its prices.
struct QuotedSeat {
    role: String,
    model: String,
    input: String,
    output: String,
}

/// What the address of the page may bring.
#[derive(Default, Deserialize)]
pub(crate) struct From {
    /// A run whose question is asked again.
    #[serde(default)]
    again: String,
    /// A run whose conversation goes on.
    #[serde(default, rename = "continue")]
    continued: String,
    /// A preset.
    #[serde(default)]
    preset: String,
}

/// Shows the form, or that the visitor may not ask.
pub(crate) async fn show(visit: Visit, Query(from): Query<From>) -> Response {
    let shown = async {
        if visit.wants_json {
            let overview = visit.services.models.overview("").await?;
            return Ok(respond::json(serde_json::json!(overview).to_string()));
        }
        if !visit.may_ask() {
            return Ok(respond::page(&NotAllowedPage { layout: visit.layout() }));
        }
        let (fields, notes) = prefilled(&visit.services, from).await?;
        Ok(respond::page(&AskPage { notes, ..page(&visit, fields, None, None).await }))
    };
    let shown = shown.await;
    visit.answer(shown)
}

/// Shows the form as it was typed before its session had ended.
pub(super) async fn typed_before(visit: &Visit, fields: Fields) -> Response {
    if !visit.may_ask() {
        return respond::page(&NotAllowedPage { layout: visit.layout() });
    }
    let note = "You are signed in. Nothing was asked yet: this is the question as you typed it.".to_owned();
    respond::page(&AskPage { notes: vec![note], ..page(visit, fields, None, None).await })
}

/// Shows what the question would cost, and asks nothing.
pub(crate) async fn quote(visit: Result<Visit, Response>, form: Multipart) -> Response {
    let Ok(visit) = visit else { return signed_out::sign_in_first(form).await };
    let fields = match checked(&visit, form).await {
        Ok(fields) => fields,
        Err(response) => return response,
    };
    match quoted(&visit, fields.clone()).await {
        Ok(quote) => respond::page(&page(&visit, fields, None, Some(quote)).await),
        Err(failure) => refused(&visit, fields, failure).await,
    }
}

/// Asks the question, and leads to the page of its run.
pub(crate) async fn ask(visit: Result<Visit, Response>, form: Multipart) -> Response {
    let Ok(visit) = visit else { return signed_out::sign_in_first(form).await };
    let fields = match checked(&visit, form).await {
        Ok(fields) => fields,
        Err(response) => return response,
    };
    match begin(&visit, fields.clone()).await {
        Ok(run) => respond::see(&format!("/runs/{run}")),
        Err(failure) => refused(&visit, fields, failure).await,
    }
}

/// The fields of a form with all its files; else the page that says what is wrong with it.
async fn checked(visit: &Visit, form: Multipart) -> Result<Fields, Response> {
    let mut fields = match Fields::read(form).await {
        Ok(fields) => fields,
        Err(failure) => return Err(visit.answer(Err(failure))),
    };
    let is_ours = visit.check_form(&fields.form_token).map_err(|failure| Failure {
        message: "this form is from an earlier session, so look at it first".to_owned(),
        next: vec![Next::Do(Advice::AskAgain)],
        ..failure
    });
    // Whatever is wrong, the files are joined: the page shows them.
    let joined = attached::join(visit, &mut fields);
    match is_ours.and(joined) {
        Ok(()) => Ok(fields),
        Err(failure) => Err(refused(visit, fields, failure).await),
    }
}

async fn begin(visit: &Visit, fields: Fields) -> Result<String, Failure> {
    let (question, _) = question(&visit.services, fields)?;
    let order = Order::Ask(question);
    match Box::pin(visit.services.ask.begin_with_consent(order, Consent::CannotBeAsked)).await? {
        Begun::Run(handle) => Ok(handle.id().to_string()),
        Begun::Unapproved(unapproved) => Err(unapproved.refused),
    }
}

async fn quoted(visit: &Visit, fields: Fields) -> Result<QuoteView, Failure> {
    let (question, attached) = question(&visit.services, fields)?;
    let (quote, refused) = visit.services.ask.quote_unasked(question).await?;
    let attached = (!attached.is_empty()).then(|| attached.to_string());
    Ok(match quote.plan() {
        Some(plan) => {
            let refused = refused.map(|failure| visit.principal().redact(failure));
            let refused = refused.map(|failure| ErrorReport::of(&failure).in_vocabulary(visit.vocabulary()));
            QuoteView { refused, ..QuoteView::of(plan, attached) }
        }
        None => QuoteView {
            attached,
            summary:
                "This question is being answered already: asking it leads to that run and costs nothing more."
                    .to_owned(),
            refused: None,
            seats: Vec::new(),
            unlisted: Vec::new(),
        },
    })
}

/// The page again, with what was typed and why it was refused.
async fn refused(visit: &Visit, fields: Fields, failure: Failure) -> Response {
    let failure = visit.principal().redact(failure);
    if visit.wants_json {
        return visit.answer(Err(failure));
    }
    let error = ErrorReport::of(&failure).in_vocabulary(visit.vocabulary());
    let status: StatusCode = status::of(failure.code);
    respond::page_under(status, &page(visit, fields, Some(error), None).await)
}

async fn page(
    visit: &Visit,
    fields: Fields,
    error: Option<ErrorReport>,
    quote: Option<QuoteView>,
) -> AskPage {
    let settings = &visit.services.settings;
    let query = ModelQuery::default();
    let listed = tokio::time::timeout(MODELS_MAX, visit.services.models.find(&query)).await;
    let models = listed.ok().and_then(Result::ok).map(|found| found.models).unwrap_or_default();
    let earlier = earlier(&visit.services, &fields).await;
    let (synthesizer, strategy) = match &earlier {
        Some(run) => {
            (run.chain().first().map(|seat| seat.model.to_string()), run.plan.strategy_choice().to_string())
        }
        None => (settings.synthesizer.first().cloned(), settings.strategy.clone()),
    };
    let synthesizer = synthesizer.unwrap_or_default();
    let mut rows = fields.seats.clone();
    rows.resize_with(rows.len().max(ROWS_MIN), SeatFields::default);
    let auto = StrategyChoice { name: AUTO, about: "Chooses by the question." };
    let strategies = Strategy::ALL.iter().map(|one| StrategyChoice { name: one.name(), about: one.about() });
    AskPage {
        layout: visit.layout(),
        form_token: visit.form_token(),
        asks_for_secrets: fields.with_secrets || error.as_ref().is_some_and(is_about_secrets),
        error,
        attached: AttachedView::of(visit, &fields),
        notes: Vec::new(),
        quote: quote.map(|quote| quote.against(&models)),
        panels: panels(&visit.services, &fields.panel, earlier.as_ref()),
        rows,
        personas: settings.personas.keys().cloned().collect(),
        strategies: [auto].into_iter().chain(strategies).collect(),
        efforts: Effort::ALL.iter().map(|effort| effort.word()).collect(),
        models,
        defaults: Defaults {
            synthesizer,
            strategy,
            max_tokens: settings.max_tokens,
            budget: settings.budget.to_string(),
            attachment_bytes: settings.attachment_bytes_max,
        },
        fields,
    }
}

/// Whether a file was refused that the visitor may insist on.
fn is_about_secrets(error: &ErrorReport) -> bool {
    error.steps.contains(&Next::Give(Argument::AllowSecretFile))
}

/// The run whose conversation goes on, if the visitor may read it.
async fn earlier(services: &Services, fields: &Fields) -> Option<Run> {
    if fields.continued.is_empty() {
        return None;
    }
    services.runs.find(&fields.continued).await.ok().map(|known| known.run())
}

/// The panels to choose from: first that of the earlier run or of the settings, then the presets and the flows.
fn panels(services: &Services, chosen: &str, earlier: Option<&Run>) -> Vec<PanelChoice> {
    let settings = &services.settings;
    let strategy = |strategy: &str| format!("strategy {strategy}");
    let (name, about, models) = match earlier {
        Some(run) => {
            let models = run.plan.seats.iter().map(|seat| seat.entry().to_string());
            match &run.plan.flow {
                Some(flow) => ("The same flow", flow.name.clone(), models.collect()),
                None => {
                    ("The same panel", strategy(&run.plan.strategy_choice().to_string()), models.collect())
                }
            }
        }
        None => ("Usual panel", strategy(&settings.strategy), settings.panel.clone()),
    };
    let first = PanelChoice {
        value: String::new(),
        name: name.to_owned(),
        about,
        models,
        is_chosen: chosen.is_empty(),
    };
    // A preset that equals the usual panel says nothing new.
    let is_usual = |preset: &Preset| {
        let panel = preset.panel.as_ref().unwrap_or(&settings.panel);
        *panel == settings.panel && preset.strategy.as_ref().is_none_or(|own| *own == settings.strategy)
    };
    let is_new = |preset: &Preset| earlier.is_some() || !is_usual(preset);
    let presets = settings.presets.iter().filter(|(name, preset)| *name == chosen || is_new(preset));
    let presets = presets.map(|(name, preset)| PanelChoice {
        value: name.clone(),
        name: name.clone(),
        about: preset.strategy.as_deref().map(strategy).unwrap_or_default(),
        models: preset.panel.clone().unwrap_or_else(|| settings.panel.clone()),
        is_chosen: chosen == name,
    });
    let flows = settings.flows.iter().filter_map(|(name, file)| {
        let flow = &file.flow.as_ref().ok()?.flow;
        let about = flow.about.as_ref().map_or_else(|| "flow".to_owned(), |about| format!("flow: {about}"));
        let models = flow.panels().cloned().collect();
        Some(PanelChoice {
            value: name.clone(),
            name: name.clone(),
            about,
            models,
            is_chosen: chosen == name,
        })
    });
    let is_hidden = |name: &String| settings.flows.get(name).is_some_and(|file| file.flow.is_ok());
    let presets = presets.filter(|preset| !is_hidden(&preset.name));
    let own = PanelChoice {
        value: OWN_PANEL.to_owned(),
        name: "Models of my choice".to_owned(),
        about: String::new(),
        models: Vec::new(),
        is_chosen: chosen == OWN_PANEL,
    };
    [first].into_iter().chain(presets).chain(flows).chain([own]).collect()
}

/// The form as the address fills it: empty, or as an earlier run was asked, with what could not be taken over.
async fn prefilled(services: &Services, from: From) -> Result<(Fields, Vec<String>), Failure> {
    if !from.again.is_empty() {
        let run = services.runs.find(&from.again).await?.run();
        return Ok(again::fields(&run, &services.settings));
    }
    Ok((Fields { continued: from.continued, panel: from.preset, ..Fields::default() }, Vec::new()))
}

impl QuoteView {
    fn of(plan: &RunPlan, attached: Option<String>) -> Self {
        let seats = plan.seats.iter().map(|seat| QuotedSeat::of(seat, format!("seat {}", seat.number)));
        let seats = seats.chain(writers(plan));
        let cost = ExpectedCost::of(plan).explained();
        let summary = format!("The cost is {cost}. The budget is {}.", plan.budget);
        Self { attached, summary, refused: None, seats: seats.collect(), unlisted: Vec::new() }
    }

    /// With a sentence for each name without a price that is in no list: a mistyped name costs nothing, and answers nothing.
    fn against(self, listed: &[ModelLine]) -> Self {
        let is_listed = |name: &str| listed.is_empty() || listed.iter().any(|model| model.id == name);
        let unpriced = self.seats.iter().filter(|seat| seat.input == UNKNOWN);
        let mut names: Vec<&str> = unpriced.map(|seat| seat.model.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let said = |name: &str| {
            let ids = listed.iter().map(|model| (model.id.as_str(), format!("`{}`", model.id)));
            match nearest::nearest_few(name, ids, MEANT_MAX) {
                near if near.is_empty() => format!("No list has a model `{name}`."),
                near => format!("No list has a model `{name}`; did you mean {}?", near.join(" or ")),
            }
        };
        let unlisted = names.into_iter().filter(|name| !is_listed(name)).map(said).collect();
        Self { unlisted, ..self }
    }
}

/// Who is asked first to make one text: of a flow, in each stage.
fn writers(plan: &RunPlan) -> Vec<QuotedSeat> {
    let first = |choice: ChosenStrategy, inputs: usize, chain: &[Seat], role: String| {
        let writer = choice.strategy.fusers(chain).first().filter(|_| inputs > 1)?;
        Some(QuotedSeat::of(writer, role))
    };
    let Some(flow) = &plan.flow else {
        let role = "synthesizer".to_owned();
        return first(plan.strategy_choice(), plan.seats.len(), &plan.synthesizers, role)
            .into_iter()
            .collect();
    };
    let of_stage = |stage: &Stage| {
        let chain = stage.synthesizers.iter().filter_map(|number| plan.synthesizers.get(number.index()));
        let chain: Vec<Seat> = chain.cloned().collect();
        first(stage.strategy_choice(), stage.inputs(), &chain, format!("synthesizer of {}", stage.name))
    };
    flow.stages.iter().filter_map(of_stage).collect()
}

impl QuotedSeat {
    fn of(seat: &Seat, role: String) -> Self {
        let per_million = |price: parallel_llm_engine::PicoUsd| format!("${:.2}", price.as_usd() * 1e6);
        let price = |of: fn(&parallel_llm_engine::Price) -> parallel_llm_engine::PicoUsd| {
            let words = match seat.price_source {
                PriceSource::OwnMachine => "your own machine",
                _ => UNKNOWN,
            };
            seat.price.as_ref().map_or_else(|| words.to_owned(), |price| per_million(of(price)))
        };
        Self {
            role,
            model: seat.model.to_string(),
            input: price(|price| price.input),
            output: price(|price| price.output),
        }
    }
}
