//! A plan drawn for a person, and as JSON: a block of lines for each stage, and a rail from each stage to those that read its text.
//!
//! It is ASCII, so that every terminal and log shows it, and as wide as it is told at most, except that names stay whole,
//! because they are copied.

use parallel_llm_engine::plan::flow::{PlannedFlow, Stage};
use parallel_llm_engine::plan::step::StepRole;
use parallel_llm_engine::request::panel::{Seat, SeatNumber};
use parallel_llm_engine::request::strategy::StrategyChoice;
use parallel_llm_engine::{CallerSlot, PicoUsd, RunPlan};
use parallel_llm_service::report::expected_cost::ExpectedCost;
use serde_json::{Value, json};

/// The width of a page in columns.
pub const WIDTH: usize = 80;
/// The name of the only stage of a plan without a flow.
const ONLY_STAGE: &str = "answer";

/// A stage as it is drawn.
struct DrawnStage {
    /// Its name and what it does, then who answers or what it reads.
    texts: Vec<String>,
    /// The stages it reads, by their indices.
    from: Vec<usize>,
}

/// The plan in lines.
pub fn lines(plan: &RunPlan, width: usize) -> Vec<String> {
    let of_flow = |flow: &PlannedFlow| flow.stages.iter().map(|stage| of_stage(plan, flow, stage)).collect();
    let stages = plan.flow.as_ref().map_or_else(|| vec![of_panel(plan)], of_flow);
    drawn(&stages, width)
}

/// How a plan without a flow makes one text, and who helps.
pub fn strategy(plan: &RunPlan) -> String {
    let chain: Vec<&Seat> = plan.synthesizers.iter().collect();
    made(plan, plan.strategy_choice(), plan.seats.len(), &chain)
}

/// A plan without a flow as a stage.
fn of_panel(plan: &RunPlan) -> DrawnStage {
    let models = models(&plan.seats.iter().collect::<Vec<_>>());
    let texts = std::iter::once(format!("{ONLY_STAGE}: {}", strategy(plan))).chain(models).collect();
    DrawnStage { texts, from: Vec::new() }
}

fn of_stage(plan: &RunPlan, flow: &PlannedFlow, stage: &Stage) -> DrawnStage {
    let seats = numbered(&plan.seats, &stage.seats);
    let chain = numbered(&plan.synthesizers, &stage.synthesizers);
    let made = made(plan, stage.strategy_choice(), stage.inputs(), &chain);
    let mut texts = vec![format!("{}: {made}", stage.name)];
    let read: Vec<&str> =
        stage.from.iter().filter_map(|read| Some(flow.stage(*read)?.name.as_str())).collect();
    if !read.is_empty() {
        texts.push(format!("reads {}", read.join(", ")));
    }
    texts.extend(models(&seats));
    DrawnStage { texts, from: stage.from.iter().map(|read| read.index()).collect() }
}

fn numbered<'a>(seats: &'a [Seat], numbers: &[SeatNumber]) -> Vec<&'a Seat> {
    numbers.iter().filter_map(|number| seats.get(number.index())).collect()
}

/// How a stage makes one text, and who helps.
fn made(plan: &RunPlan, choice: StrategyChoice, inputs: usize, chain: &[&Seat]) -> String {
    if inputs < 2 {
        return "one answer, as it is".to_owned();
    }
    let fuses = !choice.strategy.fusers(&plan.synthesizers).is_empty();
    let is_of_chain = |by: CallerSlot| match by {
        CallerSlot::Synthesizer(number) => chain.iter().any(|seat| seat.number == number),
        _ => false,
    };
    let role = plan.steps.iter().find(|step| is_of_chain(step.key.by)).map(|step| step.key.role);
    let task = match role {
        _ if fuses => "written",
        Some(StepRole::Analyst) => "read",
        Some(_) => "judged",
        None if choice.options.is_checked() => return format!("{choice}, checked by your command"),
        None => return choice.to_string(),
    };
    let names: Vec<String> = chain.iter().map(|seat| seat.model.to_string()).collect();
    format!("{choice}, {task} by {}", names.join(", else "))
}

/// The seats in lines, those of one model together.
fn models(seats: &[&Seat]) -> Vec<String> {
    let groups = seats.chunk_by(|one, next| one.entry() == next.entry());
    let line = |group: &[&Seat]| {
        let (first, last) = (group[0].number, group[group.len() - 1].number);
        let numbers = if first == last { first.to_string() } else { format!("{first}-{last}") };
        format!("{numbers} {}", group[0].entry())
    };
    groups.map(line).collect()
}

/// The open rails: in each column the stage whose text is still to be read.
struct Rails<'a> {
    stages: &'a [DrawnStage],
    columns: Vec<Option<usize>>,
}

impl Rails<'_> {
    /// Whether a later stage reads this one.
    fn is_read_after(&self, stage: usize, now: usize) -> bool {
        self.stages.iter().skip(now + 1).any(|reader| reader.from.contains(&stage))
    }

    /// Ends the rails that no stage after this one reads.
    fn close(&mut self, now: usize) {
        for column in 0..self.columns.len() {
            let is_over = self.columns[column].is_some_and(|stage| !self.is_read_after(stage, now));
            if is_over {
                self.columns[column] = None;
            }
        }
    }

    /// Begins the rail of a stage in the first free column, if it is read at all, and returns the column.
    fn open(&mut self, stage: usize) -> Option<usize> {
        if !self.is_read_after(stage, stage) {
            return None;
        }
        let free = self.columns.iter().position(Option::is_none).unwrap_or(self.columns.len());
        if free == self.columns.len() {
            self.columns.push(None);
        }
        self.columns[free] = Some(stage);
        Some(free)
    }

    /// The rails beside a line of text, this many columns wide.
    fn beside(&self, width: usize) -> String {
        let sign =
            |column: usize| if self.columns.get(column).is_some_and(Option::is_some) { "| " } else { "  " };
        (0..width).map(sign).collect()
    }

    /// The rails beside the name of a stage that nothing leads to.
    fn beginning(&self, own: Option<usize>, width: usize) -> String {
        let mut line = self.beside(width);
        if let Some(own) = own {
            line.replace_range(2 * own..=2 * own, "o");
        }
        line
    }

    /// The rails that lead to a stage.
    fn joining(&self, from: &[usize], width: usize) -> String {
        let mut line = String::new();
        for column in 0..width {
            let stage = self.columns.get(column).copied().flatten();
            let is_read = stage.is_some_and(|stage| from.contains(&stage));
            let is_joined = line.contains('+');
            line.push(match stage {
                _ if is_read => '+',
                Some(_) => '|',
                None if is_joined => '-',
                None => ' ',
            });
            line.push(if is_joined || is_read { '-' } else { ' ' });
        }
        line.pop();
        line.push('>');
        line
    }
}

/// The stages in the order of execution.
fn drawn(stages: &[DrawnStage], width: usize) -> Vec<String> {
    let new = || Rails { stages, columns: Vec::new() };
    let mut rails = new();
    for stage in 0..stages.len() {
        rails.close(stage);
        rails.open(stage);
    }
    let columns = rails.columns.len();
    let mut rails = new();
    let mut lines: Vec<String> = Vec::new();
    for (index, stage) in stages.iter().enumerate() {
        if index > 0 {
            lines.push(rails.beside(columns));
        }
        let first = if stage.from.is_empty() {
            let own = rails.open(index);
            rails.beginning(own, columns)
        } else {
            let joining = rails.joining(&stage.from, columns);
            rails.close(index);
            rails.open(index);
            joining
        };
        let beside = rails.beside(columns);
        let gap = if columns == 0 { "" } else { " " };
        for (nth, text) in stage.texts.iter().enumerate() {
            let rail = if nth == 0 { &first } else { &beside };
            let indent = if nth == 0 { "" } else { "  " };
            let first_indent = format!("{rail}{gap}{indent}");
            let further_indent = format!("{beside}{gap}{indent}    ");
            let options = textwrap::Options::new(width)
                .initial_indent(&first_indent)
                .subsequent_indent(&further_indent)
                .break_words(false)
                .word_separator(textwrap::WordSeparator::AsciiSpace)
                .word_splitter(textwrap::WordSplitter::NoHyphenation);
            lines.extend(textwrap::wrap(text, options).into_iter().map(String::from));
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// The models that may be called and have no known price.
pub fn unpriced(plan: &RunPlan) -> Vec<String> {
    let mut names: Vec<String> = plan.worst_case.unpriced().iter().map(ToString::to_string).collect();
    names.sort();
    names
}

/// The stages of a plan as JSON, its calls and its cost. A plan without a flow has one stage.
pub fn report(plan: &RunPlan) -> Value {
    let models = |seats: &[Seat], numbers: &[SeatNumber]| -> Vec<String> {
        let named = numbers.iter().filter_map(|number| seats.get(number.index()));
        named.map(|seat| seat.entry().to_string()).collect()
    };
    let all = |seats: &[Seat]| -> Vec<SeatNumber> { seats.iter().map(|seat| seat.number).collect() };
    let stages: Vec<Value> = match &plan.flow {
        Some(flow) => {
            let names = |stage: &Stage| -> Vec<String> {
                stage.from.iter().filter_map(|read| Some(flow.stage(*read)?.name.clone())).collect()
            };
            let stage = |stage: &Stage| {
                json!({
                    "name": stage.name,
                    "from": names(stage),
                    "models": models(&plan.seats, &stage.seats),
                    "strategy": stage.strategy_choice().to_string(),
                    "synthesizers": models(&plan.synthesizers, &stage.synthesizers),
                })
            };
            flow.stages.iter().map(stage).collect()
        }
        None => vec![json!({
            "name": ONLY_STAGE,
            "from": [],
            "models": models(&plan.seats, &all(&plan.seats)),
            "strategy": plan.strategy_choice().to_string(),
            "synthesizers": models(&plan.synthesizers, &all(&plan.synthesizers)),
        })],
    };
    let cost = ExpectedCost::of(plan);
    json!({
        "stages": stages,
        "calls": plan.calls(),
        "rounds": plan.rounds(),
        "cost_likely_usd": cost.likely().map(PicoUsd::as_usd),
        "cost_max_usd": cost.worst_case.known().map(|_| cost.most.as_usd()),
        "models_without_price": unpriced(plan),
        "budget_usd": plan.budget.limit_as_usd(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws stages written as `name` or `name: a b`.
    fn check(stages: &[&str]) -> String {
        let names: Vec<&str> = stages.iter().map(|stage| stage.split(':').next().unwrap()).collect();
        let stage = |text: &&str| {
            let (name, read) = text.split_once(':').unwrap_or((text, ""));
            let from = read.split_whitespace();
            DrawnStage {
                texts: vec![name.to_owned(), "how".to_owned()],
                from: from.map(|read| names.iter().position(|name| *name == read).unwrap()).collect(),
            }
        };
        drawn(&stages.iter().map(stage).collect::<Vec<_>>(), 40).join("\n")
    }

    #[test]
    fn a_stage_alone_has_no_rail() {
        insta::assert_snapshot!(check(&["answer"]), @"
        answer
          how
        ");
    }

    #[test]
    fn rails_lead_to_whoever_reads() {
        insta::assert_snapshot!(check(&["a", "b", "merge: a b"]), @"
        o    a
        |      how
        |
        | o  b
        | |    how
        | |
        +-+> merge
               how
        ");
        insta::assert_snapshot!(check(&["a", "b", "c: a b", "d: a c", "e", "end: d e"]), @"
        o    a
        |      how
        |
        | o  b
        | |    how
        | |
        +-+> c
        | |    how
        | |
        +-+> d
        |      how
        |
        | o  e
        | |    how
        | |
        +-+> end
               how
        ");
        insta::assert_snapshot!(check(&["a", "b", "c", "x: a c", "end: x b"]), @"
        o      a
        |        how
        |
        | o    b
        | |      how
        | |
        | | o  c
        | | |    how
        | | |
        +-|-+> x
        | |      how
        | |
        +-+--> end
                 how
        ");
    }

    #[test]
    fn long_texts_are_wrapped_beside_the_rails() {
        let stage = |text: &str, from: Vec<usize>| DrawnStage { texts: vec![text.to_owned()], from };
        let stages = [
            stage("a: best-of-n, judged by vendor/model-one, else vendor/model-two", vec![]),
            stage("b", vec![0]),
        ];
        insta::assert_snapshot!(drawn(&stages, 40).join("\n"), @"
        o  a: best-of-n, judged by
        |      vendor/model-one, else
        |      vendor/model-two
        |
        +> b
        ");
    }
}
