//! The help pages, a bare question, and the hints for commands that do not exist.

use parallel_llm_testkit::{Output, Sandbox};

const ONE: &str = "openai/gpt-6.1-sol";
/// The width that every terminal has, in columns.
const COLUMNS: usize = 80;

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

fn run(arguments: &[&str]) -> Output {
    sandbox().call(arguments).run()
}

#[test]
fn the_main_page_starts_with_examples_and_groups_the_commands() {
    insta::assert_snapshot!(run(&["--help"]).transcript(), @r#"
    exit 0
    --- stdout
    Ask many language models at once and get one answer you can trust

    Examples:
      parallel-llm-mcp demo
      parallel-llm-mcp "Which of two designs is safer, and why?"
      git diff | parallel-llm-mcp ask "Review this change" --preset quick

    `demo` needs no key and costs nothing. Questions need a key, such as
    OPENROUTER_API_KEY; in quotes they may stand without `ask`. Without a command
    and a question this is an MCP server if stdin is a pipe, which is how MCP
    clients start it; on a terminal it prints this help.

    Usage: parallel-llm-mcp [COMMAND]
           parallel-llm-mcp "QUESTION" [OPTIONS OF ask]

    Ask:
      ask          Ask a panel of models one question
      runs         Show and continue earlier runs
      batch        Ask files of questions, each line as a run

    Choose:
      models       Find models to ask, with their prices
      strategies   Choose how the answers become one text
      presets      Show the named panels
      flow         List, draw and check flows, which compose stages of panels

    Set up:
      demo         See it work: simulated models, no key, no cost
      doctor       Check that everything is ready for a run
      keys         Store the keys of providers, and make tokens for other callers
      config       Show the effective settings
      completions  Print the completion script of a shell

    Serve others:
      install      Put this program into the settings of an MCP client
      serve        Serve MCP on stdin and stdout, or over HTTP
      worker       Work on all batches, until it is stopped

    Maintain:
      explain      Explain an error code
      store        Check, back up, restore and copy the run database
      simulate     Run the simulated OpenRouter of the tests and the demo

    Options:
      -h, --help     Print help
      -V, --version  Print version
    --- stderr
    "#);
    assert_eq!(run(&["-h"]).text(), run(&["--help"]).text());
}

#[test]
fn the_page_of_ask_starts_with_examples() {
    let page = run(&["ask", "--help"]);
    let (first, _) = page.text().split_once("Spending:").expect("the page has this group");
    insta::assert_snapshot!(first, @r#"
    Ask a panel of models one question

    Examples:
      parallel-llm-mcp ask "Is this migration safe to run online?" @migration.sql
      parallel-llm-mcp ask -m openai/gpt-6.1-sol -m z-ai/glm-5.3 "Is P = NP?"
      git diff | parallel-llm-mcp ask --preset quick "Review this change"

    Usage: parallel-llm-mcp ask [OPTIONS] [PROMPT]...

    Arguments:
      [PROMPT]...  The question in one or more parts: `@FILE` reads a file or
                   attaches a folder, `-` reads stdin; piped text is appended

    Question:
      -c, --continue [<RUN>]   Go on with the conversation of an earlier run and its
                               panel: the newest, or this one
      -a, --attach <PATH>      Attach a picture (PNG, JPEG, GIF, WebP), a PDF or a
                               text, a folder, or a pattern such as 'src/**/*.rs' in
                               quotes; `-` attaches stdin; repeat for more
      -t, --template <NAME>    Put the question into a template of yours:
                               `templates/NAME.md` beside the settings
          --allow-secret-file  Send the question and its files even if they seem to
                               hold keys or passwords
          --system <TEXT>      Instructions in front of the question

    Models:
      -m, --model <MODEL>         A model to ask,
                                  `[provider:]model[*N][@key=value,...]`; repeat for
                                  a panel
          --preset <NAME>         A named panel or flow, such as `quick` or your
                                  own, or a flow's file; `presets` lists them
          --synthesizer <MODEL>   The synthesizer, in front of those of the settings
          --effort <EFFORT>       The panel's reasoning effort: none, minimal, low,
                                  medium, high, xhigh or max; left to each model
                                  unless given
          --temperature <NUMBER>  Sampling temperature, 0 to 2; left to each
                                  provider unless given

    Answer:
          --strategy <STRATEGY>  The strategy that makes one text of the answers,
                                 such as `vote` or `synthesize@gate=on`;
                                 `strategies` lists them
          --check <COMMAND>      Run this command on each answer, given on stdin,
                                 and choose an answer for which it exits with 0
          --paranoid             Also make the text without each answer in turn, so
                                 that no answer decides alone; short for the option
                                 `paranoid=on`
          --diff                 Show below the answer what the models disagree on
    "#);
    assert_eq!(run(&["ask", "-h"]).text(), page.text());
}

#[test]
fn the_page_of_ask_groups_the_flags() {
    let page = run(&["ask", "--help"]);
    let (_, rest) = page.text().split_once("Spending:").expect("the page has this group");
    insta::assert_snapshot!(rest, @"

          --dry-run                Show which models would be asked and what it
                                   would cost, and ask nothing
          --budget <USD>           The most the run may cost, in USD; more is
                                   refused before anything is sent, and so are
                                   models without a known price unless it is `none`
          --max-tokens <TOKENS>    Output cap of each call in tokens, reasoning
                                   included
          --cache <DURATION>       Use the stored answer to the very same question
                                   if it is no older than this, such as 1h
          --fresh                  Ask everything anew, even if the same question is
                                   in progress or was left without an answer
          --idempotency-key <KEY>  Your own key for this question: asked again with
                                   it, the same run is returned and nothing is paid
                                   twice

    Waiting:
          --wait <RULE>          When to stop waiting: all, quorum:K, until:DURATION
                                 or stragglers
          --deadline <DURATION>  The time the whole run may take, such as 90s or 5m
          --linger               Wait for late seats after the answer
          --abort                When stopped, close every connection at once, even
                                 those whose answers are paid for anyway

    Output:
          --open            Open the run's page in the browser, until Ctrl-C
      -o, --output <FILE>   Write the answer to this file instead of stdout
      -q, --quiet           Print nothing but the answer
          --json            Print the run report as one JSON object
          --jsonl           Print every event up to the answer as one JSON object a
                            line, then the report
          --deltas          With --jsonl: print text as it is written, too
          --progress <HOW>  What stderr shows while models are awaited [default:
                            auto] [possible values: auto, tty, plain, rawjson,
                            quiet]
          --strict          Exit with 3 if a seat has no whole answer, or the
                            answers were not fused or counted as asked

    Files and history:
          --output-dir <DIR>  The folder in which the run's folder is made
          --no-files          Write no files
          --store <MODE>      What to store of the run: full, metadata or none

    Help:
      -h, --help  Print help
    ");
}

#[test]
fn every_page_fits_a_narrow_terminal() {
    let reference = run(&["generate", "cli"]);
    let wide: Vec<&str> = reference.text().lines().filter(|line| line.chars().count() > COLUMNS).collect();
    assert_eq!(wide, [] as [&str; 0]);
    assert!(reference.text().lines().count() > 500, "{}", reference.text());
}

/// Fails unless the call asks the one model this question.
fn check_question(arguments: &[&str], question: &str) {
    let sandbox = sandbox();
    let output = sandbox.call(arguments).settings([("panel", ONE)]).run();
    assert_eq!(output.code, Some(0), "{arguments:?}: {}", output.stderr);
    let chats = sandbox.chats();
    let question_sent = chats.first().map(|chat| chat.body["messages"][0]["content"].clone());
    assert_eq!(question_sent.as_ref().and_then(serde_json::Value::as_str), Some(question), "{arguments:?}");
}

#[test]
fn a_question_without_a_command_is_asked() {
    let question = "Which is faster, a map or a tree?";
    check_question(&[question], question);
    check_question(&[question, "--quiet"], question);
    check_question(&["--quiet", question], question);
    check_question(&["-m", ONE, "--json", question], question);
    check_question(&["Explain entropy in one sentence"], "Explain entropy in one sentence");
    check_question(&["models of atoms: which came first?"], "models of atoms: which came first?");
    check_question(&["Why?"], "Why?");
    check_question(&["哪个更快？"], "哪个更快？");
}

#[test]
fn a_question_without_a_command_takes_files_and_piped_text() {
    let sandbox = sandbox();
    sandbox.write("notes.md", "A note.\n");
    let prompt_of = |call: parallel_llm_testkit::Call<'_>| {
        let output = call.settings([("panel", ONE)]).run();
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let last = sandbox.chats().pop().expect("a model was asked");
        last.body["messages"][0]["content"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(prompt_of(sandbox.call(["Sum this up.", "@notes.md"])), "Sum this up.\n\nA note.\n");
    assert_eq!(prompt_of(sandbox.call(["@notes.md"])), "A note.\n");
    assert_eq!(prompt_of(sandbox.call(["Sum this up."]).stdin("piped")), "Sum this up.\n\npiped");
    assert_eq!(prompt_of(sandbox.call(["-"]).stdin("piped")), "piped");
}

#[test]
fn a_wrong_flag_beside_a_bare_question_gets_the_hint_of_ask() {
    insta::assert_snapshot!(run(&["Which is faster?", "--modle", "a/b"]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no flag `--modle`
      next: did you mean `--model`?
    ");
}

/// The messages for calls that could be misspelt commands. None of them may reach a model.
fn refusals(calls: &[&[&str]]) -> String {
    let messages = calls.iter().map(|arguments| {
        let sandbox = sandbox();
        let output = sandbox.call(*arguments).run();
        assert_eq!(sandbox.chats().len(), 0, "{arguments:?} was asked");
        assert_eq!((output.code, output.text()), (Some(2), ""), "{arguments:?}");
        format!("{arguments:?}\n{}", output.stderr)
    });
    messages.collect()
}

#[test]
fn a_misspelt_command_is_refused_with_a_suggestion() {
    insta::assert_snapshot!(refusals(&[
        &["lst"],
        &["list"],
        &["list", "-n", "3"],
        &["lst", "some", "old", "runs"],
        &["modles"],
        &["modles?"],
        &["asks"],
        &["show", "01KB3V"],
        &["backup", "runs.db"],
        &["frobnicate"],
        &["frobnicate", "--json-lines"],
    ]), @r#"
    ["lst"]
    error[usage]: there is no command `lst`
      next: did you mean `parallel-llm-mcp runs list`?
    ["list"]
    error[usage]: there is no command `list`
      next: did you mean `parallel-llm-mcp runs list`?
    ["list", "-n", "3"]
    error[usage]: there is no command `list`
      next: did you mean `parallel-llm-mcp runs list -n 3`?
    ["lst", "some", "old", "runs"]
    error[usage]: there is no command `lst`
      next: write it like `parallel-llm-mcp "lst some old runs"`
    ["modles"]
    error[usage]: there is no command `modles`
      next: did you mean `models`?
    ["modles?"]
    error[usage]: there is no command `modles?`
      next: did you mean `models`?
    ["asks"]
    error[usage]: there is no command `asks`
      next: did you mean `ask`?
    ["show", "01KB3V"]
    error[usage]: there is no command `show`
      next: did you mean `parallel-llm-mcp runs show 01KB3V`?
    ["backup", "runs.db"]
    error[usage]: there is no command `backup`
      next: did you mean `parallel-llm-mcp store backup runs.db`?
    ["frobnicate"]
    error[usage]: there is no command `frobnicate`
      next: see `parallel-llm-mcp --help`, or type `parallel-llm-mcp ask "frobnicate"`
    ["frobnicate", "--json-lines"]
    error[usage]: there is no command `frobnicate`
      next: see `parallel-llm-mcp --help`, or type `parallel-llm-mcp ask "frobnicate" --json-lines`
    "#);
}

#[test]
fn a_question_without_quotes_is_refused() {
    insta::assert_snapshot!(refusals(&[&["which", "is", "faster"], &["delete", "01KB3V"]]), @r#"
    ["which", "is", "faster"]
    error[usage]: there is no command `which`
      next: write it like `parallel-llm-mcp "which is faster"`
    ["delete", "01KB3V"]
    error[usage]: there is no command `delete`
      next: type `parallel-llm-mcp runs purge --older-than 90d`
    "#);
}

#[test]
fn a_command_in_quotes_is_refused() {
    insta::assert_snapshot!(refusals(&[
        &["runs list"],
        &["run list"],
        &["serve --http 127.0.0.1:0"],
        &["ask -m opus which is faster"],
        &["explain rate_limited"],
        &["runs list", "--json-lines"],
    ]), @r#"
    ["runs list"]
    error[usage]: `runs list` in quotes is a command, not a question
      next: type `parallel-llm-mcp runs list`, or type `parallel-llm-mcp ask "runs list"`
    ["run list"]
    error[usage]: `run list` in quotes is a command, not a question
      next: type `parallel-llm-mcp runs list`, or type `parallel-llm-mcp ask "run list"`
    ["serve --http 127.0.0.1:0"]
    error[usage]: `serve --http 127.0.0.1:0` in quotes is a command, not a question
      next: type `parallel-llm-mcp serve --http 127.0.0.1:0`, or type `parallel-llm-mcp ask "serve --http 127.0.0.1:0"`
    ["ask -m opus which is faster"]
    error[usage]: `ask -m opus which is faster` in quotes is a command, not a question
      next: type `parallel-llm-mcp ask -m opus which is faster`, or type `parallel-llm-mcp ask "ask -m opus which is faster"`
    ["explain rate_limited"]
    error[usage]: `explain rate_limited` in quotes is a command, not a question
      next: type `parallel-llm-mcp explain rate_limited`, or type `parallel-llm-mcp ask "explain rate_limited"`
    ["runs list", "--json-lines"]
    error[usage]: `runs list` in quotes is a command, not a question
      next: type `parallel-llm-mcp runs list`, or type `parallel-llm-mcp ask "runs list"`
    "#);
}
