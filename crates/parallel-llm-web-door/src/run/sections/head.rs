//! The head of the page: the question, how far the run is, and how to steer it; and what went wrong.

use askama::Template;
use parallel_llm_engine::plan::flow::{Stage, StageNumber};
use parallel_llm_engine::run::Run;
use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_engine::value::invisible;
use parallel_llm_service::report::{ErrorReport, Report};

use crate::respond::rendered;
use crate::run::view::shown::{SeatMark, Shown, StatusMark, TextName};
use crate::text::figures::{self, Moment};

/// The longest question in the title, in characters; the whole stands below it.
const TITLE_CHARS: usize = 240;

#[derive(Template)]
#[template(path = "run/head.html")]
struct Head {
    id: String,
    started: Moment,
    /// The run whose conversation goes on.
    continues: Option<String>,
    question: String,
    question_rest: Option<String>,
    status: StatusMark,
    progress: String,
    elapsed: String,
    clock_ms: Option<u64>,
    cost: String,
    /// The preset or flow, and the strategy unless each stage has its own.
    named: Option<(&'static str, String)>,
    strategy: Option<String>,
    stages: Vec<StageLine>,
    is_running: bool,
    /// Whether the page was loaded while the run went on, so that its answer stands below the others.
    is_followed: bool,
    /// Whether the answer is there and late seats are still awaited.
    is_late: bool,
    can_steer: bool,
    /// Why the visitor can only watch.
    watching: &'static str,
    form_token: String,
}

/// A stage of a flow: who answers in it or what it reads, how that becomes one text, and how far it is.
struct StageLine {
    name: String,
    seats: Vec<SeatMark>,
    reads: String,
    strategy: &'static str,
    state: String,
}

#[derive(Template)]
#[template(path = "run/warnings.html")]
struct Warnings<'a> {
    error: Option<&'a ErrorReport>,
    warnings: &'a [ErrorReport],
}

/// The form that compares two texts; hidden until there are two.
#[derive(Template)]
#[template(path = "run/comparing.html")]
struct Comparing {
    id: String,
    texts: Vec<TextName>,
}

/// The question in one line, for titles.
pub(crate) fn title(shown: Shown<'_>) -> String {
    let question = shown.run.plan.question();
    let question = invisible::seen(question.trim());
    if question.is_empty() {
        "A run without its question".to_owned()
    } else {
        excerpt(&question, TITLE_CHARS)
    }
}

/// The head.
pub(super) fn head(shown: Shown<'_>) -> String {
    let Shown { run, report, .. } = shown;
    let question = run.plan.question();
    let question = invisible::seen(question.trim());
    let title = title(shown);
    let is_running = shown.is_live() && !run.is_decided();
    let elapsed_ms = if is_running { shown.age_ms } else { report.elapsed_ms };
    rendered(&Head {
        id: shown.id(),
        started: Moment::of(run.plan.run_id.unix_ms()),
        continues: report.continues.clone(),
        question_rest: (question.chars().count() > TITLE_CHARS).then(|| question.into_owned()),
        question: title,
        status: StatusMark::of_run(run.status),
        progress: progress(shown),
        elapsed: figures::duration(elapsed_ms),
        clock_ms: is_running.then_some(elapsed_ms),
        cost: report.cost_described(),
        named: named(run),
        strategy: run.stages.is_empty().then(|| report.strategy.clone()),
        stages: stages(shown),
        is_running,
        is_followed: shown.is_followed,
        is_late: shown.is_late(),
        can_steer: shown.can_steer,
        watching: if shown.visit.may_ask() {
            "Another process runs this; it is steered there. What it writes appears here within a second."
        } else {
            "Your token may read this run, but not steer it."
        },
        form_token: shown.visit.form_token(),
    })
}

/// What the run was asked by, and its name.
fn named(run: &Run) -> Option<(&'static str, String)> {
    let flow = run.plan.flow.as_ref().map(|flow| ("flow", &flow.name));
    let (kind, name) = flow.or_else(|| Some(("preset", run.plan.preset.as_ref()?)))?;
    Some((kind, invisible::seen(name).into_owned()))
}

/// The stages of the run's flow, in their order.
fn stages(shown: Shown<'_>) -> Vec<StageLine> {
    let run = shown.run;
    let Some(flow) = &run.plan.flow else { return Vec::new() };
    let names = |stages: &[StageNumber]| {
        stages.iter().map(|stage| run.stage_name(*stage)).collect::<Vec<_>>().join(" and ")
    };
    let line = |(number, stage): (StageNumber, &Stage)| {
        let decided_ms = if number == flow.last() {
            run.decided_ms
        } else {
            run.stages.get(number.index()).and_then(|view| view.decided_ms)
        };
        let seats: Vec<u8> = stage.seats.iter().map(|seat| seat.0).collect();
        let state = match decided_ms {
            Some(ms) => format!("done after {}", figures::duration(ms)),
            None if shown.is_live() => "not done yet".to_owned(),
            None => "never done".to_owned(),
        };
        StageLine {
            name: invisible::seen(&stage.name).into_owned(),
            seats: shown.marks(&seats),
            reads: names(&stage.from),
            strategy: stage.strategy.name(),
            state,
        }
    };
    flow.numbered().map(line).collect()
}

/// The form that compares two texts.
pub(super) fn comparing(shown: Shown<'_>) -> String {
    // Texts in progress cannot be compared yet.
    let ended = |text: &TextName| text.name.parse().is_ok_and(|number| shown.has_ended(number));
    let texts = shown.texts().into_iter().filter(|text| text.name == "final" || ended(text));
    rendered(&Comparing { id: shown.id(), texts: texts.collect() })
}

/// The failure and the warnings of the run.
pub(super) fn warnings(shown: Shown<'_>) -> String {
    let Report { error, warnings, .. } = shown.report;
    rendered(&Warnings { error: error.as_ref(), warnings })
}

fn progress(shown: Shown<'_>) -> String {
    let (answered, all) = (shown.run.answered(), shown.run.seats.len());
    let late = if shown.is_late() { ", late seats are still awaited" } else { "" };
    let cut = match shown.run.used_although_cut().count() {
        0 => String::new(),
        1 => ", one used although cut".to_owned(),
        cut => format!(", {cut} used although cut"),
    };
    format!("{answered} of {all} answered{cut}{late}")
}
