//! Stored runs: listed, shown, and recovered after whatever ended their process.

use std::time::Duration;

use parallel_llm_testkit::simulator::{Behaviour, Fault, Latency, Script};
use parallel_llm_testkit::{Output, Sandbox, each, mask_report, seats, synthesis};
use serde_json::Value;
use tokio::time::Instant;

const QUICK: &str = "openai/gpt-6.1-sol";
const HANGING: &str = "x-ai/grok-4.7";

/// Names the newest run.
const NEWEST: &str = "@";

/// The time within which the upstream must see a cancel. The promise is one second; the rest is for a busy machine.
const CANCEL_MAX: Duration = Duration::from_secs(3);

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
        .scripted(QUICK, Script::answering("The first word.\nThe second line."))
}

/// A finished run of two seats.
fn finished_run(sandbox: &Sandbox) -> Output {
    let output =
        sandbox.call(["ask", "--json", "-m", QUICK, "-m", "mistralai/mistral-large-4-0", "Why?"]).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output
}

fn runs(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let output = sandbox.call(["runs"]).args(arguments).run();
    output.assert_no_key();
    output
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

#[test]
fn without_runs_the_list_is_empty_and_show_fails() {
    let sandbox = sandbox();
    insta::assert_snapshot!(runs(&sandbox, &["list"]).transcript(), @r#"
    exit 0
    --- stdout
    --- stderr
    no runs yet: try `parallel-llm-mcp ask "..."`
    "#);
    insta::assert_snapshot!(runs(&sandbox, &["show", NEWEST]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[run_not_found]: there are no runs yet
      next: ask something first
    ");
}

#[test]
fn runs_are_listed_newest_first() {
    let sandbox = sandbox();
    let ids = ["One?", "Two?", "Three?"].map(|question| {
        let output = sandbox.call(["ask", "--json", "-m", QUICK, question]).run();
        word(&output.json(), "run_id").to_owned()
    });
    let listed = runs(&sandbox, &["list", "--json"]).json_lines();
    let found: Vec<&str> = listed.iter().map(|line| word(line, "run_id")).collect();
    assert_eq!(found, [&ids[2], &ids[1], &ids[0]]);
    let mut newest = runs(&sandbox, &["list", "--json", "-n", "1"]).json();
    mask_report(&mut newest);
    insta::assert_snapshot!(newest, @r#"{"answered":1,"asked_by":null,"closed_at_ms":"<closed_at_ms>","cost_is_estimate":false,"cost_lacks_calls":false,"cost_usd":0.000084,"created_at_ms":"<created_at_ms>","decided_at_ms":"<decided_at_ms>","question":"Three?","run_id":"<run_id>","seats":1,"status":"complete","strategy":"synthesize"}"#);
    let older = runs(&sandbox, &["list", "--json", "--before", &ids[1]]).json();
    assert_eq!(word(&older, "question"), "One?");
    let before = |name: &str| runs(&sandbox, &["list", "--json", "--before", name]).json_lines().len();
    assert_eq!((before(NEWEST), before(&ids[1][..25]), before("01ARZ3NDEKTSV4RRFFQ69G5FAV")), (2, 1, 0));
    let text = runs(&sandbox, &["list"]);
    assert_eq!(text.text().lines().count(), 3);
    assert!(text.text().lines().all(|line| line.contains("complete") && line.contains("1 of 1")));
}

#[test]
fn show_repeats_the_report_of_a_run() {
    let sandbox = sandbox();
    let report = finished_run(&sandbox).json();
    let id = word(&report, "run_id");
    let mut shown = runs(&sandbox, &["show", "--json", id]).json();
    assert_eq!(shown, report, "the report of `ask` and of `runs show` is the same");
    for name in [NEWEST, &id[..12], &id.to_lowercase()] {
        shown = runs(&sandbox, &["show", "--json", name]).json();
        assert_eq!(shown, report, "{name}");
    }
    let seat = runs(&sandbox, &["show", NEWEST, "--seat", "1"]);
    assert_eq!(seat.text(), "The first word.\nThe second line.\n");
    assert_eq!(seat.stderr, "");
    let text = runs(&sandbox, &["show", NEWEST]);
    assert_eq!(text.text().trim_end(), word(&report, "answer"));
}

#[test]
fn events_are_printed_one_per_line() {
    let sandbox = sandbox();
    sandbox.call(["ask", "-q", "-m", QUICK, "Why?"]).run();
    insta::assert_snapshot!(runs(&sandbox, &["show", NEWEST, "--events"]).transcript(), @"
    exit 0
    --- stdout
    [ +<time>] run <run> started: 1 model, about $0.015, at most $0.16 if no call fails
    [ +<time>] seat 1 openai/gpt-6.1-sol: asked
    [ +<time>] seat 1 openai/gpt-6.1-sol: accepted as <generation>
    [ +<time>] seat 1 openai/gpt-6.1-sol: answered, 32 bytes, 8 tokens, $0.000082
    [ +<time>] decided: one model was asked, so there was nothing to fuse
    [ +<time>] closed: $0.000082 in all
    --- stderr
    ");
}

#[test]
fn unknown_runs_and_seats_are_refused() {
    let sandbox = sandbox();
    finished_run(&sandbox);
    insta::assert_snapshot!(runs(&sandbox, &["show", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[run_not_found]: no run has an id that begins with `<run>`
      next: look for the run with `parallel-llm-mcp runs list`
    ");
    insta::assert_snapshot!(runs(&sandbox, &["show", "not-a-run"]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[run_not_found]: no run has an id that begins with `not-a-run`
      next: look for the run with `parallel-llm-mcp runs list`
    ");
    insta::assert_snapshot!(runs(&sandbox, &["show", NEWEST, "--seat", "3"]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: the run has no seat 3; it has 2
      next: look at the run with `parallel-llm-mcp runs show`
    ");
    insta::assert_snapshot!(runs(&sandbox, &["list", "--before", "x"]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[run_not_found]: no run has an id that begins with `x`
      next: look for the run with `parallel-llm-mcp runs list`
    ");
}

/// Asks from this many processes at once, in a data folder that does not exist yet.
fn ask_concurrently(count: usize) {
    let sandbox = sandbox();
    let numbers: Vec<String> = (0..count).map(|number| format!("Question {number}?")).collect();
    let reports = each(&numbers, |question| sandbox.call(["ask", "--json", "-m", QUICK, question]).run());
    for output in &reports {
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        assert_eq!(synthesis(&output.json()), "complete verbatim by openai/gpt-6.1-sol");
    }
    let mut folders: Vec<String> =
        reports.iter().map(|output| word(&output.json()["files"], "dir").to_owned()).collect();
    folders.sort();
    folders.dedup();
    assert_eq!(folders.len(), count, "each run has a folder of its own");
    assert_eq!(runs(&sandbox, &["list", "--json"]).json_lines().len(), count);
    assert_eq!(sandbox.asked(QUICK), count);
}

#[test]
fn two_processes_share_a_fresh_data_folder() {
    ask_concurrently(2);
}

#[test]
fn eight_processes_share_a_fresh_data_folder() {
    ask_concurrently(8);
}

/// A sandbox in which one model answers, and the other begins and never ends.
fn hanging() -> Sandbox {
    sandbox().scripted(HANGING, Script::fault(Fault::Stall))
}

/// Waits until the first answer is in its file and the other model has begun.
fn until_one_has_answered(sandbox: &Sandbox) {
    sandbox.until("one has answered and one hangs", || {
        let has_begun = sandbox
            .chats()
            .iter()
            .any(|chat| chat.model.as_deref() == Some(HANGING) && chat.first_byte_us.is_some());
        has_begun && sandbox.files().iter().any(|(path, _)| path.ends_with("answer_1_openai-gpt-6.1-sol.md"))
    });
}

#[test]
fn a_killed_process_loses_no_answer() {
    let sandbox = hanging();
    let running = sandbox.call(["ask", "-m", QUICK, "-m", HANGING, "Why?"]).start();
    until_one_has_answered(&sandbox);
    // A partial text is stored each second, and so is the provider's id of a call.
    sandbox.until("both are stored", || {
        let seat = &runs(&sandbox, &["show", "--json", NEWEST]).json()["answers"][1];
        seat["text"].is_string() && seat["generation_id"].is_string()
    });
    running.signal("KILL");
    assert_eq!(running.wait().code, None);
    let report = runs(&sandbox, &["show", "--json", NEWEST]).json();
    assert_eq!(word(&report, "status"), "interrupted");
    insta::assert_snapshot!(seats(&report), @"
    1 openai/gpt-6.1-sol answered x1 32 bytes
    2 x-ai/grok-4.7 unknown interrupted x1 48 bytes
    ");
    let hanging = &report["answers"][1];
    let asked = sandbox.chats().into_iter().find(|chat| chat.model.as_deref() == Some(HANGING));
    assert_eq!(
        hanging["generation_id"].as_str().map(str::to_owned),
        asked.and_then(|chat| chat.generation_id)
    );
    assert_eq!(
        runs(&sandbox, &["show", NEWEST, "--seat", "1"]).text(),
        "The first word.\nThe second line.\n"
    );
    assert_eq!(word(&runs(&sandbox, &["list", "--json"]).json(), "status"), "interrupted");
    sandbox.assert_no_key_in_files();
}

#[test]
fn a_run_whose_seats_have_all_ended_is_resumed_without_a_key() {
    let sandbox = hanging();
    let running = sandbox.call(["ask", "-m", QUICK, "-m", HANGING, "Why?"]).start();
    until_one_has_answered(&sandbox);
    running.signal("KILL");
    running.wait();
    let resumed = sandbox.call(["runs", "resume", NEWEST, "--json"]).without("OPENROUTER_API_KEY").run();
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(synthesis(&resumed.json()), "partial verbatim by openai/gpt-6.1-sol");
    assert_eq!(sandbox.asked(HANGING), 1);
}

#[test]
fn the_id_of_a_call_without_text_survives_a_kill() {
    let sandbox = sandbox().scripted(HANGING, Script::fault(Fault::CommentsForever));
    let running = sandbox.call(["ask", "-m", HANGING, "Why?"]).start();
    let show = || runs(&sandbox, &["show", "--json", NEWEST]);
    sandbox.until("the id is stored", || {
        let shown = show();
        shown.code == Some(0) && shown.json()["answers"][0]["generation_id"].is_string()
    });
    running.signal("KILL");
    running.wait();
    let report = show().json();
    insta::assert_snapshot!(seats(&report), @"1 x-ai/grok-4.7 unknown interrupted x1");
    assert_eq!(report["answers"][0]["generation_id"].as_str(), sandbox.chats()[0].generation_id.as_deref());
}

/// What a terminal shows, if the machine has a tool that provides one.
fn shown_on_a_terminal(sandbox: &Sandbox, flags: &[&str]) -> Option<String> {
    let call = sandbox.call(["ask", "-m", QUICK, "How?"]).args(flags).env("NO_COLOR", "1");
    let output = call.on_terminal()?.run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    // The rest of a wrapped line is indented.
    Some(output.masked(&String::from_utf8_lossy(&output.stdout).replace("\r\n  ", " ")))
}

#[test]
fn a_terminal_shows_a_reminder_of_interrupted_runs() {
    let sandbox = hanging();
    let interrupt = |question: &str| {
        let running = sandbox.call(["ask", "-m", QUICK, "-m", HANGING, question]).start();
        sandbox.until("one has answered", || {
            let newest = runs(&sandbox, &["list", "-n", "1", "--json"]).json();
            word(&newest, "question") == question && newest["answered"] == 1
        });
        running.signal("KILL");
        running.wait();
    };
    let reminder = |flags: &[&str]| {
        let shown = shown_on_a_terminal(&sandbox, flags)?;
        assert!(shown.contains("The first word."), "{shown}");
        Some(
            shown
                .lines()
                .filter(|line| line.contains("interrupted"))
                .map(str::trim)
                .collect::<Vec<_>>()
                .join("\n"),
        )
    };
    let Some(none) = reminder(&[]) else { return };
    assert_eq!(none, "");
    interrupt("One?");
    insta::assert_snapshot!(reminder(&[]).unwrap_or_default(), @"run <run> was interrupted: `parallel-llm-mcp runs resume <run>` finishes it");
    interrupt("Two?");
    insta::assert_snapshot!(reminder(&[]).unwrap_or_default(), @"2 runs of the last week were interrupted: `parallel-llm-mcp runs list` names them, `parallel-llm-mcp runs show RUN` says how to finish one");
    for flag in ["--json", "--jsonl", "--quiet"] {
        let shown = shown_on_a_terminal(&sandbox, &[flag]).unwrap_or_default();
        assert!(!shown.contains("runs resume"), "{flag}: {shown}");
    }
    let piped = sandbox.call(["ask", "-m", QUICK, "How?"]).run();
    assert!(!piped.stderr.contains("interrupted"), "{}", piped.stderr);
}

/// Stops a run by this signal. Returns the exit code and the stored report; the upstream must see the cancel at once.
fn stopped_by(signal: &str) -> (Option<i32>, String) {
    let sandbox = hanging();
    let running = sandbox.call(["ask", "-m", QUICK, "-m", HANGING, "Why?"]).start();
    until_one_has_answered(&sandbox);
    running.signal(signal);
    let signalled = Instant::now();
    sandbox
        .until("the upstream sees the cancel", || sandbox.chats().iter().any(|chat| chat.client_cancelled));
    assert!(signalled.elapsed() < CANCEL_MAX, "the upstream saw the cancel after {:?}", signalled.elapsed());
    let output = running.wait();
    output.assert_no_key();
    let report = runs(&sandbox, &["show", "--json", NEWEST]).json();
    let notice =
        output.masked(output.stderr.lines().find(|line| line.starts_with("stopping")).unwrap_or("-"));
    (output.code, format!("{notice}\n{}\n{}", synthesis(&report), seats(&report)))
}

#[test]
fn an_interrupted_run_is_saved() {
    let (code, stored) = stopped_by("INT");
    assert_eq!(code, Some(130));
    insta::assert_snapshot!(stored, @"
    stopping: what has come is saved in run <run>; Ctrl-C stops at once
    cancelled none by -
    1 openai/gpt-6.1-sol answered x1 32 bytes
    2 x-ai/grok-4.7 cancelled cancelled x1 48 bytes
    ");
}

#[test]
fn a_terminated_run_is_saved() {
    let (code, stored) = stopped_by("TERM");
    assert_eq!(code, Some(143));
    insta::assert_snapshot!(stored, @"
    stopping: what has come is saved in run <run>; Ctrl-C stops at once
    cancelled none by -
    1 openai/gpt-6.1-sol answered x1 32 bytes
    2 x-ai/grok-4.7 cancelled cancelled x1 48 bytes
    ");
}

#[test]
fn a_closed_stdout_is_no_failure() {
    let sandbox = sandbox();
    let output = sandbox.call(["ask", "-m", QUICK, "Why?"]).closes_stdout().run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
    let output = sandbox.call(["runs", "list"]).closes_stdout().run();
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let slow = Behaviour { ttft_ms: Latency::of(300), ..Behaviour::instant() };
    let sandbox = sandbox.scripted(QUICK, Script::behaving(slow));
    let output = sandbox.call(["ask", "--jsonl", "-m", QUICK, "Why?"]).closes_stdout().run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

/// The time after the answer within which a shell must have its prompt back. The promise is one second; the rest is for
/// a busy machine.
const PROMPT_MAX: Duration = Duration::from_secs(3);

#[test]
fn the_program_ends_soon_after_the_answer_despite_a_late_seat() {
    const LATE: &str = "google/gemini-4-argon";
    let sandbox = sandbox().scripted(LATE, Script::fault(Fault::Stall));
    let call =
        sandbox.call(["ask", "--json", "-m", QUICK, "-m", QUICK, "-m", LATE, "--wait", "quorum:2", "Why?"]);
    let running = call.settings([("synthesizer", QUICK)]).start();
    sandbox.until("the answer is printed", || running.stdout_so_far().contains("\"answer\""));
    let printed = Instant::now();
    let output = running.wait();
    let passed = printed.elapsed();
    assert!(passed < PROMPT_MAX, "the prompt came {passed:?} after the answer");
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let note = output.stderr.lines().find(|line| line.contains("--linger")).unwrap_or_default();
    insta::assert_snapshot!(note, @"a late answer is not waited for, though paid for either way; `--linger` waits");
    let report = runs(&sandbox, &["show", "--json", NEWEST]).json();
    insta::assert_snapshot!(seats(&report), @"
    1 openai/gpt-6.1-sol answered x1 32 bytes
    2 openai/gpt-6.1-sol answered x1 32 bytes
    3 google/gemini-4-argon cancelled cancelled x1 48 bytes
    ");
    let late = &report["answers"][2];
    assert!(late["generation_id"].is_string() && late["cost_usd"].is_null(), "{late}");
    assert_eq!((&report["cost_lacks_calls"], &report["status"]), (&true.into(), &"partial".into()));
}

#[test]
fn a_signal_ends_the_wait_for_late_seats() {
    let sandbox = hanging();
    let call = sandbox.call(["ask", "-m", QUICK, "-m", QUICK, "-m", HANGING, "--linger", "Why?"]);
    let running = call.settings([("straggler_after_ms", "1"), ("synthesizer", QUICK)]).start();
    // Not only stored: until it is printed, a signal gives the run up.
    sandbox.until("the answer is printed", || !running.stdout_so_far().is_empty());
    running.signal("INT");
    let output = running.wait();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let report = runs(&sandbox, &["show", "--json", NEWEST]).json();
    assert_eq!(report["answers"][2]["status"], "cancelled");
}

/// Three answers about a migration: the second contradicts the others, and the third adds a point of its own.
const MIGRATION: [(&str, &str); 3] = [
    (
        QUICK,
        "The migration is safe to run online with a short lock timeout. It adds one column without a default.",
    ),
    (
        HANGING,
        "The migration is not safe to run online with a short lock timeout. \u{1b}[2J\u{202e}It adds one column.",
    ),
    (
        "mistralai/mistral-large-4-0",
        "The migration is safe to run online with a short lock timeout. A tested backup should exist before the migration begins.",
    ),
];

/// Asks these three models about a migration, and a fourth one that fails.
fn ask_about_migration(flags: &[&str]) -> (Sandbox, Output) {
    let sandbox = MIGRATION
        .into_iter()
        .fold(sandbox(), |sandbox, (model, text)| sandbox.scripted(model, Script::answering(text)))
        .scripted("z-ai/glm-5.3", Script::fault(Fault::NoEndpoints));
    let models = MIGRATION.iter().flat_map(|(model, _)| ["-m", model]).chain(["-m", "z-ai/glm-5.3"]);
    let call = sandbox.call(["ask", "Is it safe?"]).args(models).args(flags);
    let output = call.settings([("synthesizer", "google/gemini-4-argon")]).run();
    (sandbox, output)
}

#[test]
fn the_agreement_page_compares_the_answers() {
    let (sandbox, _) = ask_about_migration(&[]);
    insta::assert_snapshot!(runs(&sandbox, &["show", NEWEST, "--agreement"]).transcript(), @"
    exit 0
    --- stdout
    run <run>, synthesize, partial
    missing: 4 z-ai/glm-5.3 (failed, model_unknown)
    3 answers, worth about 1.45 independent votes (by a prior, not measured on your questions)
    confidence: uncalibrated (3 answers to an open question, which are not counted)

    what google/gemini-4-argon says of who supports what, its own opinion:
      - The migration is safe to run online with a short lock timeout.
          for: 1 openai/gpt-6.1-sol, 3 mistralai/mistral-large-4-0; against: 2 x-ai/grok-4.7

    what google/gemini-4-argon did not follow, and why:
      - The migration is not safe to run online with a short lock timeout.

    fused: the synthesizer started from one answer and patched it from the others
    started from 1 openai/gpt-6.1-sol, 0 % changed
    suspected of having tried to instruct its readers: 2 x-ai/grok-4.7
    --- stderr
    ");
    let report = runs(&sandbox, &["show", NEWEST, "--agreement", "--json"]).json();
    let mut shown = report["agreement"].clone();
    insta::assert_snapshot!(shown, @r#"{"changes":[],"claims":[{"against":[2],"for":[1,3],"text":"The migration is safe to run online with a short lock timeout."}],"clusters":[],"dissent":"The migration is not safe to run online with a short lock timeout.","effective_votes":{"largest":null,"panel":1.45,"source":"prior"},"entropy_bits":null,"equal":1,"novel":{"passages":[],"share":0.0,"value":null},"of":3,"read_by":"google/gemini-4-argon","share":null,"unread":[]}"#);
    shown = report["calls"].clone();
    mask_report(&mut shown);
    insta::assert_snapshot!(shown, @r#"[{"attempts":1,"cost_usd":0.00228,"elapsed_ms":"<elapsed_ms>","error":null,"model":"google/gemini-4-argon","number":1,"provider":"openrouter","role":"synthesizer","status":"answered","usage":{"cached_tokens":0,"input_tokens":660,"output_tokens":96,"reasoning_tokens":0}}]"#);
    insta::assert_snapshot!(report["confidence"], @r#"{"band":"uncalibrated","basis":"3 answers to an open question, which are not counted"}"#);
}

#[test]
fn diff_lists_below_the_answer_where_the_models_differ() {
    let (_, output) = ask_about_migration(&["--diff"]);
    insta::assert_snapshot!(output.summary(), @"
    where the models differ:
    in the opinion of google/gemini-4-argon:
      - The migration is safe to run online with a short lock timeout.
          for: 1 openai/gpt-6.1-sol, 3 mistralai/mistral-large-4-0; against: 2 x-ai/grok-4.7
      - not followed: The migration is not safe to run online with a short lock timeout.
    According to google/gemini-4-argon, 2 x-ai/grok-4.7 disputes: The migration is safe to run online with a short lock timeout. Fused by google/gemini-4-argon from 3 answers, starting from 1 openai/gpt-6.1-sol (0 % changed).
    Missing: 4 z-ai/glm-5.3 failed: openrouter answered 404: No endpoints found for z-ai/glm-5.3. (next: see which models there are with `parallel-llm-mcp models`)
    warning[suspected_injection]: the answer of seat 2 holds marks that reorder the text around them (next: read that answer before you rely on the result)
    Cost $0.0028 (fusing $0.0023), <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
    let sandbox = sandbox().scripted(HANGING, Script::answering("The first word."));
    let alone = sandbox.call(["ask", "--diff", "-m", QUICK, "Why?"]).run();
    assert!(alone.stderr.contains("there were not several answers that could differ"), "{}", alone.stderr);
    let voted = |answers: [&str; 2]| {
        let sandbox = sandbox
            .scripted(QUICK, Script::answering(answers[0]))
            .scripted(HANGING, Script::answering(answers[1]));
        let asking = sandbox.call(["ask", "--diff", "--strategy", "vote", "-m", QUICK, "-m", HANGING]);
        asking.arg("How many legs has a spider?").run().summary()
    };
    insta::assert_snapshot!(voted(["8\nANSWER: 8", "It has 6 legs.\nANSWER: 6"]), @"
    where the models differ:
      `8`: 1 openai/gpt-6.1-sol
      `6`: 2 x-ai/grok-4.7
    Answer by 1 openai/gpt-6.1-sol: no two answers agree; this is the answer closest to the others, word for word; 2 x-ai/grok-4.7 says `6`.
    warning[no_majority]: the vote decides nothing, for the same reason
    Cost $0.00025, <time>.
    Kept as run <run>; `parallel-llm-mcp runs replay <run> --strategy synthesize` makes one text of the answers; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
}

#[test]
fn without_stored_texts_the_agreement_page_shows_no_claims() {
    let (sandbox, output) = ask_about_migration(&["--store", "metadata", "--no-files"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let page = runs(&sandbox, &["show", NEWEST, "--agreement"]);
    insta::assert_snapshot!(page.transcript(), @"
    exit 0
    --- stdout
    run <run>, synthesize, partial
    missing: 4 z-ai/glm-5.3 (failed, model_unknown)
    3 answers, worth about 1.45 independent votes (by a prior, not measured on your questions)
    confidence: uncalibrated (3 answers to an open question, which are not counted)
    no model compared what they say, or its words are not kept

    fused: the synthesizer started from one answer and patched it from the others
    started from 1 openai/gpt-6.1-sol, 0 % changed
    suspected of having tried to instruct its readers: 2 x-ai/grok-4.7
    --- stderr
    ");
    let report = runs(&sandbox, &["show", NEWEST, "--json"]).json();
    assert!(!report["agreement"].to_string().contains("safe"), "{report}");
    assert_eq!((&report["agreement"]["claims"], &report["agreement"]["novel"]), (&Value::Null, &Value::Null));
}

#[test]
fn control_characters_in_an_analysis_do_not_reach_the_terminal() {
    const FUSER: &str = "google/gemini-4-argon";
    let analysis = r#"{"claims": [{"text": "\u001b[31mAll of\nit.\u202e", "for": ["A", "B", "Z"]}, {"text": 7}, "x"],
        "changes": [{"what": "\u001b[2Ja word", "why": "\u0007"}], "dissent": "\u001b]0;What it costs.\u0007", "suspected": ["A", "B"]}"#;
    let reply = format!("<<answer>>\nNobody said this at all before.\n<<end answer>>\n{analysis}");
    let sandbox = sandbox()
        .scripted(HANGING, Script::answering("A third word, and a fourth."))
        .scripted(FUSER, Script::answering(&reply));
    sandbox.call(["ask", "-m", QUICK, "-m", HANGING, "--synthesizer", FUSER, "Why?"]).run();
    let page = runs(&sandbox, &["show", NEWEST, "--agreement"]);
    insta::assert_snapshot!(page.transcript(), @"
    exit 0
    --- stdout
    run <run>, synthesize, complete
    2 answers, worth about 1.3 independent votes (by a prior, not measured on your questions)
    confidence: uncalibrated (2 answers to an open question, which are not counted)

    what google/gemini-4-argon says of who supports what, its own opinion:
      - [31mAll of it.
          for: 1 openai/gpt-6.1-sol, 2 x-ai/grok-4.7

    what google/gemini-4-argon says it changed:
      - [2Ja word

    what google/gemini-4-argon did not follow, and why:
      - ]0;What it costs.

    new wording (100 % of the sentences of the text):
      - Nobody said this at all before.

    fused: the synthesizer wrote it from the answers without naming the one it started from
    suspected of having tried to instruct its readers: 1 openai/gpt-6.1-sol, 2 x-ai/grok-4.7
    --- stderr
    ");
    assert!(!page.text().contains(['\u{1b}', '\u{7}', '\u{202e}']));
}

#[test]
fn a_judge_that_flips_between_orders_is_reported() {
    const JUDGE: &str = "google/gemini-4-argon";
    let first = r#"{"suspected_injection": ["A"], "ranking": ["A", "B"]}"#;
    let sandbox = sandbox()
        .scripted(HANGING, Script::answering("A third word, and a fourth."))
        .scripted(JUDGE, Script::answering(first));
    let models = ["-m", QUICK, "-m", HANGING, "--synthesizer", JUDGE];
    let asking = sandbox.call(["ask", "--json", "--strategy", "best-of-n", "Why?"]).args(models);
    let report = asking.run().json();
    let judging = &report["judging"];
    let rankings = [0, 1].map(|verdict| judging["verdicts"][verdict]["ranking"].to_string());
    assert!(
        ["[1,2]", "[2,1]"].iter().all(|order| rankings.iter().any(|ranking| ranking == order)),
        "{judging}"
    );
    assert_eq!((&judging["flips"], &judging["verdicts"][1]["by"]), (&Value::from(1), &Value::from(JUDGE)));
    let seats: Vec<_> =
        report["suspected_injection"].as_array().unwrap().iter().map(|one| &one["seat"]).collect();
    assert_eq!(seats, [1, 2]);
    let calls = report["calls"].as_array().expect("there are calls");
    let lines: Vec<String> =
        calls.iter().map(|call| format!("{} {}", word(call, "role"), call["number"])).collect();
    assert_eq!(lines, ["judge 1", "judge 2"]);
    let page = runs(&sandbox, &["show", NEWEST, "--agreement"]);
    assert!(page.text().contains("with the order: 1\nsuspected of having tried"), "{}", page.text());
}
