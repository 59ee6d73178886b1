//! `strategies` and `presets`: the lists that a user chooses from.

use parallel_llm_testkit::{Output, Sandbox};

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

fn run(arguments: &[&str]) -> Output {
    sandbox().call(arguments).run()
}

/// Asserts that every line fits into 80 columns.
fn check_narrow(output: &Output) {
    let wide: Vec<&str> = output.text().lines().filter(|line| line.chars().count() > 80).collect();
    assert_eq!(wide, [] as [&str; 0]);
}

#[test]
fn the_list_of_strategies_fits_one_screen() {
    let output = run(&["strategies"]);
    check_narrow(&output);
    assert!(output.text().lines().count() <= 24, "{}", output.text());
    insta::assert_snapshot!(output.transcript(), @"
    exit 0
    --- stdout
       STRATEGY    CALLS  FOR
    *  synthesize  5-6    One good text from several answers
       vote        5-6    A fact, a number or a choice, by count
       best-of-n   5-7    The best answer unchanged, by a judge or your `--check`
       council     5-11   A text that knows how the models rank each other
       moa         5-11   Answers rewritten after reading the others
       cascade     3-7    Cheap models first, the others only on disagreement
       race        5      An answer as fast as possible
       panel       5      All answers, side by side
       auto               The program to choose by the question

    * is your default. CALLS are those of one question to your panel of 5: the
    fewest if the first answers agree. Use one with `ask --strategy NAME`;
    `strategies NAME` shows its options.
    --- stderr
    ");
}

#[test]
fn the_list_reflects_the_configured_default_and_panel() {
    let sandbox = sandbox();
    let settings = [("strategy", "vote@first=2"), ("panel", "a/b*3, c/d")];
    let output = sandbox.call(["strategies", "--json"]).settings(settings).run();
    let json = output.json();
    assert_eq!((&json["schema"], &json["seats"]), (&1.into(), &4.into()));
    let strategies = json["strategies"].as_array().unwrap();
    let default: Vec<_> = strategies.iter().filter(|one| one["is_default"] == true).collect();
    assert_eq!(default.len(), 1);
    assert_eq!(default[0]["name"], "vote");
    assert_eq!(default[0]["calls"], serde_json::json!({ "fewest": 4, "most": 5 }));
}

#[test]
fn a_strategy_is_shown_with_its_options() {
    let pages = ["vote", "best-of-n", "auto"].map(|name| {
        let output = run(&["strategies", name]);
        check_narrow(&output);
        output.transcript()
    });
    insta::assert_snapshot!(pages.join("\n"), @r#"
    exit 0
    --- stdout
    The answer most others agree with is selected.

    For:    A fact, a number or a choice, by count
    Calls:  5-6 with your panel of 5
    Use:    parallel-llm-mcp ask --strategy vote "..."

    Options, written as in `vote@first=2`; the first word is the default:
      first=2..63               Ask so many first, the others only if these differ.
      weights=equal|log-odds    Count all alike, or by the `@accuracy` of seats.
      extractor=auto|json:/pointer  Compare short answers, or a value in JSON.
      min_share=1..100          The least share of all that wins, in percent.
    --- stderr

    exit 0
    --- stdout
    The answer that a judge or a check finds best is selected.

    For:    The best answer unchanged, by a judge or your `--check`
    Calls:  5-7 with your panel of 5
    Use:    parallel-llm-mcp ask --strategy best-of-n "..."

    Options, written as in `best-of-n@by=pairs`; the first word is the default:
      by=judge|pairs|league|consistency|check  Who picks: judges, or your `--check`.
      orders=1..2 (2)           In how many orders a judge sees the answers.
      gate=off|on               Ask for short answers; fuse nothing if all agree.
      first=2..63               Ask so many first, the others only if these differ.
      shown_tokens_max=200..1000000  Cut each answer for readers at so many tokens.
    --- stderr

    exit 0
    --- stdout
    A question with one short right answer is asked to two seats first, and to the
    others only if these differ. Another one goes to `best-of-n@by=check` if a check
    command is set, else to `synthesize`.

    For:    The program to choose by the question
    Use:    parallel-llm-mcp ask --strategy auto "..."
    --- stderr
    "#);
}

#[test]
fn a_strategy_is_available_as_json() {
    insta::assert_snapshot!(run(&["strategies", "race", "--json"]).text(), @r#"
    {
      "schema": 1,
      "seats": 5,
      "strategies": [
        {
          "about": "The first answer is selected.",
          "calls": {
            "fewest": 5,
            "most": 5
          },
          "for": "An answer as fast as possible",
          "is_default": false,
          "name": "race",
          "options": [
            {
              "about": "Milliseconds until the next seat is asked, too.",
              "default": null,
              "name": "hedge_after_ms",
              "values": [
                "1..600000"
              ]
            }
          ]
        }
      ]
    }
    "#);
}

#[test]
fn the_usage_line_of_every_strategy_works() {
    let json = run(&["strategies", "--json"]).json();
    for strategy in json["strategies"].as_array().unwrap() {
        let name = strategy["name"].as_str().unwrap();
        let page = run(&["strategies", name]);
        let line = page.text().lines().find(|line| line.contains("--strategy")).unwrap_or_default();
        let written = line.split_whitespace().rev().nth(1).unwrap_or_default();
        assert!(written.starts_with(name), "{line}");
        let asked = sandbox().call(["ask", "--dry-run", "--strategy", written, "Why?"]).run();
        assert_eq!(asked.code, Some(0), "{written}: {}", asked.stderr);
    }
}

#[test]
fn an_unknown_strategy_is_refused() {
    insta::assert_snapshot!(run(&["strategies", "votes"]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no strategy `votes`
      next: did you mean `vote`?
    ");
    insta::assert_snapshot!(run(&["strategies", "self-moa@samples=3"]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: the strategy `self-moa` is now `synthesize` over a panel of one model, such as `MODEL*3`
      next: write it like `synthesize`
    ");
}

/// A sandbox with a preset in its settings.
fn with_a_preset() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write(
        ".config/parallel-llm-mcp/config.toml",
        "[presets.mine]\npanel = ['a/b', 'c/d']\nmax_tokens = 500\n",
    );
    sandbox
}

#[test]
fn built_in_and_configured_presets_are_listed() {
    let sandbox = with_a_preset();
    let output = sandbox.call(["presets"]).run();
    check_narrow(&output);
    insta::assert_snapshot!(output.transcript(), @"
    exit 0
    --- stdout
    budget (built in)
      panel        openai/gpt-6.1-terra, anthropic/claude-sonnet-5.5,
                   google/gemini-3.8-flash, z-ai/glm-5.3,
                   deepseek/deepseek-v4.1-flash-1017
      synthesizer  ~google/gemini-pro-latest, ~anthropic/claude-opus-latest

    default (built in)
      panel        ~openai/gpt-sol-latest, ~anthropic/claude-opus-latest,
                   ~google/gemini-pro-latest, ~x-ai/grok-latest,
                   ~deepseek/deepseek-pro-latest
      synthesizer  ~google/gemini-pro-latest, ~anthropic/claude-opus-latest

    max (built in)
      panel        ~anthropic/claude-opus-latest*3, ~openai/gpt-sol-latest,
                   ~anthropic/claude-opus-latest, ~google/gemini-pro-latest,
                   ~x-ai/grok-latest, ~deepseek/deepseek-pro-latest
      synthesizer  ~google/gemini-pro-latest, ~anthropic/claude-opus-latest

    mine (user file <home>/.config/parallel-llm-mcp/config.toml:1)
      panel        a/b, c/d
      synthesizer  ~google/gemini-pro-latest, ~anthropic/claude-opus-latest

    quick (built in)
      panel        ~openai/gpt-sol-latest, ~anthropic/claude-opus-latest,
                   ~google/gemini-pro-latest
      synthesizer  ~google/gemini-pro-latest, ~anthropic/claude-opus-latest
    --- stderr

    Use one with `parallel-llm-mcp ask --preset NAME`; `parallel-llm-mcp presets NAME` shows everything about it.
    ");
}

#[test]
fn a_preset_is_shown_with_its_effective_settings() {
    let sandbox = with_a_preset();
    insta::assert_snapshot!(sandbox.call(["presets", "mine"]).run().transcript(), @"
    exit 0
    --- stdout
    mine (user file <home>/.config/parallel-llm-mcp/config.toml:1)
      panel        a/b, c/d
      synthesizer  ~google/gemini-pro-latest, ~anthropic/claude-opus-latest
      strategy     synthesize
      max_tokens   500
      budget_usd   3
      temperature  left to each provider
    --- stderr
    ");
    insta::assert_snapshot!(sandbox.call(["presets", "mine", "--json"]).run().transcript(), @r#"
    exit 0
    --- stdout
    {
      "presets": [
        {
          "budget_usd": 3.0,
          "max_tokens": 500,
          "name": "mine",
          "origin": "user file <home>/.config/parallel-llm-mcp/config.toml:1",
          "panel": [
            "a/b",
            "c/d"
          ],
          "strategy": "synthesize",
          "synthesizer": [
            "~google/gemini-pro-latest",
            "~anthropic/claude-opus-latest"
          ],
          "temperature": null
        }
      ],
      "schema": 1
    }
    --- stderr
    "#);
    insta::assert_snapshot!(sandbox.call(["presets", "quik"]).run().transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no preset or flow `quik`
      next: did you mean `quick`?
    ");
}
