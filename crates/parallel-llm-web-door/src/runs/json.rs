//! The page of runs in JSON.

use parallel_llm_engine::PicoUsd;
use parallel_llm_service::report::cost::Cost;
use parallel_llm_service::{FacetCount, RunLine, RunsPage};
use serde::Serialize;

/// The version of this format.
const SCHEMA: u32 = 1;

/// A page of the list of runs.
#[derive(Serialize)]
pub(super) struct RunsReport {
    schema: u32,
    /// The runs in progress; only on the first page.
    live: Vec<RunEntry>,
    /// The other runs, newest first.
    runs: Vec<RunEntry>,
    /// The `before` of the next page; null on the last.
    next: Option<String>,
    facets: FacetsReport,
    /// Whether older texts were not searched, so that more runs may match.
    search_is_cut: bool,
    /// Whether longer words that begin with these were not searched for, because the words are so frequent.
    search_whole_words_only: bool,
}

/// A run in the list.
#[derive(Serialize)]
struct RunEntry {
    run_id: String,
    status: &'static str,
    /// The beginning of the question; null if it is not kept.
    question: Option<String>,
    created_at_ms: i64,
    /// Milliseconds to its answer, or to now; null if unknown.
    elapsed_ms: Option<u64>,
    strategy: String,
    /// The preset or flow; null without one.
    preset: Option<String>,
    models: Vec<String>,
    seats: u64,
    answered: u64,
    /// The known cost in USD; null if nothing is known.
    cost_usd: Option<f64>,
    cost_lacks_calls: bool,
    cost_is_estimate: bool,
    /// Where the words stand; null without words.
    excerpt: Option<String>,
}

#[derive(Serialize)]
struct FacetsReport {
    statuses: Vec<FacetEntry>,
    models: Vec<FacetEntry>,
    presets: Vec<FacetEntry>,
    strategies: Vec<FacetEntry>,
    days: Vec<FacetEntry>,
}

/// A value and the number of runs that have it.
#[derive(Serialize)]
struct FacetEntry {
    value: String,
    count: u64,
    /// Whether there may be more.
    is_lower_bound: bool,
}

impl RunsReport {
    pub(super) fn of(mut page: RunsPage) -> Self {
        let (presets, models) = page.facets.split_presets();
        let entries = |lines: Vec<RunLine>| lines.into_iter().map(RunEntry::of).collect();
        let counts = |counts: Vec<FacetCount>| counts.into_iter().map(FacetEntry::of).collect();
        Self {
            schema: SCHEMA,
            live: entries(page.live),
            runs: entries(page.runs),
            next: page.next.map(|run| run.to_string()),
            facets: FacetsReport {
                statuses: counts(page.facets.statuses),
                models: counts(models),
                presets: counts(presets),
                strategies: counts(page.facets.strategies),
                days: counts(page.facets.days),
            },
            search_is_cut: page.search.is_some_and(|reach| reach.is_cut),
            search_whole_words_only: page.search.is_some_and(|reach| reach.whole_words_only),
        }
    }
}

impl RunEntry {
    fn of(line: RunLine) -> Self {
        let RunLine { run, elapsed_ms, hit, .. } = line;
        let cost = Cost::of_sum(run.cost, run.cost_lacks_calls, run.cost_is_estimate);
        Self {
            run_id: run.run_id.to_string(),
            status: run.status.as_str(),
            question: run.question_excerpt,
            created_at_ms: run.created_at_ms,
            elapsed_ms,
            strategy: run.strategy,
            preset: run.preset,
            models: run.models,
            seats: run.seats,
            answered: run.answered,
            cost_usd: cost.known.map(PicoUsd::as_usd),
            cost_lacks_calls: run.cost_lacks_calls,
            cost_is_estimate: run.cost_is_estimate,
            excerpt: hit.map(|hit| hit.excerpt),
        }
    }
}

impl FacetEntry {
    fn of(facet: FacetCount) -> Self {
        Self { value: facet.value, count: facet.count, is_lower_bound: facet.is_lower_bound }
    }
}

#[cfg(test)]
mod tests {
    use parallel_llm_service::SearchReach;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_says_how_far_a_search_went() {
        for (is_cut, whole_words_only) in [(false, false), (true, false), (true, true)] {
            let search = Some(SearchReach { is_cut, whole_words_only, ..SearchReach::default() });
            let report = serde_json::to_value(RunsReport::of(RunsPage { search, ..RunsPage::default() }));
            let facets = json!({"statuses": [], "models": [], "presets": [], "strategies": [], "days": []});
            let expected = json!({
                "schema": 1, "live": [], "runs": [], "next": null, "facets": facets,
                "search_is_cut": is_cut, "search_whole_words_only": whole_words_only,
            });
            assert_eq!(report.unwrap(), expected);
        }
    }
}
