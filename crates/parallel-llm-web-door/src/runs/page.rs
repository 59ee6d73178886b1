//! The page and its twin in JSON.

use askama::Template;
use axum::extract::Query;
use axum::response::Response;
use parallel_llm_engine::value::invisible;
use parallel_llm_engine::{Code, Failure, SeatStatus};
use parallel_llm_service::report::ErrorReport;
use parallel_llm_service::report::cost::Cost;
use parallel_llm_service::{FacetCount, Facets, RunLine, RunsPage, RunsQuery, SearchHit, SearchReach};

use super::json::RunsReport;
use super::query::Search;
use crate::layout::Layout;
use crate::respond;
use crate::text::figures::{self, Moment};
use crate::text::glyphs;
use crate::visit::Visit;

/// The values of a facet that are shown at once; the rest is behind a fold.
const SHOWN: usize = 6;
/// The size of a small picture, in pixels.
const SPARK: Size = Size { width: 96, height: 28 };
/// The thickest bar of a small picture.
const BAR_MAX: usize = 6;

struct Size {
    width: usize,
    height: usize,
}

#[derive(Template)]
#[template(path = "runs/page.html")]
struct RunsView {
    layout: Layout,
    search: Search,
    is_filtered: bool,
    reset: String,
    facets: Vec<FacetView>,
    live: Vec<RunRow>,
    live_left_out: u64,
    runs: Vec<RunRow>,
    next: Option<String>,
    json: String,
    notes: Vec<String>,
    is_first: bool,
}

/// A facet with its values.
struct FacetView {
    title: &'static str,
    values: Vec<FacetValue>,
    more: Vec<FacetValue>,
}

/// A value of a facet, as a link that sets or removes it.
struct FacetValue {
    label: String,
    count: String,
    address: String,
    is_chosen: bool,
}

/// A run in the list.
struct RunRow {
    id: String,
    question: Option<String>,
    hit: Vec<HitPiece>,
    status: &'static str,
    glyph: &'static str,
    started: Moment,
    facts: Vec<String>,
    models: String,
    bars: Vec<SparkBar>,
    bars_described: String,
}

/// A piece of the text around the words that were searched for.
struct HitPiece {
    text: String,
    is_word: bool,
}

/// A seat in the small picture of a run.
struct SparkBar {
    class: &'static str,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

/// Shows a page of runs.
pub(crate) async fn show(visit: Visit, Query(search): Query<Search>) -> Response {
    let shown = async {
        let found = async { visit.services.runs.page(search.query()?).await }.await;
        let page = match found {
            Ok(page) => page,
            // What cannot be looked for is a sentence above the list, which is shown whole.
            Err(failure) if failure.code == Code::Usage && !visit.wants_json => {
                return Ok(respond::page(&whole(&visit, search, &failure).await?));
            }
            Err(failure) => return Err(failure),
        };
        if visit.wants_json {
            let report =
                serde_json::to_string(&RunsReport::of(page)).expect("a list is plain data with string keys");
            return Ok(respond::json(report));
        }
        Ok(respond::page(&view(&visit, search, page)))
    };
    let shown = shown.await;
    visit.answer(shown)
}

/// The first page of all runs, above which stands why it is not what was looked for.
async fn whole(visit: &Visit, search: Search, failure: &Failure) -> Result<RunsView, Failure> {
    let page = visit.services.runs.page(RunsQuery::default()).await?;
    let error = ErrorReport::of(failure).in_vocabulary(visit.vocabulary());
    let note =
        format!("Nothing was looked for: {}. These are all runs. Next: {}.", error.message, error.next);
    let all = view(visit, Search::default(), page);
    // The words stay in their field, to be corrected.
    Ok(RunsView { notes: vec![note], search: Search { q: search.q, ..Search::default() }, ..all })
}

fn view(visit: &Visit, search: Search, page: RunsPage) -> RunsView {
    let next = page.next.map(|run| search.address(|search| search.before = run.to_string()));
    let json = search.address(|search_next| search_next.before.clone_from(&search.before));
    RunsView {
        layout: visit.layout(),
        is_filtered: !search.is_empty(),
        reset: Search::default().address(|_| ()),
        facets: facets(&search, page.facets),
        live: page.live.into_iter().map(RunRow::of).collect(),
        live_left_out: page.live_left_out,
        runs: page.runs.into_iter().map(RunRow::of).collect(),
        next,
        json: json.replacen("/runs", "/runs.json", 1),
        notes: page.search.map(notes).unwrap_or_default(),
        is_first: search.before.is_empty(),
        search,
    }
}

/// What a search left out.
fn notes(reach: SearchReach) -> Vec<String> {
    let cut = reach.is_cut.then(|| {
        format!(
            "The newest {} texts with these words were searched; older runs may match too.",
            figures::count(reach.examined)
        )
    });
    let whole_words_only = reach.whole_words_only.then(|| {
        "These words are so frequent that longer words that begin with them were not searched for.".to_owned()
    });
    let unindexed = (reach.unindexed > 0).then(|| {
        format!("{} new runs are not indexed yet and were not searched.", figures::count(reach.unindexed))
    });
    [cut, whole_words_only, unindexed].into_iter().flatten().collect()
}

fn facets(search: &Search, mut facets: Facets) -> Vec<FacetView> {
    let view = |title, counts: Vec<FacetCount>, chosen: &str, set: fn(&mut Search, String)| {
        let value = |facet: FacetCount| {
            let is_chosen = facet.value == chosen;
            let wanted = if is_chosen { String::new() } else { facet.value.clone() };
            let at_least = if facet.is_lower_bound { "≥ " } else { "" };
            FacetValue {
                label: invisible::seen(&facet.value).into_owned(),
                count: format!("{at_least}{}", figures::count(facet.count)),
                address: search.address(|search| set(search, wanted)),
                is_chosen,
            }
        };
        let mut values: Vec<FacetValue> = counts.into_iter().map(value).collect();
        // What is chosen is always shown.
        values.sort_by_key(|value| !value.is_chosen);
        let more = values.split_off(values.len().min(SHOWN));
        FacetView { title, values, more }
    };
    let (presets, models) = facets.split_presets();
    let all = [
        view("Status", facets.statuses, &search.status, |search, value| search.status = value),
        view("Model", models, &search.model, |search, value| {
            (search.model, search.preset) = (value, String::new());
        }),
        view("Preset or flow", presets, &search.preset, |search, value| {
            (search.preset, search.model) = (value, String::new());
        }),
        view("Strategy", facets.strategies, &search.strategy, |search, value| search.strategy = value),
        view("Day (UTC)", facets.days, &search.day, |search, value| search.day = value),
    ];
    all.into_iter().filter(|facet| !facet.values.is_empty()).collect()
}

impl RunRow {
    fn of(line: RunLine) -> Self {
        let (bars, bars_described) = (bars(&line), described(&line));
        let RunLine { run, elapsed_ms, hit, .. } = line;
        let facts = [
            Some(format!("{} of {} answered", run.answered, run.seats)),
            elapsed_ms.map(figures::duration),
            Some(Cost::of_sum(run.cost, run.cost_lacks_calls, run.cost_is_estimate).described()),
            run.preset.as_deref().map(|name| invisible::seen(name).into_owned()),
            Some(run.strategy.clone()),
            run.asked_by.as_deref().map(|name| format!("asked by {}", invisible::seen(name))),
            run.is_damaged.then(|| "this line is damaged".to_owned()),
        ];
        Self {
            id: run.run_id.to_string(),
            question: run.question_excerpt.as_deref().map(|text| invisible::seen(text).into_owned()),
            hit: hit.as_ref().map(pieces).unwrap_or_default(),
            status: run.status.as_str(),
            glyph: glyphs::of_run(run.status),
            started: Moment::of(u64::try_from(run.created_at_ms).unwrap_or_default()),
            facts: facts.into_iter().flatten().collect(),
            models: run.models.join(", "),
            bars,
            bars_described,
        }
    }
}

/// The text around the words, cut at the words.
fn pieces(hit: &SearchHit) -> Vec<HitPiece> {
    let mut pieces = Vec::new();
    let mut at = 0;
    let mut push = |range: std::ops::Range<usize>, is_word| {
        let text = hit.excerpt.get(range).unwrap_or_default();
        if !text.is_empty() {
            pieces.push(HitPiece { text: invisible::seen(text).into_owned(), is_word });
        }
    };
    for mark in &hit.marks {
        push(at..mark.start, false);
        push(mark.clone(), true);
        at = mark.end;
    }
    push(at..hit.excerpt.len(), false);
    pieces
}

/// A bar for each seat, from its first request to its end, on the time of the run.
fn bars(line: &RunLine) -> Vec<SparkBar> {
    let ends = line
        .seats
        .iter()
        .map(|seat| seat.sent_after_ms.unwrap_or_default() + seat.elapsed_ms.unwrap_or_default());
    let span_ms = ends.chain(line.elapsed_ms).max().unwrap_or_default().max(1);
    let height = (SPARK.height / line.seats.len().max(1)).clamp(1, BAR_MAX);
    let scaled = |ms: u64| (ms as f64 / span_ms as f64 * SPARK.width as f64).round() as usize;
    let rows = SPARK.height / height;
    let bar = |(seat, row): (&parallel_llm_service::SeatBar, usize)| {
        let from = seat.sent_after_ms.unwrap_or_default();
        let to = seat.elapsed_ms.map_or(span_ms, |elapsed| from + elapsed);
        SparkBar {
            class: class(seat.status, seat.late),
            x: scaled(from).min(SPARK.width - 2),
            y: row * height,
            width: scaled(to.saturating_sub(from)).max(2),
            height: height.max(2) - 1,
        }
    };
    line.seats.iter().zip(0..rows).map(bar).collect()
}

const fn class(status: SeatStatus, late: bool) -> &'static str {
    match status {
        SeatStatus::Answered if late => "s-late",
        SeatStatus::Answered => "s-good",
        SeatStatus::Waiting | SeatStatus::Streaming => "s-open",
        SeatStatus::Cut | SeatStatus::Cancelled | SeatStatus::Skipped | SeatStatus::Unknown => "s-warn",
        SeatStatus::Failed | SeatStatus::Refused => "s-bad",
    }
}

/// The small picture in words.
fn described(line: &RunLine) -> String {
    let seat = |seat: &parallel_llm_service::SeatBar| {
        let took = seat.elapsed_ms.map(|ms| format!(" in {}", figures::duration(ms))).unwrap_or_default();
        format!("seat {} {}{took}", seat.seat, seat.status.as_str())
    };
    line.seats.iter().map(seat).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_says_what_it_left_out() {
        let whole = SearchReach { examined: 400, ..SearchReach::default() };
        assert_eq!(notes(whole), [""; 0]);
        let cut = SearchReach { examined: 2_000, is_cut: true, ..SearchReach::default() };
        let searched = "The newest 2,000 texts with these words were searched; older runs may match too.";
        assert_eq!(notes(cut), [searched]);
        assert_eq!(
            notes(SearchReach { whole_words_only: true, unindexed: 3, ..cut }),
            [
                searched,
                "These words are so frequent that longer words that begin with them were not searched for.",
                "3 new runs are not indexed yet and were not searched.",
            ]
        );
    }
}
