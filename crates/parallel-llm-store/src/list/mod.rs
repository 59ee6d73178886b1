//! The page of runs: a filtered page of the list, the runs in progress, and facets.
//!
//! Every filter reads a stretch of an index. The writer counts a run a moment after it is closed; runs that are not counted
//! yet are read one by one, so that each number is right at once. If too many wait to be counted, a page ends early and
//! counts say that they are lower bounds.

mod facets;
pub(crate) mod results;

use std::collections::BTreeMap;
use std::time::Duration;

use parallel_llm_engine::{Failure, RunId, RunPlan, RunStatus};

use crate::database::Reader;
use crate::history::day::Day;
use crate::history::runs::{LIST_MAX, PRESET_MARK, RunSummary};
use crate::row::count;
use crate::row::counted_run::ALL;
use crate::row::filter::{CountFilter, PostingRange, RunPage};
use crate::row::ownership::Owners;
use crate::row::run_row::{ListedRun, model_names};
use crate::row::seat_fact::TimedFact;
use crate::row::text_row::WordMatching;
use crate::search::query::SearchQuery;
use crate::search::{SearchBounds, best, matching};

use facets::day_of;
use results::{FacetCount, Facets, RunLine, RunsPage, RunsQuery, SearchReach, SeatBar};

/// Most uncounted runs that a page examines: some milliseconds.
const UNCOUNTED_MAX: usize = 1_000;
/// Most batches of rows read for a page without filters, all but the last full of runs in progress.
const BATCHES_MAX: usize = 8;
/// How far a search for a page goes, for whole words and again for beginnings. Each text takes some microseconds; only
/// adjacent words that rarely occur together take as long as the time.
const SEARCH: SearchBounds = SearchBounds { runs: usize::MAX, texts: 2_000, time: Duration::from_secs(1) };

/// The last day that there is.
const LAST_DAY: &str = "9999-12-31";

/// The runs that a page shows, before their seats are read.
#[derive(Default)]
struct Found {
    live: Vec<RunSummary>,
    runs: Vec<RunSummary>,
    next: Option<RunId>,
}

/// What a page is made from.
struct Page<'a> {
    reader: &'a Reader<'a>,
    asked_by: Option<&'a str>,
    query: &'a RunsQuery,
    limit: usize,
    owners: Owners,
    now_ms: i64,
}

/// A page of runs, of all principals or one. `words` are those of the query.
pub(crate) fn page(
    reader: &Reader<'_>,
    asked_by: Option<&str>,
    query: &RunsQuery,
    words: Option<&SearchQuery>,
) -> Result<RunsPage, Failure> {
    let now_ms = reader.now_ms;
    let limit = query.limit.clamp(1, LIST_MAX);
    let mut page = Page { reader, asked_by, query, limit, owners: Owners::at(now_ms), now_ms };
    match words {
        Some(words) => page.searched(words),
        None => page.listed(),
    }
}

impl Page<'_> {
    /// A page without words.
    fn listed(&mut self) -> Result<RunsPage, Failure> {
        let newest = self.uncounted(None)?;
        let mut found = if self.query.filter.is_empty() { self.unfiltered()? } else { self.filtered()? };
        if self.query.before.is_none() {
            found.live = self.selected(&newest.runs).filter(|run| is_live(run)).cloned().collect();
        }
        let mut facets = self.counted_facets()?;
        for run in &newest.runs {
            facets.add(run, &self.query.filter);
        }
        facets.finish(newest.is_cut);
        self.with_seats(found, facets)
    }

    /// A page of the newest runs with these words.
    fn searched(&mut self, words: &SearchQuery) -> Result<RunsPage, Failure> {
        // For beginnings of words, the index gathers all texts before it returns the newest; for whole words, it returns the
        // newest at once. So frequent words are looked for only as whole words.
        let mut passages = matching(self.reader, self.asked_by, words, WordMatching::Whole, SEARCH)?;
        let whole_words_only = passages.is_cut;
        if !whole_words_only {
            passages = matching(self.reader, self.asked_by, words, WordMatching::Beginnings, SEARCH)?;
        }
        let ids = passages.runs.keys().filter_map(|run_id| run_id.parse().ok()).collect::<Vec<_>>();
        let runs = self.reader.listed_runs(&ids)?;
        let mut runs = self.summaries(runs)?;
        runs.sort_by_key(|run| std::cmp::Reverse(run.run_id));
        let mut facets = Facets::default();
        for run in &runs {
            facets.add(run, &self.query.filter);
        }
        facets.finish(passages.is_cut);
        let mut found = Found::default();
        let (live, others): (Vec<_>, Vec<_>) = self.selected(&runs).cloned().partition(is_live);
        if self.query.before.is_none() {
            found.live = live;
        }
        let before = self.query.before;
        found.runs =
            others.into_iter().filter(|run| before.is_none_or(|before| run.run_id < before)).collect();
        self.cut(&mut found);
        let unindexed = self.reader.count_unindexed(self.asked_by)?;
        let reach =
            SearchReach { examined: passages.examined, is_cut: passages.is_cut, whole_words_only, unindexed };
        let mut page = self.with_seats(found, facets)?;
        for line in page.live.iter_mut().chain(&mut page.runs) {
            let of_run = passages.runs.remove(&line.run.run_id.to_string()).unwrap_or_default();
            line.hit = best(self.reader, of_run, words)?;
        }
        page.search = Some(reach);
        Ok(page)
    }

    /// A page of all runs but those in progress.
    fn unfiltered(&mut self) -> Result<Found, Failure> {
        let mut found = Found::default();
        let (asked_by, rows) = (self.asked_by, self.limit + 1);
        let mut from = RunPage { before: self.query.before, status: None, asked_by, rows };
        for _ in 0..BATCHES_MAX {
            let rows = self.reader.run_page(&from)?;
            let is_last = rows.len() < from.rows;
            let runs = self.summaries(rows)?;
            found.next = if is_last { None } else { runs.last().map(|run| run.run_id) };
            from.before = found.next;
            found.runs.extend(runs.into_iter().filter(|run| !is_live(run)));
            if is_last || found.runs.len() > self.limit {
                break;
            }
        }
        self.cut(&mut found);
        Ok(found)
    }

    /// A page of the runs that pass the filter: of the counted ones and of the others.
    fn filtered(&mut self) -> Result<Found, Failure> {
        let uncounted = self.uncounted(self.query.before)?;
        let ids = self.counted()?;
        let counted = self.reader.listed_runs(&ids)?;
        let mut runs = self.summaries(counted)?;
        // A row that another program has changed meanwhile may not match any more.
        runs.retain(|run| self.query.filter.matches(run));
        runs.extend(self.selected(&uncounted.runs).filter(|run| !is_live(run)).cloned());
        runs.sort_by_key(|run| std::cmp::Reverse(run.run_id));
        runs.dedup_by_key(|run| run.run_id);
        let mut found = Found { runs, ..Found::default() };
        if let Some(oldest) = uncounted.oldest.filter(|_| uncounted.is_cut) {
            // Older uncounted runs were not examined, so the page ends here.
            found.runs.retain(|run| run.run_id >= oldest);
            found.next = Some(oldest);
        }
        self.cut(&mut found);
        Ok(found)
    }

    /// The newest counted runs that pass the filter: those of the page and one more.
    fn counted(&self) -> Result<Vec<RunId>, Failure> {
        let filter = &self.query.filter;
        let day = filter.day.map(|day| day.to_string()).unwrap_or_default();
        let selection = self.count_filter(&day);
        let before = [self.query.before, filter.day.map(Day::end_id)].into_iter().flatten().min();
        let mut ranges = vec![PostingRange { from: filter.day.map(Day::first_id), before }];
        if filter.day.is_none() && (filter.status.is_some() || filter.strategy.is_some()) {
            // Only days that have such runs are read, since there may be many days without.
            ranges = self.days_with(&selection, before)?;
        }
        let mut ids = Vec::new();
        for range in ranges {
            let missing = self.limit + 1 - ids.len();
            if missing == 0 {
                break;
            }
            ids.extend(self.reader.counted_runs(&selection, range, missing)?);
        }
        Ok(ids)
    }

    /// The newest days with runs of this selection before a run, each as a range; enough of them for a page.
    fn days_with(
        &self,
        selection: &CountFilter<'_>,
        before: Option<RunId>,
    ) -> Result<Vec<PostingRange>, Failure> {
        let until = before.and_then(day_of).map_or_else(|| LAST_DAY.to_owned(), |day| day.to_string());
        // The runs of the first day may all be newer.
        let days = self.reader.day_counts(selection, &until, self.limit + 2)?;
        let days = days.into_iter().filter_map(|(day, _)| day.parse::<Day>().ok());
        Ok(days
            .map(|day| {
                let before = before.map_or(day.end_id(), |before| before.min(day.end_id()));
                PostingRange { from: Some(day.first_id()), before: Some(before) }
            })
            .collect())
    }

    /// The facets of all counted runs.
    fn counted_facets(&self) -> Result<Facets, Failure> {
        let day = self.query.filter.day.map(|day| day.to_string()).unwrap_or_default();
        let all = self.count_filter(&day);
        let reader = self.reader;
        Ok(Facets {
            statuses: facet(reader.status_counts(&CountFilter { status: None, ..all })?),
            models: facet(reader.model_counts(&all)?),
            strategies: facet(reader.strategy_counts(&CountFilter { strategy: None, ..all })?),
            days: facet(reader.day_counts(&all, LAST_DAY, Facets::DAYS_MAX)?),
        })
    }

    /// The filter for the tables of counted runs; `day` is the filter's day, or empty.
    fn count_filter<'b>(&'b self, day: &'b str) -> CountFilter<'b> {
        let filter = &self.query.filter;
        // No run has an empty model, nor a preset without a name, which says so where an empty model means all.
        let model = |model| if model == ALL { PRESET_MARK } else { model };
        CountFilter {
            scope: self.asked_by.unwrap_or(ALL),
            day,
            model: filter.model.as_deref().map_or(ALL, model),
            status: filter.status.map(RunStatus::as_str),
            strategy: filter.strategy.as_deref(),
        }
    }

    /// The newest uncounted runs before this one.
    fn uncounted(&mut self, before: Option<RunId>) -> Result<Uncounted, Failure> {
        let rows = self.reader.uncounted_runs(self.asked_by, before, UNCOUNTED_MAX)?;
        let is_cut = rows.len() == UNCOUNTED_MAX;
        let runs = self.summaries(rows)?;
        Ok(Uncounted { oldest: runs.last().map(|run| run.run_id), runs, is_cut })
    }

    /// The public form of these rows, without those that are too damaged to be read.
    fn summaries(&mut self, rows: Vec<ListedRun>) -> Result<Vec<RunSummary>, Failure> {
        let mut runs = Vec::with_capacity(rows.len());
        for listed in rows {
            let row = &listed.stored.row;
            let models = match row.models {
                Some(_) => None,
                None => Some(self.planned_models(&row.run_id)?),
            };
            let is_interrupted = self.owners.is_interrupted(&listed.ownership);
            let Ok(mut run) = listed.stored.summary(listed.cost_lacks_calls) else { continue };
            if run.status == RunStatus::Running && is_interrupted {
                run.status = RunStatus::Interrupted;
            }
            run.models = models.unwrap_or(run.models);
            runs.push(run);
        }
        Ok(runs)
    }

    /// The models of a run that an older version wrote; empty if its plan cannot be read.
    fn planned_models(&self, run_id: &str) -> Result<Vec<String>, Failure> {
        let plan =
            self.reader.plan_json(run_id)?.and_then(|json| serde_json::from_str::<RunPlan>(&json).ok());
        Ok(plan.map(|plan| model_names(plan.seats.iter().map(|seat| &seat.model))).unwrap_or_default())
    }

    /// The runs that pass the filter.
    fn selected<'b>(&'b self, runs: &'b [RunSummary]) -> impl Iterator<Item = &'b RunSummary> {
        runs.iter().filter(|run| self.query.filter.matches(run))
    }

    /// Cuts the runs to the length of a page.
    fn cut(&self, found: &mut Found) {
        if found.runs.len() > self.limit {
            found.runs.truncate(self.limit);
            found.next = found.runs.last().map(|run| run.run_id);
        }
    }

    /// The page of these runs with their seats.
    fn with_seats(&self, mut found: Found, facets: Facets) -> Result<RunsPage, Failure> {
        let live_left_out = found.live.len().saturating_sub(RunsPage::LIVE_MAX) as u64;
        found.live.truncate(RunsPage::LIVE_MAX);
        let ids: Vec<RunId> = found.live.iter().chain(&found.runs).map(|run| run.run_id).collect();
        let mut seats: BTreeMap<RunId, Vec<SeatBar>> = BTreeMap::new();
        for TimedFact { stored, sent_after_ms } in self.reader.facts_of(&ids)? {
            if stored.is_sound() {
                let fact = stored.fact;
                seats.entry(fact.run_id).or_default().push(SeatBar {
                    seat: fact.seat,
                    model: fact.model.to_string(),
                    status: fact.status,
                    late: fact.late,
                    sent_after_ms: sent_after_ms.map(count),
                    elapsed_ms: fact.elapsed_ms,
                });
            }
        }
        let mut line = |run: RunSummary| RunLine {
            elapsed_ms: elapsed_ms(&run, self.now_ms),
            seats: seats.remove(&run.run_id).unwrap_or_default(),
            run,
            hit: None,
        };
        Ok(RunsPage {
            live: found.live.into_iter().map(&mut line).collect(),
            live_left_out,
            runs: found.runs.into_iter().map(&mut line).collect(),
            next: found.next,
            facets,
            search: None,
        })
    }
}

/// Uncounted runs, newest first.
struct Uncounted {
    runs: Vec<RunSummary>,
    oldest: Option<RunId>,
    /// Whether there may be older ones.
    is_cut: bool,
}

fn is_live(run: &RunSummary) -> bool {
    run.status == RunStatus::Running && run.closed_at_ms.is_none()
}

fn facet(counts: Vec<(String, u64)>) -> Vec<FacetCount> {
    let count = |(value, count)| FacetCount { value, count, is_lower_bound: false };
    counts.into_iter().map(count).collect()
}

/// See [`RunLine::elapsed_ms`].
fn elapsed_ms(run: &RunSummary, now_ms: i64) -> Option<u64> {
    let until_ms = match run.status {
        RunStatus::Running => Some(now_ms),
        RunStatus::Interrupted => None,
        _ => run.decided_at_ms.or(run.closed_at_ms),
    };
    until_ms.map(|until_ms| count(until_ms - run.created_at_ms))
}
