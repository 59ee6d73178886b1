//! What a question would send: its text, files, piped text, template, instructions and conversation, for `ask --dry-run`.

use parallel_llm_engine::{Message, Part, Role, RunPlan};
use serde::Serialize;

/// A part of a question, from one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Outgoing {
    pub(super) source: Source,
    /// The name of a file, of a template or of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    pub(super) bytes: u64,
}

/// Where a part of a question comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Source {
    /// The arguments.
    Text,
    /// `@FILE`.
    File,
    Stdin,
    Template,
    /// `--system`.
    System,
    /// `--attach`, a folder, a pattern, or a file that is no text.
    Attachment,
    /// The messages of earlier runs.
    Conversation,
}

impl Outgoing {
    pub(super) const fn unnamed(source: Source, bytes: usize) -> Self {
        Self { source, name: None, bytes: bytes as u64 }
    }

    pub(super) const fn named(source: Source, name: String, bytes: u64) -> Self {
        Self { source, name: Some(name), bytes }
    }

    /// The earlier messages that a follow-up sends along, without its own.
    pub(super) fn conversation(plan: &RunPlan) -> Option<Self> {
        let run_id = plan.continues?;
        let (_, earlier) = plan.messages.split_last()?;
        let earlier = earlier.iter().filter(|message| message.role != Role::System);
        let bytes = earlier.flat_map(|message: &Message| &message.parts).map(size).sum();
        Some(Self::named(Source::Conversation, run_id.to_string(), bytes))
    }

    /// The part in words, such as "the file `main.rs`, 120 bytes".
    pub(super) fn described(&self) -> String {
        let name = self.name.as_deref().unwrap_or_default();
        let what = match self.source {
            Source::Text => "the text of the question".to_owned(),
            Source::File => format!("the file `{name}`"),
            Source::Stdin => "stdin".to_owned(),
            Source::Template => format!("the template `{name}`"),
            Source::System => "the instructions of `--system`".to_owned(),
            Source::Attachment => format!("the attachment `{name}`"),
            Source::Conversation => format!("the conversation of run {name}"),
        };
        let bytes = self.bytes;
        format!("{what}, {bytes} {}", if bytes == 1 { "byte" } else { "bytes" })
    }
}

fn size(part: &Part) -> u64 {
    match part {
        Part::Text { text } => text.len() as u64,
        Part::File(file) => file.bytes(),
    }
}
