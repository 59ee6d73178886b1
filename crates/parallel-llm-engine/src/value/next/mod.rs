//! Next steps: a closed set of values that each door renders with its own names.
//!
//! A failure or warning holds the step and its data. Each door names commands, flags and arguments in its [`Vocabulary`].
//! Who can take a step is defined here, so that no reader is advised to do what only the owner can.

mod advice;
mod phrase;

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};

pub use advice::Advice;
pub use phrase::{PLAIN, Vocabulary, render};

use crate::value::money::PicoUsd;

/// A name inside a step.
pub type Name = Cow<'static, str>;

/// One next step. Several steps are a choice between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// A step with the same words at every door.
    Do(Advice),
    /// Do something with this program.
    Use(Operation),
    /// Give another value to an argument of the question.
    Give(Argument),
    /// Raise a limit.
    Raise(Limit),
    /// Lower a limit.
    Lower(Limit),
    /// The name the user probably meant.
    Meant(Name),
    /// Choose one of these values.
    ChooseOne(Vec<Name>),
    /// Write the value like this.
    WriteAs(Name),
    /// An example of a valid value.
    Example(Name),
    /// Leave this argument out; its name is that of the caller.
    LeaveOut(Name),
    /// Name another one with this flag.
    NameWith(Name),
    /// Type this command.
    Type(Name),
    /// Read the output of this command.
    See(Name),
    /// Start the server in another way.
    Serve {
        /// The command that starts it.
        command: Name,
        /// When this command is the right one.
        when: When,
        /// The parts of the command the owner must fill in.
        blanks: Vec<Blank>,
    },
    /// Give a whole number within these bounds, both included.
    WholeNumber {
        /// The smallest.
        from: u64,
        /// The largest.
        to: u64,
    },
    /// Ask for a budget within these bounds, both included.
    BudgetBetween {
        /// What the question may cost at most.
        from: PicoUsd,
        /// What the owner allows.
        to: PicoUsd,
    },
    /// Allow this budget.
    AllowBudget(PicoUsd),
    /// Allow any cost, for this question.
    AllowAnyCost,
    /// Tell the price of this model in the settings.
    GivePrice(Name),
    /// Ask for no more than the owner allows.
    BudgetOfAtMost(PicoUsd),
    /// Wait for no more answers than there are seats.
    WaitForSeats(u64),
    /// Attach no more files than this to one question.
    AttachAtMost(u64),
    /// Wait until this moment, written as HTTP writes dates.
    WaitUntil(Name),
    /// Wait until the day ends, by UTC.
    WaitForNextDay {
        /// Minutes from now.
        minutes: u64,
    },
    /// Use a token that has this scope.
    WidenTo(Name),
    /// Set a setting.
    Set(Name),
    /// A step at the owner's machine.
    Machine(MachineStep),
}

/// A step at the machine the program runs on. It has the same words at every door and is shown to the owner alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MachineStep {
    /// Set a variable of the environment.
    SetVariable(Name),
    /// Unset a variable of the environment.
    UnsetVariable(Name),
    /// Set a setting in the user's own settings file, or in its environment variable.
    SetAsUser {
        /// The setting as the file writes it.
        setting: Name,
        /// Its environment variable, if it has one.
        variable: Option<Name>,
    },
    /// Set the base URL of a provider.
    SetBaseUrl {
        /// The provider's id.
        provider: Name,
        /// The environment variable for it, if there is one.
        variable: Option<Name>,
    },
    /// Correct the key in a variable of the environment.
    CorrectVariable(Name),
    /// Store a provider's key.
    KeepKey(Name),
    /// Store a provider's key in place of the one in a variable, which comes first.
    KeepKeyInstead(Name),
    /// Store another key of a provider in place of the stored one.
    ReplaceKey(Name),
    /// Copy a provider's key again.
    CopyKey(Name),
    /// Try a provider's key command by hand.
    TryKeyCommand(Name),
    /// Change the user's own preset.
    SetInPreset {
        /// The preset.
        preset: Name,
        /// The key to set in it.
        key: Name,
    },
    /// Name a model of this provider in the user's own settings.
    TrustReader(Name),
    /// Write a table of the settings in this form.
    WriteTable(Name),
    /// Make a file or folder private.
    Restrict {
        /// The file or folder.
        path: Name,
        /// Its mode, as `chmod` takes it.
        mode: Name,
    },
    /// End the process that holds this file.
    EndHolder(Name),
}

/// The case a command for the server is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Always.
    Always,
    /// A proxy in front of the server terminates TLS.
    BehindProxy,
    /// Nobody calls from another machine.
    ThisMachineAlone,
    /// There is a token.
    WithToken,
}

/// A part of a suggested command that the owner must fill in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blank {
    /// `llm.example.com`: the name that clients call the server by.
    ServerName,
    /// `FILE`: the owner's own files.
    Files,
}

/// An operation of this program. Each door has its own name for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Look at a run and its answers.
    ShowRun,
    /// Wait for a run.
    WaitForRun,
    /// Ask the seats of a run that have not answered.
    Resume,
    /// Resume a run and send requests again that may have been paid for.
    Resend,
    /// Ask more models the question of a run.
    AddModels,
    /// Make another text of a run's answers.
    Synthesize,
    /// Have the answers of a run fused.
    Replay,
    /// Find a run.
    FindRun,
    /// Ask a question again in a new run.
    AskAnew,
    /// Ask and store texts.
    KeepTexts,
    /// Ask and store everything but texts.
    KeepFacts,
    /// List models.
    ListModels,
    /// List models that take files.
    ListModelsTakingFiles,
    /// Read the help.
    Help,
    /// Try the program without a key.
    Demo,
    /// Check the machine and the settings.
    Doctor,
    /// Check the whole database.
    DoctorDeep,
    /// List the stored keys and tokens.
    ListKeys,
    /// Remove keys.
    RemoveKey,
    /// Make a token for a server.
    CreateToken,
    /// Make a token with another scope.
    WidenToken,
    /// List the settings.
    ShowSettings,
    /// List the codes of errors.
    ListCodes,
    /// Export a run's report.
    ExportReport,
    /// List a provider's models.
    ListProviderModels,
}

impl Operation {
    /// Every operation.
    pub const ALL: &[Self] = &[
        Self::ShowRun,
        Self::WaitForRun,
        Self::Resume,
        Self::Resend,
        Self::AddModels,
        Self::Synthesize,
        Self::Replay,
        Self::FindRun,
        Self::AskAnew,
        Self::KeepTexts,
        Self::KeepFacts,
        Self::ListModels,
        Self::ListModelsTakingFiles,
        Self::Help,
        Self::Demo,
        Self::Doctor,
        Self::DoctorDeep,
        Self::ListKeys,
        Self::RemoveKey,
        Self::CreateToken,
        Self::WidenToken,
        Self::ShowSettings,
        Self::ListCodes,
        Self::ExportReport,
        Self::ListProviderModels,
    ];
}

/// An argument of a question. Each door has its own name for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Argument {
    /// The question.
    Prompt,
    /// The synthesizer or judge.
    Synthesizer,
    /// The strategy.
    Strategy,
    /// The command that checks answers.
    Check,
    /// The folder for output files.
    OutputFolder,
    /// The rule that says when to stop waiting.
    Wait,
    /// The consent to send a file that looks like a secret.
    AllowSecretFile,
}

impl Argument {
    /// Every argument.
    pub const ALL: &[Self] = &[
        Self::Prompt,
        Self::Synthesizer,
        Self::Strategy,
        Self::Check,
        Self::OutputFolder,
        Self::Wait,
        Self::AllowSecretFile,
    ];
}

/// A limit the reader can change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The cost of a question.
    Budget,
    /// The output tokens of a call.
    OutputTokens,
    /// The duration of a question.
    Deadline,
    /// A setting.
    Setting {
        /// Its name.
        name: Name,
        /// Its current value, if that helps.
        now: Option<u64>,
    },
}

/// Who can take a step, and who may read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taker {
    /// Every reader.
    Anyone,
    /// The owner. Other readers are advised to ask the owner for it.
    Owner,
    /// The owner, at the machine. The step may name files there, so no one else may read it.
    Machine,
    /// The user of the command line; no reader at the other doors.
    CommandLine,
}

/// The reader of a next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// The owner, who can take every step.
    Owner,
    /// A program or model that acts for the owner and can ask them.
    Delegate,
    /// Another person, with a token of the owner.
    Tenant,
}

impl Next {
    /// Raise a setting.
    pub const fn raise_setting(name: &'static str) -> Self {
        Self::Raise(Limit::Setting { name: Cow::Borrowed(name), now: None })
    }

    /// Take one of these.
    pub fn choose_one(names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self::ChooseOne(names.into_iter().map(|name| Cow::Owned(name.as_ref().to_owned())).collect())
    }

    /// Who can take it.
    pub const fn taker(&self) -> Taker {
        match self {
            Self::Do(advice) => advice.taker(),
            Self::Use(operation) => operation.taker(),
            Self::Give(Argument::Check | Argument::AllowSecretFile)
            | Self::NameWith(_)
            | Self::Type(_)
            | Self::See(_)
            | Self::Serve { .. }
            | Self::Machine(
                MachineStep::KeepKey(_)
                | MachineStep::KeepKeyInstead(_)
                | MachineStep::ReplaceKey(_)
                | MachineStep::TryKeyCommand(_),
            ) => Taker::CommandLine,
            Self::Raise(Limit::Setting { .. })
            | Self::Lower(Limit::Setting { .. })
            | Self::Set(_)
            | Self::AllowAnyCost
            | Self::GivePrice(_) => Taker::Owner,
            Self::Give(Argument::OutputFolder) | Self::Machine(_) => Taker::Machine,
            Self::Give(_)
            | Self::Raise(_)
            | Self::Lower(_)
            | Self::Meant(_)
            | Self::ChooseOne(_)
            | Self::WriteAs(_)
            | Self::Example(_)
            | Self::LeaveOut(_)
            | Self::WholeNumber { .. }
            | Self::BudgetBetween { .. }
            | Self::AllowBudget(_)
            | Self::BudgetOfAtMost(_)
            | Self::WaitForSeats(_)
            | Self::AttachAtMost(_)
            | Self::WaitUntil(_)
            | Self::WaitForNextDay { .. }
            | Self::WidenTo(_) => Taker::Anyone,
        }
    }
}

impl Operation {
    const fn taker(self) -> Taker {
        match self {
            Self::Demo
            | Self::Doctor
            | Self::DoctorDeep
            | Self::ListKeys
            | Self::RemoveKey
            | Self::ShowSettings
            | Self::ListCodes
            | Self::ExportReport
            | Self::ListProviderModels => Taker::CommandLine,
            Self::ShowRun
            | Self::WaitForRun
            | Self::Resume
            | Self::Resend
            | Self::AddModels
            | Self::Synthesize
            | Self::Replay
            | Self::FindRun
            | Self::AskAnew
            | Self::KeepTexts
            | Self::KeepFacts
            | Self::ListModels
            | Self::ListModelsTakingFiles
            | Self::Help
            | Self::CreateToken
            | Self::WidenToken => Taker::Anyone,
        }
    }
}

impl From<Advice> for Next {
    fn from(advice: Advice) -> Self {
        Self::Do(advice)
    }
}

impl From<Operation> for Next {
    fn from(operation: Operation) -> Self {
        Self::Use(operation)
    }
}

impl From<MachineStep> for Next {
    fn from(step: MachineStep) -> Self {
        Self::Machine(step)
    }
}

impl From<MachineStep> for Vec<Next> {
    fn from(step: MachineStep) -> Self {
        vec![Next::Machine(step)]
    }
}

impl From<Next> for Vec<Next> {
    fn from(next: Next) -> Self {
        vec![next]
    }
}

impl From<Advice> for Vec<Next> {
    fn from(advice: Advice) -> Self {
        vec![Next::Do(advice)]
    }
}

impl From<Operation> for Vec<Next> {
    fn from(operation: Operation) -> Self {
        vec![Next::Use(operation)]
    }
}

/// Reads stored steps. Anything else, such as the sentence of earlier versions, is dropped, so that the steps of the code
/// apply.
pub(super) fn stored<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<Next>, D::Error> {
    let value = serde_json::Value::deserialize(source)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}
