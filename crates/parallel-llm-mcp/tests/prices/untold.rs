//! What a call has cost that told nothing, of a model whose price nobody knows: unknown, and never nothing.

use parallel_llm_testkit::Sandbox;
use serde_json::Value;

use super::shop::{GOLD, ListState, Replies, Shop};
use super::{call, error, sandbox};

/// A shop that tells neither a price nor a cost.
fn silent() -> (Shop, Sandbox) {
    let shop = Shop::new(ListState::Unreachable);
    shop.reply(Replies::Unbilled);
    (shop, sandbox())
}

#[test]
fn a_batch_of_unknown_cost_does_not_say_that_it_was_free() {
    let (shop, sandbox) = silent();
    sandbox.write("questions.jsonl", format!("{{\"prompt\": \"Why?\", \"models\": [\"{GOLD}\"]}}\n"));
    let submitted = call(&sandbox, &shop, &["batch", "submit", "questions.jsonl", "--budget", "none"]).run();
    assert_eq!((submitted.code, shop.sales().len()), (Some(0), 1), "{}", submitted.transcript());
    assert!(!submitted.transcript().contains("$0.00 of a budget"), "{}", submitted.transcript());
    let status = call(&sandbox, &shop, &["batch", "status", "--json"]).run().json();
    let results = call(&sandbox, &shop, &["batch", "results", "--jsonl"]).run();
    let line: Value = serde_json::from_str(results.text().trim()).expect("a line of JSON");
    for said in [&status, &line] {
        let costs = (&said["cost_usd"], &said["cost_max_usd"]);
        assert_eq!(costs, (&Value::Null, &Value::Null), "{said}");
    }
}

#[test]
fn the_day_does_not_say_what_calls_without_a_price_cost_at_most_and_a_limit_lets_none_follow() {
    let (shop, sandbox) = silent();
    let asked = call(&sandbox, &shop, &["ask", "--json", "--budget", "none", "-m", GOLD, "Why?"]).run();
    assert_eq!((asked.code, shop.sales().len()), (Some(0), 1), "{}", asked.transcript());
    let costs = call(&sandbox, &shop, &["runs", "cost", "--json"]).run().json();
    assert_eq!(costs["total"]["calls_of_unknown_cost"], 1, "{costs}");
    assert_eq!(costs["total"]["unknown_cost_max_usd"], Value::Null, "{costs}");
    let told = call(&sandbox, &shop, &["runs", "cost"]).run();
    assert!(told.transcript().contains("nobody knows how much more"), "{}", told.transcript());
    shop.show(ListState::Whole);
    let next = call(&sandbox, &shop, &["ask", "--json", "-m", "lab/cheap", "Why?"]);
    let refused = next.settings([("budget_day_usd", "5")]).run();
    assert_eq!(error(&refused)["code"], "budget", "{}", refused.transcript());
    insta::assert_snapshot!(error(&refused)["message"].as_str().unwrap_or_default(), @"the run may cost up to $0.0016; of the day's limit of $5.00, $0.00 is spent, the cost and the price of some calls are unknown, and $0.00 held for runs under way");
    assert_eq!(shop.sales().len(), 1);
}
