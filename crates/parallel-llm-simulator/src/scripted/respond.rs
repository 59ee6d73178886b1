//! Builds the reply to an admitted request from its script: an error, a malformed reply, or an answer.

use hyper::StatusCode;

use super::stream;
use super::whole;
use crate::answer;
use crate::behaviour::fault::Fault;
use crate::behaviour::script::{Answer, Behaviour};
use crate::behaviour::script_table::ResolvedScript;
use crate::behaviour::seed::Draw;
use crate::behaviour::timing::Timing;
use crate::dialect::row::Dialect;
use crate::dialect::{ApiError, ErrorDetails, ErrorKind, error_reply};
use crate::protocol;
use crate::protocol::draft::Draft;
use crate::protocol::sse::Framing;
use crate::replies::off_protocol;
use crate::replies::reply::{Head, Reply};
use crate::request::chat_request::ChatRequest;
use crate::state::account::Account;
use crate::state::catalogue::{Model, stops_billing};
use crate::state::ledger::Bill;

/// Free requests per day in `rate_free_day`.
const FREE_PER_DAY: u32 = 50;

/// How far in the future the HTTP date in `Retry-After` is.
const RETRY_DATE_AHEAD_S: u64 = 2;

/// A `Retry-After` beyond every deadline.
const RETRY_FAR_S: &str = "3600";

/// Tokens that the account could still afford in a captured 402.
const AFFORDABLE_TOKENS: u64 = 3395;

const DAY_MS: u64 = 86_400_000;

/// The suffix of a dated model name.
const MODEL_DATE: &str = "-20260929";

/// Everything a reply depends on.
#[derive(Debug)]
pub(crate) struct ReplyContext<'a> {
    pub(crate) account: &'a Account,
    pub(crate) dialect: &'static Dialect,
    pub(crate) request: &'a ChatRequest,
    /// The requested name, its catalogue entry, and the model that answers.
    pub(crate) slug: &'a str,
    pub(crate) asked: &'a Model,
    pub(crate) served: &'a Model,
    /// The key as sent.
    pub(crate) key: &'a str,
    pub(crate) generation_id: &'a str,
    pub(crate) request_id: &'a str,
    /// Whether the stream is one JSON list, as Gemini's is without `alt=sse`.
    pub(crate) in_list: bool,
}

impl ReplyContext<'_> {
    /// The reply for this script.
    pub(crate) fn reply(&self, script: &ResolvedScript) -> Reply {
        let reply = script.fault.and_then(|fault| self.fault_reply(fault, &script.behaviour));
        match (reply, &script.retry_after) {
            (Some(reply), Some(value)) => reply.header("retry-after", value),
            (Some(reply), None) => reply,
            (None, _) => self.answer(script),
        }
    }

    /// The reply to a fault that prevents an answer.
    fn fault_reply(&self, fault: Fault, behaviour: &Behaviour) -> Option<Reply> {
        if !fault.applies_to(self.dialect.name) {
            let mut error = self.error(ErrorKind::ControlRequest);
            error.details.reason = format!("`{fault}` is no fault of `{}`", self.dialect.name);
            return Some(error_reply(self.dialect, &error));
        }
        if let Some(blocked) = self.moderated_reply(fault, behaviour) {
            return Some(blocked);
        }
        let Some(kind) = error_kind(fault) else { return self.off_protocol_reply(fault, behaviour) };
        let reply = error_reply(self.dialect, &self.error(kind));
        let date = || self.account.clock.http_date(RETRY_DATE_AHEAD_S);
        Some(match fault {
            Fault::RateUpstream => reply.header("retry-after", "1"),
            Fault::RateUpstreamE => reply.header("retry-after", RETRY_FAR_S),
            Fault::RateUpstreamD | Fault::Unavailable503 => reply.header("retry-after", &date()),
            _ => reply,
        })
    }

    /// A moderation that the protocol reports as a reply and not as an error.
    fn moderated_reply(&self, fault: Fault, behaviour: &Behaviour) -> Option<Reply> {
        if fault != Fault::Moderation {
            return None;
        }
        let script =
            ResolvedScript { behaviour: behaviour.clone(), fault: None, retry_after: None, after_tokens: 0 };
        let draft = self.draft(&script, String::new());
        let body = protocol::encoder(&draft, false).blocked()?;
        if !self.request.stream {
            return Some(Reply::json(StatusCode::OK, body));
        }
        let frame = self.framing(None).frame(&crate::protocol::sse::Frame::data(body));
        Some(Reply::whole(StatusCode::OK, protocol::stream_type(self.dialect.protocol), frame))
    }

    /// Faults outside any provider's error format.
    fn off_protocol_reply(&self, fault: Fault, behaviour: &Behaviour) -> Option<Reply> {
        let time_scale = self.account.config.time_scale;
        let reply = match fault {
            Fault::Cf524Html => off_protocol::timeout_page(self.dialect.host),
            Fault::Html200 => off_protocol::login_page(),
            Fault::Redirect307 => off_protocol::redirect(self.account.redirect_target),
            Fault::Zod400 => off_protocol::zod(None),
            Fault::OkErrorBody => {
                off_protocol::late_error(self.generation_id, behaviour.comment_every_ms, time_scale)
            }
            Fault::AcceptNoReply => Reply::headless(Head::Never),
            Fault::AcceptAndClose => Reply::headless(Head::Closed),
            _ => return None,
        };
        Some(reply)
    }

    /// An error with the details of this request.
    pub(crate) fn error(&self, kind: ErrorKind) -> ApiError {
        ApiError { details: self.details(kind), ..ApiError::new(kind) }
    }

    fn details(&self, kind: ErrorKind) -> Box<ErrorDetails> {
        // A credit error names a token count even if the request sets no limit.
        let output = match kind {
            ErrorKind::Credits => self.output_tokens_held(),
            _ => self.output_tokens_max().unwrap_or(0),
        };
        Box::new(ErrorDetails {
            model: self.slug.to_owned(),
            slug: self.served.id.clone(),
            provider: self.provider().to_owned(),
            context: self.served.context_tokens,
            input: self.request.prompt_tokens(),
            output,
            output_max: self.served.output_tokens_max,
            affordable: AFFORDABLE_TOKENS,
            key: self.key.to_owned(),
            prompt: self.request.question(),
            reason: if kind == ErrorKind::KeyEcho { self.key.to_owned() } else { String::new() },
            limit: FREE_PER_DAY,
            reset_unix_ms: next_multiple(self.account.clock.unix_ms(), DAY_MS),
            request_id: self.request_id.to_owned(),
            ..ErrorDetails::default()
        })
    }

    /// The request's limit on output tokens.
    pub(crate) fn output_tokens_max(&self) -> Option<u64> {
        self.request.output_tokens_max(&self.dialect.limits)
    }

    /// Output tokens that the account must be able to pay: the request's limit, or the model's maximum up to a cap.
    pub(crate) fn output_tokens_held(&self) -> u64 {
        const UNSET_MAX: u64 = 65_536;
        self.output_tokens_max().unwrap_or_else(|| self.served.output_tokens_max.min(UNSET_MAX))
    }

    /// Prompt tokens after a silent cut to the context length.
    fn prompt_tokens(&self) -> u64 {
        let cut_at = self.dialect.cuts_prompt_at.map(|tokens| self.request.context_tokens.unwrap_or(tokens));
        self.request.prompt_tokens().min(cut_at.unwrap_or(u64::MAX))
    }

    fn provider(&self) -> &'static str {
        self.dialect.provider.unwrap_or(self.served.provider())
    }

    /// An answer, with the script's fault applied.
    fn answer(&self, script: &ResolvedScript) -> Reply {
        let question = self.request.question();
        let (text, is_synthesis) = self.text(&script.behaviour.answer, &question);
        let mut draft = self.draft(script, text);
        if let Some(fault) = script.fault {
            draft.apply(fault);
        }
        if let Some(tokens_max) = self.output_tokens_max() {
            draft.limit(tokens_max);
        }
        let account = self.account;
        let mut draw = Draw::new(account.config.seed, &["timing", &self.served.id, &question]);
        let timing = Timing::draw(&script.behaviour, is_synthesis, account.config.time_scale, &mut draw);
        let encoder = protocol::encoder(&draft, self.request.wants_usage());
        let mut reply = if self.request.stream && !self.in_list {
            stream::reply(&draft, encoder, self.framing(script.fault), timing)
        } else {
            whole::reply(&draft, encoder.as_ref(), &timing)
        };
        if self.in_list {
            reply.wrap(b"[", b"]");
        }
        if script.fault == Some(Fault::ByteSplit) {
            reply.piece_bytes_max = 1;
        }
        reply.bill = self.bill(&draft).map(Box::new);
        reply
    }

    /// The text of the answer, and whether it fuses candidates.
    fn text(&self, answer: &Answer, question: &str) -> (String, bool) {
        match answer {
            Answer::Fixed(text) => (text.clone(), false),
            Answer::Echo => (question.to_owned(), false),
            Answer::Plausible => answer::write(self.account.config.seed, self.served, question),
        }
    }

    fn draft(&self, script: &ResolvedScript, text: String) -> Draft {
        let date = if script.behaviour.dated_slug { MODEL_DATE } else { "" };
        let model = if self.dialect.is_openrouter() { &self.served.id } else { self.slug };
        let prompt_tokens = self.prompt_tokens();
        let mut draft = Draft {
            dialect: self.dialect,
            id: self.generation_id.to_owned(),
            created: self.account.clock.unix_seconds(),
            model: format!("{model}{date}"),
            provider: self.provider(),
            rate: self.asked.price.rate(prompt_tokens),
            prompt_tokens,
            content: Some(text),
            reasoning: String::new(),
            shows_reasoning: !self.request.hides_thoughts,
            refusal: None,
            finish: "stop",
            native_finish: "stop".to_owned(),
            has_choice: true,
            has_end_mark: true,
            has_unknown_fields: false,
            breaks: None,
            after_tokens: u64::from(script.after_tokens),
            details: script.fault.map(|_| self.details(ErrorKind::Server)),
        };
        draft.reason(script.behaviour.reasoning_tokens as usize);
        draft
    }

    fn framing(&self, fault: Option<Fault>) -> Framing {
        let odd = fault == Some(Fault::OddFraming);
        Framing { crlf: odd || self.dialect.crlf, odd }
    }

    /// The cost of the answer; an answer that ends in an error is free.
    fn bill(&self, draft: &Draft) -> Option<Bill> {
        let failed = matches!(
            draft.breaks,
            Some(Fault::OkFinishError | Fault::SseErrorMid | Fault::SseErrorFirst | Fault::SseErrorBare)
        );
        (!failed).then(|| Bill {
            generation_id: draft.id.clone(),
            model: self.served.id.clone(),
            provider: draft.provider,
            rate: draft.rate,
            prompt_tokens: draft.prompt_tokens,
            completion_tokens: draft.completion_tokens(),
            stops_billing: stops_billing(draft.provider),
            streamed: self.request.stream,
            finish: draft.finish,
            native_finish: draft.native_finish.clone(),
            breaks: draft.breaks.is_some(),
        })
    }
}

/// The error of a fault that refuses the request.
fn error_kind(fault: Fault) -> Option<ErrorKind> {
    Some(match fault {
        Fault::AuthMissing => ErrorKind::KeyMissing,
        Fault::AuthBad => ErrorKind::KeyBad,
        Fault::BadModel => ErrorKind::BadModel,
        Fault::CtxOverflow => ErrorKind::Context,
        Fault::ReasoningMandatory => ErrorKind::ReasoningMandatory,
        Fault::Credits => ErrorKind::Credits,
        Fault::InFlight => ErrorKind::InFlight,
        Fault::KeyLimit => ErrorKind::KeyLimit,
        Fault::Moderation => ErrorKind::Moderation,
        Fault::NoEndpoints => ErrorKind::NoEndpoints,
        Fault::DataPolicy => ErrorKind::DataPolicy,
        Fault::Timeout408 => ErrorKind::Timeout,
        Fault::TooLarge413 => ErrorKind::TooLarge,
        Fault::Invalid422 => ErrorKind::Invalid,
        Fault::RateUpstream | Fault::RateUpstreamB => ErrorKind::RateHinted,
        Fault::RateUpstreamC | Fault::RateUpstreamD | Fault::RateUpstreamE => ErrorKind::Rate,
        Fault::RateFreeDay => ErrorKind::RateDay,
        Fault::Server500 => ErrorKind::Server,
        Fault::BadGateway => ErrorKind::BadGateway,
        Fault::Unavailable503 => ErrorKind::Unavailable,
        Fault::Overloaded529 => ErrorKind::Overloaded,
        Fault::KeyEcho => ErrorKind::KeyEcho,
        _ => return None,
    })
}

/// The first multiple of `step` after `now`.
fn next_multiple(now: u64, step: u64) -> u64 {
    (now / step + 1) * step
}
