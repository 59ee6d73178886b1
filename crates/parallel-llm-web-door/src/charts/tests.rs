//! A small case of each figure, whole, and histories that are empty, crowded or hostile.

use parallel_llm_service::{
    BudgetDay, BudgetHour, Coverage, Figures, ModelLatency, ModelReliability, ModelSpending, Quantiles,
    ReliabilityCell, Share, SpendingCell,
};

use super::*;

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// 23 November 2026, 06:30 UTC.
const NOW_MS: i64 = 20_780 * DAY_MS + 6 * HOUR_MS + HOUR_MS / 2;

/// The figures of a user without any run.
fn nothing() -> Figures {
    let none = Coverage { count: 0, oldest_ms: None, is_complete: true };
    Figures {
        schema: 1,
        from_ms: NOW_MS - 30 * DAY_MS,
        to_ms: NOW_MS,
        step_ms: DAY_MS,
        cases_min: 10,
        calls: none,
        latency: Vec::new(),
        reliability: Vec::new(),
        spending: Vec::new(),
        budget: BudgetDay {
            day_start_ms: 20_780 * DAY_MS,
            limit_usd: None,
            spent_usd: Some(0.0),
            left_usd: None,
            calls_of_unknown_cost: 0,
            unknown_cost_max_usd: Some(0.0),
            hours: vec![BudgetHour { hour: 0, spent_usd: Some(0.0), unknown_cost_max_usd: Some(0.0) }],
        },
    }
}

fn latency(model: Option<&str>, p90: Option<u64>) -> ModelLatency {
    let times = Quantiles { p10: Some(900), p25: Some(1_500), p50: Some(4_000), p75: Some(9_000), p90 };
    ModelLatency {
        model: model.map(str::to_owned),
        calls: 120,
        answered: 112,
        cut: 3,
        failed: 5,
        unmeasured: 2,
        whole_answer: Some(times),
        first_token_calls: 117,
        first_token: Some(times),
    }
}

/// A figure as its sentence, its picture and its CSV.
fn shown(figure: &Figure) -> String {
    format!("{}\n{}\n{}", figure.sentence, figure.svg.as_deref().unwrap_or("no picture"), figure.csv())
}

fn find(figures: &Figures, id: &str) -> Figure {
    all(figures).into_iter().find(|figure| figure.id == id).unwrap()
}

#[test]
fn latency_shows_the_middle_of_the_calls_and_an_arrow_for_endless_ones() {
    let short =
        ModelLatency { calls: 3, answered: 3, cut: 0, failed: 0, whole_answer: None, ..latency(None, None) };
    let latency = vec![latency(Some("openai/gpt"), Some(20_000)), latency(Some("x-ai/grok"), None), short];
    insta::assert_snapshot!(shown(&find(&Figures { latency, ..nothing() }, "latency")));
}

#[test]
fn reliability_gives_each_failure_a_form() {
    let cell = |day: i64, [answered, cut, rate_limited, upstream, other]: [u64; 5]| ReliabilityCell {
        start_ms: (20_780 - day) * DAY_MS,
        answered,
        cut,
        rate_limited,
        upstream,
        other,
        unmeasured: 1,
    };
    let cells = vec![
        cell(5, [9, 0, 0, 0, 0]),
        cell(4, [9, 1, 0, 0, 0]),
        cell(3, [5, 0, 5, 0, 0]),
        cell(2, [0, 0, 0, 7, 1]),
        cell(1, [3, 0, 0, 0, 1]),
        cell(0, [0, 0, 0, 0, 0]),
    ];
    let share = Some(Share { share: 0.634, interval: [0.481, 0.764] });
    let line = ModelReliability {
        model: Some("openai/gpt".to_owned()),
        calls: 41,
        answered: 26,
        answered_share: share,
        cells,
    };
    insta::assert_snapshot!(shown(&find(&Figures { reliability: vec![line], ..nothing() }, "reliability")));
}

#[test]
fn cost_marks_cells_of_unknown_cost() {
    let cell = |day: i64, cost_usd, calls_of_unknown_cost| SpendingCell {
        start_ms: (20_780 - day) * DAY_MS,
        calls: 4,
        cost_usd,
        calls_of_unknown_cost,
    };
    let line = |model: &str, cost_usd, cells: Vec<SpendingCell>| ModelSpending {
        model: Some(model.to_owned()),
        calls: 4 * cells.len() as u64,
        cost_usd,
        calls_of_unknown_cost: cells.iter().map(|cell| cell.calls_of_unknown_cost).sum(),
        calls_of_estimated_cost: 0,
        cells,
    };
    let spending = vec![
        line("openai/gpt", Some(1.25), vec![cell(2, Some(1.0), 0), cell(0, Some(0.25), 2)]),
        line("ollama:llama", None, vec![cell(1, None, 4)]),
    ];
    insta::assert_snapshot!(shown(&find(&Figures { spending, ..nothing() }, "cost")));
}

#[test]
fn the_budget_burns_down_to_now() {
    let hour = |hour, spent_usd, unknown| BudgetHour { hour, spent_usd, unknown_cost_max_usd: Some(unknown) };
    let hours = vec![
        hour(0, Some(0.0), 0.0),
        hour(1, Some(0.4), 0.0),
        hour(2, Some(0.4), 0.0),
        hour(3, Some(1.1), 0.3),
        hour(4, Some(1.1), 0.3),
        hour(5, Some(1.3), 0.3),
        hour(6, Some(1.5), 0.3),
    ];
    let budget = BudgetDay {
        limit_usd: Some(3.0),
        spent_usd: Some(1.5),
        left_usd: Some(1.5),
        calls_of_unknown_cost: 2,
        unknown_cost_max_usd: Some(0.3),
        hours,
        ..nothing().budget
    };
    insta::assert_snapshot!(shown(&find(&Figures { budget, ..nothing() }, "budget")));
}

#[test]
fn a_user_without_runs_sees_sentences_and_no_pictures_but_the_budget() {
    let figures = all(&nothing());
    for figure in &figures {
        assert_eq!(figure.svg.is_some(), figure.id == "budget", "{}", figure.id);
        assert!(figure.section(30).contains(&format!("/models/{}.csv?days=30", figure.id)));
    }
    assert_eq!(
        figures[0].sentence,
        "How long 0 calls of 0 models took, with those that failed or were cut counted as endless."
    );
}

/// The figures of these models, with extreme values.
fn crowded(names: &[String]) -> Figures {
    let cell = |model: &str| ReliabilityCell {
        start_ms: 0,
        answered: model.len() as u64,
        ..ReliabilityCell::default()
    };
    let spending = |model: &String| ModelSpending {
        model: Some(model.clone()),
        calls: u64::MAX / 64,
        cost_usd: Some(9e6),
        calls_of_unknown_cost: 0,
        calls_of_estimated_cost: 0,
        cells: vec![SpendingCell { start_ms: 0, calls: 1, cost_usd: Some(9e6), calls_of_unknown_cost: 1 }],
    };
    let reliability = |model: &String| ModelReliability {
        model: Some(model.clone()),
        calls: 1,
        answered: 1,
        answered_share: None,
        cells: vec![cell(model)],
    };
    Figures {
        latency: names.iter().map(|name| latency(Some(name), Some(0))).collect(),
        reliability: names.iter().map(reliability).collect(),
        spending: names.iter().map(spending).collect(),
        ..nothing()
    }
}

#[test]
fn one_model_sixty_four_models_and_long_hostile_names_are_drawn() {
    let hostile =
        format!("lab/\"><script>alert(1)</script><svg onload=x style='a'>\u{202e}{}", "x".repeat(140));
    let long = vec![hostile, format!("lab/{}", "模".repeat(200)), "=cmd|' /C calc'!A0".to_owned()];
    let many: Vec<String> = (0..64).map(|number| format!("lab/model-{number}")).collect();
    for names in [vec!["lab/one".to_owned()], many, long] {
        for figure in all(&crowded(&names)) {
            let svg = figure.svg.as_deref().unwrap();
            let (section, csv) = (figure.section(30), figure.csv());
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", figure.id);
            for evil in ["<script", "<svg onload", "onload=x style='", "style=\"", "\u{202e}"] {
                assert!(!svg.contains(evil), "{}: {evil}", figure.id);
            }
            assert!(!section.contains("<script") && section.matches("<svg ").count() == 1, "{}", figure.id);
            assert!(csv.lines().all(|line| !line.starts_with('=')), "{}", figure.id);
            assert!(svg.len() < 1_200_000, "{}: {} bytes", figure.id, svg.len());
        }
    }
}
