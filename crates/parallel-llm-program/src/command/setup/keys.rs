//! `keys`: the keys of providers and the tokens of this server. A key is read from stdin, never from an argument, which
//! the process list shows.

use std::io::{IsTerminal, Read};

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};
use serde_json::json;

use super::{hidden, tokens};
use crate::called;
use crate::command::context::CommandContext;
use crate::exit;
use crate::terminal::vocabulary;
use parallel_llm_settings::keys::{self, KeptKey, KeyLine, KeySource};

/// The fewest letters and digits of a key.
const KEY_CHARS_MIN: usize = 8;

/// Store the keys of providers, and make tokens for other callers
#[derive(Debug, clap::Subcommand)]
pub enum KeysCommand {
    /// Store a provider's key: typed unseen, or from a pipe
    ///
    /// Example: parallel-llm-mcp keys set mistral < key.txt
    Set {
        /// The provider, such as openrouter or mistral
        provider: String,
        /// Store it even if it does not look like a key of this provider
        #[arg(long)]
        force: bool,
    },
    /// List the origin of each provider's key, and the tokens; never a key or a token itself
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Remove a provider's stored key
    Remove {
        /// The provider
        provider: String,
    },
    Create(tokens::Create),
    Revoke(tokens::Revoke),
}

impl KeysCommand {
    /// Whether errors are printed as JSON.
    pub const fn wants_json(&self) -> bool {
        match self {
            Self::List { json } => *json,
            Self::Create(create) => create.json,
            Self::Revoke(revoke) => revoke.json,
            Self::Set { .. } | Self::Remove { .. } => false,
        }
    }
}

/// Runs the command.
pub(in crate::command) async fn run(
    context: &CommandContext<'_>,
    command: KeysCommand,
) -> Result<u8, Failure> {
    match command {
        KeysCommand::Set { provider, force } => set(context, &provider, force).await,
        KeysCommand::List { json } => list(context, json).await,
        KeysCommand::Remove { provider } => {
            let path = keys::remove(&context.service.settings, &provider).await?;
            context.console.say(&format!("the key of `{provider}` is no longer in {}", path.display()));
            Ok(exit::ANSWER)
        }
        KeysCommand::Create(create) => tokens::create(context, create).await,
        KeysCommand::Revoke(revoke) => tokens::revoke(context, &revoke).await,
    }
}

async fn set(context: &CommandContext<'_>, provider: &str, force: bool) -> Result<u8, Failure> {
    let settings = &context.service.settings;
    // An unknown name fails before anything is typed.
    if let Err(failure) = settings.provider(provider) {
        let (name, key) = provider.split_once('=').unwrap_or(("", provider));
        let is_key = !name.is_empty() || is_like_key(key);
        return Err(if is_key { in_history(name) } else { failure });
    }
    let Some(text) = read(context, provider)? else { return Ok(exit::INTERRUPTED) };
    let kept = keys::set(settings, provider, &text, force).await?;
    render_kept(context, provider, &kept);
    Ok(exit::ANSWER)
}

/// Whether a word is rather a key than a word of a language.
pub(in crate::command) fn is_like_key(word: &str) -> bool {
    word.len() >= KEY_CHARS_MIN
        && word.contains(|letter: char| letter.is_ascii_digit())
        && word.contains(|letter: char| letter.is_ascii_alphabetic())
}

/// The refusal of a key as an argument, which repeats none of it.
pub(in crate::command) fn in_history(provider: &str) -> Failure {
    let is_name = !provider.is_empty() && !provider.contains('=') && !is_like_key(provider);
    let provider = if is_name { provider } else { "openrouter" };
    let message = "`keys set` takes no key as an argument, and what was typed is now in the history of your shell: \
                   take it out there";
    let typed = Next::Type(format!("{} keys set {provider}", called::name()).into());
    Failure::new(Code::Usage, message).with_next(typed)
}

/// Reports where a key is stored, whether it replaced another, and what takes precedence.
pub(super) fn render_kept(context: &CommandContext<'_>, provider: &str, kept: &KeptKey) {
    let before = if kept.replaced { ", in place of the one kept before" } else { "" };
    context.console.say(&format!("the key of `{provider}` is kept in {}{before}", kept.path.display()));
    if let Some(other) = &kept.overruled_by {
        context.console.say(&format!("`{other}` goes before it as long as it is set"));
    }
}

/// The key, typed or piped; `None` after Ctrl-C.
fn read(context: &CommandContext<'_>, provider: &str) -> Result<Option<String>, Failure> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        let wanted = format!("Type or paste the key of `{provider}`, then Enter. It is not shown.");
        return hidden::read_line(|| context.console.insist(&wanted));
    }
    let mut bytes = Vec::new();
    stdin
        .lock()
        .take(hidden::LINE_BYTES_MAX)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::new(Code::Usage, format!("the key cannot be read from stdin: {error}")))?;
    // Input that is not UTF-8 cannot be a key, and is refused as one.
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

async fn list(context: &CommandContext<'_>, as_json: bool) -> Result<u8, Failure> {
    let lines = keys::list(&context.service.settings)?;
    if as_json {
        let tokens = context.service.access.list_tokens().await?;
        context.console.data(&json!({ "schema": 1, "keys": lines, "tokens": tokens }).to_string());
        return Ok(exit::ANSWER);
    }
    let widest = lines.iter().map(|line| line.provider.len()).max().unwrap_or(0);
    let described = lines.iter().map(|line| format!("{:<widest$}  {}", line.provider, render(line)));
    context.console.page(&described.collect::<Vec<_>>().join("\n"));
    // Keys come first, because they do not need the database.
    tokens::render(context, &context.service.access.list_tokens().await?);
    Ok(exit::ANSWER)
}

fn render(line: &KeyLine) -> String {
    let name = |name: &Option<String>| name.clone().unwrap_or_default();
    match line.source {
        KeySource::Variable => format!("variable {}", name(&line.variable)),
        KeySource::Command => format!("command {}", name(&line.program)),
        KeySource::Kept if line.configured => "kept".to_owned(),
        KeySource::Kept => {
            format!("kept, but there is no such provider: {}", vocabulary::describe(&line.advice))
        }
        KeySource::None if line.needed => format!("none: {}", vocabulary::describe(&line.advice)),
        KeySource::None => "none, and none is needed".to_owned(),
    }
}
