//! The generated parts of `docs/performance.md`: its tables, between markers.

use std::fmt::Write;

use crate::failure::{Failure, Outcome};
use crate::measure::workload::{COALESCED, IN_TURN};
use crate::results::stored::Results;

/// A generated part: its name in the markers, and its text.
struct Part {
    name: &'static str,
    text: String,
}

/// The page with its tables made anew. `curves` are the numbers of its plots.
pub fn refreshed(page: &str, tables: &Results, curves: &Results) -> Outcome<String> {
    let parts = [
        Part { name: "the main table", text: in_turn(tables, IN_TURN.name)? },
        Part { name: "the coalesced table", text: in_turn(tables, COALESCED.name)? },
        Part { name: "the other workloads", text: others(tables) },
        Part { name: "the day of the plots", text: format!("The plots: {}.\n", measured(curves)) },
        Part { name: "the targets", text: targets(tables) },
    ];
    let mut page = page.to_owned();
    for Part { name, text } in parts {
        let (open, close) =
            (format!("<!-- Generated: {name}. -->\n"), format!("\n<!-- The end of {name}. -->\n"));
        let missing = || Failure::new(format!("the page has no part for {name}"));
        let start = page.find(&open).ok_or_else(missing)? + open.len();
        let end = page.find(&close).ok_or_else(missing)?;
        page.replace_range(start..end, &format!("\n{text}"));
    }
    Ok(page)
}

/// When and where a result was measured.
fn measured(results: &Results) -> String {
    let scale = if results.scale == "full" { "" } else { ", a quick measurement" };
    format!("{}{scale}; {}", results.day, results.machine)
}

/// The programs beside a floor, at a workload of one question at a time.
fn in_turn(tables: &Results, workload: &str) -> Outcome<String> {
    let mut text =
        "| | added, median | to the floor | added, p99 | processor time | to the floor | idle memory |\n\
        |---|--:|--:|--:|--:|--:|--:|\n"
            .to_owned();
    for medians in &tables.workload(workload)?.programs {
        let _ = writeln!(
            text,
            "| {} | {} ms | {:.1} | {} ms | {} ms | {:.1} | {:.0} MB |",
            medians.program,
            short(medians.added_p50 / 1e3),
            medians.added_to_floor,
            short(medians.added_p99 / 1e3),
            short(medians.cpu / 1e3),
            medians.cpu_to_floor,
            medians.idle_bytes as f64 / 1e6,
        );
    }
    let _ = writeln!(text, "\nMeasured on {}.", measured(tables));
    Ok(text)
}

/// The workloads besides those.
fn others(tables: &Results) -> String {
    let mut text = "| | | added, median | runs per second | processor time | to the floor |\n\
        |---|---|--:|--:|--:|--:|\n"
        .to_owned();
    let is_shown_above = |name: &str| [IN_TURN.name, COALESCED.name].contains(&name);
    for measured in tables.workloads.iter().filter(|measured| !is_shown_above(&measured.workload)) {
        for medians in &measured.programs {
            // Not known if all questions are asked at once.
            let added = match medians.added_p50 {
                0.0 => String::new(),
                added => format!("{} ms", short(added / 1e3)),
            };
            let _ = writeln!(
                text,
                "| {} | {} | {added} | {} | {} ms | {:.1} |",
                measured.workload,
                medians.program,
                short(medians.per_second),
                short(medians.cpu / 1e3),
                medians.cpu_to_floor,
            );
        }
    }
    text
}

/// A number with three digits at least.
fn short(value: f64) -> String {
    let places = match value {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    format!("{value:.places$}")
}

fn targets(tables: &Results) -> String {
    let mut text = "| target | bound | found | |\n|---|--:|--:|---|\n".to_owned();
    for target in &tables.targets {
        let found = target.found.map_or_else(|| "unknown".to_owned(), |found| format!("{found:.2}"));
        let result = if target.is_met { "met" } else { "**missed**" };
        let bound = format!("{} {}", target.bound, target.unit);
        let _ = writeln!(text, "| {} | {} | {found} | {result} |", target.name, bound.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::results::stored::{CURVES, TABLES};

    #[test]
    fn the_page_shows_the_newest_results() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let results = |ending| Results::newest(&repository.join("bench/results"), ending).unwrap();
        let page = std::fs::read_to_string(repository.join("docs/performance.md")).unwrap();
        let fresh = refreshed(&page, &results(TABLES), &results(CURVES)).unwrap();
        assert!(page == fresh, "docs/performance.md is out of date: run `cargo xtask bench --draw`");
    }
}
