//! The figures of small histories, whole.

use std::sync::Arc;

use parallel_llm_engine::{Code, ModelRef, PicoUsd, ProviderId};
use parallel_llm_store::{CallFact, CallResult, HourSpend};
use serde_json::{Value, json};

use super::*;

/// 23 November 2026, 21:20 UTC.
const NOW_MS: i64 = 1_795_392_000_000 + 21 * HOUR_MS + 20 * 60_000;
const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
const CENT: PicoUsd = PicoUsd(10_000_000_000);

fn model(name: &str) -> ModelRef {
    ModelRef { provider: ProviderId("openrouter".to_owned()), model: name.to_owned() }
}

/// A call of so many days ago that answered after so many milliseconds, cost a cent, and began after a tenth of the time.
fn call(name: &str, days_ago: i64, elapsed_ms: u64) -> CallFact {
    CallFact {
        model: Arc::new(model(name)),
        sent_at_ms: NOW_MS - days_ago * DAY_MS,
        result: CallResult::Answered,
        elapsed_ms: Some(elapsed_ms),
        first_token_ms: Some(elapsed_ms / 10),
        cost: Some(CENT),
        cost_is_estimate: false,
    }
}

/// A call that failed after a second for this reason, at a cost that nobody knows.
fn failed(name: &str, days_ago: i64, code: Code) -> CallFact {
    let result = CallResult::Failed(Some(code));
    CallFact { result, first_token_ms: None, cost: None, ..call(name, days_ago, 1_000) }
}

fn figures(mut calls: Vec<CallFact>) -> Figures {
    calls.sort_by_key(|call| -call.sent_at_ms);
    let budget = BudgetDay::of(None, &[], NOW_MS);
    let facts = Facts { calls: CallFacts { calls, is_complete: true }, budget };
    of(facts, NOW_MS - 30 * DAY_MS, NOW_MS)
}

fn shown(figure: &impl Serialize) -> Value {
    serde_json::to_value(figure).unwrap()
}

#[test]
fn an_empty_history_has_no_lines_and_no_numbers_that_are_not_numbers() {
    let figures = shown(&figures(Vec::new()));
    let hours = figures["budget"]["hours"].as_array().unwrap();
    assert_eq!(
        (hours.len(), &hours[21]),
        (22, &json!({"hour": 21, "spent_usd": 0.0, "unknown_cost_max_usd": 0.0}))
    );
    for name in ["latency", "reliability", "spending"] {
        assert_eq!(figures[name], json!([]), "{name}");
    }
    assert_eq!(figures["calls"], json!({"count": 0, "oldest_ms": null, "is_complete": true}));
    assert_eq!(figures["step_ms"], DAY_MS);
}

#[test]
fn latency_counts_failed_calls_as_endless_and_leaves_out_those_that_say_nothing() {
    let mut calls: Vec<CallFact> = (1..=7).map(|second| call("a", 1, second * 1_000)).collect();
    calls.push(CallFact { result: CallResult::Cut(None), ..call("a", 1, 500) });
    calls.extend([failed("a", 1, Code::Timeout), failed("a", 1, Code::Upstream)]);
    calls.push(CallFact { result: CallResult::Cancelled, ..call("a", 1, 9) });
    calls.push(CallFact { first_token_ms: None, ..call("b", 1, 2_000) });
    assert_eq!(
        shown(&figures(calls).latency),
        json!([
            {
                "model": "a", "calls": 10, "answered": 7, "cut": 1, "failed": 2, "unmeasured": 1,
                "whole_answer": {"p10": 1_000, "p25": 3_000, "p50": 5_000, "p75": null, "p90": null},
                "first_token_calls": 10,
                "first_token": {"p10": 50, "p25": 200, "p50": 400, "p75": 700, "p90": null}
            },
            {
                "model": "b", "calls": 1, "answered": 1, "cut": 0, "failed": 0, "unmeasured": 0,
                "whole_answer": null, "first_token_calls": 0, "first_token": null
            }
        ])
    );
}

#[test]
fn reliability_and_spending_have_a_cell_for_each_day_with_calls() {
    let mut calls = vec![
        call("a", 5, 1_000),
        failed("a", 5, Code::RateLimited),
        failed("a", 5, Code::Upstream),
        failed("a", 5, Code::Timeout),
        CallFact { result: CallResult::Cut(None), cost_is_estimate: true, ..call("a", 0, 1) },
        CallFact { result: CallResult::UnderWay, cost: None, ..call("b", 0, 1) },
    ];
    calls.extend((0..7).map(|_| call("a", 0, 1_000)));
    let figures = figures(calls);
    let midnight = NOW_MS.div_euclid(DAY_MS) * DAY_MS;
    let cell = |start_ms: i64, counts: [u64; 6]| {
        let [answered, cut, rate_limited, upstream, other, unmeasured] = counts;
        json!({
            "start_ms": start_ms, "answered": answered, "cut": cut, "rate_limited": rate_limited,
            "upstream": upstream, "other": other, "unmeasured": unmeasured
        })
    };
    let share = Share::of(8, 12);
    assert_eq!(
        shown(&figures.reliability),
        json!([
            {
                "model": "a", "calls": 12, "answered": 8, "answered_share": share,
                "cells": [cell(midnight - 5 * DAY_MS, [1, 0, 1, 1, 1, 0]), cell(midnight, [7, 1, 0, 0, 0, 0])]
            },
            {
                "model": "b", "calls": 0, "answered": 0, "answered_share": null,
                "cells": [cell(midnight, [0, 0, 0, 0, 0, 1])]
            }
        ])
    );
    assert_eq!(
        shown(&figures.spending),
        json!([
            {
                "model": "a", "calls": 12, "cost_usd": 0.09, "calls_of_unknown_cost": 3, "calls_of_estimated_cost": 1,
                "cells": [
                    {"start_ms": midnight - 5 * DAY_MS, "calls": 4, "cost_usd": 0.01, "calls_of_unknown_cost": 3},
                    {"start_ms": midnight, "calls": 8, "cost_usd": 0.08, "calls_of_unknown_cost": 0}
                ]
            },
            {
                "model": "b", "calls": 1, "cost_usd": null, "calls_of_unknown_cost": 1, "calls_of_estimated_cost": 0,
                "cells": [{"start_ms": midnight, "calls": 1, "cost_usd": null, "calls_of_unknown_cost": 1}]
            }
        ])
    );
}

#[test]
fn models_beyond_the_first_two_dozen_share_a_line() {
    let mut calls: Vec<CallFact> = (0..64).map(|number| call(&format!("m{number}"), 0, 1_000)).collect();
    calls.push(call("m63", 0, 1_000));
    let figures = figures(calls);
    let lines: Vec<_> = figures.latency.iter().map(|line| (line.model.as_deref(), line.calls)).collect();
    assert_eq!((lines.len(), lines[0], lines[24]), (25, (Some("m63"), 2), (None, 40)));
    assert_eq!(figures.spending[24].calls, 40);
    let measured: u64 = figures.reliability[24].cells.iter().map(ReliabilityCell::measured).sum();
    assert_eq!((measured, figures.step_ms), (40, HOUR_MS), "all of them were sent within two days");
}

#[test]
fn a_share_is_given_for_ten_cases_or_more() {
    assert_eq!(Share::of(9, 9), None);
    let Share { share, interval: [low, high] } = Share::of(5, 10).unwrap();
    assert_eq!([share, low, high].map(|part| format!("{part:.4}")), ["0.5000", "0.2366", "0.7634"]);
}

#[test]
fn the_budget_of_the_day_burns_down_by_the_hour() {
    let spend = |hour, cents, unknown| HourSpend {
        hour,
        cost: CENT.times(cents),
        calls_of_unknown_cost: unknown,
        unknown_cost_max: CENT.times(50 * unknown),
    };
    let now_ms = NOW_MS - 18 * HOUR_MS;
    let day =
        BudgetDay::of(Some(CENT.times(100)), &[spend(0, 0, 1), spend(2, 30, 0), spend(3, 40, 1)], now_ms);
    let hour = |hour, spent_usd: Option<f64>, unknown| json!({"hour": hour, "spent_usd": spent_usd, "unknown_cost_max_usd": unknown});
    assert_eq!(
        shown(&day),
        json!({
            "day_start_ms": NOW_MS.div_euclid(DAY_MS) * DAY_MS,
            "limit_usd": 1.0, "spent_usd": 0.7, "left_usd": 0.3,
            "calls_of_unknown_cost": 2, "unknown_cost_max_usd": 1.0,
            "hours": [
                hour(0, None, 0.5), hour(1, None, 0.5), hour(2, Some(0.3), 0.5), hour(3, Some(0.7), 1.0)
            ]
        })
    );
    let over = BudgetDay::of(Some(CENT), &[spend(0, 3, 0)], now_ms);
    assert_eq!((over.spent_usd, over.left_usd), (Some(0.03), Some(0.0)));
    assert_eq!(BudgetDay::of(None, &[], now_ms).left_usd, None);
}
