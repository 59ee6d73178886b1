//! Where each row of the matrix is proved: by a test here with its name, by the tests elsewhere named below, or not at
//! all, for the reason named below. No row is missing or proved twice.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The groups of rows, and the number of rows in each.
const GROUPS: [(char, usize); 4] = [('U', 58), ('S', 11), ('D', 23), ('P', 12)];

/// Rows without a test, and why: one machine cannot play them, or the part of the program does not exist yet.
///
/// A power failure is not a row: what is acknowledged is flushed first, and a killed process stands in for it.
const NOT_TESTED: &[(&str, &str)] = &[
    ("U3", "a host name that does not exist needs a name server, and tests speak to this machine alone"),
    ("U4", "a name server that takes half a minute needs a name server, too"),
    (
        "U5",
        "a public name that leads to a private address needs a name server, too; certificates are the only guard",
    ),
    ("U55", "no test can set the machine's clock or put it to sleep; deadlines use a clock that never jumps"),
    ("D8", "a database on a network disk needs one; a disk without write-ahead logging is refused"),
    ("D11", "a disk that fails to flush needs one; after any failed write the database is opened anew"),
    ("D21", "a database with a clock of its own: SQLite has none"),
    ("P10", "settings that change for the worse: they are read once, at the start"),
    ("P11", "a new program in the middle of a batch needs two versions of it, and nothing is released yet"),
    ("P12", "three days without a pause are longer than any test; `bench/reliability.md` reports an hour"),
];

/// A test: its file below `crates/`, and its name.
type Proof = (&'static str, &'static str);

const FAULTS: &str = "parallel-llm-mcp/tests/faults.rs";
const ASK: &str = "parallel-llm-mcp/tests/ask.rs";
const RUNS: &str = "parallel-llm-mcp/tests/runs.rs";
const MEMORY: &str = "parallel-llm-mcp/tests/memory.rs";
const STORE_MODES: &str = "parallel-llm-mcp/tests/store_modes.rs";
const LIMITS: &str = "parallel-llm-provider/tests/limits/mod.rs";
const CALLS: &str = "parallel-llm-provider/tests/calls.rs";
const REPLY: &str = "parallel-llm-provider/src/read/reply/tests.rs";
const SSE: &str = "parallel-llm-provider/src/wire/sse.rs";
const RETRY: &str = "parallel-llm-engine/tests/retry.rs";
const TIMER: &str = "parallel-llm-engine/tests/timer.rs";
const SERVER: &str = "parallel-llm-store/tests/server.rs";
const KILL: &str = "parallel-llm-testkit/tests/kill.rs";

/// Tests of [`FAULTS`], each a table of many faults.
const ACCOUNT: Proof = (FAULTS, "faults_of_the_account_are_explained");
const REQUEST: Proof = (FAULTS, "faults_of_the_request_are_explained");
const PROVIDER: Proof = (FAULTS, "faults_of_the_provider_are_explained");
const COMPLETE: Proof = (FAULTS, "complete_replies_are_used_or_explained");
const INCOMPLETE: Proof = (FAULTS, "incomplete_replies_are_explained");

/// Rows that are proved elsewhere, each by all of its tests together.
const PROVED: &[(&str, &[Proof])] = &[
    ("U1", &[(FAULTS, "a_closed_port_is_retried_like_a_broken_connection")]),
    ("U7", &[(CALLS, "a_handshake_that_stalls_is_given_up_by_the_connect_timer")]),
    ("U10", &[INCOMPLETE, ("parallel-llm-engine/tests/wait.rs", "a_cut_answer_counts_if_it_is_long_enough")]),
    ("U12", &[INCOMPLETE, (TIMER, "the_idle_timer_ends_a_call_without_bytes")]),
    ("U13", &[INCOMPLETE, (TIMER, "the_content_timer_ends_a_call_without_text")]),
    ("U14", &[INCOMPLETE, (TIMER, "the_call_timer_ends_a_call_that_takes_too_long")]),
    ("U15", &[INCOMPLETE, (CALLS, "a_reply_that_breaks_off_says_how")]),
    ("U16", &[(CALLS, "the_end_does_not_wait_for_the_connection")]),
    (
        "U19",
        &[("parallel-llm-provider/src/wire/retry_after.rs", "every_form_of_the_header_is_read"), ACCOUNT],
    ),
    ("U21", &[ACCOUNT, (RETRY, "waits_are_spread_and_bounded")]),
    ("U24", &[ACCOUNT, (FAULTS, "a_wrong_key_appears_nowhere")]),
    ("U25", &[ACCOUNT, (RETRY, "no_seat_retries_with_a_refused_key")]),
    (
        "U26",
        &[REQUEST, ("parallel-llm-mcp/tests/bad_input.rs", "an_unknown_model_is_refused_with_a_suggestion")],
    ),
    ("U27", &[REQUEST]),
    ("U28", &[REQUEST]),
    ("U29", &[REQUEST, COMPLETE]),
    ("U30", &[PROVIDER]),
    (
        "U31",
        &[
            INCOMPLETE,
            PROVIDER,
            ("parallel-llm-mcp/tests/dialects.rs", "every_fault_in_every_dialect_over_http_1"),
        ],
    ),
    ("U32", &[COMPLETE, (RETRY, "an_empty_answer_is_retried_once")]),
    ("U33", &[COMPLETE, (RETRY, "failures_that_would_repeat_are_not_retried")]),
    ("U35", &[COMPLETE, (REPLY, "odd_framing_and_unknown_fields_are_read")]),
    ("U36", &[INCOMPLETE, (REPLY, "json_that_breaks_off_names_no_payload")]),
    (
        "U39",
        &[
            COMPLETE,
            (SSE, "letters_of_several_bytes_survive_every_cut"),
            (REPLY, "letters_that_are_no_utf8_become_marks"),
            (REPLY, "any_cutting_gives_the_same_parts"),
        ],
    ),
    (
        "U41",
        &[
            COMPLETE,
            INCOMPLETE,
            (SSE, "what_is_no_data_is_passed_over"),
            (SSE, "a_line_without_end_is_given_up"),
        ],
    ),
    ("U42", &[(MEMORY, "a_compressed_flood_is_refused")]),
    ("U44", &[(MEMORY, "an_endless_answer_is_cut_off_and_kept"), INCOMPLETE]),
    ("U47", &[(CALLS, "a_redirect_is_not_followed"), PROVIDER]),
    (
        "U50",
        &[
            ("parallel-llm-provider/src/codec/chat/chunk.rs", "strange_usage_is_unknown_and_never_negative"),
            ("parallel-llm-engine/tests/budget.rs", "an_unknown_cost_counts_as_the_worst_case"),
        ],
    ),
    ("U51", &[(ASK, "an_answer_that_begins_with_error_is_an_answer")]),
    (
        "U52",
        &[
            (STORE_MODES, "texts_are_sent_and_stored_byte_for_byte"),
            (STORE_MODES, "a_terminal_gets_no_control_characters"),
        ],
    ),
    ("U53", &[("parallel-llm-engine/src/prompt/mod.rs", "no_text_leaves_its_block")]),
    (
        "U18",
        &[
            (LIMITS, "the_others_wait_as_long_as_one_was_told"),
            (
                "parallel-llm-provider/src/pace/gate/tests.rs",
                "a_wait_is_what_was_requested_or_else_grows_from_a_second_to_eight",
            ),
        ],
    ),
    (
        "U22",
        &[
            (LIMITS, "of_a_hundred_calls_only_those_under_way_meet_the_limit_and_one_asks_for_the_rest"),
            (
                "parallel-llm-provider/src/pace/gate/tests.rs",
                "a_hundred_calls_come_back_one_first_and_the_others_spread",
            ),
            ("parallel-llm-engine/tests/retry.rs", "a_key_has_a_retry_budget"),
        ],
    ),
    ("U23", &[(LIMITS, "a_model_that_keeps_failing_is_not_asked_for_half_a_minute")]),
    (
        "S1",
        &[
            (ASK, "if_every_model_fails_each_reason_is_printed"),
            (ASK, "total_failure_has_the_exit_code_of_its_cause"),
        ],
    ),
    ("S2", &[(ASK, "a_single_answer_is_returned_verbatim")]),
    (
        "S3",
        &[
            (ASK, "the_next_synthesizer_takes_over"),
            (ASK, "if_every_synthesizer_fails_the_answer_closest_to_the_others_is_returned"),
            ("parallel-llm-engine/tests/best.rs", "every_synthesizer_fails"),
        ],
    ),
    ("S4", &[("parallel-llm-engine/tests/synthesize.rs", "candidates_are_shortened_to_fit")]),
    ("D6", &[("parallel-llm-store/tests/opening.rs", "a_newer_format_is_left_alone")]),
    ("D9", &[("parallel-llm-store/src/database/sqlite/mod.rs", "versions_are_compared_as_numbers")]),
    (
        "D18",
        &[
            (SERVER, "answers_outlive_a_cut_connection"),
            (SERVER, "a_server_that_falls_silent_is_given_up_within_ten_seconds"),
            (SERVER, "a_run_that_begins_while_the_server_is_away_begins_when_it_is_back"),
        ],
    ),
    ("D19", &[(SERVER, "a_statement_of_an_old_epoch_writes_nothing")]),
    ("D23", &[("parallel-llm-store/tests/purge.rs", "runs_are_written_while_others_are_purged")]),
    ("P1", &[(KILL, "a_run_survives_a_kill_at_every_failpoint")]),
    ("P2", &[(KILL, "a_run_survives_a_kill_at_any_moment")]),
    (
        "P3",
        &[
            (
                "parallel-llm-mcp/tests/mcp.rs",
                "a_signal_answers_calls_in_progress_and_a_second_one_ends_at_once",
            ),
            (RUNS, "a_terminated_run_is_saved"),
        ],
    ),
    ("P5", &[(RUNS, "a_closed_stdout_is_no_failure")]),
    (
        "P7",
        &[
            ("parallel-llm-engine/tests/defect.rs", "a_panicking_seat_fails_alone"),
            ("parallel-llm-engine/tests/defect.rs", "a_panicking_synthesizer_leaves_the_answers"),
            ("parallel-llm-mcp-door/src/handler.rs", "a_panic_is_an_answer"),
        ],
    ),
    (
        "P9",
        &[(
            "parallel-llm-program/src/watchdog.rs",
            "a_stall_of_five_seconds_is_reported_once_and_so_is_its_end",
        )],
    ),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies among the crates").to_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of the tests in a source file.
fn tests(source: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_marked = false;
    for line in source.lines().map(str::trim_start) {
        is_marked |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let Some(rest) = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ") else { continue };
        if std::mem::take(&mut is_marked) {
            names.extend(rest.split('(').next());
        }
    }
    names
}

/// `U2` of `u02_connect_black_hole`.
fn row_of(test: &str) -> Option<String> {
    let (row, _) = test.split_once('_')?;
    let number: usize = row.get(1..)?.parse().ok()?;
    Some(format!("{}{number}", row.get(..1)?.to_uppercase()))
}

/// The rows with a test of their name here.
fn tested_here() -> Vec<String> {
    let folder = crates().join("parallel-llm-mcp/tests/matrix");
    let sources = ["u.rs", "s.rs", "d.rs", "p.rs"].map(|name| read(&folder.join(name)));
    let rows = |source: &String| tests(source).into_iter().filter_map(row_of).collect::<Vec<_>>();
    sources.iter().flat_map(rows).collect()
}

#[test]
fn every_row_is_proved_once_or_has_a_reason() {
    let elsewhere = PROVED.iter().map(|(row, _)| (*row).to_owned());
    let not_tested = NOT_TESTED.iter().map(|(row, _)| (*row).to_owned());
    let mut claims: BTreeMap<String, usize> = BTreeMap::new();
    for row in tested_here().into_iter().chain(elsewhere).chain(not_tested) {
        *claims.entry(row).or_default() += 1;
    }
    let rows =
        GROUPS.iter().flat_map(|(group, count)| (1..=*count).map(move |number| format!("{group}{number}")));
    let expected: BTreeMap<String, usize> = rows.map(|row| (row, 1)).collect();
    let wrong: Vec<_> = claims.iter().filter(|(row, count)| expected.get(*row) != Some(*count)).collect();
    assert!(wrong.is_empty(), "claimed twice, or no row: {wrong:?}");
    let missing: Vec<_> = expected.keys().filter(|row| !claims.contains_key(*row)).collect();
    assert!(missing.is_empty(), "forgotten: {missing:?}");
}

#[test]
fn every_named_test_exists() {
    for (row, proofs) in PROVED {
        for (file, name) in *proofs {
            let path = crates().join(file);
            assert!(tests(&read(&path)).contains(name), "{row}: no test `{name}` in {file}");
        }
    }
}

#[test]
fn row_names_are_parsed() {
    assert_eq!(row_of("u02_connect_black_hole").as_deref(), Some("U2"));
    assert_eq!(row_of("p12_soak").as_deref(), Some("P12"));
    assert_eq!(row_of("row_names_are_parsed"), None);
    assert_eq!(
        tests("#[test]\nfn one() {}\n#[tokio::test(start_paused = true)]\nasync fn two() {}"),
        ["one", "two"]
    );
}
