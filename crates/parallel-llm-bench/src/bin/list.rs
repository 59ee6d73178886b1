//! Measures the page of runs on a generated store: first and deep pages, filters, and searches, beside a bare statement.
//!
//!     bench-list --folder FOLDER [--runs N] [--copies N] [--seed N]
//!
//! The store is made in the folder and stays there; the same call measures it again. `--copies 50` makes fifty runs of each, which takes less time than writing them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_bench::clock::now_ns;
use parallel_llm_bench::failure::{Failure, Outcome};
use parallel_llm_bench::measure::machine;
use parallel_llm_bench::measure::statistics::percentile_of;
use parallel_llm_bench::store::copied_runs;
use parallel_llm_bench::store::generated_runs::{
    COMMON_MODEL, COMMON_WORD, GeneratedRuns, RARE_MODEL, RARE_STRATEGY, RARE_WORD, SECOND_WORD,
};
use parallel_llm_bench::terminal::{self, print};
use parallel_llm_engine::{Code, RunStatus};
use parallel_llm_service::{
    CalibrationFile, Catalogues, Day, FacetFilter, History, Lazy, Parts, RunsPage, RunsQuery, Services,
};
use parallel_llm_settings::settings::{Environment, Folders, Settings};
use parallel_llm_store::{RunScope, Store, StoreConfig};
use rusqlite::{Connection, OpenFlags};

/// Runs by default: enough to see that everything works.
const RUNS: u64 = 2_000;
/// Queries of each kind.
const QUERIES: u64 = 200;
/// Lines on a page.
const LINES: u64 = 50;
/// How long the index may take for the runs that it lacks.
const INDEX_MAX: Duration = Duration::from_mins(30);

fn main() -> ExitCode {
    terminal::end("list", run())
}

/// What to measure.
struct Task {
    folder: PathBuf,
    runs: GeneratedRuns,
    copies: u32,
}

impl Task {
    fn of(mut words: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut folder = None;
        let mut runs = GeneratedRuns { runs: RUNS, seed: 1 };
        let mut copies = 1;
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| Failure::new(format!("`{word}` has no value")))?;
            let wrong = || Failure::new(format!("`{value}` is no number"));
            match word.as_str() {
                "--folder" => folder = Some(PathBuf::from(value)),
                "--runs" => runs.runs = value.parse().map_err(|_| wrong())?,
                "--seed" => runs.seed = value.parse().map_err(|_| wrong())?,
                "--copies" => copies = value.parse().map_err(|_| wrong())?,
                _ => return Err(Failure::new(format!("`{word}` is no flag"))),
            }
        }
        let folder = folder.ok_or_else(|| Failure::new("`--folder` is missing"))?;
        Ok(Self { folder, runs, copies })
    }
}

fn run() -> Outcome<()> {
    let task = Task::of(std::env::args().skip(1))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(&task))
}

async fn measure(task: &Task) -> Outcome<()> {
    let facts = machine::facts();
    let path = task.folder.join("list.db");
    if !path.exists() {
        generate(task, &path).await?;
        copied_runs::copy(&path, task.copies)?;
    }
    let store = Store::open(StoreConfig::new(&path)).await?;
    let written = task.runs.runs * u64::from(task.copies);
    let bytes = std::fs::metadata(&path)?.len();
    print(&format!("{written} runs, {:.1} GB; {facts}\n", bytes as f64 / 1e9))?;
    let history = history(&task.folder, store.clone())?;
    let bench = Bench { history, runs: task.runs, copies: task.copies };
    print(&format!(
        "{:<44} {:>8} {:>8} {:>8}  lines, and how far a search went",
        "ms", "p50", "p99", "most"
    ))?;
    print(&floor(&path)?)?;
    for (name, query) in bench.queries() {
        print(&bench.timed(name, query).await?)?;
    }
    store.close().await;
    Ok(())
}

/// Writes the runs into a new file, and waits until all are counted and indexed.
async fn generate(task: &Task, path: &Path) -> Outcome<()> {
    let store = Store::open(StoreConfig::new(path)).await?;
    task.runs.write(&store).await?;
    let finished = async {
        loop {
            // Each search waits a second for the index; the writer counts meanwhile.
            let found = store.search(RunScope::All, RARE_WORD, 1).await?;
            let page = store.page(RunScope::All, RunsQuery::default()).await?;
            if found.unindexed == 0 && page.facets.statuses.iter().all(|count| !count.is_lower_bound) {
                return Ok::<(), Failure>(());
            }
        }
    };
    tokio::time::timeout(INDEX_MAX, finished)
        .await
        .map_err(|_| Failure::new("the index took too long"))??;
    store.close().await;
    Ok(())
}

/// The history of a store, as the doors have it.
fn history(folder: &Path, store: Store) -> Outcome<History> {
    let environment = Environment::with_folders(Folders::of_home(folder));
    let settings = Settings::load(&environment, folder, &[])?;
    let none = || parallel_llm_engine::Failure::new(Code::Internal, "nothing is asked here");
    let services = Services::new(Parts {
        catalogues: Catalogues::new(&settings, Box::new(move |_, _| Box::pin(async move { Err(none()) }))),
        check_key: Box::new(|_| Box::pin(async { Ok(()) })),
        fetch_credit: Box::new(|_| Box::pin(async { Ok(None) })),
        circuits: Box::new(Vec::new),
        issuer: None,
        fetch_time: Box::new(|_| Box::pin(async { Ok(None) })),
        calibration: Arc::new(CalibrationFile::of(&settings.data_dir)),
        runs: Lazy::new(move || Box::pin(async move { Err(none()) })),
        store: Arc::new(Lazy::new(move || {
            let store = store.clone();
            Box::pin(async move { Ok(store) })
        })),
        telemetry: Arc::default(),
        post_telemetry: None,
        disconnect: Box::new(|| {}),
        settings,
    });
    Ok(services.runs)
}

/// A page of rows with a bare statement: no list can be faster.
fn floor(path: &Path) -> Outcome<String> {
    let sqlite = |cause: rusqlite::Error| Failure::new(cause.to_string());
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(sqlite)?;
    let sql = "SELECT run_id, status, question_excerpt, strategy, seats, answered, cost_pico_usd, created_at_ms \
               FROM runs ORDER BY run_id DESC LIMIT ?";
    let mut times = Vec::new();
    let mut lines = 0;
    for _ in 0..QUERIES {
        let before_ns = now_ns();
        let mut statement = connection.prepare_cached(sql).map_err(sqlite)?;
        let rows = statement
            .query_map([i64::try_from(LINES).unwrap_or(i64::MAX)], |row| row.get::<_, String>(2))
            .map_err(sqlite)?;
        lines = rows.collect::<Result<Vec<_>, _>>().map_err(sqlite)?.len();
        times.push((now_ns() - before_ns) as f64 / 1e6);
    }
    Ok(row("floor: a bare statement", &times, &lines.to_string()))
}

fn row(name: &str, times: &[f64], found: &str) -> String {
    let at = |share| percentile_of(times.iter().copied(), share);
    format!("{name:<44} {:>8.2} {:>8.2} {:>8.2}  {found}", at(50), at(99), at(100))
}

/// The queries on a store.
struct Bench {
    history: History,
    runs: GeneratedRuns,
    copies: u32,
}

/// Makes the query of this number, so that not every one reads the same rows.
type Query = Box<dyn Fn(u64) -> RunsQuery>;

impl Bench {
    fn queries(&self) -> Vec<(&'static str, Query)> {
        let (runs, copies) = (self.runs, self.copies);
        let filtered = |filter: FacetFilter| -> Query {
            Box::new(move |_| RunsQuery { filter: filter.clone(), ..RunsQuery::default() })
        };
        let searched = |words: &'static str, filter: FacetFilter| -> Query {
            Box::new(move |_| {
                let words = Some(words.to_owned());
                RunsQuery { words, filter: filter.clone(), ..RunsQuery::default() }
            })
        };
        let any = FacetFilter::default;
        let (failed, rare_model) = (Some(RunStatus::Failed), Some(RARE_MODEL.to_owned()));
        let (common_model, rare_strategy) = (Some(COMMON_MODEL.to_owned()), Some(RARE_STRATEGY.to_owned()));
        let failed_of_rare = FacetFilter {
            status: failed,
            model: rare_model.clone(),
            strategy: rare_strategy.clone(),
            day: None,
        };
        // Days all over the two years.
        let day = move |number: u64| Day::of_ms(runs.id(number * runs.runs / QUERIES).unix_ms());
        vec![
            ("first page", filtered(any())),
            (
                "page 1,000",
                Box::new(move |number| {
                    let deep = runs.runs.saturating_sub(LINES * (1_000 + number) / u64::from(copies));
                    RunsQuery { before: Some(runs.id(deep)), ..RunsQuery::default() }
                }),
            ),
            ("status", filtered(FacetFilter { status: failed, ..any() })),
            ("model, frequent", filtered(FacetFilter { model: common_model.clone(), ..any() })),
            ("model, rare", filtered(FacetFilter { model: rare_model.clone(), ..any() })),
            ("strategy, rare", filtered(FacetFilter { strategy: rare_strategy.clone(), ..any() })),
            (
                "day",
                Box::new(move |number| {
                    let filter = FacetFilter { day: day(number), ..FacetFilter::default() };
                    RunsQuery { filter, ..RunsQuery::default() }
                }),
            ),
            (
                "status and model",
                filtered(FacetFilter { status: failed, model: common_model.clone(), ..any() }),
            ),
            ("status, model and strategy, all rare", filtered(failed_of_rare)),
            ("search: a rare word", searched(RARE_WORD, any())),
            ("search: the most frequent word", searched(COMMON_WORD, any())),
            ("search: two frequent words", searched("bah ceh", any())),
            ("search: a frequent beginning of words", searched("ba", any())),
            (
                "search: a frequent word, failed runs",
                searched(SECOND_WORD, FacetFilter { status: failed, ..any() }),
            ),
        ]
    }

    /// Times a kind of query, after one that fills the caches.
    async fn timed(&self, name: &str, query: Query) -> Outcome<String> {
        let mut times = Vec::new();
        let mut page = self.history.page(query(0)).await?;
        for number in 0..QUERIES {
            let query = query(number);
            let before_ns = now_ns();
            page = self.history.page(query).await?;
            times.push((now_ns() - before_ns) as f64 / 1e6);
        }
        Ok(row(name, &times, &found(&page)))
    }
}

fn found(page: &RunsPage) -> String {
    let lines = page.runs.len();
    match page.search {
        Some(reach) if reach.is_cut => {
            let words = if reach.whole_words_only { ", for whole words only" } else { "" };
            format!("{lines}; the newest {} texts were searched{words}", reach.examined)
        }
        Some(reach) => format!("{lines}; all {} texts were searched", reach.examined),
        None => lines.to_string(),
    }
}
