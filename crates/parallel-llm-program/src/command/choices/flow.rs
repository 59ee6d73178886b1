//! `flow`: lists, draws and checks flows, which are files that compose stages.
//!
//! A preset is a flow of one stage, so it is drawn as well. Nothing here needs a key or asks a model.

use std::path::Path;

use parallel_llm_engine::value::nearest;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure, Message, Role, RunPlan, RunRequest};
use parallel_llm_service::Question;
use parallel_llm_settings::settings::{FlowErrors, FlowFile, Named, NamedFlow, Origin, Preset, Settings};
use serde_json::{Value, json};

use crate::called;
use crate::command::context::CommandContext;
use crate::command::json::pretty;
use crate::exit;
use crate::terminal::flow_picture::{self, WIDTH};
use crate::terminal::plain;
use crate::terminal::summary;
use crate::terminal::table::Column;
use crate::terminal::vocabulary;
use parallel_llm_service::report::counted::counted;

/// The version of the JSON format.
const SCHEMA: u32 = 1;
/// The length of the question for which a flow's cost is shown, in characters: half a page.
const QUESTION_CHARS: usize = 1_000;
/// The longest description in a list, in characters.
const ABOUT_CHARS_MAX: usize = 60;
/// How a file of a flow ends, in lower case.
const FILE_ENDING: &str = ".toml";

/// `flow`.
#[derive(Debug, clap::Subcommand)]
pub enum FlowCommand {
    List(List),
    Show(ShowFlow),
    Check(CheckFlows),
}

/// List your flows
///
/// Example: parallel-llm-mcp flow list
///
/// A flow is a file `flows/NAME.toml` beside the settings file. Use it with `ask --preset NAME`.
#[derive(Debug, clap::Args)]
pub struct List {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Draw a flow or preset, with what it costs at most
///
/// Example: parallel-llm-mcp flow show two-sides
///
/// Example: parallel-llm-mcp flow show ./two-sides.toml
#[derive(Debug, clap::Args)]
pub struct ShowFlow {
    /// The name of a flow or preset, or a file
    pub flow: String,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Check flows, and name the place of every mistake
///
/// Example: parallel-llm-mcp flow check ./two-sides.toml
///
/// Exits with 2 if there is a mistake.
#[derive(Debug, clap::Args)]
pub struct CheckFlows {
    /// Names of flows, or files; all your flows without one
    pub flows: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

impl FlowCommand {
    /// Whether errors are wanted as JSON.
    pub const fn wants_json(&self) -> bool {
        match self {
            Self::List(List { json })
            | Self::Show(ShowFlow { json, .. })
            | Self::Check(CheckFlows { json, .. }) => *json,
        }
    }
}

/// What was checked.
struct Checked {
    file: FlowFile,
    /// The plan of a flow without mistakes.
    plan: Result<RunPlan, FlowErrors>,
}

/// Runs the command.
pub(in crate::command) async fn run(
    context: &CommandContext<'_>,
    command: &FlowCommand,
) -> Result<u8, Failure> {
    match command {
        FlowCommand::List(list) => Ok(list_flows(context, list)),
        FlowCommand::Show(ShowFlow { flow, json }) => show(context, flow, *json).await,
        FlowCommand::Check(check) => check_flows(context, check).await,
    }
}

/// Whether this names a file, and not a flow or preset by its name.
pub(in crate::command) fn is_file(text: &str) -> bool {
    text.contains(std::path::is_separator) || text.to_lowercase().ends_with(FILE_ENDING)
}

/// The flow in a file that the user named.
pub(in crate::command) fn read(path: &str) -> Result<NamedFlow, Failure> {
    FlowFile::read(Path::new(path)).flow.map_err(|errors| errors.failure())
}

/// Fails if no preset and no flow has this name, and says so of a file that has it.
fn known(settings: &Settings, text: &str) -> Result<(), Failure> {
    settings.named(text).map(drop).map_err(|failure| {
        if !Path::new(text).is_file() {
            return failure;
        }
        let message = format!("{}; a file of that name is named with its folder", failure.message);
        Failure::new(failure.code, message).with_next(Next::Meant(format!("./{text}").into()))
    })
}

/// A question to whatever has this name, or to the flow in this file.
fn named(settings: &Settings, text: &str) -> Result<Question, Failure> {
    let mut question = any_question();
    if is_file(text) {
        question.flow = Some(Box::new(read(text)?));
    } else {
        known(settings, text)?;
        question.preset = Some(text.to_owned());
    }
    Ok(question)
}

/// A question of the usual length.
fn any_question() -> Question {
    let messages = vec![Message::text(Role::User, "x".repeat(QUESTION_CHARS))];
    Question::of(RunRequest { messages, ..RunRequest::default() })
}

/// Draws what has this name.
pub(super) async fn show(context: &CommandContext<'_>, name: &str, as_json: bool) -> Result<u8, Failure> {
    let question = named(&context.service.settings, name)?;
    let (about, origin) = described(&context.service.settings, name, &question);
    let plan = context.service.ask.sketch(question).await?;
    if as_json {
        let mut report = json!({ "schema": SCHEMA, "name": name, "origin": origin, "about": about });
        let Value::Object(drawn) = flow_picture::report(&plan) else {
            unreachable!("a plan is drawn as an object")
        };
        report.as_object_mut().expect("it was made as one").extend(drawn);
        context.console.data(&pretty(&report));
        return Ok(exit::ANSWER);
    }
    let mut lines = vec![match &about {
        Some(about) => format!("{name}: {about}"),
        None => name.to_owned(),
    }];
    lines.extend([format!("({origin})"), String::new()]);
    lines.extend(flow_picture::lines(&plan, WIDTH));
    lines.push(String::new());
    lines.extend(costs(&plan));
    context.console.page(&lines.join("\n"));
    summary::render_warnings(&context.console, &plan.warnings);
    Ok(exit::ANSWER)
}

/// What a flow is for, and where it comes from.
fn described(settings: &Settings, name: &str, question: &Question) -> (Option<String>, String) {
    if let Some(flow) = &question.flow {
        return (flow.flow.about.clone(), format!("flow, {name}"));
    }
    match settings.named(name) {
        Ok(Named::Flow(named)) => {
            let path = settings.flows.get(name).map(|file| file.path.display().to_string());
            (named.flow.about.clone(), format!("flow, {}", path.unwrap_or_default()))
        }
        Ok(Named::Preset(preset)) => (None, format!("preset, {}", origin(preset))),
        Err(_) => (None, String::new()),
    }
}

/// Where a preset comes from.
pub(super) fn origin(preset: &Preset) -> String {
    match &preset.origin {
        Origin::Default => "built in".to_owned(),
        origin => origin.to_string(),
    }
}

/// The calls of a plan, and what they cost.
fn costs(plan: &RunPlan) -> Vec<String> {
    let (calls, rounds) = (plan.calls(), plan.rounds());
    let range = if calls.fewest == calls.most {
        calls.most.to_string()
    } else {
        format!("{} to {}", calls.fewest, calls.most)
    };
    let mut lines = vec![format!("Calls: {range}, in {}.", counted(rounds, "round"))];
    let cost = plain::cost(plan, &format!("Cost of a question of {QUESTION_CHARS} characters:"));
    lines.extend(textwrap::wrap(&cost, WIDTH).into_iter().map(String::from));
    if let Err(refused) = plan.worst_case.check("a question", plan.budget) {
        let next = refused.next_step();
        let text = format!("It would be refused, unless you raise `budget_usd` in the flow, or: {next}.");
        lines.extend(textwrap::wrap(&text, WIDTH).into_iter().map(String::from));
    }
    lines
}

fn list_flows(context: &CommandContext<'_>, list: &List) -> u8 {
    const COLUMNS: [Column; 4] = [
        Column::words("FLOW", 40),
        Column::numbers("STAGES"),
        Column::numbers("SEATS"),
        Column::words("ABOUT", ABOUT_CHARS_MAX).cut_to(20),
    ];
    let settings = &context.service.settings;
    if list.json {
        context.console.data(&pretty(&json!({ "schema": SCHEMA, "flows": self::list(settings) })));
        return exit::ANSWER;
    }
    let folder = settings.flows_folder.as_deref().map(|folder| context.console.path(folder));
    let folder = folder.unwrap_or_default();
    if settings.flows.is_empty() {
        context.console.say(&format!("There is no flow yet: write one as {folder}/NAME.toml."));
        return exit::ANSWER;
    }
    let rows = settings.flows.iter().map(|(name, file)| match &file.flow {
        Ok(NamedFlow { flow, .. }) => {
            let seats: usize =
                flow.stages.iter().map(parallel_llm_engine::request::flow::FlowStage::seats).sum();
            let about = flow.about.clone().unwrap_or_default();
            vec![name.clone(), flow.stages.len().to_string(), seats.to_string(), about]
        }
        Err(_) => vec![name.clone(), String::new(), String::new(), format!("wrong: see `flow check {name}`")],
    });
    context.console.table(&COLUMNS, &rows.collect::<Vec<_>>());
    context.console.say(&format!(
        "\nThey are in {folder}. `flow show NAME` draws one, `ask --preset NAME` asks it; `presets` lists presets."
    ));
    exit::ANSWER
}

/// The flows as JSON.
pub(super) fn list(settings: &Settings) -> Value {
    settings.flows.iter().map(|(name, file)| listed(name, file)).collect()
}

/// A flow of the list as JSON.
fn listed(name: &str, file: &FlowFile) -> Value {
    let mut listed = json!({ "name": name, "path": file.path });
    match &file.flow {
        Ok(NamedFlow { flow, budget, .. }) => {
            listed["about"] = json!(flow.about);
            listed["stages"] = flow.stages.iter().map(|stage| stage.name.as_str()).collect();
            listed["budget_usd"] = json!(budget.and_then(parallel_llm_engine::PicoUsd::limit_as_usd));
        }
        Err(errors) => listed["errors"] = mistakes(errors),
    }
    listed
}

async fn check_flows(context: &CommandContext<'_>, check: &CheckFlows) -> Result<u8, Failure> {
    let settings = &context.service.settings;
    let files: Vec<FlowFile> = match check.flows.as_slice() {
        [] => settings.flows.values().cloned().collect(),
        names => names.iter().map(|name| file_of(settings, name)).collect::<Result<_, _>>()?,
    };
    let mut all = Vec::with_capacity(files.len());
    for file in files {
        let plan = context.service.ask.check_flow(&file, any_question().request).await?;
        all.push(Checked { file, plan });
    }
    let is_right = all.iter().all(|checked| checked.plan.is_ok());
    if check.json {
        let files: Vec<Value> = all.iter().map(Checked::report).collect();
        context.console.data(&pretty(&json!({ "schema": SCHEMA, "files": files })));
    } else {
        for checked in &all {
            checked.render(context);
        }
        if all.is_empty() {
            context.console.say("There is no flow to check.");
        }
    }
    Ok(if is_right { exit::ANSWER } else { exit::of(Code::SettingsInvalid) })
}

/// The file of a flow.
fn file_of(settings: &Settings, text: &str) -> Result<FlowFile, Failure> {
    if is_file(text) {
        return Ok(FlowFile::read(Path::new(text)));
    }
    if let Some(file) = settings.flows.get(text) {
        return Ok(file.clone());
    }
    if let Err(failure) = known(settings, text) {
        let flows: Vec<&str> = settings.flows.keys().map(String::as_str).collect();
        let unknown = || Failure::new(Code::Usage, format!("there is no flow `{text}`"));
        return Err(match flows.as_slice() {
            _ if Path::new(text).is_file() => failure,
            [] => unknown().with_next(Advice::NameFlow),
            _ => nearest::suggest_or_list(unknown(), text, &flows),
        });
    }
    let failure = Failure::new(Code::Usage, format!("`{text}` is a preset, which the settings file holds"));
    Err(failure.with_next(Next::Type(format!("{} flow show {text}", called::name()).into())))
}

impl Checked {
    fn render(&self, context: &CommandContext<'_>) {
        let path = self.file.path.display();
        match &self.plan {
            Ok(plan) => {
                let stages = plan.flow.as_ref().map_or(1, |flow| flow.stages.len());
                let (seats, calls) = (plan.seats.len(), plan.calls().most);
                context.console.page(&format!(
                    "{path} is right: {}, {}, at most {}",
                    counted(stages, "stage"),
                    counted(seats, "seat"),
                    counted(calls, "call"),
                ));
            }
            Err(errors) => {
                errors.errors.iter().for_each(|mistake| context.console.fail(&mistake.failure, false));
                if errors.more > 0 {
                    context.console.insist(&format!("{path}: and {} more", errors.more));
                }
            }
        }
    }

    fn report(&self) -> Value {
        let errors = self.plan.as_ref().err().map_or_else(|| json!([]), mistakes);
        json!({ "path": self.file.path, "is_right": self.plan.is_ok(), "errors": errors })
    }
}

/// The errors of a file as JSON.
fn mistakes(errors: &FlowErrors) -> Value {
    let mistake = |mistake: &parallel_llm_settings::settings::FlowMistake| {
        json!({
            "line": mistake.place.line,
            "column": mistake.place.column,
            "code": mistake.failure.code,
            "message": mistake.failure.message,
            "next": vocabulary::describe(mistake.failure.next_steps()),
        })
    };
    errors.errors.iter().map(mistake).collect()
}
