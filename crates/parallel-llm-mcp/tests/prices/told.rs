//! What is said of prices that are not what they should be: old, unreachable, set under another name, or exceeded.

use serde_json::Value;

use super::shop::{GOLD, ListState, Shop};
use super::{CHEAP, CONFIG, PLAIN, ask, call, error, keep, sandbox};

const DAY_MS: u64 = 86_400_000;

fn messages(report: &Value, code: &str) -> Vec<String> {
    let warnings = report["warnings"].as_array().cloned().unwrap_or_default();
    let of_code = warnings.iter().filter(|warning| warning["code"] == code);
    of_code.map(|warning| warning["message"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn prices_that_are_not_of_today_are_told_with_their_day() {
    for (state, is_told) in [(ListState::Whole, false), (ListState::Unreachable, true)] {
        let (shop, sandbox) = (Shop::new(state), sandbox());
        keep(&sandbox, &shop, 2 * DAY_MS, 1.0);
        let dry = ask(&sandbox, &shop, &["--dry-run", "-m", PLAIN, "--synthesizer", CHEAP]);
        assert_eq!(dry.text().contains("prices_old"), is_told, "{}", dry.transcript());
        keep(&sandbox, &shop, 2 * DAY_MS, 1.0);
        let output = ask(&sandbox, &shop, &["-m", PLAIN, "--synthesizer", CHEAP]);
        assert_eq!(shop.sales().len(), 1, "{}", output.transcript());
        let told = messages(&output.json(), "prices_old");
        assert_eq!(told.len(), usize::from(is_told), "{told:?}");
        let beginning = "the prices of `openrouter` are those of 20";
        assert!(told.iter().all(|message| message.starts_with(beginning)), "{told:?}");
    }
}

#[test]
fn a_refusal_for_an_unknown_price_says_that_the_list_could_not_be_had() {
    let (shop, sandbox) = (Shop::new(ListState::Unreachable), sandbox());
    let refused = error(&ask(&sandbox, &shop, &["-m", GOLD]));
    assert_eq!(refused["code"], "price_unknown");
    let message = refused["message"].as_str().unwrap_or_default();
    assert!(message.ends_with("; openrouter answered 503"), "{message}");
    assert!(refused["next"].as_str().unwrap_or_default().starts_with("ask again"), "{refused}");
    assert!(shop.sales().is_empty());
}

#[test]
fn a_price_of_the_settings_counts_under_each_name_of_its_model() {
    for name in ["gold", "lab/GOLD", "openrouter:lab/gold"] {
        let (shop, sandbox) = (Shop::new(ListState::Varying), sandbox());
        let price = "{ input_usd_per_million = 0.1, output_usd_per_million = 0.2 }";
        sandbox.write(CONFIG, format!("[prices]\n\"{name}\" = {price}\n"));
        // The second time, the list is read from the disk.
        for sales in [1, 2] {
            let output = ask(&sandbox, &shop, &["-m", GOLD]);
            assert_eq!(
                (output.code, shop.sales().len()),
                (Some(0), sales),
                "{name}\n{}",
                output.transcript()
            );
        }
    }
}

#[test]
fn a_provider_that_charges_more_than_its_price_allows_is_named() {
    let (shop, sandbox) = (Shop::new(ListState::Whole), sandbox());
    let price = "{ input_usd_per_million = 0, output_usd_per_million = 0 }";
    sandbox.write(CONFIG, format!("[prices]\n\"{PLAIN}\" = {price}\n"));
    let told = |arguments: &[&str]| messages(&ask(&sandbox, &shop, arguments).json(), "budget");
    assert_eq!(told(&["-m", CHEAP]), Vec::<String>::new());
    assert_eq!(told(&["-m", PLAIN]), ["`lab/plain` charged $0.0000010 where its price allows $0.00"]);
}

#[test]
fn doctor_names_a_model_of_every_question_whose_price_nobody_knows() {
    let (shop, sandbox) = (Shop::new(ListState::Varying), sandbox());
    sandbox.write(CONFIG, format!("panel = [\"{GOLD}\"]\nsynthesizer = \"{CHEAP}\"\n"));
    let doctor =
        |arguments: &[&str]| call(&sandbox, &shop, &[&["doctor", "--json"], arguments].concat()).run();
    let found = doctor(&[]).json();
    let findings = found["findings"].as_array().cloned().unwrap_or_default();
    let told = findings.iter().any(|finding| {
        finding["state"] == "warning"
            && finding["found"].as_str().is_some_and(|found| found.starts_with("no price is known for `lab/"))
    });
    assert!(told, "{found}");
    let free = call(&sandbox, &shop, &["doctor", "--json"]).settings([("budget_usd", "none")]).run().json();
    assert!(!free.to_string().contains("no price is known"), "{free}");
}
