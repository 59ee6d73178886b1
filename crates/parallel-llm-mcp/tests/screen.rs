//! The live view of a run on a terminal, and what remains on the terminal afterwards.

use parallel_llm_testkit::simulator::{Answer, Behaviour, Fault, Latency, Script};
use parallel_llm_testkit::{Call, Sandbox, Terminal};

const ONE: &str = "openai/gpt-6.1-sol";
const TWO: &str = "anthropic/claude-opus-5.5";
const THREE: &str = "x-ai/grok-4.7";
const FUSER: &str = "google/gemini-4-argon";

/// The first model answers at once, the second is refused, the third is slow; the synthesizer writes slowly.
fn sandbox() -> Sandbox {
    let quick = Behaviour { answer: Answer::Fixed("Use **shards**.".to_owned()), ..Behaviour::instant() };
    let slow = Behaviour {
        ttft_ms: Latency::of(1_500),
        answer: Answer::Fixed("Use *advisory locks*, and retry.".to_owned()),
        ..Behaviour::instant()
    };
    let fuser =
        Behaviour { tokens_per_s: 6, chunk_tokens: 1, answer: Answer::Plausible, ..Behaviour::instant() };
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
        .scripted(ONE, Script::behaving(quick))
        .scripted(TWO, Script::fault(Fault::Moderation))
        .scripted(THREE, Script::behaving(slow))
        .scripted(FUSER, Script::behaving(fuser))
}

fn ask(sandbox: &Sandbox) -> Call<'_> {
    let arguments = ["ask", "-m", ONE, "-m", TWO, "-m", THREE, "--synthesizer", FUSER, "--no-files"];
    sandbox
        .call(arguments)
        .arg("How do I shard a counter in Postgres so that writes do not wait for each other?")
}

/// Presses a key that asks once more, and presses it again.
fn press_twice(terminal: &mut Terminal<'_>, key: &str) {
    terminal.press(key);
    terminal.until("it asks once more", |text| text.contains(" once more: "));
    terminal.press(key);
}

/// Stops the run.
fn leave(mut terminal: Terminal<'_>) {
    press_twice(&mut terminal, "q");
    assert_eq!(terminal.wait(), 130);
}

#[test]
fn the_live_view_shows_progress_and_answers() {
    let sandbox = sandbox();
    let mut terminal = ask(&sandbox).on_screen(80, 24);
    terminal.until("one has failed", |text| text.contains("refused") && text.contains("4 tok"));
    insta::assert_snapshot!(terminal.masked(), @"
    How do I shard a counter in Postgres so that writes do not wait for eac…  <time>

     1 ✓ openai/gpt-6.1-sol            answered   first <time>      4 tok $0.000080
     2 ✗ anthropic/claude-opus-5.5     refused
     3 * x-ai/grok-4.7                 asked

         seat 2: openrouter (Anthropic) answered 403: Your input was flagged

    1 of 3 answered · at least $0.000080
    1-3 read · enter decide now · s skip a seat · ? keys · q save and leave
    ");
    terminal.press("1");
    terminal.until("the answer is read", |text| text.contains("Use shards."));
    insta::assert_snapshot!(terminal.masked(), @"
    How do I shard a counter in Postgres so that writes do not wait for eac…  <time>

     1 ✓ openai/gpt-6.1-sol            answered   first <time>      4 tok $0.000080
     2 ✗ anthropic/claude-opus-5.5     refused
     3 * x-ai/grok-4.7                 asked

         seat 2: openrouter (Anthropic) answered 403: Your input was flagged

    ── 1 openai/gpt-6.1-sol ───────────────────────────────────────────────────────
    Use shards.

    1 of 3 answered · at least $0.000080
    up/down scroll · tab next · esc back · ? keys · q save and leave
    ");
    terminal.press("\u{1b}[C");
    terminal.until("the next is read", |text| text.contains("No answer: openrouter"));
    terminal.press("0");
    terminal
        .until("the fused answer streams", |text| text.contains("Use advisory") && !text.contains("retry"));
    assert!(terminal.text().contains("── fusing: google/gemini-4-argon ──"), "{}", terminal.text());
    assert_eq!(terminal.wait(), 0);
    insta::assert_snapshot!(terminal.masked(), @"
    [ +<time>] run <run> started: 3 models, about $0.081, at
      most $0.83 if no call fails

    Use advisory locks, and retry.

    Fused by google/gemini-4-argon from 2 answers, starting from 3 x-ai/grok-4.7 (0
      % changed).

    Missing: 2 anthropic/claude-opus-5.5 refused: openrouter (Anthropic) answered
      403: Your input was flagged (next: rephrase the question, or ask a model of
      another provider)
    Cost $0.0017 (fusing $0.0016), <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
}

#[test]
fn resizing_leaves_nothing_stale_on_the_screen() {
    let sandbox = sandbox();
    let mut terminal = ask(&sandbox).on_screen(120, 30);
    terminal.until("it is drawn", |text| text.contains("1-3 read"));
    for (columns, rows) in [(60, 20), (100, 12), (40, 10), (200, 60)] {
        terminal.resize(columns, rows);
        let width = usize::from(columns) - 1;
        terminal.until("it is drawn anew", |text| {
            let first = text.lines().next().unwrap_or_default();
            text.lines().filter(|line| line.contains("claude-opus")).count() == 1
                && text.lines().count() <= usize::from(rows)
                && first.starts_with("How do I")
                && first.chars().count() == width
        });
    }
    assert_eq!(terminal.wait(), 0);
}

#[test]
fn more_seats_than_rows_are_summarized() {
    let sandbox = sandbox();
    let mut arguments = vec!["ask", "--no-files"];
    arguments.extend((0..16).flat_map(|_| ["-m", THREE]));
    let mut terminal = sandbox.call(arguments).arg("Why?").on_screen(60, 12);
    terminal.until("all are asked", |text| text.contains("8 asked"));
    insta::assert_snapshot!(terminal.masked(), @"
    Why?                                                  <time>
     1 * x-ai/grok-4.7                     asked
     2 * x-ai/grok-4.7                     asked
     3 * x-ai/grok-4.7                     asked
     4 * x-ai/grok-4.7                     asked
     5 * x-ai/grok-4.7                     asked
     6 * x-ai/grok-4.7                     asked
     7 * x-ai/grok-4.7                     asked
     8 * x-ai/grok-4.7                     asked
         + 8 more: 8 asked
    0 of 16 answered
    1-9 read · s skip a seat · ? keys · q save and leave
    ");
    assert_eq!((terminal.wait(), terminal.text().contains("16 answers say the same")), (0, true));
}

#[test]
fn a_reason_that_seats_share_is_shown_once() {
    let refused = || Script::fault(Fault::AuthBad);
    let sandbox = with_a_silent_seat().scripted(ONE, refused()).scripted(TWO, refused());
    let shown = |columns: u16, rows: u16| {
        let words = ["ask", "--no-files", "-m", ONE, "-m", TWO, "-m", THREE, "-m", ONE, "Why?"];
        let terminal = sandbox.call(words).on_screen(columns, rows);
        terminal.until("three have failed", |text| text.matches(" failed").count() == 3);
        let shown = terminal.masked();
        leave(terminal);
        shown
    };
    insta::assert_snapshot!(shown(40, 10), @"
    Why?                              <time>
     1 ✗ openai/gpt-6.1-sol       failed
     2 ✗ anthropic/claude-opus-5… failed
     3 * x-ai/grok-4.7            asked
     4 ✗ openai/gpt-6.1-sol       failed
         seats 1, 2 and 4: openrouter
           refused the key (401): User not
           found. (next: check that the ke…
    0 of 4 answered
    1-4 read · ? keys · q save and leave
    ");
    insta::assert_snapshot!(shown(80, 24), @"
    Why?                                                                      <time>

     1 ✗ openai/gpt-6.1-sol             failed
     2 ✗ anthropic/claude-opus-5.5      failed
     3 * x-ai/grok-4.7                  asked
     4 ✗ openai/gpt-6.1-sol             failed

         seats 1, 2 and 4: openrouter refused the key (401): User not found.
           (next: check that the key is current and belongs to this provider,
           correct it in `OPENROUTER_API_KEY`, unset that and keep another with
           `parallel-llm-mcp keys set openrouter`, or ask another model)

    0 of 4 answered
    1-4 read · s skip a seat · ? keys · q save and leave
    ");
    insta::assert_snapshot!(shown(200, 60), @"
    Why?                                                                                                                                                                                              <time>

     1 ✗ openai/gpt-6.1-sol                failed
     2 ✗ anthropic/claude-opus-5.5         failed
     3 * x-ai/grok-4.7                     asked
     4 ✗ openai/gpt-6.1-sol                failed

         seats 1, 2 and 4: openrouter refused the key (401): User not found. (next: check that the key is current and belongs to this provider, correct it in `OPENROUTER_API_KEY`, unset that and keep
           another with `parallel-llm-mcp keys set openrouter`, or ask another model)

    0 of 4 answered
    1-4 read · s skip a seat · ? keys · q save and leave
    ");
}

#[test]
fn who_reads_a_failed_seat_reads_why() {
    let sandbox = with_a_silent_seat();
    let words = ["ask", "--no-files", "-m", TWO, "-m", THREE, "Why?"];
    let mut terminal = sandbox.call(words).on_screen(80, 24);
    terminal.until("one has failed", |text| text.contains("refused"));
    terminal.press("1");
    terminal.until("it is read", |text| text.contains("── 1"));
    insta::assert_snapshot!(terminal.masked(), @"
    Why?                                                                      <time>

     1 ✗ anthropic/claude-opus-5.5      refused
     2 * x-ai/grok-4.7                  asked

         seat 1: openrouter (Anthropic) answered 403: Your input was flagged

    ── 1 anthropic/claude-opus-5.5 ────────────────────────────────────────────────
    No answer: openrouter (Anthropic) answered 403: Your input was flagged

    Next: rephrase the question, or ask a model of another provider

    0 of 2 answered
    up/down scroll · tab next · esc back · ? keys · q save and leave
    ");
    leave(terminal);
}

#[test]
fn what_is_made_of_many_answers_stays_in_sight() {
    let sandbox = sandbox();
    let mut words = vec!["ask", "--no-files", "--synthesizer", FUSER, "-m", ONE];
    words.extend((0..15).flat_map(|_| ["-m", THREE]));
    let mut terminal = sandbox.call(words).arg("Why?").on_screen(60, 12);
    terminal.until("it is fused", |text| text.contains("── fusing") && text.contains("Use"));
    let shown = terminal.text();
    let is_below = |line: &str| line.contains(" fusing: google/");
    let rows: Vec<&str> = shown.lines().skip_while(|line| !line.contains(" more: ")).take(2).collect();
    assert!(rows[0].ends_with(" answered") && is_below(rows[1]), "{shown}");
    assert_eq!(terminal.wait(), 0);
}

#[test]
fn on_a_narrow_terminal_the_way_out_is_named() {
    let sandbox = with_a_silent_seat();
    let words = ["ask", "--no-files", "-m", ONE, "-m", THREE, "Why?"];
    let mut terminal = sandbox.call(words).on_screen(40, 10);
    terminal.until("one has answered", |text| text.contains("1 of 2 answered"));
    terminal.press("1");
    terminal.until("it is read", |text| text.contains("Use shards."));
    insta::assert_snapshot!(terminal.masked(), @"
    Why?                              <time>
     1 ✓ openai/gpt-6.1-sol       answered
     2 * x-ai/grok-4.7            asked
    ── 1 openai/gpt-6.1-sol ───────────────
    Use shards.
    1 of 2 answered · at least $0.000042
    ? keys · q save and leave
    ");
    leave(terminal);
}

#[test]
fn a_late_seat_that_is_waited_for_is_named() {
    let late = Behaviour { ttft_ms: Latency::of(2_000), ..Behaviour::instant() };
    let sandbox = sandbox().scripted(THREE, Script::behaving(late));
    let words = ["ask", "--no-files", "--linger", "--wait", "quorum:1", "-m", ONE, "-m", THREE, "Why?"];
    let mut terminal = sandbox.call(words).on_screen(80, 24);
    assert_eq!(terminal.wait(), 0);
    insta::assert_snapshot!(terminal.masked(), @"
    [ +<time>] run <run> started: 2 models, about $0.047, at
      most $0.48 if no call fails

    Use shards.

    Answer by 1 openai/gpt-6.1-sol: only one answer came, so there was nothing to
      fuse.

    Missing: 2 x-ai/grok-4.7 asked: the answer did not wait for it
    Cost at least $0.000042, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    waiting for x-ai/grok-4.7, as `--linger` asks; Ctrl-C leaves
    `parallel-llm-mcp runs synthesize <run>` takes in the
      answer that came too late.
    ");
}

#[test]
fn a_host_out_of_reach_is_told_once_while_it_is_tried_again() {
    let sandbox = sandbox();
    let mut terminal =
        ask(&sandbox).env("OPENROUTER_BASE_URL", "http://127.0.0.1:1/api/v1").on_screen(80, 24);
    terminal.until("it is tried again", |text| {
        let reasons = text.matches("cannot be reached").count();
        assert!(reasons < 2, "{text}");
        reasons == 1 && text.matches("trying again in").count() == 3
    });
    assert_eq!(terminal.wait(), 1);
}

#[test]
fn fifty_seats_that_fail_for_one_reason_leave_room_for_it() {
    let sandbox = with_a_silent_seat().scripted(ONE, Script::fault(Fault::AuthBad));
    let mut words = vec!["ask", "--no-files", "--budget", "20", "-m", THREE];
    words.extend((0..49).flat_map(|_| ["-m", ONE]));
    let terminal = sandbox.call(words).arg("Why?").on_screen(60, 12);
    terminal.until("all have failed", |text| text.contains("seats 2-50"));
    insta::assert_snapshot!(terminal.masked(), @"
    Why?                                                  <time>
     1 * x-ai/grok-4.7                     asked
     2 ✗ openai/gpt-6.1-sol                failed
     3 ✗ openai/gpt-6.1-sol                failed
     4 ✗ openai/gpt-6.1-sol                failed
     5 ✗ openai/gpt-6.1-sol                failed
         + 45 more: 45 failed
         seats 2-50: openrouter refused the key (401): User
           not found. (next: check that the key is current and
           belongs to this provider, correct it in `OPENROUTER…
    0 of 50 answered
    1-9 read · s skip a seat · ? keys · q save and leave
    ");
    leave(terminal);
}

#[test]
fn quitting_by_key_keeps_the_answers() {
    let sandbox = sandbox();
    let mut terminal = ask(&sandbox).on_screen(80, 24);
    terminal.until("one has answered", |text| text.contains("4 tok"));
    press_twice(&mut terminal, "q");
    assert_eq!(terminal.wait(), 130);
    insta::assert_snapshot!(terminal.masked(), @"
    [ +<time>] run <run> started: 3 models, about $0.081, at
      most $0.83 if no call fails
    stopping: what has come is saved in run <run>; Ctrl-C stops
      at once
    No answer: the run was cancelled.

    Missing: 2 anthropic/claude-opus-5.5 refused: openrouter (Anthropic) answered
      403: Your input was flagged (next: rephrase the question, or ask a model of
      another provider)
    Missing: 3 x-ai/grok-4.7 cancelled: given up before an answer came
    Cost at least $0.000080, up to $0.096, <time>.
    Kept as run <run>;
      `parallel-llm-mcp runs resume <run>` goes on with it.
    ");
    let kept = sandbox.call(["runs", "show", "@", "--json"]).run().json();
    assert_eq!(kept["answers"][0]["text"], "Use **shards**.");
}

#[test]
fn a_terminal_gets_only_what_it_can_show() {
    let sandbox = sandbox();
    let ask = || sandbox.call(["ask", "--no-files", "-m", ONE, "Why?"]);
    let mut plain = ask().env("TERM", "dumb").on_screen(80, 24);
    assert_eq!(plain.wait(), 0);
    insta::assert_snapshot!(plain.masked(), @"
    [ +<time>] run <run> started: 1 model, about $0.015, at
      most $0.16 if no call fails
    [ +<time>] seat 1 openai/gpt-6.1-sol: asked
    [ +<time>] seat 1 openai/gpt-6.1-sol: answered, 15 bytes, 4 tokens, $0.000042
    [ +<time>] decided: one model was asked, so there was nothing to fuse

    Use shards.

    Answer by 1 openai/gpt-6.1-sol: one model was asked, so there was nothing to
      fuse.
    Cost $0.000042, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
    let mut ascii = ask().env("LC_ALL", "C").on_screen(80, 24);
    assert_eq!((ascii.wait(), ascii.text().is_ascii()), (0, true), "{}", ascii.text());
    let mut bare = ask().env("NO_COLOR", "1").on_screen(80, 24);
    assert_eq!(bare.wait(), 0);
    assert!(!bare.screen().contents_formatted().contains("\u{1b}[1m"), "no style is set");
}

/// The first model answers at once, and the third stays silent for an hour.
fn with_a_silent_seat() -> Sandbox {
    let silent = Behaviour { ttft_ms: Latency::of(3_600_000), ..Behaviour::instant() };
    sandbox().scripted(THREE, Script::behaving(silent))
}

/// A terminal with a run in which the first model has answered and the third is silent.
fn ask_with_a_silent_seat<'a>(sandbox: &'a Sandbox, flags: &[&str]) -> Terminal<'a> {
    let call = sandbox.call(["ask", "--no-files", "-m", ONE, "-m", THREE, "Why?"]).args(flags);
    let terminal = call.on_screen(80, 24);
    terminal.until("one has answered", |text| text.contains("1 of 2 answered"));
    terminal
}

/// Presses a key that ends the wait for the silent seat: the run ends with its one answer.
fn check_ends_with_one_answer(mut terminal: Terminal<'_>, key: &str) {
    press_twice(&mut terminal, key);
    assert_eq!(terminal.wait(), 0);
    // The silent call is cancelled at this moment, which the lines may know already.
    let shown = terminal
        .masked()
        .replace("cancelled: given up before an answer came", "asked: the answer did not wait for it");
    insta::allow_duplicates! {
        insta::assert_snapshot!(shown.replace(", up to $0.096", ""), @"
        [ +<time>] run <run> started: 2 models, about $0.047, at
          most $0.48 if no call fails

        Use shards.

        Answer by 1 openai/gpt-6.1-sol: only one answer came, so there was nothing to
          fuse.

        Missing: 2 x-ai/grok-4.7 asked: the answer did not wait for it
        Cost at least $0.000042, <time>.
        Kept as run <run>: `parallel-llm-mcp runs show @`.
        ");
    }
}

#[test]
fn enter_decides_with_the_answers_so_far() {
    let sandbox = with_a_silent_seat();
    let terminal = ask_with_a_silent_seat(&sandbox, &[]);
    terminal.until("the keys are shown", |text| text.contains("enter decide now"));
    insta::assert_snapshot!(terminal.masked(), @"
    Why?                                                                      <time>

     1 ✓ openai/gpt-6.1-sol             answered   first <time>      4 tok $0.000042
     2 * x-ai/grok-4.7                  asked

    1 of 2 answered · at least $0.000042
    1-2 read · enter decide now · s skip a seat · ? keys · q save and leave
    ");
    check_ends_with_one_answer(terminal, "\r");
}

#[test]
fn what_is_typed_for_the_shell_or_pasted_does_nothing() {
    let sandbox = with_a_silent_seat();
    let mut terminal = ask_with_a_silent_seat(&sandbox, &[]);
    let shown = terminal.text().lines().next_back().map(str::to_owned);
    for text in ["ls -la\r", "quit\r", "ssh host\r", "\r\r", "qq", "2 s\r"] {
        terminal.press(text);
        // Longer than the time after which a key counts as pressed alone.
        sandbox.pause(std::time::Duration::from_millis(700));
        let text_now = terminal.text();
        assert_eq!(text_now.lines().next_back().map(str::to_owned), shown, "{text:?}\n{text_now}");
    }
    assert!(terminal.text().contains("1 of 2 answered"), "{}", terminal.text());
    // A single key asks, and any other takes the question back.
    terminal.press("\r");
    terminal.until("it asks", |text| text.contains("enter once more: decide now with 1 of 2 answers"));
    terminal.press("x");
    terminal.until("it does not ask any more", |text| !text.contains("once more"));
    press_twice(&mut terminal, "\r");
    assert_eq!(terminal.wait(), 0);
}

#[test]
fn all_keys_are_listed() {
    let sandbox = with_a_silent_seat();
    let mut terminal = ask_with_a_silent_seat(&sandbox, &[]);
    for key in ["1-2 read", "enter decide now", "s skip", "? keys", "q save and leave"] {
        assert!(terminal.text().contains(key), "{key}\n{}", terminal.text());
    }
    terminal.press("?");
    terminal.until("they are explained", |text| text.contains("ctrl-z"));
    insta::assert_snapshot!(terminal.masked(), @"
    Why?                                                                      <time>

     1 ✓ openai/gpt-6.1-sol             answered   first <time>      4 tok $0.000042
     2 * x-ai/grok-4.7                  asked

    ── keys ───────────────────────────────────────────────────────────────────────
    1-9 read the answer of a seat; 0 or esc goes back
    tab, right read the next seat; left the one before
    up, down scroll what is read; also j, k, space and the page keys
    enter decide now with the answers so far; asks once more
    s wait no longer for the seat that is read; asks once more
    q save the answers so far and stop the run; asks once more
    ctrl-z suspend the program; `fg` goes on
    ? show or hide this list

    1 of 2 answered · at least $0.000042
    1-2 read · enter decide now · s skip a seat · ? keys · q save and leave
    ");
    terminal.press("?");
    terminal.until("the list is gone", |text| !text.contains("ctrl-z"));
    leave(terminal);
}

/// The program as a job of a shell, which alone can continue it.
#[test]
fn ctrl_z_gives_the_terminal_back_and_fg_goes_on() {
    let sandbox = with_a_silent_seat();
    let shell = "set -m; \"$0\" \"$@\"; echo \"stopped as $?\"; fg; echo \"ended as $?\"; exit 0";
    let call = sandbox.call(["ask", "--no-files", "-m", ONE, "-m", THREE, "Why?"]);
    let mut terminal = call.under(shell).on_screen(80, 24);
    terminal.until("one has answered", |text| text.contains("1 of 2 answered"));
    terminal.press("\u{1a}");
    // The shell continues it at once; what it said in between is on the first screen.
    sandbox.pause(std::time::Duration::from_millis(500));
    terminal.until("it is drawn again", |text| text.contains("1 of 2 answered"));
    press_twice(&mut terminal, "\r");
    terminal.until("it has ended", |text| text.contains("ended as 0"));
    let text = terminal.text();
    assert!(text.contains("waits with this program: `fg` goes on"), "{text}");
    assert!(text.contains("stopped as "), "{text}");
    assert_eq!(terminal.wait(), 0);
}

#[test]
fn who_does_not_wait_has_the_prompt_back_at_once() {
    // The late seat writes for a minute, and its provider charges for it either way.
    let writing =
        Behaviour { tokens_per_s: 2, chunk_tokens: 1, answer: Answer::Plausible, ..Behaviour::instant() };
    let sandbox = sandbox().scripted(TWO, Script::behaving(writing));
    let words = ["ask", "--no-files", "-m", ONE, "-m", TWO, "Why?"];
    let mut terminal = sandbox.call(words).settings([("drain_ms", "600000")]).on_screen(80, 24);
    terminal.until("one writes", |text| text.contains("1 of 2 answered") && text.contains("writing"));
    assert!(terminal.text().contains("── 2 anthropic/claude-opus-5.5"), "{}", terminal.text());
    press_twice(&mut terminal, "\r");
    assert_eq!(terminal.wait(), 0);
    let kept = sandbox.call(["runs", "show", "@", "--json"]).run().json();
    assert_eq!(kept["answers"][0]["text"], "Use **shards**.");
    assert!(kept["answers"][1]["text_bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{kept}");
}

#[test]
fn a_silent_seat_is_skipped() {
    let sandbox = with_a_silent_seat();
    let mut terminal = ask_with_a_silent_seat(&sandbox, &["--wait", "all"]);
    terminal.press("2");
    terminal.until("the silent one is read", |text| text.contains("(nothing yet)"));
    insta::assert_snapshot!(terminal.masked(), @"
    Why?                                                                      <time>

     1 ✓ openai/gpt-6.1-sol             answered   first <time>      4 tok $0.000042
     2 * x-ai/grok-4.7                  asked

    ── 2 x-ai/grok-4.7 ────────────────────────────────────────────────────────────
    (nothing yet)

    1 of 2 answered · at least $0.000042
    up/down scroll · tab next · esc back · ? keys · q save and leave
    ");
    check_ends_with_one_answer(terminal, "s");
}

/// Draws the images of the manual into `docs/images`: the demo in progress.
#[test]
#[ignore = "it writes files of the repository: `cargo test -p parallel-llm-mcp -- --ignored screen::pictures`"]
fn pictures() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/images");
    std::fs::create_dir_all(folder).expect("the repository can be written");
    let picture = |name: &str, svg: String| {
        std::fs::write(format!("{folder}/{name}.svg"), svg).expect("the repository can be written");
    };
    let sandbox = sandbox();
    let mut terminal = sandbox.call(["demo"]).on_screen(100, 30);
    terminal.until("some have answered", |text| text.contains("3 of 5 answered"));
    terminal.press("3");
    terminal.until("an answer is read", |text| text.contains("── 3"));
    picture("reading", terminal.svg());
    terminal.press("0");
    terminal.until("the fused answer streams", |text| text.contains("fusing") && text.contains("5. On the"));
    picture("fusing", terminal.svg());
    assert_eq!(terminal.wait(), 0);
}
