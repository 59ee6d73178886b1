//! Draws the plots of `docs/performance.md`, and fills in its tables, from the newest numbers in `bench/results`.
//!
//! `bench-draw --repository FOLDER`. Nothing is measured.

#![expect(clippy::print_stderr, reason = "a measuring tool prints to a terminal")]

use std::error::Error;
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;

use parallel_llm_bench::failure::{Failure, Outcome};
use parallel_llm_bench::results::page;
use parallel_llm_bench::results::stored::{CURVES, Measured, Medians, Results, TABLES};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The size of a plot in pixels.
const SIZE: (u32, u32) = (760, 420);
/// The room to the right of the lines for their names.
const NAMES_WIDTH: u32 = 150;
/// The least distance between two names.
const NAME_HEIGHT: i32 = 17;
/// The least value of a point: a logarithm needs one.
const LEAST: f64 = 0.001;
/// The room above and below the points, as a factor.
const MARGIN: f64 = 1.3;
const FONT: &str = "Helvetica, Arial, sans-serif";
const INK: RGBColor = RGBColor(36, 41, 47);
const GRID: RGBColor = RGBColor(225, 228, 232);
/// The colours of the lines, which people with any colour vision tell apart.
const COLOURS: [RGBColor; 5] = [
    RGBColor(110, 119, 129),
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 138, 100),
    RGBColor(170, 80, 140),
];

/// A plot with logarithmic axes and a line for each program.
struct Figure<'a> {
    /// The end of the name of its file.
    name: &'static str,
    title: &'static str,
    measured: &'a [&'a Measured],
    across: Quantity<Measured>,
    up: Quantity<Medians>,
}

/// What an axis shows.
struct Quantity<T> {
    title: &'static str,
    of: fn(&T) -> f64,
}

/// The points of one program.
struct Line {
    program: String,
    points: Vec<(f64, f64)>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let drawn = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--repository", folder] => draw_all(Path::new(folder)),
        _ => Err(Failure::new("it takes `--repository FOLDER`")),
    };
    match drawn {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn draw_all(repository: &Path) -> Outcome<()> {
    let results = repository.join("bench").join("results");
    let (tables, curves) = (Results::newest(&results, TABLES)?, Results::newest(&results, CURVES)?);
    let (at_once, sizes): (Vec<&Measured>, Vec<&Measured>) =
        curves.workloads.iter().partition(|measured| measured.reply_ms > 0);
    for figure in figures(&at_once, &sizes) {
        let path = repository.join("docs/images").join(format!("performance-{}.svg", figure.name));
        let mut svg = String::new();
        figure
            .draw(&mut svg)
            .map_err(|error| Failure::new(format!("`{}` cannot be drawn: {error}", figure.name)))?;
        std::fs::write(path, svg)?;
    }
    let page = repository.join("docs/performance.md");
    let text = page::refreshed(&std::fs::read_to_string(&page)?, &tables, &curves)?;
    Ok(std::fs::write(page, text)?)
}

/// The plots of both curves: questions at once, whose replies take a time, and sizes of answers.
fn figures<'a>(at_once: &'a [&'a Measured], sizes: &'a [&'a Measured]) -> [Figure<'a>; 4] {
    let questions =
        || Quantity { title: "questions at once", of: |measured: &Measured| measured.at_once as f64 };
    let milliseconds = |of| Quantity { title: "milliseconds", of };
    [
        Figure {
            name: "added",
            title: "Added time of a run, median",
            measured: at_once,
            across: questions(),
            up: milliseconds(|medians: &Medians| medians.added_p50 / 1e3),
        },
        Figure {
            name: "cpu",
            title: "Processor time of a run",
            measured: at_once,
            across: questions(),
            up: milliseconds(|medians| medians.cpu / 1e3),
        },
        Figure {
            name: "speed",
            title: "Runs per second",
            measured: at_once,
            across: questions(),
            up: Quantity { title: "runs per second", of: |medians| medians.per_second },
        },
        Figure {
            name: "sizes",
            title: "Added time of a run, median, by the length of its answers",
            measured: sizes,
            across: Quantity {
                title: "kB in each answer",
                of: |measured| measured.answer_bytes as f64 / 1e3,
            },
            up: milliseconds(|medians| medians.added_p50 / 1e3),
        },
    ]
}

impl Figure<'_> {
    fn draw(&self, svg: &mut String) -> Result<(), Box<dyn Error>> {
        let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let lines = self.lines();
        let xs: Vec<f64> = self.measured.iter().map(|measured| (self.across.of)(measured)).collect();
        let across = xs.first().copied().unwrap_or(LEAST)..xs.last().copied().unwrap_or(1.0);
        let ys = || lines.iter().flat_map(|line| &line.points).map(|point| point.1);
        let up = ys().fold(f64::MAX, f64::min) / MARGIN..ys().fold(LEAST, f64::max) * MARGIN;
        let up_ticks = ticks(&up);
        let (plot, names) = area.split_horizontally(SIZE.0 - NAMES_WIDTH);
        let mut chart = ChartBuilder::on(&plot)
            .margin(14)
            .margin_right(0)
            .caption(self.title, (FONT, 18).into_font().color(&INK))
            .x_label_area_size(46)
            .y_label_area_size(62)
            .build_cartesian_2d(
                across.log_scale().with_key_points(xs),
                up.log_scale().with_key_points(up_ticks),
            )?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(GRID)
            .axis_style(INK)
            .label_style((FONT, 14).into_font().color(&INK))
            .axis_desc_style((FONT, 14).into_font().color(&INK))
            .x_desc(self.across.title)
            .y_desc(self.up.title)
            .x_label_formatter(&|value| number(*value))
            .y_label_formatter(&|value| number(*value))
            .draw()?;
        let mut ends = Vec::new();
        for (line, colour) in lines.iter().zip(COLOURS) {
            let style = colour.stroke_width(2).filled();
            chart.draw_series(LineSeries::new(line.points.iter().copied(), style).point_size(3))?;
            let end = line.points.last().map(|end| chart.backend_coord(end).1).unwrap_or_default();
            ends.push(Name { text: &line.program, colour, y: end });
        }
        draw_names(&names, ends)
    }

    /// The programs in the order of the measurement.
    fn lines(&self) -> Vec<Line> {
        let programs = self.measured.first().map(|measured| &measured.programs);
        let line = |program: &str| {
            let points = self.measured.iter().filter_map(|measured| {
                let medians = measured.programs.iter().find(|medians| medians.program == program)?;
                Some(((self.across.of)(measured), (self.up.of)(medians).max(LEAST)))
            });
            Line { program: program.to_owned(), points: points.collect() }
        };
        programs.into_iter().flatten().map(|medians| line(&medians.program)).collect()
    }
}

/// The name of a line, beside its end.
struct Name<'a> {
    text: &'a str,
    colour: RGBColor,
    y: i32,
}

/// Draws the names of the lines, moved apart where they would overlap.
fn draw_names(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    mut names: Vec<Name<'_>>,
) -> Result<(), Box<dyn Error>> {
    names.sort_by_key(|name| name.y);
    let overlap: i32 = names.windows(2).map(|pair| (NAME_HEIGHT - (pair[1].y - pair[0].y)).max(0)).sum();
    let mut free = names.first().map_or(0, |first| first.y - overlap / 2);
    for name in names {
        let y = name.y.max(free);
        free = y + NAME_HEIGHT;
        let style = (FONT, 14).into_font().color(&name.colour).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(name.text, (10, y), style))?;
    }
    Ok(())
}

/// The ticks in this range: 1, 2 and 5 of each power of ten, or only powers of ten if these are many.
fn ticks(range: &Range<f64>) -> Vec<f64> {
    let steps: &[f64] = if range.end / range.start > 200.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let all = (-3..=6).flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
    all.filter(|tick| range.contains(tick)).collect()
}

/// A number as people write it: `0.5`, `10`, `1,000`.
fn number(value: f64) -> String {
    let text = format!("{}", (value * 1000.0).round() / 1000.0);
    match text.len() {
        4.. if value >= 1000.0 => format!("{},{}", &text[..text.len() - 3], &text[text.len() - 3..]),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_people_write_them() {
        assert_eq!(
            [0.1, 0.5, 64.0, 800.0, 1_000.0, 10_000.0].map(number),
            ["0.1", "0.5", "64", "800", "1,000", "10,000"]
        );
    }

    #[test]
    fn ticks_lie_in_their_range() {
        assert_eq!(ticks(&(0.45..8.3)), [0.5, 1.0, 2.0, 5.0]);
        assert_eq!(ticks(&(0.9..6_000.0)), [1.0, 10.0, 100.0, 1_000.0]);
    }
}
