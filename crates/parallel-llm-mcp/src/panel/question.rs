//! [`Question`]: what is asked, with its options.

use std::path::PathBuf;
use std::time::Duration;

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, Effort, Failure, Message, Role, RunRequest};
use parallel_llm_service::attachment::Attachments;

use super::amount;

/// A question and its options. What is left out is as the panel's builder says.
///
/// ```
/// use parallel_llm_mcp::{Message, Question, Role};
///
/// let question = Question::new("And in winter?")
///     .system("Answer in one sentence.")
///     .history([Message::text(Role::User, "Why is the sky blue?"), Message::text(Role::Assistant, "It scatters.")])
///     .budget_usd(0.5);
/// # drop(question);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Question {
    system: Option<String>,
    history: Vec<Message>,
    prompt: String,
    attachments: Vec<Attached>,
    with_secrets: bool,
    /// Everything but the messages.
    request: RunRequest,
    preset: Option<String>,
    continues: Option<String>,
    cache_ms: Option<u64>,
    /// A value that cannot be used, found before there was anyone to tell.
    wrong: Option<Failure>,
}

/// A file that goes with a question.
#[derive(Clone, Debug)]
enum Attached {
    /// Read when the question is asked.
    Path(PathBuf),
    /// Read already.
    Bytes { name: String, bytes: Vec<u8> },
}

impl Question {
    /// A question without options.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), ..Self::default() }
    }

    /// Instructions in front of the conversation.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// The conversation before the question.
    pub fn history(mut self, messages: impl IntoIterator<Item = Message>) -> Self {
        self.history.extend(messages);
        self
    }

    /// Goes on with the conversation of a stored run and with its panel: the run's id, or `@` for the newest.
    pub fn continuing(mut self, run: impl std::fmt::Display) -> Self {
        self.continues = Some(run.to_string());
        self
    }

    /// Attaches a file (a picture, a PDF, or text), all files of a folder, or those of a pattern such as `src/**/*.rs`. They
    /// are read when the question is asked.
    pub fn attach(mut self, path: impl Into<PathBuf>) -> Self {
        self.attachments.push(Attached::Path(path.into()));
        self
    }

    /// Attaches bytes under a name. Their first bytes decide what they are.
    pub fn attach_bytes(mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        self.attachments.push(Attached::Bytes { name: name.into(), bytes: bytes.into() });
        self
    }

    /// Sends attached files even if they seem to hold keys or passwords.
    pub const fn allow_secret_files(mut self) -> Self {
        self.with_secrets = true;
        self
    }

    /// The models to ask in place of the panel's, each `[provider:]model[*N][@key=value,...]`.
    pub fn models<I>(mut self, models: I) -> Self
    where
        I: IntoIterator<Item: Into<String>>,
    {
        self.request.models = Some(models.into_iter().map(Into::into).collect());
        self
    }

    /// A synthesizer in front of the panel's.
    pub fn synthesizer(mut self, model: impl Into<String>) -> Self {
        self.request.synthesizer = Some(model.into());
        self
    }

    /// The strategy, such as `vote` or `synthesize@gate=on`.
    pub fn strategy(mut self, strategy: impl Into<String>) -> Self {
        self.request.strategy = Some(strategy.into());
        self
    }

    /// A preset or flow for what is left out, such as `quick`.
    pub fn preset(mut self, name: impl Into<String>) -> Self {
        self.preset = Some(name.into());
        self
    }

    /// Sampling temperature, 0 to 2; left to each provider unless set.
    pub const fn temperature(mut self, temperature: f64) -> Self {
        self.request.temperature = Some(temperature);
        self
    }

    /// Output cap of each call in tokens, reasoning included.
    pub const fn max_tokens(mut self, tokens: u32) -> Self {
        self.request.max_tokens = Some(tokens);
        self
    }

    /// The reasoning effort of the panel; left to each model unless set.
    pub const fn effort(mut self, effort: Effort) -> Self {
        self.request.effort = Some(effort);
        self
    }

    /// The time the whole run may take.
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.request.deadline_ms = Some(millis(limit));
        self
    }

    /// The most it may cost, in USD. A question whose worst case is above is refused.
    pub fn budget_usd(mut self, usd: f64) -> Self {
        match amount(usd) {
            Some(budget) => self.request.budget = Some(budget),
            None => self.wrong = Some(Failure::new(Code::Usage, format!("`budget_usd` is no amount: {usd}"))),
        }
        self
    }

    /// How much of the run is stored in the panel's folder.
    pub const fn store(mut self, mode: StoreMode) -> Self {
        self.request.store = Some(mode);
        self
    }

    /// A key of your own: asked again with it, the same run is returned, and nothing is paid twice. Needs a folder.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.request.idempotency_key = Some(key.into());
        self
    }

    /// Asks everything anew, even if the same question is in progress or was left without an answer.
    pub const fn fresh(mut self) -> Self {
        self.request.fresh = true;
        self
    }

    /// Uses the stored answer to the very same question if it is no older than this. Needs a folder.
    pub fn cached_for(mut self, age: Duration) -> Self {
        self.cache_ms = Some(millis(age));
        self
    }

    /// The question as the service takes it. Reads its files, on a thread that may block.
    pub(super) async fn resolve(
        self,
        attachment_bytes_max: u64,
    ) -> Result<parallel_llm_service::Question, Failure> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let mut attachments = Attachments::new(attachment_bytes_max);
        if self.with_secrets {
            attachments = attachments.with_secrets();
        }
        let (attached, prompt) = (self.attachments, self.prompt);
        let last = if attached.is_empty() {
            (!prompt.is_empty() || self.request.messages.is_empty())
                .then(|| Message::text(Role::User, prompt))
        } else {
            let read = tokio::task::spawn_blocking(move || read(attachments, attached, prompt)).await;
            Some(
                read.map_err(|_| Failure::new(Code::Internal, "a defect stopped the reading of the files"))??,
            )
        };
        let system = self.system.map(|text| Message::text(Role::System, text));
        let before = self.request.messages;
        let messages = system.into_iter().chain(before).chain(self.history).chain(last).collect();
        Ok(parallel_llm_service::Question {
            request: RunRequest { messages, ..self.request },
            preset: self.preset,
            continues: self.continues,
            cache_ms: self.cache_ms,
            ..parallel_llm_service::Question::default()
        })
    }
}

/// The question with its files.
fn read(mut attachments: Attachments, attached: Vec<Attached>, prompt: String) -> Result<Message, Failure> {
    for file in attached {
        match file {
            Attached::Path(path) => attachments.attach(&path)?,
            Attached::Bytes { name, bytes } => attachments.add(name.as_ref(), &bytes)?,
        }
    }
    Ok(attachments.question(prompt))
}

impl From<&str> for Question {
    fn from(prompt: &str) -> Self {
        Self::new(prompt)
    }
}

impl From<String> for Question {
    fn from(prompt: String) -> Self {
        Self::new(prompt)
    }
}

/// A request in the words of the engine.
impl From<RunRequest> for Question {
    fn from(request: RunRequest) -> Self {
        Self { request, ..Self::default() }
    }
}

/// Whole milliseconds, as all timers count.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
