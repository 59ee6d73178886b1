//! Tables on terminals of several widths: no row is too wide, and the columns that are left out are named.

use parallel_llm_testkit::Sandbox;

const ONE: &str = "openai/gpt-6.1-sol";
const TWO: &str = "x-ai/grok-4.7";
const THREE: &str = "mistralai/mistral-large-4-0";
const FUSER: &str = "google/gemini-4-argon";

/// A history of one fused run.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"));
    let arguments = ["ask", "-q", "--no-files", "-m", ONE, "-m", TWO, "-m", THREE, "--synthesizer", FUSER];
    let asked = sandbox.call(arguments).arg("How do I shard a counter so that writes do not wait?").run();
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    sandbox
}

/// What a terminal of this width shows; no line may be wider.
fn shown(sandbox: &Sandbox, arguments: &[&str], columns: u16) -> String {
    let mut terminal = sandbox.call(arguments).on_screen(columns, 60);
    assert_eq!(terminal.wait(), 0, "{}", terminal.text());
    for line in terminal.text().lines() {
        assert!(line.chars().count() <= usize::from(columns), "{arguments:?} at {columns}: {line}");
    }
    terminal.masked()
}

/// The list of runs without the age of the only run, which depends on the speed of the machine.
fn without_age(list: &str) -> String {
    let (head, after) = list.split_once("$0.0065  ").expect("it shows the cost");
    let question = after.find("How").expect("it shows the question");
    format!("{head}$0.0065  <age>  {}", &after[question..])
}

#[test]
fn tables_fit_a_terminal_of_80_columns() {
    let sandbox = sandbox();
    insta::assert_snapshot!(without_age(&shown(&sandbox, &["runs", "list"], 80)), @"
    RUN                         STATUS    ANSWERS     COST  AGE      QUESTION
    <run>  complete   3 of 3  $0.0065  <age>  How do I shard…
    ");
    insta::assert_snapshot!(shown(&sandbox, &["runs", "cost"], 80), @"
    MODEL                        RUNS  CALLS  TOKENS IN  TOKENS OUT       COST  …
    google/gemini-4-argon           1      1        839         297    $0.0046
    openai/gpt-6.1-sol              1      1         13         114    $0.0012
    x-ai/grok-4.7                   1      1         13          89   $0.00056
    mistralai/mistral-large-4-0     1      1         13          39  $0.000091
    total                                  4        878         539    $0.0065
    no room for ESTIMATED, UNKNOWN, FAILED: a wider terminal, a pipe or `--json`
      shows all
    ");
    insta::assert_snapshot!(shown(&sandbox, &["runs", "insights"], 80), @"
    MODEL                        RUNS  ANSWERED  FAILED  MATTERED    PER RUN  …
    mistralai/mistral-large-4-0     1         1       0         0  $0.000091
    openai/gpt-6.1-sol              1         1       0         1    $0.0012
    x-ai/grok-4.7                   1         1       0         0   $0.00056
    no room for REFUSED, LATE, BASE, TIME, COST: a wider terminal, a pipe or
      `--json` shows all

    `mistralai/mistral-large-4-0` never mattered in 1 run (0–79 %): too few to say,
      34 more like these would tell
    `openai/gpt-6.1-sol` mattered in 1 of 1 run (21–100 %): too few to say, 19 more
      like these would tell
    `x-ai/grok-4.7` never mattered in 1 run (0–79 %): too few to say, 34 more like
      these would tell
    from 1 run whose text was made of two answers or more
    ");
    insta::assert_snapshot!(shown(&sandbox, &["models", "claude", "--limit", "4"], 80), @"
    MODEL                          CONTEXT  OUTPUT  $/M IN  $/M OUT  EXPIRES  …
    anthropic/claude-opus-5.5           1M    128k    4.00    20.00
    anthropic/claude-sonnet-5.5         1M    128k    2.00    10.00
    anthropic/claude-haiku-5.5          1M    128k    0.10     0.50
    ~anthropic/claude-opus-latest       1M    128k    4.00    20.00
    no room for NAME, FILES: a wider terminal, a pipe or `--json` shows all
    4 of 5 models that fit
    OpenRouter: 31 models, kept <age> ago
    ");
}

#[test]
fn tables_fit_other_widths_too() {
    let sandbox = sandbox();
    for columns in [60, 100, 160] {
        for arguments in [
            &["runs", "list"] as &[&str],
            &["runs", "cost"],
            &["runs", "insights"],
            &["models", "--limit", "9"],
        ] {
            shown(&sandbox, arguments, columns);
        }
    }
    insta::assert_snapshot!(shown(&sandbox, &["runs", "cost"], 60), @"
    MODEL                        RUNS  CALLS       COST  …
    google/gemini-4-argon           1      1    $0.0046
    openai/gpt-6.1-sol              1      1    $0.0012
    x-ai/grok-4.7                   1      1   $0.00056
    mistralai/mistral-large-4-0     1      1  $0.000091
    total                                  4    $0.0065
    no room for ESTIMATED, UNKNOWN, FAILED, TOKENS IN, TOKENS
      OUT: a wider terminal, a pipe or `--json` shows all
    ");
}

#[test]
fn a_pipe_gets_every_column() {
    let sandbox = sandbox();
    let titles = |arguments: &[&str]| {
        sandbox.call(arguments).run().text().lines().next().unwrap_or_default().to_owned()
    };
    insta::assert_snapshot!(titles(&["runs", "cost"]), @"MODEL                        RUNS  CALLS  FAILED  TOKENS IN  TOKENS OUT       COST  UNKNOWN  ESTIMATED");
    insta::assert_snapshot!(titles(&["runs", "insights"]), @"MODEL                        RUNS  ANSWERED  LATE  FAILED  REFUSED  BASE  MATTERED       COST    PER RUN   TIME");
    insta::assert_snapshot!(titles(&["models"]), @"MODEL                              NAME                                  CONTEXT  OUTPUT  $/M IN  $/M OUT  FILES                EXPIRES");
}
