//! Renders next steps as sentences.
//!
//! The sentence is the same at every door. The names in it, and who reads it, come from the door's [`Vocabulary`].

use super::{Argument, Audience, Blank, Limit, MachineStep, Next, Operation, Taker, When};

/// The names a door has for operations, arguments and limits, and who reads them.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary {
    /// The name of an operation, quoted as people type it, or its place with a preposition; `None` if it has none.
    pub operation: fn(Operation) -> Option<&'static str>,
    /// The name of an argument.
    pub argument: fn(Argument) -> Option<&'static str>,
    /// The name of a limit that is no setting.
    pub limit: fn(&Limit) -> Option<&'static str>,
    /// The reader.
    pub audience: Audience,
    /// Writes a sentence that names commands of this program as the reader types them.
    pub spelled: fn(String) -> String,
}

/// The vocabulary without names: for logs, and for files that outlive the program.
pub const PLAIN: Vocabulary = Vocabulary {
    operation: |_| None,
    argument: |_| None,
    limit: |_| None,
    audience: Audience::Owner,
    spelled: |sentence| sentence,
};

/// Renders a choice of steps as one sentence without a period. Steps that the reader may not see are left out.
pub fn render(steps: &[Next], vocabulary: &Vocabulary) -> String {
    let rendered = |is_shown: fn(Taker) -> bool| -> Vec<String> {
        steps.iter().filter(|step| is_shown(step.taker())).map(|step| vocabulary.step(step)).collect()
    };
    let (own, asked) = match vocabulary.audience {
        Audience::Owner => (rendered(|_| true), Vec::new()),
        Audience::Delegate => (
            rendered(|taker| taker == Taker::Anyone),
            rendered(|taker| matches!(taker, Taker::Owner | Taker::Machine)),
        ),
        Audience::Tenant => {
            (rendered(|taker| taker == Taker::Anyone), rendered(|taker| taker == Taker::Owner))
        }
    };
    let (asking, nothing) = match vocabulary.audience {
        Audience::Owner | Audience::Delegate => ("ask the user to", "ask the user to look at this server"),
        Audience::Tenant => {
            ("ask the owner of this server to", "ask the owner of this server, whose log says why")
        }
    };
    let asked = (!asked.is_empty()).then(|| format!("{asking} {}", choice(&asked)));
    let all: Vec<String> = own.into_iter().chain(asked).collect();
    if all.is_empty() { nothing.to_owned() } else { (vocabulary.spelled)(choice(&all)) }
}

/// "a", "a, or b", "a, b, or c".
fn choice(steps: &[String]) -> String {
    match steps {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{}, or {last}", others.join(", ")),
    }
}

impl Vocabulary {
    /// Renders one step.
    fn step(&self, step: &Next) -> String {
        match step {
            Next::Do(advice) => advice.words().to_owned(),
            Next::Use(operation) => self.operation(*operation),
            Next::Give(argument) => self.argument(*argument),
            Next::Raise(limit) => format!("raise {}", self.limit(limit)),
            Next::Lower(limit) => format!("lower {}", self.limit(limit)),
            Next::Meant(name) => format!("did you mean `{name}`?"),
            Next::ChooseOne(names) => format!("choose one of: {}", names.join(", ")),
            Next::WriteAs(text) => format!("write it like `{text}`"),
            Next::Example(text) => format!("for example {text}"),
            Next::LeaveOut(name) => format!("leave `{name}` out"),
            Next::NameWith(flag) => format!("name another with `{flag}`"),
            Next::Type(command) => format!("type `{command}`"),
            Next::See(command) => format!("see `{command}`"),
            Next::Serve { command, when, blanks } => serve(command, *when, blanks),
            Next::WholeNumber { from, to } => format!("give a whole number from {from} to {to}"),
            Next::BudgetBetween { from, to } => {
                format!("give {} from {} to {}", self.limit(&Limit::Budget), from.as_usd(), to.as_usd())
            }
            Next::AllowBudget(budget) => match (self.limit)(&Limit::Budget) {
                // Ready to be pasted.
                Some(flag) if flag.starts_with('-') => format!("allow it with `{flag} {}`", budget.as_usd()),
                _ => format!("give {} as {}", self.limit(&Limit::Budget), budget.as_usd()),
            },
            Next::AllowAnyCost => match (self.limit)(&Limit::Budget) {
                Some(flag) if flag.starts_with('-') => format!("allow any cost with `{flag} none`"),
                _ => "set `budget_usd = \"none\"`".to_owned(),
            },
            Next::GivePrice(model) => format!(
                "put `\"{model}\" = {{ input_usd_per_million = 2, output_usd_per_million = 10 }}` with its real price below `[prices]` in the settings file"
            ),
            Next::BudgetOfAtMost(most) => format!("ask for at most {most}"),
            Next::WaitForSeats(seats) => match (self.argument)(Argument::Wait) {
                Some(name) => format!("give {name} as `quorum:{seats}` or less, or as `all`"),
                None => format!("wait for {seats} answers or fewer, or for all"),
            },
            Next::AttachAtMost(files) => format!("attach at most {files} files to one question"),
            Next::WaitUntil(moment) => format!("wait until {moment}"),
            Next::WaitForNextDay { minutes } => {
                format!("wait until the day ends at 00:00 UTC, in {} h {} min", minutes / 60, minutes % 60)
            }
            Next::WidenTo(scope) => format!("{} that has the scope `{scope}`", self.wider_token()),
            Next::Set(setting) => format!("set `{setting}`"),
            Next::Machine(step) => at_the_machine(step),
        }
    }

    fn operation(&self, operation: Operation) -> String {
        let name = (self.operation)(operation);
        let with = named(" with ", name);
        match operation {
            Operation::ShowRun => format!("look at the run{with}"),
            Operation::WaitForRun => format!("wait for the run{with}"),
            Operation::Resume => format!("continue the run{with}"),
            Operation::Resend => format!("ask again what may have been paid already{with}"),
            Operation::AddModels => format!("ask more models{with}"),
            Operation::Synthesize => format!("make another text of the answers{with}"),
            Operation::Replay => format!("have the answers fused{with}"),
            Operation::FindRun => format!("look for the run{with}"),
            Operation::AskAnew => format!("ask everything again{with}"),
            Operation::KeepTexts => format!("ask again and have texts kept{with}"),
            Operation::KeepFacts => format!("have no texts kept{with}"),
            Operation::ListModels => format!("see which models there are{with}"),
            Operation::ListModelsTakingFiles => match name {
                Some(name) => format!("ask a model that takes such files: find one with {name}"),
                None => "ask a model that takes such files".to_owned(),
            },
            Operation::Help => format!("see {}", name.unwrap_or("the documentation")),
            Operation::Demo => format!("try {}, which needs no key", name.unwrap_or("the demo")),
            Operation::Doctor => format!("see what still waits{with}"),
            Operation::DoctorDeep => format!("check the whole database{with}"),
            Operation::ListKeys => format!("see what is kept{with}"),
            Operation::RemoveKey => format!("take others away{with}"),
            Operation::CreateToken => {
                let get = name.map_or_else(token_of_the_owner, |name| format!("make a token with {name}"));
                format!("{get}, and send it as `Authorization: Bearer ...`")
            }
            Operation::WidenToken => format!("{} that has the scope in the message", self.wider_token()),
            Operation::ShowSettings => format!("see the name of every setting{with}"),
            Operation::ListCodes => format!("see every code{with}"),
            Operation::ExportReport => format!("export its report{with}"),
            Operation::ListProviderModels => format!("list the models of that provider{with}"),
        }
    }

    /// How to get a token with another scope.
    fn wider_token(&self) -> String {
        let name = (self.operation)(Operation::WidenToken);
        name.map_or_else(token_of_the_owner, |name| format!("make a token with {name}"))
    }

    fn argument(&self, argument: Argument) -> String {
        let with = named(" with ", (self.argument)(argument));
        match argument {
            Argument::Prompt => format!("give a prompt{}", named(" as ", (self.argument)(argument))),
            Argument::Synthesizer => format!("name another synthesizer{with}"),
            Argument::Strategy => format!("name a strategy that checks answers{with}"),
            Argument::Check => format!("name a check command{with}"),
            Argument::OutputFolder => format!("choose another folder{with}"),
            Argument::Wait => format!("wait for fewer answers{with}"),
            Argument::AllowSecretFile => format!("send it as it is{with}"),
        }
    }

    fn limit(&self, limit: &Limit) -> String {
        match (limit, (self.limit)(limit)) {
            (Limit::Setting { name, now: Some(now) }, _) => format!("the setting `{name}` (now {now})"),
            (Limit::Setting { name, now: None }, _) => format!("the setting `{name}`"),
            (_, Some(name)) => format!("`{name}`"),
            (Limit::Budget, None) => "the budget".to_owned(),
            (Limit::OutputTokens, None) => "the number of tokens of an answer".to_owned(),
            (Limit::Deadline, None) => "the deadline".to_owned(),
        }
    }
}

/// Renders a step at the owner's machine, which has the same words at every door.
fn at_the_machine(step: &MachineStep) -> String {
    match step {
        MachineStep::SetVariable(name) => format!("set `{name}`"),
        MachineStep::UnsetVariable(name) => format!("unset `{name}`"),
        MachineStep::SetAsUser { setting, variable: Some(variable) } => {
            format!("set `{setting}` in your own file or as `{variable}`")
        }
        MachineStep::SetAsUser { setting, variable: None } => format!("set `{setting}` in your own file"),
        MachineStep::SetBaseUrl { provider, variable: Some(variable) } => {
            format!("set `{variable}`, or `base_url` in `[providers.{provider}]`")
        }
        MachineStep::SetBaseUrl { provider, variable: None } => {
            format!("set `base_url` in `[providers.{provider}]`")
        }
        MachineStep::KeepKey(provider) => format!("keep the key with `keys set {provider}`"),
        MachineStep::CorrectVariable(name) => format!("correct it in `{name}`"),
        MachineStep::KeepKeyInstead(provider) => {
            format!("unset that and keep another with `keys set {provider}`")
        }
        MachineStep::ReplaceKey(provider) => {
            format!("replace the stored key with `keys set {provider}`")
        }
        MachineStep::CopyKey(provider) => {
            format!("copy the key of `{provider}` again, without line breaks")
        }
        MachineStep::TryKeyCommand(provider) => {
            format!("try the `key_command` of `[providers.{provider}]` by hand")
        }
        MachineStep::SetInPreset { preset, key } => format!("set `{key}` in your own `[presets.{preset}]`"),
        MachineStep::TrustReader(reader) => {
            format!("name a model of `{reader}` in your own panel, synthesizer or a preset")
        }
        MachineStep::Restrict { path, mode } => format!("run `chmod {mode} {path}`"),
        MachineStep::EndHolder(path) => format!("end the process that holds `{path}`"),
        MachineStep::WriteTable(text) => format!("write {text}"),
    }
}

fn serve(command: &str, when: When, blanks: &[Blank]) -> String {
    let typed = match when {
        When::Always => format!("type `{command}`"),
        When::BehindProxy => format!("where a proxy speaks TLS, `{command}`"),
        When::ThisMachineAlone => format!("for this machine alone, `{command}`"),
        When::WithToken => {
            format!(
                "make a token with `parallel-llm-mcp keys create NAME`, then type `{command}` without `--no-auth`"
            )
        }
    };
    let what = |blank: &Blank| match blank {
        Blank::ServerName => "the name that clients call the server by for `llm.example.com`",
        Blank::Files => "your own files for `FILE`",
    };
    let blanks: Vec<&str> = blanks.iter().map(what).collect();
    if blanks.is_empty() { typed } else { format!("{typed} (put {})", blanks.join(" and ")) }
}

fn token_of_the_owner() -> String {
    "ask the owner of this server for a token".to_owned()
}

/// A name behind its preposition. A name of a place has its own: `on the page “Runs”`, `in the field “Question”`.
fn named(before: &str, name: Option<&str>) -> String {
    match name {
        Some(place) if place.starts_with("on ") || place.starts_with("in ") => format!(" {place}"),
        Some(name) => format!("{before}{name}"),
        None => String::new(),
    }
}
