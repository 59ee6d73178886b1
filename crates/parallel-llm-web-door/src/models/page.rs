//! The page about models, its twin in JSON, and the tables of its figures as CSV.

use askama::Template;
use axum::extract::{Path, Query};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_service::{Figures, ModelLine, Overview};
use parallel_llm_settings::clock;
use serde::{Deserialize, Serialize};

use crate::charts;
use crate::layout::Layout;
use crate::respond;
use crate::text::figures::count;
use crate::visit::Visit;

/// The periods to choose from, in days; the second is the first choice.
const PERIODS: [u32; 4] = [1, 30, 90, 365];
const DAYS: u32 = PERIODS[1];
/// The longest period that may be asked for, in days: a century.
const DAYS_MAX: u32 = 36_500;
const DAY_MS: i64 = 86_400_000;

/// What the page shows.
#[derive(Deserialize)]
pub(crate) struct ModelsQuery {
    /// The period of the figures, in days.
    days: Option<u32>,
    /// Words in the names of the models on offer.
    #[serde(default, rename = "q")]
    search: String,
}

#[derive(Template)]
#[template(path = "models/page.html")]
struct ModelsPage {
    layout: Layout,
    periods: Vec<Period>,
    days: u32,
    search: String,
    catalogue: Catalogue,
    coverage: String,
    figures: Vec<String>,
    index: Vec<(&'static str, &'static str)>,
}

/// A period to choose.
struct Period {
    days: u32,
    name: String,
    is_chosen: bool,
}

/// The models on offer.
struct Catalogue {
    sentence: String,
    models: Vec<OfferedModel>,
}

/// A model and its prices.
struct OfferedModel {
    id: String,
    name: String,
    context: String,
    input: String,
    output: String,
}

/// The twin of the page.
#[derive(Serialize)]
struct Twin<'a> {
    schema: u32,
    catalogue: &'a Overview,
    figures: &'a Figures,
}

/// Shows the page.
pub(crate) async fn show(visit: Visit, Query(choice): Query<ModelsQuery>) -> Response {
    let page = async {
        let overview = visit.services.models.overview(&choice.search).await?;
        let figures = figures(&visit, &choice).await?;
        let days = choice.days();
        let charts = charts::all(&figures);
        Ok(respond::page(&ModelsPage {
            layout: visit.layout(),
            periods: periods(days),
            days,
            catalogue: Catalogue::of(&overview, &choice.search),
            search: choice.search,
            coverage: coverage(&figures),
            index: charts.iter().map(|figure| (figure.id, figure.title)).collect(),
            figures: charts.iter().map(|figure| figure.section(days)).collect(),
        }))
    };
    let page = page.await;
    visit.answer(page)
}

/// The twin in JSON.
pub(crate) async fn json(visit: Visit, Query(choice): Query<ModelsQuery>) -> Response {
    let twin = async {
        let catalogue = visit.services.models.overview(&choice.search).await?;
        let figures = figures(&visit, &choice).await?;
        let twin = Twin { schema: 1, catalogue: &catalogue, figures: &figures };
        Ok(respond::json(serde_json::to_string(&twin).unwrap_or_default()))
    };
    let twin = twin.await;
    visit.answer(twin)
}

/// The table of a figure as CSV.
pub(crate) async fn csv(
    visit: Visit,
    Path(file): Path<String>,
    Query(choice): Query<ModelsQuery>,
) -> Response {
    let table = async {
        let charts = charts::all(&figures(&visit, &choice).await?);
        let named = |figure: &&charts::Figure| file.strip_suffix(".csv") == Some(figure.id);
        let Some(figure) = charts.iter().find(named) else {
            let names: Vec<String> = charts.iter().map(|figure| format!("{}.csv", figure.id)).collect();
            let message = format!("there is no such table; there are {}", names.join(", "));
            return Err(Failure::new(Code::Usage, message));
        };
        let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"))];
        Ok((kind, figure.csv()).into_response())
    };
    let table = table.await;
    visit.answer(table)
}

async fn figures(visit: &Visit, choice: &ModelsQuery) -> Result<Figures, Failure> {
    let now_ms = i64::try_from(clock::unix_ms()).unwrap_or(i64::MAX);
    visit.services.statistics.figures(Some(now_ms - i64::from(choice.days()) * DAY_MS)).await
}

impl ModelsQuery {
    fn days(&self) -> u32 {
        self.days.unwrap_or(DAYS).clamp(1, DAYS_MAX)
    }
}

fn periods(chosen: u32) -> Vec<Period> {
    let mut days = PERIODS.to_vec();
    if !days.contains(&chosen) {
        days.push(chosen);
    }
    let name = |days| if days == 1 { "24 hours".to_owned() } else { format!("{days} days") };
    days.into_iter().map(|days| Period { days, name: name(days), is_chosen: days == chosen }).collect()
}

/// How much the figures are made of.
fn coverage(figures: &Figures) -> String {
    format!(
        "Made of {} calls{}. Shares and quantiles are given for {} cases or more.",
        count(figures.calls.count),
        if figures.calls.is_complete { "" } else { ", the newest ones only" },
        figures.cases_min
    )
}

impl Catalogue {
    fn of(overview: &Overview, search: &str) -> Self {
        let sentence = format!(
            "{} {} on offer{}; prices are in USD for a million tokens.",
            count(overview.models.len() as u64),
            if overview.models.len() == 1 { "model is" } else { "models are" },
            if search.is_empty() { "" } else { " with these words" }
        );
        Self { sentence, models: overview.models.iter().map(OfferedModel::of).collect() }
    }
}

impl OfferedModel {
    fn of(line: &ModelLine) -> Self {
        let price = |usd: Option<f64>| usd.map_or_else(|| "–".to_owned(), |usd| format!("{usd}"));
        Self {
            id: line.id.clone(),
            name: line
                .alias_of
                .clone()
                .map_or_else(|| line.name.clone(), |alias| format!("{} → {alias}", line.name)),
            context: line.context_tokens.map_or_else(|| "–".to_owned(), count),
            input: price(line.input_usd_per_million),
            output: price(line.output_usd_per_million),
        }
    }
}
