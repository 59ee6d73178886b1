//! Resolves a flow: the seats, synthesizers and steps of all stages, each list numbered through.

use crate::plan::flow::{self, PlannedFlow, Stage, StageNumber};
use crate::plan::seats::{self, References, Sampling};
use crate::plan::size::QuestionSize;
use crate::plan::{Defaults, Terms, question, step};
use crate::request::flow::{Flow, FlowError, FlowPlace, FlowStage, StageKey};
use crate::request::panel::{SEATS_MAX, Seat, SeatNumber};
use crate::request::strategy::{ResolvedStrategy, StrategyChoice};
use crate::request::{RunRequest, persona};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::next::Next;
use crate::value::warning::Warning;

use super::Resolved;

/// The most synthesizers of a flow, limited by their numbers.
const SYNTHESIZERS_MAX: usize = u8::MAX as usize;

/// The settings with a flow of one stage in place of what a preset would set.
pub(super) fn as_preset(
    flow: &Flow,
    request: &mut RunRequest,
    defaults: &Defaults,
) -> Result<Defaults, Failure> {
    check_rules(flow)?;
    let stage = &flow.stages[0];
    request.temperature = request.temperature.or(stage.temperature);
    Ok(Defaults {
        panel: stage.panel.clone(),
        synthesizers: stage.synthesizer.clone().unwrap_or_else(|| defaults.synthesizers.clone()),
        strategy: stage.strategy().to_owned(),
        max_tokens: stage.max_tokens.unwrap_or(defaults.max_tokens),
        flow: None,
        ..defaults.clone()
    })
}

/// Every error of a flow that keeps its rules but does not fit the settings: a persona or a provider that is not there, or an
/// accuracy that a strategy needs.
pub(super) fn errors(flow: &Flow, terms: &Terms<'_>) -> Vec<FlowError> {
    let mut errors = Vec::new();
    for (stage, of) in flow.stages.iter().enumerate() {
        let mut entries = Vec::new();
        let synthesizers = of.synthesizer.iter().flatten().enumerate();
        let synthesizers = synthesizers.map(|named| (StageKey::Synthesizer, named));
        let panel = of.panel.iter().enumerate().map(|named| (StageKey::Panel, named));
        for (key, (index, reference)) in panel.chain(synthesizers) {
            let read = seats::parse(reference, terms).and_then(|mut entry| {
                persona::assume(&mut entry, &terms.defaults.personas)?;
                Ok(entry)
            });
            let place = FlowPlace::Entry { stage, key, index };
            match read {
                Ok(entry) if key == StageKey::Panel => entries.push(entry),
                Ok(_) => {}
                Err(failure) => errors.push(FlowError { place, failure }),
            }
        }
        if let Some(Err(failure)) = of.choice().map(|choice| choice.check_entries(&entries)) {
            let place = FlowPlace::Key { stage, key: StageKey::Strategy };
            errors.push(FlowError { place, failure });
        }
    }
    errors
}

/// Resolves a flow of several stages. Fails for what the flow decides itself.
pub(super) fn resolve(
    flow: &Flow,
    request: &RunRequest,
    size: QuestionSize,
    terms: &Terms<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Resolved, Failure> {
    check_rules(flow)?;
    check_request(flow, request)?;
    let mut resolving = Resolving { flow, request, size, terms, panels: Vec::new(), chains: Vec::new() };
    let order = flow.order();
    let mut stages = Vec::with_capacity(order.len());
    for index in &order {
        let reads = flow.reads(*index).into_iter();
        let number = |read| order.iter().position(|ordered| *ordered == read).map(StageNumber::at);
        let is_last = Some(index) == order.last();
        let stage = resolving.stage(&flow.stages[*index], is_last, warnings)?;
        stages.push(Stage { from: reads.filter_map(number).collect(), ..stage });
    }
    resolving.numbered(PlannedFlow { name: flow.name.clone(), stages }, warnings)
}

/// Fails if the flow breaks a rule.
fn check_rules(flow: &Flow) -> Result<(), Failure> {
    let error = flow.check().err().and_then(|errors| errors.into_iter().next());
    error.map_or(Ok(()), |error| Err(error.failure))
}

/// Fails if the request names what the flow decides itself.
fn check_request(flow: &Flow, request: &RunRequest) -> Result<(), Failure> {
    let named = [("models", request.models.is_some()), ("strategy", request.strategy.is_some())];
    let Some((what, _)) = named.into_iter().find(|(_, is_named)| *is_named) else { return Ok(()) };
    let message = format!("the stages of the flow `{}` name their {what} themselves", flow.name);
    Err(Failure::new(Code::Usage, message).with_next(Next::LeaveOut(what.into())))
}

/// The stages so far.
struct Resolving<'a> {
    flow: &'a Flow,
    request: &'a RunRequest,
    size: QuestionSize,
    terms: &'a Terms<'a>,
    /// The seats of each stage.
    panels: Vec<Vec<Seat>>,
    /// The synthesizers of each stage.
    chains: Vec<Vec<Seat>>,
}

impl Resolving<'_> {
    /// Resolves a stage, whose seats and synthesizers are numbered later.
    fn stage(
        &mut self,
        stage: &FlowStage,
        is_last: bool,
        warnings: &mut Vec<Warning>,
    ) -> Result<Stage, Failure> {
        let Self { flow, request, terms, .. } = *self;
        let sampling = Sampling::of(request, terms.defaults)?.in_stage(request, stage);
        let choice = StrategyChoice::parse(stage.strategy())?;
        let mut panel = Vec::new();
        if !stage.panel.is_empty() {
            let origin = format!("the flow `{}`, stage `{}`", flow.name, stage.name);
            let references = References { names: &stage.panel, typed: false, origin: &origin };
            panel = seats::resolve_panel(references, &request.messages, terms, &sampling, warnings)?;
            choice.check_seats(&panel)?;
        }
        seats::ask_for_line(&mut panel, choice, &question(&request.messages), terms.defaults.answer_line);
        let by_hand = request.synthesizer.as_ref().filter(|_| is_last);
        let chain = stage.synthesizer.as_ref().unwrap_or(&terms.defaults.synthesizers);
        self.panels.push(panel);
        self.chains.push(seats::resolve_chain(by_hand, chain, terms, &sampling, warnings)?);
        Ok(Stage {
            name: stage.name.clone(),
            from: Vec::new(),
            seats: Vec::new(),
            synthesizers: Vec::new(),
            strategy: choice.strategy,
            strategy_options: choice.options,
        })
    }

    /// Numbers all seats and synthesizers, and plans the steps.
    fn numbered(self, mut flow: PlannedFlow, warnings: &mut Vec<Warning>) -> Result<Resolved, Failure> {
        let mut seats = Vec::new();
        for (stage, panel) in flow.stages.iter_mut().zip(self.panels) {
            stage.seats = number(panel, &mut seats, SEATS_MAX)?;
        }
        // The chain of the last stage comes first: whoever wants to know who writes the text of the run looks there.
        let mut synthesizers = Vec::new();
        for (stage, chain) in flow.stages.iter_mut().zip(self.chains).rev() {
            stage.synthesizers = number(chain, &mut synthesizers, SYNTHESIZERS_MAX)?;
        }
        // Texts of stages have no short answers of their own.
        let groups = |stage: &Stage| !stage.seats.is_empty() && stage.strategy_choice().counts();
        let equivalence = if flow.stages.iter().any(groups) {
            seats::resolve_equivalence(&seats, self.terms, warnings)?
        } else {
            None
        };
        let mut steps = Vec::new();
        for (stage, inputs) in flow.stages.iter().zip(flow.inputs(&seats, &synthesizers)) {
            let chain = flow::chain_of(stage, &synthesizers);
            let groups = equivalence.is_some() && groups(stage);
            steps.extend(step::planned(stage.strategy_choice(), &inputs, chain, self.size, groups));
        }
        let last = flow.stages.last().map(Stage::strategy_choice);
        let choice = last.expect("a flow that keeps its rules has a stage");
        let chosen = ResolvedStrategy { choice, why: None };
        Ok(Resolved { flow: Some(flow), seats, synthesizers, equivalence, steps, chosen })
    }
}

/// Numbers `new` after `all` and moves it there. Returns the numbers.
fn number(new: Vec<Seat>, all: &mut Vec<Seat>, count_max: usize) -> Result<Vec<SeatNumber>, Failure> {
    if all.len() + new.len() > count_max {
        let message = format!("the flow would have more than {count_max} seats or synthesizers");
        return Err(Failure::new(Code::PanelSize, message));
    }
    let first = all.len();
    all.extend(
        new.into_iter().zip(first..).map(|(seat, index)| Seat { number: SeatNumber::at(index), ..seat }),
    );
    Ok(all[first..].iter().map(|seat| seat.number).collect())
}
