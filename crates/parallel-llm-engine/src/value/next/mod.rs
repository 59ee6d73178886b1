//! What can be done next: a closed set, so that each door says it in its own words.
//!
//! Whoever fails or warns names the step and its data. How a command, a flag or an argument is called is the door's to
//! say, see [`Vocabulary`]; who can take a step is said here, so that nobody is told to do what only the owner can.

mod advice;
mod phrase;

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};

pub use advice::Advice;
pub use phrase::{PLAIN, Vocabulary, say};

use crate::value::money::PicoUsd;

/// A name that a step carries.
pub type Name = Cow<'static, str>;

/// One thing that can be done next. Several stand for a choice between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// Something that is said in the same words everywhere.
    Do(Advice),
    /// Do something with this program.
    Use(Operation),
    /// Give another value to something the question is asked with.
    Give(Argument),
    /// Allow more of it.
    Raise(Limit),
    /// Ask for less of it.
    Lower(Limit),
    /// The name that was probably meant.
    Meant(Name),
    /// Take one of these, as they are written.
    ChooseOne(Vec<Name>),
    /// Write it like this.
    WriteAs(Name),
    /// An example of what would be understood.
    Example(Name),
    /// Leave this out, called as it was given.
    LeaveOut(Name),
    /// Name it with this flag.
    NameWith(Name),
    /// Type this command.
    Type(Name),
    /// See what this command shows.
    See(Name),
    /// Serve in another way.
    Serve {
        /// The command that does.
        command: Name,
        /// When it is the one to take.
        when: When,
        /// What in it is to be replaced.
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
    /// Set a setting.
    Set(Name),
    /// Something at the owner's machine.
    Machine(MachineStep),
}

/// A step at the machine that the program runs on. It is said in the same words everywhere, and told to nobody but the
/// owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MachineStep {
    /// Set a variable of the environment.
    SetVariable(Name),
    /// Unset a variable of the environment.
    UnsetVariable(Name),
    /// Set a setting where the user's own settings are kept, or in its variable.
    SetAsUser {
        /// The setting, as it is written there.
        setting: Name,
        /// Its variable, where it has one.
        variable: Option<Name>,
    },
    /// Say where a provider is.
    SetBaseUrl {
        /// The provider's id.
        provider: Name,
        /// The variable that says it, where there is one.
        variable: Option<Name>,
    },
    /// Keep a provider's key.
    KeepKey(Name),
    /// Copy a provider's key once more.
    CopyKey(Name),
    /// Try a provider's key command by hand.
    TryKeyCommand(Name),
    /// Change the user's own preset.
    SetInPreset {
        /// The preset.
        preset: Name,
        /// What to set in it.
        key: Name,
    },
    /// Name a model of this provider in the user's own settings.
    TrustReader(Name),
    /// Write a table of the settings in this form.
    WriteTable(Name),
    /// Take a file or folder from others' reach.
    Restrict {
        /// The file or folder.
        path: Name,
        /// Its mode, as `chmod` takes it.
        mode: Name,
    },
    /// End the process that holds this file.
    EndHolder(Name),
}

/// When a way of serving is the one to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Always.
    Always,
    /// Where a proxy in front speaks TLS.
    BehindProxy,
    /// Where nobody calls from another machine.
    ThisMachineAlone,
    /// Once there is a token.
    WithToken,
}

/// What only the owner knows in a command that is suggested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blank {
    /// `llm.example.com`: the name that clients call the server by.
    ServerName,
    /// `FILE`: the owner's own files.
    Files,
}

/// What can be done with this program, whatever a door calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Look at a run and its answers.
    ShowRun,
    /// Wait for a run.
    WaitForRun,
    /// Ask what of a run was not answered.
    Resume,
    /// The same, with what may have been paid already.
    Resend,
    /// Ask more models the question of a run.
    AddModels,
    /// Make another text of a run's answers.
    Synthesize,
    /// Have the answers of a run fused.
    Replay,
    /// Find a run.
    FindRun,
    /// Ask a question once more although it was asked.
    AskAnew,
    /// Ask, and have texts kept.
    KeepTexts,
    /// Ask, and have everything but texts kept.
    KeepFacts,
    /// List models.
    ListModels,
    /// List models that take files.
    ListModelsTakingFiles,
    /// Read how the program is used.
    Help,
    /// Try the program without a key.
    Demo,
    /// Check the machine and the settings.
    Doctor,
    /// Check the whole database.
    DoctorDeep,
    /// List the keys and tokens that are kept.
    ListKeys,
    /// Take keys away.
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

/// Something a question is asked with, whatever a door calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Argument {
    /// The question.
    Prompt,
    /// The synthesizer or judge.
    Synthesizer,
    /// The strategy.
    Strategy,
    /// The command by which answers are checked.
    Check,
    /// The folder that files are written to.
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

/// A limit that can be moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// What a question may cost.
    Budget,
    /// How many tokens a call may put out.
    OutputTokens,
    /// How long a question may take.
    Deadline,
    /// A setting.
    Setting {
        /// Its name.
        name: Name,
        /// What it is now, where that helps.
        now: Option<u64>,
    },
}

/// Who can take a step, and how far it may be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taker {
    /// Whoever asks.
    Anyone,
    /// The owner. Others may be told to ask for it.
    Owner,
    /// The owner, at the machine: it may name its files. Nobody else is told.
    Machine,
    /// Who sits at the command line, and nobody where there is none.
    CommandLine,
}

/// Who reads a next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// The owner, who can take every step.
    Owner,
    /// A program or model that acts for the owner and can ask them.
    Delegate,
    /// Somebody else, by the owner's leave.
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
            | Self::Machine(MachineStep::KeepKey(_) | MachineStep::TryKeyCommand(_)) => Taker::CommandLine,
            Self::Raise(Limit::Setting { .. }) | Self::Lower(Limit::Setting { .. }) | Self::Set(_) => {
                Taker::Owner
            }
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
            | Self::BudgetOfAtMost(_)
            | Self::WaitForSeats(_)
            | Self::AttachAtMost(_)
            | Self::WaitUntil(_)
            | Self::WaitForNextDay { .. } => Taker::Anyone,
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

/// Reads the steps that were stored. Whatever else stands there, such as the sentence that earlier versions kept, gives
/// way to the code's own steps.
pub(super) fn stored<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<Next>, D::Error> {
    let value = serde_json::Value::deserialize(source)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}
