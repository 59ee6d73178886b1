//! Searching stored texts: words are found everywhere, and nowhere once their run is purged.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::support;
use crate::support::place::only_in_a_file;
use crate::support::{
    CANARY, Fixture, OpenRun as _, Raw, answered, bytes_of, changed, closed, connect, every_kind, holds,
    plan, recorded, rows, run_id, seat, sent, simple, started, synthesizer, value, values, write,
};
use parallel_llm_engine::port::Journal as _;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::{Code, Event, Message, Outcome, OutcomeKind, Role, RunId, RunPlan, SeatNumber};
use parallel_llm_store::{CostBy, CostQuery, HitSource, Purged, RunFilter, RunScope, SearchResults, Store};

fn asking(number: u64, question: &str) -> Arc<RunPlan> {
    changed(plan(number, StoreMode::Full), |plan| {
        plan.messages = vec![
            Message::text(Role::System, format!("Secretly number {number}.")),
            Message::text(Role::User, question),
        ]
        .into();
    })
}

/// The hits of a search, as `number slot: excerpt`.
async fn find(store: &Store, words: &str) -> Vec<String> {
    let found = store.search(RunScope::All, words, 99).await.unwrap().hits;
    let line = |found: &parallel_llm_store::SearchHit| {
        let number = found.run_id.unix_ms() - run_id(0).unix_ms();
        format!("{number} {:?}: {}", found.source, found.excerpt)
    };
    found.iter().map(line).collect()
}

/// A run with three different texts: of seat 1, of the synthesizer and of the outcome.
fn fused(first: &str, written: &str, outcome: &str) -> Vec<parallel_llm_engine::Recorded> {
    let outcome = Outcome {
        considered: vec![SeatNumber(1)],
        ..Outcome::new(OutcomeKind::Fused, "patched").with_text(outcome.into(), support::model("lab/three"))
    };
    let events = vec![
        started(),
        sent(seat(1, 1)),
        answered(seat(1, 1), first),
        sent(synthesizer(1)),
        answered(synthesizer(1), written),
        Event::Decided { outcome: Box::new(outcome) },
        closed(),
    ];
    recorded(1, events)
}

#[tokio::test]
async fn words_are_found_in_questions_answers_and_seats() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    write(store, asking(1, "Warum singt der Zaunkönig?"), fused("Kupfer", "Silber  und\n\tZink", "Gold"))
        .await;
    write(store, asking(2, "What is copper?"), simple("Kupfer and ZINC, zincs")).await;
    assert_eq!(find(store, "zaunkonig").await, ["1 Question: Warum singt der Zaunkönig?"]);
    assert_eq!(
        find(store, "kupfer").await,
        [
            format!("2 Answer: {CANARY} Kupfer and ZINC, zincs"),
            format!("1 Seat(SeatNumber(1)): {CANARY} Kupfer")
        ]
    );
    assert_eq!(
        find(store, "Silber zink").await,
        [format!("1 Synthesizer(SeatNumber(1)): {CANARY} Silber und Zink")]
    );
    assert_eq!(find(store, "gold").await, ["1 Answer: Gold"]);
    assert_eq!(
        find(store, "cop").await,
        ["2 Question: What is copper?"],
        "the beginning of a word is enough"
    );
    assert_eq!(find(store, "opper").await, [""; 0]);
    assert_eq!(find(store, "copper gold").await, [""; 0], "all words stand in one text");
    assert_eq!(find(store, "secretly").await, [""; 0], "what stands above the question is not the question");
    assert_eq!(store.search(RunScope::All, "kupfer", 1).await.unwrap().hits.len(), 1);
    assert_eq!(store.search(RunScope::All, "kupfer", 0).await, Ok(SearchResults::default()));
    let found = store.search(RunScope::All, "gold", 9).await.unwrap().hits;
    let listed = store.list(RunScope::All, RunFilter::default()).await.unwrap();
    assert_eq!((found[0].run_id, found[0].created_at_ms), (run_id(1), listed[1].created_at_ms));
    assert_eq!(found[0].source, HitSource::Answer);
}

#[tokio::test]
async fn query_syntax_is_searched_as_plain_words() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let odd = r#"He said "NEAR(a b)" OR AND NOT body:x* {c++} it's 100% a-b_c ^caret 潮騒 naïve 🎵 don't"#;
    write(store, asking(1, odd), simple("nothing")).await;
    for words in [
        r#""NEAR(a"#,
        "OR",
        "AND NOT",
        "NOT",
        "body:x*",
        "body : x",
        "{c++}",
        "it's",
        "100%",
        "a-b_c",
        "^caret",
        "潮騒",
        "潮",
        "naive",
        "NAÏVE",
        "don't '",
        "\"",
        "a\"b",
        "he \u{0} said",
        "- he",
        "he ???",
        "🎵 he",
        "x*",
        "said\n\thim",
        "(he)",
        "he)",
        "*he",
        "--he",
        "he; DROP TABLE runs",
        "\u{301}he",
        "+he",
        "near",
    ] {
        let found = store.search(RunScope::All, words, 9).await.map(|matches| matches.hits);
        match words {
            "\"" => assert_eq!(found.unwrap_err().code, Code::Usage),
            "said\n\thim" | "he; DROP TABLE runs" => assert_eq!(found, Ok(Vec::new()), "{words}"),
            _ => assert_eq!(found.map(|found| found.len()), Ok(1), "{words}"),
        }
    }
    for empty in ["", " \n", "???", "🎵", "\u{0}"] {
        assert_eq!(store.search(RunScope::All, empty, 9).await.unwrap_err().code, Code::Usage, "{empty}");
    }
    assert_eq!(store.search(RunScope::All, &"he ".repeat(64), 9).await.unwrap_err().code, Code::Usage);
    assert_eq!(store.search(RunScope::All, &"he ".repeat(63), 9).await.unwrap().hits.len(), 1);
}

#[tokio::test]
async fn joined_words_match_only_in_sequence() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    write(store, asking(1, "Is version 1.24.3 the newest?"), simple("It is 3 years old; 24 came in 1."))
        .await;
    write(store, asking(2, "Of 24 there is no 1.3"), simple("none")).await;
    for (words, runs) in [
        ("1.24.3", 1),
        ("1.24.", 1),
        ("24 3 1", 2),
        ("3.24", 0),
        ("v1.24.3", 0),
        ("1.3", 1),
        ("version-1", 1),
    ] {
        assert_eq!(find(store, words).await.len(), runs, "{words}");
    }
}

#[tokio::test]
async fn running_runs_and_their_later_texts_are_found() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let first =
        recorded(1, vec![started(), sent(seat(1, 1)), sent(seat(2, 1)), answered(seat(1, 1), "copper")]);
    let lease = write(store, asking(1, "Which metal?"), first).await;
    assert_eq!(find(store, "copper").await.len(), 1);
    store.append(lease, recorded(5, vec![answered(seat(2, 1), "silver")])).await.unwrap();
    assert_eq!(find(store, "silver").await.len(), 1);
    let other = Store::open(fixture.config()).await.unwrap();
    store.append(lease, recorded(6, vec![closed()])).await.unwrap();
    assert_eq!(find(&other, "copper").await, find(store, "copper").await);
    check_index(&fixture.other_connection(), 3);
}

#[tokio::test]
async fn the_writer_indexes_when_it_has_nothing_else_to_do() {
    let fixture = Fixture::new().await;
    write(&fixture.store, plan(1, StoreMode::Full), every_kind()).await;
    let other_connection = fixture.other_connection();
    let indexed = async {
        loop {
            let sql = "SELECT is_indexed FROM runs";
            if value(&other_connection, sql) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), indexed).await.unwrap();
    check_index(&other_connection, 5);
}

/// The texts that are noted as indexed.
const NOTED: &str =
    "SELECT text_id FROM texts JOIN runs USING (run_id) WHERE text_id <= indexed_to ORDER BY 1";

/// Checks that the index is intact and has the words of this many texts and no others.
fn check_index(other_connection: &Raw, texts: usize) {
    if support::place::server().is_some() {
        let indexed: Vec<i64> = values(other_connection, "SELECT text_id FROM words ORDER BY 1");
        let noted: Vec<i64> = values(other_connection, NOTED);
        assert_eq!((&indexed, indexed.len()), (&noted, texts));
        return;
    }
    let check = "INSERT INTO words (words) VALUES ('integrity-check')";
    other_connection.execute_batch(check).unwrap();
    let sql = "CREATE VIRTUAL TABLE temp.entries USING fts5vocab (main, words, instance)";
    other_connection.execute_batch(sql).unwrap();
    let indexed: Vec<i64> = values(other_connection, "SELECT DISTINCT doc FROM temp.entries ORDER BY 1");
    let noted: Vec<i64> = values(other_connection, NOTED);
    assert_eq!((&indexed, indexed.len()), (&noted, texts));
}

#[tokio::test]
async fn metadata_leaves_no_word_in_the_index_nor_the_ledger() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    write(store, plan(1, StoreMode::Metadata), every_kind()).await;
    assert_eq!(find(store, "canary").await, [""; 0]);
    assert_eq!(
        store.costs(RunScope::All, CostQuery { by: CostBy::Day, since_ms: None }).await.unwrap()[0].calls,
        4
    );
    assert_eq!(store.seat_facts(RunScope::All, None).await.unwrap().len(), 2);
    store.close().await;
    assert!(!fixture.place.holds(CANARY) && !fixture.place.holds("7f3a"));
}

/// Words of this run only, of many lengths, so that rows split pages in many ways. Each contains `quarzfalke`.
fn secret(number: u64) -> String {
    let words = (0..number * 37 % 900).map(|word| format!("quarzfalke{number}x{word}"));
    words.collect::<Vec<_>>().join(" ")
}

async fn write_secret(store: &Store, number: u64) {
    let lease = store.open_run(asking(number, &format!("quarzfalke {}", secret(number % 7)))).await;
    let (begun, ended) = simple(&secret(number)).into_iter().partition(|recorded| recorded.seq < 4);
    store.append(lease, begun).await.unwrap();
    for attempt in [seat(1, 1), seat(2, 1)] {
        let kept: Attempt = attempt;
        store.checkpoint(lease, kept, format!("quarzfalke {}", secret(number + 3))).await.unwrap();
        store.checkpoint(lease, kept, format!("quarzfalke {}", secret(number + 5))).await.unwrap();
    }
    store.append(lease, ended).await.unwrap();
}

/// The number of bytes that identify a compressed text, taken after the beginning that all share.
const PART: usize = 24;

/// The identifying bytes of all compressed texts.
fn compressed(path: &Path) -> Vec<Vec<u8>> {
    let sql = "SELECT SUBSTR(body, 32, 24) FROM texts WHERE TYPEOF(body) = 'blob' AND OCTET_LENGTH(body) > 64 AND hash <> ''";
    rows(&connect(path), sql, |row| row.get(0))
}

#[tokio::test]
async fn a_purge_leaves_no_byte_of_a_text_in_any_file() {
    const RUNS: u64 = 60;
    only_in_a_file!("it reads the bytes of the file; those of a server are its administrator's");
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    for number in 1..=RUNS {
        write_secret(store, number).await;
        if number % 9 == 0 {
            assert!(!find(store, "quarzfalke").await.is_empty());
        }
    }
    write(store, plan(99, StoreMode::Full), simple("amselstern")).await;
    assert_eq!(find(store, "quarzfalke").await.len(), RUNS as usize);
    let folder = fixture.path().parent().unwrap().to_path_buf();
    let compressed = compressed(&fixture.path());
    let held = |bytes: &[u8]| {
        compressed.iter().filter(|text| memchr::memmem::find(bytes, &text[..PART]).is_some()).count()
    };
    let before = bytes_of(&folder);
    assert!(holds(&before, "quarzfalke") && held(&before) == compressed.len() && !compressed.is_empty());
    let costs = store.costs(RunScope::All, CostQuery { by: CostBy::Model, since_ms: None }).await.unwrap();
    let before_ms = i64::try_from(run_id(RUNS + 1).unix_ms()).unwrap();
    let due = store.purgeable(before_ms).await.unwrap();
    assert_eq!(due, (1..=RUNS).map(run_id).collect::<Vec<_>>());
    let purged = store.purge(&due).await.unwrap();
    assert_eq!(purged, Purged { runs: due, under_way: Vec::new() });
    assert_eq!(store.reclaim().await, Ok(true));
    let after = bytes_of(&folder);
    assert!(!holds(&after, "quarzfalke") && held(&after) == 0);
    assert_eq!(std::fs::metadata(folder.join("runs.db-wal")).unwrap().len(), 0);
    assert_eq!(find(store, "quarzfalke").await, [""; 0]);
    assert_eq!(find(store, "amselstern").await.len(), 1);
    assert!(store.load(RunScope::All, run_id(1)).await.unwrap().is_none());
    assert_eq!(
        store.costs(RunScope::All, CostQuery { by: CostBy::Model, since_ms: None }).await.unwrap(),
        costs
    );
    assert_eq!(store.seat_facts(RunScope::All, None).await.unwrap().len(), 2 * (RUNS as usize + 1));
    let other_connection = fixture.other_connection();
    check_index(&other_connection, 2);
    let verdict: String = value(&other_connection, "PRAGMA integrity_check");
    assert_eq!(verdict, "ok");
}

#[tokio::test]
async fn running_runs_are_not_purged() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let begun = || recorded(1, vec![started(), sent(seat(1, 1))]);
    let lease = write(store, plan(1, StoreMode::Full), begun()).await;
    write(store, plan(2, StoreMode::Full), begun()).await;
    write(store, plan(3, StoreMode::Full), simple("done")).await;
    let other_connection = fixture.other_connection();
    let abandon = "UPDATE runs SET owner = 'elsewhere/1/1', lease_until_ms = 1 WHERE run_id = ?";
    other_connection.execute(abandon, &[&run_id(2)]).unwrap();
    let far = i64::MAX / 1_000_000;
    assert_eq!(store.purgeable(far).await.unwrap(), [run_id(2), run_id(3)]);
    let named = vec![run_id(1), run_id(2), run_id(3), run_id(9), run_id(3)];
    let mut over = Vec::new();
    for run_id in &named {
        over.push(store.is_over(*run_id).await.unwrap());
    }
    assert_eq!(over, [false, true, true, true, true], "nobody is at a run that is not there");
    let purged = store.purge(&named).await.unwrap();
    let (runs, under_way): (Vec<RunId>, _) = (vec![run_id(2), run_id(3)], vec![run_id(1)]);
    assert_eq!(purged, Purged { runs, under_way });
    let answered = vec![answered(seat(1, 1), "still here"), closed()];
    assert_eq!(store.append(lease, recorded(3, answered)).await, Ok(()));
    assert_eq!(store.purge(&[]).await, Ok(Purged::default()));
    assert_eq!(store.list(RunScope::All, RunFilter::default()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_log_that_a_reader_holds_is_not_reclaimed_yet() {
    only_in_a_file!("it is about the log beside the file");
    let fixture = Fixture::new().await;
    write(&fixture.store, plan(1, StoreMode::Full), simple("words")).await;
    let reader = fixture.other_connection();
    reader.execute_batch("BEGIN; SELECT COUNT(*) FROM runs").unwrap();
    assert_eq!(fixture.store.purge(&[run_id(1)]).await.unwrap().runs, [run_id(1)]);
    assert_eq!(fixture.store.reclaim().await, Ok(false));
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(fixture.store.reclaim().await, Ok(true));
    assert!(!holds(&bytes_of(fixture.path().parent().unwrap()), CANARY));
}

#[tokio::test]
async fn unindexed_texts_are_counted_and_the_others_are_searched() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    write(store, asking(1, "Which metal?"), simple("copper")).await;
    assert_eq!(find(store, "copper").await.len(), 1);
    let other_connection = fixture.other_connection();
    // Its words are not indexed yet, as while the writer is busy.
    write(
        store,
        changed(asking(2, "Which other?"), |plan| plan.asked_by = Some("mia".into())),
        simple("copper"),
    )
    .await;
    other_connection.lock();
    let begun = tokio::time::Instant::now();
    let matches = store.search(RunScope::All, "copper", 9).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(9), "a search does not wait for the index");
    assert_eq!((matches.hits.len(), matches.unindexed), (1, 1));
    let others = store.search(RunScope::Principal("ben"), "copper", 9).await.unwrap();
    assert_eq!(others, SearchResults::default(), "nobody is told how many runs others have");
    other_connection.execute_batch("COMMIT").unwrap();
    let matches = store.search(RunScope::All, "copper", 9).await.unwrap();
    assert_eq!((matches.hits.len(), matches.unindexed), (2, 0));
}

#[tokio::test]
async fn a_text_of_a_million_hits_is_found_at_once() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let text = format!("{}silver end", "gold ".repeat(320_000));
    write(store, asking(1, "Which?"), simple(&text)).await;
    while store.search(RunScope::All, "gold", 1).await.unwrap().unindexed > 0 {}
    let begun = tokio::time::Instant::now();
    let found = find(store, "gold silver").await;
    // Comparing each hit with every other one would take minutes.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!(found.len() == 1 && found[0].ends_with("gold silver…"), "{found:?}");
}
