//! Replays the fuzzer's corpora without the fuzzer, so that what it found once is tested on every machine.

use std::path::Path;

use parallel_llm_provider::fuzz;

/// Checks every input of a target's committed corpus. A panic names the violated property.
fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let inputs = std::fs::read_dir(&folder).expect("each target has a corpus");
    let mut paths: Vec<_> = inputs.map(|input| input.expect("a corpus can be listed").path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "the corpus of {target} is empty");
    for path in paths {
        let input = std::fs::read(&path).expect("an input can be read");
        assert!(std::panic::catch_unwind(|| check(&input)).is_ok(), "{} does not hold", path.display());
    }
}

#[test]
fn events_are_the_same_however_they_are_cut() {
    replay("sse", fuzz::sse);
}

#[test]
fn no_hint_is_negative_or_endless() {
    replay("retry_after", fuzz::retry_after);
}

#[test]
fn a_reply_is_the_same_however_it_is_cut() {
    replay("chunk", fuzz::chunk);
}

#[test]
fn a_failure_is_a_plain_sentence() {
    replay("error_body", fuzz::error_body);
}
