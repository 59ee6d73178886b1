//! The arguments of `ask`, and the question that they make.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use parallel_llm_engine::request::strategy::{AUTO, Strategy};
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure, Message, PicoUsd, Role, RunRequest};

use super::outgoing::{Outgoing, Source};
use super::prompt::PromptText;
use super::template::Template;
use super::{answer_file, prompt};
use crate::command::choices::flow;
use crate::command::context::CommandContext;
use crate::command::line::amount;
use crate::command::watch::view::{Leaving, ProgressStyle, View};
use parallel_llm_service::attachment::{AttachmentTally, Attachments};
use parallel_llm_service::form::Given;
use parallel_llm_service::{Question, form};
use parallel_llm_settings::settings::{Named, NamedFlow, Settings, duration_ms};

/// The groups of flags on the help page.
const QUESTION: &str = "Question";
const MODELS: &str = "Models";
const ANSWER: &str = "Answer";
const SPENDING: &str = "Spending";
const WAITING: &str = "Waiting";
const OUTPUT: &str = "Output";
const FILES: &str = "Files and history";

/// Ask a panel of models one question
///
/// Example: parallel-llm-mcp ask "Is this migration safe to run online?" @migration.sql
///
/// Example: parallel-llm-mcp ask -m openai/gpt-6.1-sol -m z-ai/glm-5.3 "Is P = NP?"
///
/// Example: git diff | parallel-llm-mcp ask --preset quick "Review this change"
#[derive(Debug, Default, clap::Args)]
pub struct Ask {
    /// The question in one or more parts: `@FILE` reads a file or attaches a folder, `-` reads stdin; piped text is appended
    pub prompt: Vec<OsString>,
    /// Go on with the conversation of an earlier run and its panel: the newest, or this one
    #[arg(short, long = "continue", value_name = "RUN", num_args = 0..=1)]
    #[arg(default_missing_value = "@", help_heading = QUESTION)]
    pub continued: Option<String>,
    /// How many parts of the question stand before the value of `--continue`, if that may be one of them.
    #[arg(skip)]
    pub parts_before_continued: Option<usize>,
    /// The word behind `--continue` and a blank that is rather meant as a run than as text, but is none.
    #[arg(skip)]
    pub no_run: Option<String>,
    /// The refusal of a question that is nothing but the name of a command.
    #[arg(skip)]
    pub lone_command: Option<Failure>,
    /// Single words behind the value of `--model`, which may be models, too.
    #[arg(skip)]
    pub behind_models: Vec<String>,
    /// Attach a picture (PNG, JPEG, GIF, WebP), a PDF or a text, a folder, or a pattern such as 'src/**/*.rs' in quotes;
    /// `-` attaches stdin; repeat for more
    #[arg(short, long = "attach", value_name = "PATH", help_heading = QUESTION)]
    pub attachments: Vec<PathBuf>,
    /// Put the question into a template of yours: `templates/NAME.md` beside the settings
    #[arg(short, long, value_name = "NAME", help_heading = QUESTION)]
    pub template: Option<String>,
    /// Send the question and its files even if they seem to hold keys or passwords
    #[arg(long, help_heading = QUESTION)]
    pub allow_secret_file: bool,
    /// Instructions in front of the question
    #[arg(long, value_name = "TEXT", help_heading = QUESTION)]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub system: Option<String>,
    /// A model to ask, `[provider:]model[*N][@key=value,...]`; repeat for a panel
    #[arg(short, long = "model", value_name = "MODEL", help_heading = MODELS)]
    pub models: Vec<String>,
    /// A named panel or flow, such as `quick` or your own, or a flow's file; `presets` lists them
    #[arg(long, value_name = "NAME", help_heading = MODELS)]
    pub preset: Option<String>,
    /// The synthesizer, in front of those of the settings
    #[arg(long, value_name = "MODEL", help_heading = MODELS)]
    pub synthesizer: Option<String>,
    /// The panel's reasoning effort: none, minimal, low, medium, high, xhigh or max; left to each model unless given
    #[arg(long, value_name = "EFFORT", help_heading = MODELS)]
    pub effort: Option<String>,
    /// Sampling temperature, 0 to 2; left to each provider unless given
    #[arg(long, value_name = "NUMBER", help_heading = MODELS)]
    #[arg(value_parser = option("temperature", Given::number))]
    pub temperature: Option<f64>,
    /// The strategy that makes one text of the answers, such as `vote` or `synthesize@gate=on`; `strategies` lists them
    #[arg(long, value_name = "STRATEGY", help_heading = ANSWER)]
    pub strategy: Option<String>,
    /// Run this command on each answer, given on stdin, and choose an answer for which it exits with 0
    #[arg(long, value_name = "COMMAND", help_heading = ANSWER)]
    pub check: Option<String>,
    /// Also make the text without each answer in turn, so that no answer decides alone; short for the option `paranoid=on`
    #[arg(long, help_heading = ANSWER)]
    pub paranoid: bool,
    /// Show below the answer what the models disagree on
    #[arg(long, conflicts_with = "quiet", help_heading = ANSWER)]
    pub diff: bool,
    /// Show which models would be asked and what it would cost, and ask nothing
    #[arg(long, conflicts_with_all = ["jsonl", "output"], help_heading = SPENDING)]
    pub dry_run: bool,
    /// The most the run may cost, in USD; more is refused before anything is sent, and so are models without a known price
    /// unless it is `none`
    #[arg(long, value_name = "USD", value_parser = option("budget_usd", Given::usd), allow_negative_numbers = true, help_heading = SPENDING)]
    pub budget: Option<PicoUsd>,
    /// Output cap of each call in tokens, reasoning included
    #[arg(long, value_name = "TOKENS", help_heading = SPENDING)]
    #[arg(value_parser = option("max_tokens", Given::tokens))]
    pub max_tokens: Option<u32>,
    /// Use the stored answer to the very same question if it is no older than this, such as 1h
    #[arg(long, value_name = "DURATION", conflicts_with = "fresh", help_heading = SPENDING)]
    pub cache: Option<String>,
    /// Ask everything anew, even if the same question is in progress or was left without an answer
    #[arg(long, help_heading = SPENDING)]
    pub fresh: bool,
    /// Your own key for this question: asked again with it, the same run is returned and nothing is paid twice
    #[arg(long, value_name = "KEY", help_heading = SPENDING)]
    pub idempotency_key: Option<String>,
    /// When to stop waiting: all, quorum:K, until:DURATION or stragglers
    #[arg(long, value_name = "RULE", help_heading = WAITING)]
    pub wait: Option<String>,
    /// The time the whole run may take, such as 90s or 5m
    #[arg(long, value_name = "DURATION", help_heading = WAITING)]
    pub deadline: Option<String>,
    /// Wait for late seats after the answer
    #[arg(long, help_heading = WAITING)]
    pub linger: bool,
    /// When stopped, close every connection at once, even those whose answers are paid for anyway
    #[arg(long, help_heading = WAITING)]
    pub abort: bool,
    /// Open the run's page in the browser, until Ctrl-C
    #[arg(long, conflicts_with = "dry_run", help_heading = OUTPUT)]
    pub open: bool,
    /// Write the answer to this file instead of stdout
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    /// Print nothing but the answer
    #[arg(short, long, help_heading = OUTPUT)]
    pub quiet: bool,
    /// Print the run report as one JSON object
    #[arg(long, conflicts_with = "jsonl", help_heading = OUTPUT)]
    pub json: bool,
    /// Print every event up to the answer as one JSON object a line, then the report
    #[arg(long, help_heading = OUTPUT)]
    pub jsonl: bool,
    /// With --jsonl: print text as it is written, too
    #[arg(long, requires = "jsonl", help_heading = OUTPUT)]
    pub deltas: bool,
    /// What stderr shows while models are awaited
    #[arg(long, value_enum, value_name = "HOW", default_value_t, help_heading = OUTPUT)]
    #[arg(conflicts_with_all = ["json", "jsonl", "quiet"])]
    pub progress: ProgressStyle,
    /// Exit with 3 if a seat has no whole answer, or the answers were not fused or counted as asked
    #[arg(long, help_heading = OUTPUT)]
    pub strict: bool,
    /// The folder in which the run's folder is made
    #[arg(long, value_name = "DIR", conflicts_with = "no_files", help_heading = FILES)]
    pub output_dir: Option<String>,
    /// Write no files
    #[arg(long, help_heading = FILES)]
    pub no_files: bool,
    /// What to store of the run: full, metadata or none
    #[arg(long, value_name = "MODE", help_heading = FILES)]
    pub store: Option<String>,
}

/// A question as it is read from arguments, files and stdin.
pub(super) struct Draft {
    pub(super) message: Message,
    pub(super) attached: AttachmentTally,
    pub(super) parts: Vec<Outgoing>,
}

impl Ask {
    /// The settings that the flags override.
    pub fn overrides(&self) -> Vec<(&'static str, String)> {
        let files = self.no_files.then(|| "off".to_owned());
        let values = [
            ("wait", self.wait.clone()),
            ("output_dir", self.output_dir.clone()),
            ("files", files),
            ("store", self.store.clone()),
            ("check_command", self.check.clone()),
        ];
        values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// Sets the strategy that `--check` and `--paranoid` are short for. Fails for one without their options.
    pub(super) fn set_strategy(&mut self, settings: &Settings) -> Result<(), Failure> {
        if self.check.is_none() && !self.paranoid {
            return Ok(());
        }
        let flow = self.flow()?;
        let named = match (&flow, &self.preset) {
            (Some(flow), _) => Some(Named::Flow(flow)),
            (None, Some(name)) => Some(settings.named(name)?),
            (None, None) => None,
        };
        self.set_check(named)?;
        self.set_paranoid(named, settings);
        Ok(())
    }

    /// Makes the command of `--check` choose the answer: sets the strategy to the one that checks, if none is named or
    /// the question would choose it. The stages of a flow say themselves which of them check.
    fn set_check(&mut self, named: Option<Named<'_>>) -> Result<(), Failure> {
        if self.check.is_none() {
            return Ok(());
        }
        if let (Some(Named::Flow(named)), None) = (named, &self.strategy)
            && !named.flow.is_preset()
        {
            let message = format!("no stage of the flow `{}` checks its answers", named.flow.name);
            let next = Next::WriteAs("strategy = \"best-of-n@by=check\"".into());
            let failure = || Failure::new(Code::Usage, message).with_next(next);
            return named.flow.is_checked().then_some(()).ok_or_else(failure);
        }
        let named = self.strategy.take().filter(|named| named != AUTO);
        if let Some(other) = named.as_deref().and_then(|named| Strategy::find(named).ok().flatten())
            && other != Strategy::BestOfN
        {
            let message = format!(
                "`--check` lets a command choose the answer, and `{}` chooses otherwise",
                other.name()
            );
            let next = Next::LeaveOut("--strategy".into());
            return Err(Failure::new(Code::Usage, message).with_next(next));
        }
        self.strategy = Some(with_option(named.as_deref().unwrap_or("best-of-n"), "by=check"));
        Ok(())
    }

    /// Sets the option that `--paranoid` is short for.
    fn set_paranoid(&mut self, named: Option<Named<'_>>, settings: &Settings) {
        if !self.paranoid {
            return;
        }
        // A flow of several stages refuses a strategy for all of them.
        let of_preset = named.and_then(Named::strategy);
        let strategy = self.strategy.as_ref().or(of_preset).unwrap_or(&settings.strategy);
        self.strategy = Some(with_option(strategy, "paranoid=on"));
    }

    /// The note that the panel of the preset is not asked.
    pub(super) fn note_of_panel(&self, settings: &Settings) -> Option<String> {
        let name = self.preset.as_deref().filter(|_| !self.models.is_empty())?;
        let Ok(Named::Preset(preset)) = settings.named(name) else { return None };
        let note = format!("note: `-m` names the panel, so that of the preset `{name}` is not asked");
        preset.panel.is_some().then_some(note)
    }

    /// The flow whose file `--preset` names.
    fn flow(&self) -> Result<Option<NamedFlow>, Failure> {
        self.preset.as_deref().filter(|preset| flow::is_file(preset)).map(flow::read).transpose()
    }

    /// The question, moved out of the flags.
    pub(super) fn question(&mut self, message: Message) -> Result<Question, Failure> {
        let system = self.system.take().map(|text| Message::text(Role::System, text));
        let messages = system.into_iter().chain([message]).collect();
        let request = RunRequest {
            messages,
            models: (!self.models.is_empty()).then(|| std::mem::take(&mut self.models)),
            synthesizer: self.synthesizer.take(),
            strategy: self.strategy.take(),
            temperature: self.temperature,
            max_tokens: self.max_tokens,
            deadline_ms: self
                .deadline
                .as_deref()
                .map(|text| parse_duration("--deadline", text))
                .transpose()?,
            budget: self.budget,
            idempotency_key: self.idempotency_key.take(),
            fresh: self.fresh,
            ..RunRequest::default()
        };
        let cache_ms = self.cache.as_deref().map(|text| parse_duration("--cache", text)).transpose()?;
        let flow = self.flow()?.map(Box::new);
        let preset = self.preset.take().filter(|_| flow.is_none());
        let continues = self.continued.take();
        let mut question = Question { request, preset, flow, continues, cache_ms, ..Question::default() };
        if let Some(word) = &self.effort {
            let effort = form::option("effort");
            effort.set(&mut question, effort.field.read_text("`--effort`", word)?)?;
        }
        Ok(question)
    }

    /// The message with its attachments, and what it is made of.
    pub(super) async fn draft(&self, context: &CommandContext<'_>) -> Result<Draft, Failure> {
        let mut attachments = context.service.attachments();
        if self.allow_secret_file {
            attachments = attachments.with_secrets();
        }
        let template = self.template.as_deref();
        let template = template.map(|name| Template::read(&context.service.settings, name)).transpose()?;
        // A template may be a whole prompt, so nothing is waited for at a terminal.
        let is_whole = template.is_some() && self.prompt.is_empty() && std::io::stdin().is_terminal();
        let mut prompt =
            if is_whole { PromptText::default() } else { self.text(context, &mut attachments).await? };
        if let Some(failure) = self.lone_command.clone().filter(|_| prompt.parts.len() == 1)
            && self.attachments.is_empty()
        {
            return Err(failure);
        }
        if let Some(template) = template {
            prompt.text = template.prompt(&prompt.text)?;
            prompt.parts.insert(0, template.outgoing());
        }
        self.attachments
            .iter()
            .try_for_each(|path| prompt::attach(path, &mut attachments, &context.console))?;
        prompt::check_question(&prompt.text, &attachments)?;
        self.system.iter().try_for_each(|text| attachments.check_typed("the text of `--system`", text))?;
        self.output.iter().try_for_each(|path| answer_file::check_apart(path, &attachments))?;
        for note in prompt::notes(&self.prompt, &self.attachments, &attachments) {
            context.console.say(&note);
        }
        let mut parts = prompt.parts;
        let system = self.system.iter().map(|text| Outgoing::unnamed(Source::System, text.len()));
        parts.splice(0..0, system);
        let attached = attachments.listed().iter();
        parts.extend(attached.map(|(name, bytes)| Outgoing::named(Source::Attachment, name.clone(), *bytes)));
        let attached = attachments.tally();
        Ok(Draft { message: attachments.question(prompt.text), attached, parts })
    }

    /// The text of the prompt. stdin that is attached is no part of it.
    async fn text(
        &self,
        context: &CommandContext<'_>,
        attachments: &mut Attachments,
    ) -> Result<PromptText, Failure> {
        let stdin_is_free = !self.attachments.iter().any(|path| prompt::is_stdin(path));
        prompt::read(&self.prompt, attachments, &context.console, stdin_is_free).await
    }

    pub(super) const fn leaving(&self) -> Leaving {
        if self.abort { Leaving::Abort } else { Leaving::Cancel }
    }

    pub(super) const fn view(&self) -> View {
        match (self.json, self.jsonl, self.quiet) {
            (_, true, _) => View::Events { with_text: self.deltas },
            (_, _, true) => View::Nothing,
            _ => View::Progress(self.progress),
        }
    }
}

/// A strategy as text with one more option.
fn with_option(strategy: &str, option: &str) -> String {
    let sign = if strategy.contains('@') { ',' } else { '@' };
    format!("{strategy}{sign}{option}")
}

/// A parser of the values of an option of a question.
pub(in crate::command) fn option<T: 'static>(
    name: &'static str,
    take: fn(Given) -> Option<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    let kind = form::option(name).field.kind;
    move |text| kind.of_text(text).and_then(take).ok_or_else(|| kind.about())
}

fn parse_duration(flag: &str, text: &str) -> Result<u64, Failure> {
    duration_ms(text).ok_or_else(|| {
        let plain = amount::plain(flag, text).filter(|plain| duration_ms(plain).is_some());
        let typed = plain.map(|plain| format!("{flag} {plain}"));
        Failure::new(Code::Usage, format!("`{flag} {text}` is not a duration from 1 ms to a day")).with_next(
            Next::WriteAs(typed.unwrap_or_else(|| "90s`, `5m`, `1h30m` or `1500ms".to_owned()).into()),
        )
    })
}
