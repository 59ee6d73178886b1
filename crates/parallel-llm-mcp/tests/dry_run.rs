//! `ask --dry-run`: the panel and the cost of a question, without asking it.

use crate::ask::{ONE, sandbox};

#[test]
fn a_dry_run_estimates_the_cost_without_asking_any_model() {
    let sandbox = sandbox();
    let dry_run = |flags: &[&str]| sandbox.call(["ask", "--dry-run", "Why?"]).args(flags).run();
    let output = dry_run(&[]);
    insta::assert_snapshot!(output.transcript(), @"
    exit 0
    --- stdout
    Nothing was asked. The question would go to:
      1 ~openai/gpt-sol-latest
      2 ~anthropic/claude-opus-latest
      3 ~google/gemini-pro-latest
      4 ~x-ai/grok-latest
      5 ~deepseek/deepseek-pro-latest
    Strategy: synthesize, written by ~google/gemini-pro-latest, else ~anthropic/claude-opus-latest.
    Cost: about $0.11 with 1500 tokens for each reply, at most $1.19 if no call fails. The budget is $3.00.
    --- stderr
    ");
    let report = dry_run(&["--json", "-m", ONE]).json();
    insta::assert_snapshot!(report.to_string(), @r#"{"budget_usd":3.0,"cost_likely_usd":0.015005,"cost_max_usd":0.480015,"equivalence_model":null,"estimated_prices":[],"judges":[],"models":["openai/gpt-6.1-sol"],"models_without_price":0,"schema":1,"strategy":"synthesize","synthesizers":["~google/gemini-pro-latest","~anthropic/claude-opus-latest"],"unpriced_models":[],"warnings":[]}"#);
    let over_budget = dry_run(&["--budget", "0.01"]);
    assert_eq!(over_budget.code, Some(5));
    assert_eq!(
        over_budget.text(),
        output.text().replace(" if no call fails. The budget is $3.00", ". The budget is $0.010")
    );
    insta::assert_snapshot!(over_budget.stderr, @"
    error[budget]: the run may cost up to $1.19; the budget is $0.010
      next: allow it with `--budget 1.19`, lower `--max-tokens`, or ask fewer or cheaper models
    ");
    assert_eq!(sandbox.chats().len(), 0);
}
