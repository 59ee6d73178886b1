//! The summary below an answer: agreement and objections, author, missing seats, cost and where the run is stored.
//! There is one case for each way in which a run can end.

use parallel_llm_testkit::simulator::{Fault, Script};
use parallel_llm_testkit::{Output, Sandbox};
use serde_json::Value;

const ONE: &str = "openai/gpt-6.1-sol";
const TWO: &str = "x-ai/grok-4.7";
const THREE: &str = "mistralai/mistral-large-4-0";
const FUSER: &str = "google/gemini-4-argon";
const HOW_MANY: &str = "How many legs has a spider? End with Answer: <number>";

/// Three models with these answers. One with a number ends with it, as the question asks.
fn sandbox(answers: [&str; 3]) -> Sandbox {
    let [one, two, three] = answers.map(|answer| match answer.chars().find(char::is_ascii_digit) {
        Some(number) => Script::answering(&format!("{answer}\nAnswer: {number}")),
        None => Script::answering(answer),
    });
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
        .scripted(ONE, one)
        .scripted(TWO, two)
        .scripted(THREE, three)
}

/// Asks all three models how many legs a spider has.
fn ask(sandbox: &Sandbox, flags: &[&str]) -> Output {
    let arguments =
        ["ask", "--no-files", "-m", ONE, "-m", TWO, "-m", THREE, "--synthesizer", FUSER, HOW_MANY];
    let output = sandbox.call(arguments).args(flags).run();
    output.assert_no_key();
    output
}

/// The summary below the answer.
fn ending(answers: [&str; 3], flags: &[&str]) -> String {
    ask(&sandbox(answers), flags).summary()
}

#[test]
fn a_fused_answer_says_who_objects() {
    insta::assert_snapshot!(ending(["8", "8 legs", "6"], &[]), @"
    2 of 3 models agree; 3 mistralai/mistral-large-4-0 objects: it says `6`, the others `8`. Fused by google/gemini-4-argon from 3 answers, starting from 2 x-ai/grok-4.7 (0 % changed).
    Cost $0.0017 (fusing $0.0015), <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
    insta::assert_snapshot!(ending(["8", "7", "6"], &[]), @"
    No two of 3 models agree: 1 openai/gpt-6.1-sol says `8`, 2 x-ai/grok-4.7 says `7`, 3 mistralai/mistral-large-4-0 says `6`. Fused by google/gemini-4-argon from 3 answers, starting from 3 mistralai/mistral-large-4-0 (0 % changed).
    Cost $0.0016 (fusing $0.0015), <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
    insta::assert_snapshot!(ending(["It depends.", "Who knows?", "Ask a zoologist."], &[]), @"
    Whether the 3 models agree is unknown: none states its result plainly. Fused by google/gemini-4-argon from 3 answers, starting from 3 mistralai/mistral-large-4-0 (0 % changed).
    Cost $0.0016 (fusing $0.0015), <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
    insta::assert_snapshot!(ending(["8", "8 legs", "It depends."], &[]), @"
    2 of 3 models agree on `8`; 3 mistralai/mistral-large-4-0 gives no plain answer. Fused by google/gemini-4-argon from 3 answers, starting from 2 x-ai/grok-4.7 (0 % changed).
    Cost $0.0017 (fusing $0.0015), <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
}

/// The first line below an answer that was fused with this analysis of three open answers, and the report's agreement.
fn objections(analysis: &str) -> (String, Value) {
    let reply = format!("<<answer>>\nShard the counter.\n<<end answer>>\n{analysis}");
    let sandbox = sandbox(["Use shards.", "Use locks.", "Use a queue."]);
    let sandbox = sandbox.scripted(FUSER, Script::answering(&reply));
    let arguments = ["ask", "--no-files", "-m", ONE, "-m", TWO, "-m", THREE, "--synthesizer", FUSER];
    let output = sandbox.call(arguments).arg("How do I count?").run();
    let report = sandbox.call(["runs", "show", "@", "--json"]).run().json();
    (output.summary().lines().next().unwrap_or_default().to_owned(), report["agreement"].clone())
}

/// A seat with its model, in the form that the terminal uses.
fn named(seat: &Value) -> String {
    let number = seat.as_u64().expect("a seat");
    format!("{number} {}", [ONE, TWO, THREE][usize::try_from(number).expect("small") - 1])
}

#[test]
fn a_model_against_a_claim_is_named_as_disputing_it_and_never_as_for_it() {
    let (line, agreement) = objections(
        r#"{"base": "A", "claims": [{"text": "Shards are simple.", "for": ["A", "C", "Z"], "against": ["C", "Q"]}]}"#,
    );
    let other = named(&agreement["claims"][0]["against"][0]);
    assert_eq!(agreement["claims"][0]["for"].as_array().map(Vec::len), Some(1), "{agreement}");
    assert!(
        line.starts_with(&format!("According to {FUSER}, {other} disputes: Shards are simple. Fused by ")),
        "{line}"
    );
}

#[test]
fn where_nobody_is_for_or_against_nothing_is_shown() {
    let (line, agreement) = objections(r#"{"base": "A", "claims": [{"text": "Shards are simple."}]}"#);
    assert!(agreement.get("claims").is_none() && !line.contains("According to"), "{line} {agreement}");
}

#[test]
fn a_model_that_objects_to_equal_answers_is_named() {
    let safe = "The migration is safe to run online with a short lock timeout.";
    let not_safe = "The migration is not safe to run online with a short lock timeout.";
    let sandbox = sandbox([safe, not_safe, not_safe]);
    let arguments =
        ["ask", "--no-files", "-m", ONE, "-m", TWO, "-m", THREE, "--synthesizer", FUSER, "Is it?"];
    let summary = sandbox.call(arguments).run().summary();
    // Either of the equal answers may be the one that the fused text starts from.
    let agreement = summary.split(" Fused by").next().unwrap_or_default();
    insta::assert_snapshot!(agreement, @"2 of 3 models give the same answer, word for word; according to google/gemini-4-argon, 1 openai/gpt-6.1-sol disputes: The migration is not safe to run online with a short lock timeout.");
}

#[test]
fn a_selected_answer_says_who_selected_it() {
    insta::assert_snapshot!(ending(["6", "It has 8 legs.", "8"], &["--strategy", "vote"]), @"
    Answer by 2 x-ai/grok-4.7, chosen by vote: 2 of 3 answers say `8`; 1 openai/gpt-6.1-sol says `6`.
    Cost $0.00014, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
    insta::assert_snapshot!(ending(["6", "7", "8"], &["--strategy", "vote"]), @"
    Answer by 1 openai/gpt-6.1-sol: no two answers agree; this is the answer closest to the others, word for word; 2 x-ai/grok-4.7 says `7`, 3 mistralai/mistral-large-4-0 says `8`.
    warning[no_majority]: the vote decides nothing, for the same reason
    Cost $0.00012, <time>.
    Kept as run <run>; `parallel-llm-mcp runs replay <run> --strategy synthesize` makes one text of the answers.
    ");
    insta::assert_snapshot!(ending(["6", "7", "8"], &["--strategy", "vote@min_share=67"]), @"
    Answer by 1 openai/gpt-6.1-sol: no two answers agree; this is the answer closest to the others, word for word; 2 x-ai/grok-4.7 says `7`, 3 mistralai/mistral-large-4-0 says `8`.
    warning[no_majority]: the vote decides nothing, for the same reason
    Cost $0.00012, <time>.
    Kept as run <run>; `parallel-llm-mcp runs replay <run> --strategy synthesize` makes one text of the answers.
    ");
    insta::assert_snapshot!(ending(["8", "8", "8"], &[]), @"
    Answer by 1 openai/gpt-6.1-sol: all 3 answers say `8`, so nothing was fused.
    Cost $0.00012, <time>; 1 call was not needed, which might have cost $0.26.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
    insta::assert_snapshot!(ending(["6", "8", "8"], &["--strategy", "best-of-n"]), @"
    2 of 3 models agree; 1 openai/gpt-6.1-sol objects: it says `6`, the others `8`. Answer by 1 openai/gpt-6.1-sol, chosen by google/gemini-4-argon.
    Cost $0.0025, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
    insta::assert_snapshot!(ending(["6", "8", "8"], &["--strategy", "best-of-n@by=consistency"]), @"
    2 of 3 models agree; 1 openai/gpt-6.1-sol objects: it says `6`, the others `8`. Answer by 2 x-ai/grok-4.7, chosen by google/gemini-4-argon.
    Cost $0.0010, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
    insta::assert_snapshot!(ending(["6", "8", "7"], &["--strategy", "best-of-n@by=pairs"]), @"
    No two of 3 models agree: 1 openai/gpt-6.1-sol says `6`, 2 x-ai/grok-4.7 says `8`, 3 mistralai/mistral-large-4-0 says `7`. Answer by 1 openai/gpt-6.1-sol: judged by `google/gemini-4-argon`, it won the knockout of 3 answers.
    Cost $0.0042, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
    insta::assert_snapshot!(ending(["6", "8", "8"], &["--strategy", "auto"]), @"
    2 of 3 models agree; 1 openai/gpt-6.1-sol objects: it says `6`, the others `8`. Fused by google/gemini-4-argon from 3 answers, starting from 1 openai/gpt-6.1-sol (0 % changed).
    `auto` took `cascade`: the question has one short right answer, so two are asked first, the others only where these differ, and nobody fuses where all agree.
    Cost $0.0016 (fusing $0.0015), <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
    insta::assert_snapshot!(ending(["8", "8", "6"], &["--strategy", "cascade"]), @"
    2 of 3 models agree; 3 mistralai/mistral-large-4-0 objects: it says `6`, the others `8`. Fused by google/gemini-4-argon from 3 answers, starting from 3 mistralai/mistral-large-4-0 (0 % changed).
    Cost $0.0016 (fusing $0.0015), <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
    insta::assert_snapshot!(ending(["6", "8", "8"], &["--strategy", "panel"]), @"
    2 of 3 models agree; 1 openai/gpt-6.1-sol objects: it says `6`, the others `8`. 3 answers are listed unchanged.
    Cost $0.00012, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
    insta::assert_snapshot!(ending(["6", "8", "8"], &["--strategy", "council"]), @"
    2 of 3 models agree; 1 openai/gpt-6.1-sol objects: it says `6`, the others `8`. Fused by google/gemini-4-argon from 3 answers, starting from 1 openai/gpt-6.1-sol (0 % changed).
    warning[protocol]: the reviewer `openai/gpt-6.1-sol` of seat 1 gave no ranking: its reply names no answer (next: look at the run with `parallel-llm-mcp runs show`)
    warning[protocol]: the reviewer `x-ai/grok-4.7` of seat 2 gave no ranking: its reply names no answer (next: look at the run with `parallel-llm-mcp runs show`)
    warning[protocol]: the reviewer `mistralai/mistral-large-4-0` of seat 3 gave no ranking: its reply names no answer (next: look at the run with `parallel-llm-mcp runs show`)
    Cost $0.0033 (fusing $0.0032), <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
}

#[test]
fn the_first_answer_of_a_race_says_that_it_was_first() {
    let stalled = || Script::fault(Fault::Stall);
    let sandbox = sandbox(["8"; 3]).scripted(TWO, stalled()).scripted(THREE, stalled());
    let summary = ask(&sandbox, &["--strategy", "race"]).summary();
    let verdict = summary.lines().next().unwrap_or_default();
    assert_eq!(verdict, format!("Answer by 1 {ONE}: it came first of 3."));
}

#[test]
fn a_checked_answer_shows_the_result_of_each_check() {
    insta::assert_snapshot!(ending(["6", "It has 8 legs.", "8"], &["--check", "grep -q legs"]), @"
    2 of 3 models agree; 1 openai/gpt-6.1-sol objects: it says `6`, the others `8`. Answer by 2 x-ai/grok-4.7, chosen by your check: it is the only one of 3 answers that passes the check.
    Checked: seat 1 does not pass, seat 2 passes, seat 3 does not pass.
    Cost $0.00014, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
    insta::assert_snapshot!(ending(["6", "7", "8"], &["--check", "grep -q legs"]), @"
    No two of 3 models agree: 1 openai/gpt-6.1-sol says `6`, 2 x-ai/grok-4.7 says `7`, 3 mistralai/mistral-large-4-0 says `8`. Answer by 1 openai/gpt-6.1-sol: none of the 3 answers passes the check; this is the answer closest to the others, word for word.
    warning[check_failed]: the check has chosen none, for the same reason
    Checked: seat 1 does not pass, seat 2 does not pass, seat 3 does not pass.
    Cost $0.00012, <time>.
    Kept as run <run>; `parallel-llm-mcp runs synthesize <run> --check COMMAND` checks the answers again.
    ");
    insta::assert_snapshot!(ending(["6", "7", "8"], &["--check", "no-such-program"]), @"
    error[check_unavailable]: the check command `no-such-program` is not there, or is no program
      next: set `check_command`, name a check command with `--check`, or name another strategy, such as `best-of-n`
    ");
}

#[test]
fn an_answer_that_could_not_be_fused_says_how_to_try_again() {
    let sandbox = sandbox(["Take the first.", "Take the second.", "Take the third."])
        .scripted(FUSER, Script::fault(Fault::Credits));
    let arguments = ["ask", "--no-files", "-m", ONE, "-m", TWO, "-m", THREE, "Which design?"];
    let output = sandbox.call(arguments).settings([("synthesizer", FUSER)]).run();
    insta::assert_snapshot!(output.summary(), @"
    Answer by 1 openai/gpt-6.1-sol: every synthesizer failed; this is the answer closest to the others, word for word.
    warning[credits]: the synthesizer `google/gemini-4-argon` failed: openrouter answered 402: This request requires more credits, or fewer max_tokens. You requested up to 16000 tokens, but can only afford 3395. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account (next: add credit at the provider, lower `--max-tokens`, or ask a model of another provider)
    Cost $0.000091, <time>.
    Kept as run <run>; `parallel-llm-mcp runs synthesize <run>` tries again to fuse the answers.
    ");
}

#[test]
fn a_run_that_is_not_stored_is_not_called_stored() {
    insta::assert_snapshot!(ending(["6", "8", "8"], &["--store", "none", "--strategy", "vote"]), @"
    Answer by 2 x-ai/grok-4.7, chosen by vote: 2 of 3 answers say `8`; 1 openai/gpt-6.1-sol says `6`.
    Cost $0.00012, <time>.
    Not kept: run <run> leaves nothing behind, as asked.
    ");
    insta::assert_snapshot!(ending(["6", "8", "8"], &["--store", "metadata", "--strategy", "vote"]), @"
    Answer by 2 x-ai/grok-4.7, chosen by vote: 2 of 3 answers say the same.
    Cost $0.00012, <time>.
    Kept without its texts as run <run>: `parallel-llm-mcp runs show @`.
    ");
}

#[test]
fn the_usual_summary_is_three_lines_on_a_wide_terminal() {
    let sandbox = sandbox(["8", "8 legs", "6"]);
    let arguments = ["ask", "-m", ONE, "-m", TWO, "-m", THREE, "--synthesizer", FUSER, HOW_MANY];
    let shown = |columns: u16| {
        let mut terminal = sandbox.call(arguments).on_screen(columns, 40);
        assert_eq!(terminal.wait(), 0);
        terminal.masked()
    };
    insta::assert_snapshot!(shown(200), @"
    [ +<time>] run <run> started: 3 models, about $0.054, at most $0.55 if no call fails

    8 legs Answer: 8

    2 of 3 models agree; 3 mistralai/mistral-large-4-0 objects: it says `6`, the others `8`. Fused by google/gemini-4-argon from 3 answers, starting from 2 x-ai/grok-4.7 (0 % changed).

    Cost $0.0017 (fusing $0.0015), <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`; files below ~/.local/share/parallel-llm-mcp/runs.
    ");
    insta::assert_snapshot!(shown(80), @"
    [ +<time>] run <run> started: 3 models, about $0.054, at
      most $0.55 if no call fails

    8 legs Answer: 8

    2 of 3 models agree; 3 mistralai/mistral-large-4-0 objects: it says `6`, the
      others `8`. Fused by google/gemini-4-argon from 3 answers, starting from 2
      x-ai/grok-4.7 (0 % changed).

    Cost $0.0017 (fusing $0.0015), <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`; files
      below ~/.local/share/parallel-llm-mcp/runs.
    ");
}

/// How many lines state a failure with its reason, and how many refer to another call for it.
fn stated_and_referred(output: &Output) -> [usize; 2] {
    let failures =
        || output.stderr.lines().filter(|line| line.starts_with('[') && line.contains(" failed ["));
    let referred = failures().filter(|line| line.contains("], as seat ")).count();
    [failures().count() - referred, referred]
}

#[test]
fn a_refused_key_is_reported_once_with_its_source() {
    let refused = || Script::fault(Fault::AuthBad);
    let sandbox = sandbox(["8", "8", "8"]).scripted(ONE, refused()).scripted(TWO, refused());
    let output = ask(&sandbox, &[]);
    assert_eq!(stated_and_referred(&output), [1, 1], "{}", output.stderr);
    insta::assert_snapshot!(output.summary(), @"
    Answer by 3 mistralai/mistral-large-4-0: only one answer came, so there was nothing to fuse.
    Missing: 1 openai/gpt-6.1-sol and 2 x-ai/grok-4.7 failed: openrouter refused the key (401): User not found. (next: check that the key is current and belongs to this provider, correct it in `OPENROUTER_API_KEY`, unset that and keep another with `parallel-llm-mcp keys set openrouter`, or ask another model)
    Cost $0.000016, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
    let sandbox = sandbox.scripted(THREE, refused());
    let output = ask(&sandbox, &[]);
    assert_eq!(stated_and_referred(&output), [1, 2], "{}", output.stderr);
    insta::assert_snapshot!(output.summary(), @"
    No model answered.
    Missing: all 3 seats failed: openrouter refused the key (401): User not found. (next: check that the key is current and belongs to this provider, correct it in `OPENROUTER_API_KEY`, unset that and keep another with `parallel-llm-mcp keys set openrouter`, or ask another model)
    Cost $0.00, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
    insta::assert_snapshot!(ask(&sandbox, &["-q"]).summary(), @"
    error[auth]: no model answered (openai/gpt-6.1-sol, x-ai/grok-4.7, mistralai/mistral-large-4-0: openrouter refused the key (401): User not found.)
      next: check that the key is current and belongs to this provider, correct it in `OPENROUTER_API_KEY`, unset that and keep another with `parallel-llm-mcp keys set openrouter`, or ask another model
    ");
}

#[test]
fn seats_of_one_model_are_named_together() {
    let refused = || Script::fault(Fault::AuthBad);
    let sandbox = sandbox(["8"; 3]).scripted(ONE, refused()).scripted(TWO, refused());
    let panel = [ONE, ONE, ONE, TWO, ONE, THREE].into_iter().flat_map(|model| ["-m", model]);
    let output = sandbox.call(["ask", "--no-files", HOW_MANY]).args(panel).run();
    let missing = output.stderr.lines().find(|line| line.starts_with("Missing")).unwrap_or_default();
    let who = missing.split(" failed:").next().unwrap_or_default();
    insta::assert_snapshot!(who, @"Missing: 1-3 and 5 openai/gpt-6.1-sol and 4 x-ai/grok-4.7");
}

#[test]
fn an_unreachable_host_is_reported_once() {
    let sandbox = sandbox(["8", "8", "8"]);
    let arguments =
        ["ask", "--no-files", "-m", ONE, "-m", TWO, "-m", THREE, "--synthesizer", FUSER, HOW_MANY];
    let call = sandbox.call(arguments).env("OPENROUTER_BASE_URL", "http://127.0.0.1:1/api/v1");
    let output = call.settings([("retries_max", "0")]).run();
    assert_eq!(stated_and_referred(&output), [1, 2], "{}", output.stderr);
    insta::assert_snapshot!(output.summary(), @"
    No model answered.
    Missing: all 3 seats failed: openrouter at 127.0.0.1:1 cannot be reached: Connection refused (os error 111) (next: check the network and the base URL, or try again later)
    warning[prices_old]: the prices of `openrouter` are those of 2026-11-10: the list could not be renewed (next: type `parallel-llm-mcp models --refresh`)
    Cost $0.00, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
}

#[test]
fn an_expired_deadline_is_named_as_the_reason() {
    let stalled = || Script::fault(Fault::Stall);
    let all = sandbox(["8"; 3]).scripted(ONE, stalled()).scripted(TWO, stalled()).scripted(THREE, stalled());
    insta::assert_snapshot!(ask(&all, &["--deadline", "1s"]).summary(), @"
    No model answered.
    Missing: all 3 seats cut: the time limit of 1 s was reached (next: raise `--deadline`, or raise the setting `run_timeout_ms` (now 1000))
    Cost unknown, up to $0.29, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`.
    ");
}
