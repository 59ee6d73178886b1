//! The page of runs: filters, facets, runs in progress, and paging, by the store's own door.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::support;
use crate::support::place::only_in_a_file;
use crate::support::{
    Fixture, Query, a_seat, answered, changed, closed, connect, every_kind, plan, recorded, run_id, seat,
    sent, simple, started, value, write,
};
use parallel_llm_engine::port::Journal as _;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{
    Code, Event, Outcome, OutcomeKind, Recorded, RunId, RunPlan, RunStatus, SeatNumber, SeatStatus,
};
use parallel_llm_store::{
    CheckDepth, Day, FacetFilter, Facets, Integrity, RunFilter, RunScope, RunSummary, RunsPage, RunsQuery,
    SearchReach, Store, StoreConfig,
};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
const MODELS: [&str; 3] = ["lab/one", "lab/two", "lab/rare"];
const STRATEGIES: [&str; 3] = ["synthesize", "vote", "race"];

/// The run of this number: seven runs a day, of mixed panels, strategies and principals.
fn mixed(number: u64) -> Arc<RunPlan> {
    changed(plan(number, StoreMode::Full), |plan| {
        plan.run_id = id_of(number);
        plan.seats[1] = a_seat(2, if number.is_multiple_of(11) { MODELS[2] } else { MODELS[1] });
        if number.is_multiple_of(4) {
            plan.seats[0] = a_seat(1, MODELS[1]);
        }
        plan.strategy = serde_json::from_value(STRATEGIES[(number % 5 % 3) as usize].into()).unwrap();
        plan.asked_by = number.is_multiple_of(3).then(|| "mia".to_owned());
    })
}

fn id_of(number: u64) -> RunId {
    RunId::from_parts(1_700_000_000_000 + number / 7 * DAY_MS + number, 7)
}

/// Events that end a run of this number in one way or another, or leave it in progress.
fn ending(number: u64) -> Vec<Recorded> {
    match number % 6 {
        0 => complete(),
        1 => failed(),
        2 => recorded(1, vec![started(), sent(seat(1, 1))]),
        _ => simple("words of a run"),
    }
}

/// A run without an answer.
fn failed() -> Vec<Recorded> {
    let outcome = Outcome::new(OutcomeKind::None, "nobody answered");
    recorded(1, vec![started(), Event::Decided { outcome: Box::new(outcome) }, closed()])
}

/// A run whose seats have both answered.
fn complete() -> Vec<Recorded> {
    let text = support::answer("gold");
    let outcome = Outcome {
        considered: vec![SeatNumber(1), SeatNumber(2)],
        ..Outcome::new(OutcomeKind::Selected, "both agree").with_text(text.text, support::model("lab/one"))
    };
    recorded(
        1,
        vec![
            started(),
            sent(seat(1, 1)),
            sent(seat(2, 1)),
            answered(seat(1, 1), "gold"),
            answered(seat(2, 1), "gold"),
            Event::Decided { outcome: Box::new(outcome) },
            closed(),
        ],
    )
}

/// Waits until every closed run is counted.
async fn wait_counted(connection: &impl Query) {
    let counted = async {
        let sql = "SELECT COUNT(*) = 0 FROM runs WHERE closed_at_ms IS NOT NULL AND NOT is_counted";
        while !value::<bool>(connection, sql) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), counted).await.unwrap();
}

async fn page(store: &Store, query: RunsQuery) -> RunsPage {
    store.page(RunScope::All, query).await.unwrap()
}

fn ids(page: &RunsPage) -> Vec<RunId> {
    page.runs.iter().map(|line| line.run.run_id).collect()
}

/// Every run that passes a filter, page by page: those in progress, and the others.
async fn all_pages(store: &Store, whose: RunScope<'_>, filter: &FacetFilter) -> (Vec<RunId>, Vec<RunId>) {
    let mut query = RunsQuery { filter: filter.clone(), limit: 3, ..RunsQuery::default() };
    let (mut live, mut others) = (Vec::new(), Vec::new());
    for _ in 0..1_000 {
        let page = store.page(whose, query.clone()).await.unwrap();
        live.extend(page.live.iter().map(|line| line.run.run_id));
        others.extend(ids(&page));
        query.before = page.next;
        if page.next.is_none() {
            return (live, others);
        }
    }
    panic!("the pages do not end");
}

fn day_of(run: &RunSummary) -> Day {
    Day::of_ms(run.run_id.unix_ms()).unwrap()
}

/// All combinations of some values of each property, and of none.
fn filters() -> Vec<FacetFilter> {
    let statuses = [None, Some(RunStatus::Partial), Some(RunStatus::Running), Some(RunStatus::Failed)];
    let models = [None, Some(MODELS[0].to_owned()), Some(MODELS[2].to_owned())];
    let strategies = [None, Some("vote".to_owned())];
    let days = [None, Day::of_ms(id_of(15).unix_ms()), Day::of_ms(0)];
    let mut filters = Vec::new();
    for status in statuses {
        for model in &models {
            for strategy in &strategies {
                for day in days {
                    let (model, strategy) = (model.clone(), strategy.clone());
                    filters.push(FacetFilter { status, model, strategy, day });
                }
            }
        }
    }
    filters
}

/// The counts of some values, sorted.
fn tally(values: impl Iterator<Item = String>) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts.into_iter().collect()
}

/// The facets of all runs, found by looking at each.
fn counted_by_hand(runs: &[RunSummary], filter: &FacetFilter) -> [Vec<(String, u64)>; 4] {
    let within = |filter: FacetFilter| runs.iter().filter(move |run| filter.matches(run));
    let whole = || filter.clone();
    [
        tally(within(FacetFilter { status: None, ..whole() }).map(|run| run.status.as_str().to_owned())),
        tally(within(FacetFilter { model: None, ..whole() }).flat_map(|run| run.models.clone())),
        tally(within(FacetFilter { strategy: None, ..whole() }).map(|run| run.strategy.clone())),
        tally(within(FacetFilter { day: None, ..whole() }).map(|run| day_of(run).to_string())),
    ]
}

fn sorted(facets: &Facets) -> [Vec<(String, u64)>; 4] {
    [&facets.statuses, &facets.models, &facets.strategies, &facets.days].map(|counts| {
        assert!(counts.iter().all(|count| !count.is_lower_bound));
        let mut counts: Vec<_> = counts.iter().map(|count| (count.value.clone(), count.count)).collect();
        counts.sort();
        counts
    })
}

/// Compares all pages and facets of all filters with the whole list.
async fn check_all(store: &Store) {
    for whose in [RunScope::All, RunScope::Principal("mia"), RunScope::Principal("nobody")] {
        let all = store.list(whose, RunFilter { limit: 500, ..RunFilter::default() }).await.unwrap();
        for filter in filters() {
            let matching = all.iter().filter(|run| filter.matches(run));
            let (live, others): (Vec<_>, Vec<_>) = matching.partition(|run| run.status == RunStatus::Running);
            let expected = [live, others].map(|runs| runs.iter().map(|run| run.run_id).collect::<Vec<_>>());
            let found = all_pages(store, whose, &filter).await;
            assert_eq!([found.0, found.1], expected, "{whose:?} {filter:?}");
            let query = RunsQuery { filter: filter.clone(), ..RunsQuery::default() };
            let facets = store.page(whose, query).await.unwrap().facets;
            assert_eq!(sorted(&facets), counted_by_hand(&all, &filter), "{whose:?} {filter:?}");
        }
    }
}

#[tokio::test]
async fn pages_and_facets_are_those_of_the_whole_list() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    for number in 1..=60 {
        write(store, mixed(number), ending(number)).await;
    }
    check_all(store).await;
    let connection = fixture.other_connection();
    wait_counted(&connection).await;
    let counted: i64 = value(&connection, "SELECT COUNT(*) FROM runs WHERE is_counted");
    assert_eq!(counted, 50, "all but those in progress");
    check_all(store).await;
    assert_eq!(page(store, RunsQuery::default()).await.runs[0].run.status, RunStatus::Complete);
    // Some are purged, one is continued, and some of those in progress lose their process.
    let purged: Vec<_> = [9, 10, 11, 33, 45].map(id_of).into();
    assert_eq!(store.purge(&purged).await.unwrap().runs, purged);
    store.take_over(id_of(15)).await.unwrap();
    let lost = "UPDATE runs SET owner = 'elsewhere/1/1', lease_until_ms = 1 WHERE run_id IN (?, ?)";
    connection.execute(lost, &[&id_of(20), &id_of(26)]).unwrap();
    check_all(store).await;
    let all: Vec<_> = (1..=60).map(id_of).collect();
    assert_eq!(store.purge(&all).await.unwrap().under_way.len(), 9);
    check_all(store).await;
    for table in ["counted_runs", "run_counts"] {
        let rows: i64 = value(&connection, &format!("SELECT COUNT(*) FROM {table}"));
        assert_eq!(rows, 0, "a purge leaves nothing in {table}");
    }
}

#[tokio::test]
async fn a_continued_run_is_in_progress_and_then_counted_again() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    write(store, mixed(3), ending(3)).await;
    let connection = fixture.other_connection();
    wait_counted(&connection).await;
    let lease = store.take_over(id_of(3)).await.unwrap();
    store.append(lease, recorded(lease.next_seq, vec![closed()])).await.unwrap();
    wait_counted(&connection).await;
    check_all(store).await;
    let runs: i64 = value(&connection, "SELECT SUM(runs) FROM run_counts WHERE scope = '' AND day = ''");
    assert_eq!(runs, 3, "once for its two models and once for any");
}

#[tokio::test]
async fn no_run_is_skipped_or_shown_twice_while_others_begin() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let filter = FacetFilter { model: Some(MODELS[1].into()), ..FacetFilter::default() };
    for filter in [FacetFilter::default(), filter] {
        let first = if filter.is_empty() { 1 } else { 101 };
        for number in first..first + 20 {
            write(store, mixed(number), simple("words")).await;
        }
        let before = all_pages(store, RunScope::All, &filter).await.1;
        let mut query = RunsQuery { filter, limit: 4, ..RunsQuery::default() };
        let mut shown = Vec::new();
        for number in first + 20.. {
            // Between two pages a run begins and ends, and the writer counts whatever it comes to.
            let page = page(store, query.clone()).await;
            write(store, mixed(number), simple("words")).await;
            shown.extend(ids(&page));
            query.before = page.next;
            if page.next.is_none() {
                break;
            }
        }
        assert_eq!(shown, before);
    }
}

#[tokio::test]
async fn a_line_shows_its_seats_and_its_times() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    write(store, mixed(10), complete()).await;
    write(store, plan(2, StoreMode::Metadata), every_kind()).await;
    write(store, mixed(15), recorded(1, vec![started(), sent(seat(1, 1))])).await;
    let page = page(store, RunsQuery::default()).await;
    let [kept, metadata] = &page.runs[..] else { panic!("{:?}", page.runs) };
    assert_eq!((kept.run.run_id, metadata.run.run_id), (id_of(10), run_id(2)));
    let bars: Vec<_> = kept.seats.iter().map(|bar| (bar.seat.0, &*bar.model, bar.status, bar.late)).collect();
    assert_eq!(
        bars,
        [(1, "lab/one", SeatStatus::Answered, false), (2, "lab/two", SeatStatus::Answered, false)]
    );
    assert_eq!(kept.seats[0].elapsed_ms, Some(20), "from its request to its answer");
    assert!(kept.seats[0].sent_after_ms.is_some() && kept.elapsed_ms.is_some());
    assert_eq!((&metadata.run.question_excerpt, metadata.seats.len()), (&None, 2));
    let [live] = &page.live[..] else { panic!("{:?}", page.live) };
    assert_eq!((live.run.run_id, live.run.models.len()), (id_of(15), 2));
    assert_eq!((live.seats.len(), page.next, page.search), (0, None, None));
}

#[tokio::test]
async fn a_damaged_row_is_marked_and_hides_no_other() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    for number in [3, 4, 5] {
        write(store, mixed(number), ending(number)).await;
    }
    let connection = fixture.other_connection();
    wait_counted(&connection).await;
    connection.execute("UPDATE runs SET models = '[\"lab/four\"]' WHERE run_id = ?", &[&id_of(3)]).unwrap();
    connection.execute("UPDATE runs SET status = 'lost' WHERE run_id = ?", &[&id_of(4)]).unwrap();
    connection.execute("UPDATE seats SET status = 'cut' WHERE run_id = ?", &[&id_of(5)]).unwrap();
    let page = page(store, RunsQuery::default()).await;
    let shown: Vec<_> =
        page.runs.iter().map(|line| (line.run.run_id, line.run.is_damaged, line.seats.len())).collect();
    assert_eq!(shown, [(id_of(5), false, 0), (id_of(3), true, 2)]);
    let Integrity::Damaged(report) = store.check(CheckDepth::Full, Duration::from_secs(60)).await.unwrap()
    else {
        panic!("it is damaged")
    };
    assert_eq!(report.runs, [3, 4, 5].map(id_of));
}

#[tokio::test]
async fn words_are_searched_within_filters() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    for number in 1..=12 {
        let text = if number % 2 == 0 { "Copper, and sil-ver" } else { "nothing" };
        write(store, mixed(number), simple(text)).await;
    }
    let find = async |words: &str, filter: &FacetFilter, whose| {
        let query = RunsQuery {
            words: Some(words.to_owned()),
            filter: filter.clone(),
            limit: 2,
            ..RunsQuery::default()
        };
        store.page(whose, query).await.unwrap()
    };
    let none = FacetFilter::default();
    let first = find("copp sil", &none, RunScope::All).await;
    assert_eq!((ids(&first), first.next), (vec![id_of(12), id_of(10)], Some(id_of(10))));
    let hit = first.runs[0].hit.as_ref().unwrap();
    let marked: Vec<_> = hit.marks.iter().map(|range| &hit.excerpt[range.clone()]).collect();
    assert_eq!(marked, ["Copper", "sil"]);
    assert_eq!(sorted(&first.facets)[0], [("complete".to_owned(), 2), ("partial".to_owned(), 4)]);
    let reach = first.search.unwrap();
    assert_eq!((reach.is_cut, reach.unindexed), (false, 0));
    let query =
        RunsQuery { words: Some("copper".into()), before: first.next, limit: 9, ..RunsQuery::default() };
    assert_eq!(ids(&page(store, query).await), [8, 6, 4, 2].map(id_of));
    let vote = FacetFilter { strategy: Some("vote".into()), ..none.clone() };
    let voted = find("copper", &vote, RunScope::All).await;
    assert_eq!(ids(&voted), [6, 4].map(id_of));
    assert_eq!(sorted(&voted.facets)[2].len(), 3, "the strategies are those of all hits");
    let of_mia = find("copper", &none, RunScope::Principal("mia")).await;
    assert_eq!((ids(&of_mia), of_mia.facets.days[0].count), (vec![id_of(12), id_of(6)], 1));
    let empty = RunsQuery { words: Some(" ! ".into()), ..RunsQuery::default() };
    assert_eq!(store.page(RunScope::All, empty).await.unwrap_err().code, Code::Usage);
}

/// A run whose first seat is asked again and again, and gives this many texts that begin with these words.
fn repeated(words: &str, texts: u32) -> Vec<Recorded> {
    let attempts = (1..=texts).flat_map(|number| {
        [sent(seat(1, number)), answered(seat(1, number), &format!("{words} attempt{number}"))]
    });
    recorded(1, std::iter::once(started()).chain(attempts).chain([closed()]).collect())
}

#[tokio::test]
async fn a_frequent_word_is_searched_as_a_whole_word_and_the_page_says_so() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    write(store, mixed(3), simple("a coppersmith")).await;
    // The newest eight of these fill the 2,000 texts that a page examines; three of the ten are of `mia`.
    for number in 4..=13 {
        write(store, mixed(number), repeated("copper plate", 250)).await;
    }
    write(store, mixed(14), simple("coppery")).await;
    write(store, mixed(15), simple("copper plates")).await;
    write(store, mixed(16), simple("tin")).await;
    write(store, mixed(17), simple("tinsmith")).await;
    // A page waits only a second for the index.
    while store.search(RunScope::All, "copper", 1).await.unwrap().unindexed > 0 {}
    let find = async |words: &str, whose| {
        let query = RunsQuery { words: Some(words.to_owned()), ..RunsQuery::default() };
        let page = store.page(whose, query).await.unwrap();
        (ids(&page), page.search.unwrap())
    };
    let reach =
        |examined, is_cut, whole_words_only| SearchReach { examined, is_cut, whole_words_only, unindexed: 0 };
    let all = RunScope::All;
    let newest = [13, 12, 11, 10, 9, 8, 7, 6].map(id_of);
    let whole = reach(2_000, true, true);
    assert_eq!(find("copper", all).await, ([&[id_of(15)], &newest[..]].concat(), whole));
    for words in ["plate copper", "copper-plate"] {
        assert_eq!(find(words, all).await, (newest.to_vec(), whole), "{words}");
    }
    // Words that no text has whole, and a rare one, may begin longer words.
    let begun = reach(2_000, true, false);
    assert_eq!(find("coppe", all).await, ([&[15, 14].map(id_of), &newest[..]].concat(), begun));
    assert_eq!(find("copper-plat", all).await, ([&[id_of(15)], &newest[..]].concat(), begun));
    assert_eq!(find("tin", all).await, ([17, 16].map(id_of).into(), reach(2, false, false)));
    // A word that is frequent only among the texts of others is not frequent.
    let of_mia = find("copper", RunScope::Principal("mia")).await;
    assert_eq!(of_mia, ([15, 12, 9, 6, 3].map(id_of).into(), reach(752, false, false)));
}

#[tokio::test]
async fn filter_values_are_never_part_of_a_statement() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    write(store, mixed(3), ending(3)).await;
    for is_counted in [false, true] {
        if is_counted {
            wait_counted(&fixture.other_connection()).await;
        }
        for value in ["' OR 1 = 1 --", "\"", "%", "lab/one'; DROP TABLE runs", "\0", ""] {
            let filter = FacetFilter {
                model: Some(value.to_owned()),
                strategy: Some(value.to_owned()),
                ..FacetFilter::default()
            };
            let found = page(store, RunsQuery { filter, ..RunsQuery::default() }).await;
            assert_eq!((found.runs.len(), found.facets), (0, Facets::default()), "{value:?}");
        }
    }
    assert_eq!(page(store, RunsQuery::default()).await.runs.len(), 1);
}

#[tokio::test]
async fn runs_of_version_1_are_filtered_by_model() {
    only_in_a_file!("it is about a migration of the file");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    connect(&path).execute_batch(include_str!("fixtures/version_1.sql")).unwrap();
    let store = Store::open(StoreConfig::new(&path)).await.unwrap();
    let models = page(&store, RunsQuery::default()).await.facets.models;
    let filter = FacetFilter { model: Some(models[0].value.clone()), ..FacetFilter::default() };
    let before = page(&store, RunsQuery { filter: filter.clone(), ..RunsQuery::default() }).await;
    assert_eq!((models[0].count, before.runs.len()), (5, 5));
    let connection = connect(&path);
    wait_counted(&connection).await;
    let counted = page(&store, RunsQuery { filter, ..RunsQuery::default() }).await;
    assert_eq!((ids(&counted), counted.facets), (ids(&before), before.facets));
    assert!(counted.runs.iter().all(|line| !line.run.is_damaged));
    assert_eq!(store.check(CheckDepth::Full, Duration::from_secs(60)).await, Ok(Integrity::Intact));
}
