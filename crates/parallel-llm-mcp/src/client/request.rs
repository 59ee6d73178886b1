//! [`ChatRequest`]: what a client asks a model.

use std::sync::Arc;

use parallel_llm_engine::port::Call;
use parallel_llm_engine::request::routing::Session;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::{
    CallerSlot, Code, Effort, Failure, Lineage, Message, ModelRef, ProviderId, Role, Routing, SeatNumber,
};
use parallel_llm_settings::clock;

/// A request to one model.
#[derive(Clone, Debug)]
#[must_use]
pub struct ChatRequest {
    model: String,
    messages: Vec<Message>,
    temperature: Option<f64>,
    /// `None` takes the client's, which is that of a panel.
    max_tokens: Option<u32>,
    effort: Option<Effort>,
    json: bool,
}

impl ChatRequest {
    /// Asks this model one question.
    pub fn new(model: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self::of(model, [Message::text(Role::User, prompt)])
    }

    /// Asks this model to answer the last message of a conversation.
    pub fn of(model: impl Into<String>, messages: impl IntoIterator<Item = Message>) -> Self {
        Self {
            model: model.into(),
            messages: messages.into_iter().collect(),
            temperature: None,
            max_tokens: None,
            effort: None,
            json: false,
        }
    }

    /// Instructions in front of the conversation.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.messages.insert(0, Message::text(Role::System, text));
        self
    }

    /// Sampling temperature, 0 to 2; left to the provider unless set.
    pub const fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Output cap in tokens, reasoning included; 16,000 unless set.
    pub const fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// The reasoning effort; left to the model unless set.
    pub const fn effort(mut self, effort: Effort) -> Self {
        self.effort = Some(effort);
        self
    }

    /// Asks for a JSON object. Only for models that have a JSON mode.
    pub const fn json(mut self) -> Self {
        self.json = true;
        self
    }

    /// The call, with this output cap unless it has its own. Fails for what no provider would take.
    pub(super) fn call(self, provider: &ProviderId, max_tokens: u32) -> Result<Call, Failure> {
        let wrong = |message: &str| Err(Failure::new(Code::Usage, message));
        if self.model.trim().is_empty() {
            return wrong("the request names no model");
        }
        if !self.messages.iter().any(|message| message.role == Role::User) {
            return Err(Failure::new(Code::PromptEmpty, "the request has no message of a user"));
        }
        if self.temperature.is_some_and(|temperature| !(0.0..=2.0).contains(&temperature)) {
            return wrong("the temperature is not from 0 to 2");
        }
        if self.max_tokens == Some(0) {
            return wrong("`max_tokens` is 0");
        }
        let identity = clock::new_identity()?;
        Ok(Call {
            run_id: identity.run_id,
            attempt: Attempt { slot: CallerSlot::Seat(SeatNumber(1)), number: 1 },
            model: ModelRef { provider: provider.clone(), model: self.model.trim().to_owned() },
            messages: self.messages.into(),
            temperature: self.temperature,
            max_tokens: self.max_tokens.unwrap_or(max_tokens),
            effort: self.effort,
            json: self.json,
            // Calls of a client have nothing to do with each other.
            routing: Arc::new(Routing { session: Session::Off, ..Routing::default() }),
            lineage: Arc::new(Lineage::default()),
            asked_by: None,
            without: Vec::new(),
        })
    }
}
