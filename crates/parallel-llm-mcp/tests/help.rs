//! How a user finds the way: the help pages.

use parallel_llm_testkit::{Output, Sandbox};

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
      parallel-llm-mcp ask "Which of two designs is safer, and why?"
      git diff | parallel-llm-mcp ask "Review this change" --preset quick

    `demo` needs no key and costs nothing; `ask` needs a key, such as
    OPENROUTER_API_KEY. Without a command this is an MCP server if stdin is a pipe,
    which is how MCP clients start it; on a terminal it prints this help.

    Usage: parallel-llm-mcp [COMMAND]

    Ask:
      ask       Ask a panel of models one question
      runs      Show and continue earlier runs
      models    Find models to ask, with their prices

    Set up:
      demo      See it work: simulated models, no key, no cost
      doctor    Check that everything is ready for a run
      keys      Store the keys of providers, and make tokens for others to ask here
      config    Show the effective settings
      import    Import the settings of the Python server that this replaces

    Serve others:
      install   Put this program into the settings of an MCP client
      serve     Serve MCP on stdin and stdout, or over HTTP

    Maintain:
      explain   Explain an error code
      store     Check, back up and restore the run database
      simulate  Run the simulated OpenRouter of the tests and the demo

    Options:
      -h, --help     Print help
      -V, --version  Print version
    --- stderr
    "#);
    assert_eq!(run(&["-h"]).text(), run(&["--help"]).text());
}

#[test]
fn the_page_of_ask_starts_with_examples_and_groups_the_flags() {
    insta::assert_snapshot!(run(&["ask", "--help"]).transcript(), @r#"
    exit 0
    --- stdout
    Ask a panel of models one question

    Examples:
      parallel-llm-mcp ask "Is this migration safe to run online?" @migration.sql
      parallel-llm-mcp ask -m openai/gpt-6.1-sol -m z-ai/glm-5.3 "Is P = NP?"
      git diff | parallel-llm-mcp ask --preset quick "Review this change"

    Usage: parallel-llm-mcp ask [OPTIONS] [PROMPT]...

    Arguments:
      [PROMPT]...  The question in one or more parts: `@FILE` reads a file, `-`
                   reads stdin; piped text is appended

    Question:
      -c, --continue[=<RUN>]   Go on with the conversation of an earlier run: the
                               newest, or `--continue=RUN`
      -a, --attach <FILE>      Attach a picture (PNG, JPEG, GIF, WebP), a PDF or a
                               text; repeat for more
          --allow-secret-file  Send files and piped text even if they seem to hold
                               keys or passwords
          --system <TEXT>      Instructions in front of the question

    Models:
      -m, --model <MODEL>         A model to ask,
                                  `[provider:]model[*N][@key=value,...]`; repeat for
                                  a panel
          --preset <NAME>         A named panel of the settings: quick, default,
                                  budget, max or your own
          --synthesizer <MODEL>   The synthesizer, in front of those of the settings
          --effort <EFFORT>       The panel's reasoning effort: none, minimal, low,
                                  medium, high, xhigh or max; left to each model
                                  unless given
          --temperature <NUMBER>  Sampling temperature, 0 to 2; left to each
                                  provider unless given

    Answer:
          --strategy <STRATEGY>  The strategy that makes one text of the answers,
                                 such as `synthesize` or `vote@first=2`;
                                 docs/strategies.md describes them all
          --check <COMMAND>      Run this command on each answer, given on stdin,
                                 and choose an answer for which it exits with 0
          --paranoid             Also make the text without each answer in turn, so
                                 that no answer decides alone; short for the option
                                 `paranoid=on`
          --diff                 Show below the answer what the models disagree on

    Spending:
          --dry-run                Show which models would be asked and what it
                                   would cost, and ask nothing
          --budget <USD>           The most the run may cost, in USD; more is
                                   refused before anything is sent
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
      -o, --output <FILE>  Write the answer to this file instead of stdout
      -q, --quiet          Print nothing but the answer
          --json           Print the run report as one JSON object
          --jsonl          Print every event up to the answer as one JSON object a
                           line, then the report
          --deltas         With --jsonl: print text as it is written, too
          --strict         Exit with 3 if a seat is missing or the answers were not
                           fused

    Files and history:
          --output-dir <DIR>  The folder in which the run's folder is made
          --no-files          Write no files
          --store <MODE>      What to store of the run: full, metadata or none

    Help:
      -h, --help  Print help
    --- stderr
    "#);
    assert_eq!(run(&["help", "ask"]).text(), run(&["ask", "-h"]).text());
}

#[test]
fn every_page_fits_a_narrow_terminal() {
    let reference = run(&["generate", "cli"]);
    let wide: Vec<&str> = reference.text().lines().filter(|line| line.chars().count() > COLUMNS).collect();
    assert_eq!(wide, [] as [&str; 0]);
    assert!(reference.text().lines().count() > 500, "{}", reference.text());
}
