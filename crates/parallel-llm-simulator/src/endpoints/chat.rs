//! The endpoints that answer: each dialect's checks in order, then the scripted reply.
//!
//! Nothing here waits or sends; `player` does.

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::HeaderMap;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::model_list::{self, NamedModel};
use crate::behaviour::seed::Draw;
use crate::dialect::row::{Dialect, Protocol};
use crate::dialect::{
    ApiError, ErrorDetails, ErrorKind, RuleInput, check_fields, check_key, check_rules, error_reply, sent_key,
};
use crate::replies::exchange::Exchange;
use crate::replies::reply::{Head, Reply};
use crate::request::chat_request::{BadBody, ChatRequest};
use crate::scripted::respond::ReplyContext;
use crate::state::account::Account;
use crate::state::catalogue::RETIRED_MODEL;

/// A request for an answer, as received.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) dialect: &'static Dialect,
    /// The path after the endpoint's: Gemini's model and method.
    pub(crate) rest: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    /// The value of `X-Sim-Scenario`.
    pub(crate) scenario: Option<String>,
    /// `None`: too long.
    pub(crate) body: Option<Bytes>,
}

/// The reply to a request for an answer.
pub(crate) fn reply(exchange: &mut Exchange, call: &Call) -> Reply {
    let account = std::sync::Arc::clone(&exchange.account);
    let body = call.body.as_deref().map(|body| ParsedBody::parse(call, body));
    let asked = body.as_ref().and_then(|parsed| parsed.request.as_ref().ok()?.model.as_deref());
    let known = asked.and_then(|name| model_list::find(account.catalogue, call.dialect, name));
    exchange.chat(asked, known.is_some_and(|sold| sold.scenario.is_none()));

    let letters = Draw::new(account.config.seed, &["generation", &exchange.sequence.to_string()]).letters(20);
    let time = if call.dialect.is_openrouter() {
        account.clock.unix_seconds().to_string() + "-"
    } else {
        String::new()
    };
    let generation_id = format!("{}{time}{letters}", call.dialect.id_prefix);
    let handler = ChatHandler { account: &account, call, generation_id: &generation_id, letters: &letters };
    let reply = handler.admit(body).and_then(|(request, body)| {
        let name = request.model.as_deref().ok_or_else(|| ApiError::new(ErrorKind::NoModel))?;
        handler.answer(&request, &body, name).map_err(|mut error| {
            name.clone_into(&mut error.details.model);
            error
        })
    });
    let reply = reply.unwrap_or_else(|error| error_reply(call.dialect, &handler.complete(error)));
    handler.finish_headers(reply)
}

/// A parsed body.
#[derive(Debug)]
struct ParsedBody {
    /// `Null` for OpenRouter, which accepts any field.
    body: Value,
    request: Result<ChatRequest, BadBody>,
}

impl ParsedBody {
    fn parse(call: &Call, bytes: &[u8]) -> Self {
        if call.dialect.is_openrouter() {
            return Self { body: Value::Null, request: ChatRequest::read(bytes) };
        }
        let Ok(body) = serde_json::from_slice::<Value>(bytes) else {
            return Self { body: Value::Null, request: Err(BadBody::Empty) };
        };
        let mut request = ChatRequest::of(call.dialect.protocol, &body);
        if let (Protocol::Gemini, Ok(request)) = (call.dialect.protocol, &mut request) {
            let (model, method) = call.rest.rsplit_once(':').unwrap_or((&call.rest, ""));
            request.model = Some(percent_decode_str(model).decode_utf8_lossy().into_owned());
            request.stream = method == "streamGenerateContent";
        }
        Self { body, request }
    }
}

/// The checks of one request.
struct ChatHandler<'a> {
    account: &'a Account,
    call: &'a Call,
    generation_id: &'a str,
    /// The random part of the generation id; the request id of providers that have one.
    letters: &'a str,
}

impl ChatHandler<'_> {
    /// The checks that need no model.
    fn admit(&self, read: Option<ParsedBody>) -> Result<(ChatRequest, Value), ApiError> {
        let Call { dialect, headers, query, .. } = self.call;
        check_key(dialect, self.account, headers, query).map_err(ApiError::new)?;
        let is_method = |name: &str| self.call.rest.ends_with(name);
        if dialect.protocol == Protocol::Gemini && !GEMINI_METHODS.into_iter().any(is_method) {
            return Err(ApiError::new(ErrorKind::NotFound));
        }
        let Some(ParsedBody { body, request }) = read else { return Err(ApiError::new(ErrorKind::TooLarge)) };
        if body.is_object() {
            check_fields(dialect.fields(), &body)?;
        }
        match request {
            Ok(request) => Ok((request, body)),
            Err(BadBody::NoMessages) => Err(ApiError::new(ErrorKind::NoMessages)),
            Err(BadBody::Empty) if body.is_object() => Err(ApiError::new(ErrorKind::NoMessages)),
            Err(BadBody::Empty) => Err(because(ErrorKind::BadBody, "unexpected end of JSON input")),
            Err(BadBody::WrongType(reason)) => Err(because(ErrorKind::WrongType, &reason)),
        }
    }

    /// The checks that depend on the model, then the scripted reply.
    fn answer(&self, request: &ChatRequest, body: &Value, name: &str) -> Result<Reply, ApiError> {
        let Call { dialect, headers, .. } = self.call;
        let Some(NamedModel { model, scenario }) = model_list::find(self.account.catalogue, dialect, name)
        else {
            let is_retired = dialect.is_openrouter() && name == RETIRED_MODEL;
            return Err(ApiError::new(if is_retired { ErrorKind::NoEndpoints } else { ErrorKind::BadModel }));
        };
        let context = ReplyContext {
            account: self.account,
            dialect,
            request,
            slug: name,
            asked: model,
            served: self.account.catalogue.served(model),
            key: sent_key(dialect, headers),
            generation_id: self.generation_id,
            request_id: self.letters,
            in_list: self.call.is_in_list(request),
        };
        let forbids_reasoning = request.forbids_reasoning();
        check_rules(dialect.fields(), RuleInput { body, headers, model: context.served, forbids_reasoning })?;
        check_request(&context)?;
        // A model name that plays a fault is counted per dialect, since people try it in several.
        let counted_as = scenario.map(|_| format!("{} {name}", dialect.name));
        let scenario = self.call.scenario.as_deref().or(scenario);
        let asked = counted_as.as_deref().unwrap_or(name);
        let script = self.account.scripts().resolve(scenario, asked, &context.served.id);
        let script = script.map_err(|unknown| because(ErrorKind::ControlRequest, &unknown.to_string()))?;
        Ok(context.reply(&script))
    }

    /// Adds the details that every error of this request may quote.
    fn complete(&self, mut error: ApiError) -> ApiError {
        self.letters.clone_into(&mut error.details.request_id);
        sent_key(self.call.dialect, &self.call.headers).clone_into(&mut error.details.key);
        error
    }

    /// Adds the headers that every reply of this dialect has.
    fn finish_headers(&self, reply: Reply) -> Reply {
        let ray = || Draw::new(self.account.config.seed, &["ray", self.generation_id]).number();
        let mut reply = reply;
        for (name, value) in &self.call.dialect.headers {
            let value = value.replace("{id}", self.letters);
            let value = if value.contains("{ray}") {
                value.replace("{ray}", &format!("{:016x}", ray()))
            } else {
                value
            };
            reply = reply.header(name, &value);
        }
        let is_unauthorized = matches!(reply.head, Head::Status(StatusCode::UNAUTHORIZED, _));
        if self.call.dialect.is_openrouter() && !is_unauthorized {
            reply = reply.header("x-generation-id", self.generation_id);
        }
        reply
    }
}

/// The methods of Gemini's path.
const GEMINI_METHODS: [&str; 2] = [":generateContent", ":streamGenerateContent"];

impl Call {
    /// Whether the request asks for a stream as one JSON list: Gemini's, without `alt=sse`.
    fn is_in_list(&self, request: &ChatRequest) -> bool {
        let is_sse = self.query.split('&').any(|pair| pair == "alt=sse");
        self.dialect.protocol == Protocol::Gemini && request.stream && !is_sse
    }
}

/// Checks modalities, mandatory reasoning, and the context length.
fn check_request(context: &ReplyContext<'_>) -> Result<(), ApiError> {
    let ReplyContext { request, served, dialect, .. } = *context;
    if let Some(modality) = request.modalities().find(|modality| !served.reads(modality)) {
        let mut error = context.error(ErrorKind::Modality);
        modality.clone_into(&mut error.details.reason);
        return Err(error);
    }
    let mandatory = served.reasoning_mandatory && !context.asked.is_alias();
    if mandatory && request.forbids_reasoning() {
        return Err(context.error(ErrorKind::ReasoningMandatory));
    }
    let output = if dialect.output_counts { context.output_tokens_max().unwrap_or(0) } else { 0 };
    let fits = request.prompt_tokens().saturating_add(output) <= served.context_tokens;
    if fits || dialect.cuts_prompt_at.is_some() { Ok(()) } else { Err(context.error(ErrorKind::Context)) }
}

fn because(kind: ErrorKind, reason: &str) -> ApiError {
    let details = Box::new(ErrorDetails { reason: reason.to_owned(), ..ErrorDetails::default() });
    ApiError { details, ..ApiError::new(kind) }
}
