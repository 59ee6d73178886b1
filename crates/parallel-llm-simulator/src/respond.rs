//! One request that was admitted meets its script: a refusal, an oddity, or an answer, whole or broken.

use hyper::StatusCode;

use crate::account::Account;
use crate::answer;
use crate::catalogue::{Model, stops_billing};
use crate::dialect::{ApiError, Dialect, ErrorDetails, ErrorKind, error_reply};
use crate::draft::Draft;
use crate::fault::Fault;
use crate::ledger::Bill;
use crate::off_protocol;
use crate::protocol;
use crate::reply::{Head, Reply};
use crate::request::ChatRequest;
use crate::script::{Answer, Behaviour};
use crate::script_table::ResolvedScript;
use crate::seed::Draw;
use crate::sse::Framing;
use crate::stream;
use crate::timing::Timing;
use crate::whole;

/// Free requests a day, as `rate_free_day` has it.
const FREE_PER_DAY: u32 = 50;

/// How far ahead the HTTP date of a `Retry-After` lies.
const RETRY_DATE_AHEAD_S: u64 = 2;

/// A `Retry-After` that no deadline can wait for.
const RETRY_FAR_S: &str = "3600";

/// What the account of a captured 402 could still pay.
const AFFORDABLE_TOKENS: u64 = 3395;

/// Milliseconds in a day.
const DAY_MS: u64 = 86_400_000;

/// What a dated model's name ends in.
const MODEL_DATE: &str = "-20260929";

/// Everything a reply depends on.
#[derive(Debug)]
pub(crate) struct ReplyContext<'a> {
    pub(crate) account: &'a Account,
    pub(crate) dialect: &'static Dialect,
    pub(crate) request: &'a ChatRequest,
    /// The name that was asked for, what that is, and the model that answers.
    pub(crate) slug: &'a str,
    pub(crate) asked: &'a Model,
    pub(crate) served: &'a Model,
    /// The key as it was sent.
    pub(crate) key: &'a str,
    pub(crate) generation_id: &'a str,
    pub(crate) request_id: &'a str,
    /// Whether a stream is a list of one, as Gemini's is without `alt=sse`.
    pub(crate) in_list: bool,
}

impl ReplyContext<'_> {
    /// The reply that this script asks for.
    pub(crate) fn play(&self, script: &ResolvedScript) -> Reply {
        let reply = script.fault.and_then(|fault| self.instead(fault, &script.behaviour));
        match (reply, &script.retry_after) {
            (Some(reply), Some(value)) => reply.header("retry-after", value),
            (Some(reply), None) => reply,
            (None, _) => self.answer(script),
        }
    }

    /// The reply of a fault that leaves no answer.
    fn instead(&self, fault: Fault, behaviour: &Behaviour) -> Option<Reply> {
        if !fault.applies_to(self.dialect.name) {
            let mut error = self.error(ErrorKind::ControlRequest);
            error.details.reason = format!("`{fault}` is no fault of `{}`", self.dialect.name);
            return Some(error_reply(self.dialect, &error));
        }
        if let Some(blocked) = self.blocked(fault, behaviour) {
            return Some(blocked);
        }
        let Some(kind) = kind(fault) else { return self.oddity(fault, behaviour) };
        let reply = error_reply(self.dialect, &self.error(kind));
        let date = || self.account.clock.http_date(RETRY_DATE_AHEAD_S);
        Some(match fault {
            Fault::RateUpstream => reply.header("retry-after", "1"),
            Fault::RateUpstreamE => reply.header("retry-after", RETRY_FAR_S),
            Fault::RateUpstreamD | Fault::Unavailable503 => reply.header("retry-after", &date()),
            _ => reply,
        })
    }

    /// Moderation that is an answer and no error.
    fn blocked(&self, fault: Fault, behaviour: &Behaviour) -> Option<Reply> {
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
        let frame = self.framing(None).frame(&crate::sse::Frame::data(body));
        Some(Reply::whole(StatusCode::OK, protocol::stream_type(self.dialect.protocol), frame))
    }

    /// Faults that are no error object of anybody's.
    fn oddity(&self, fault: Fault, behaviour: &Behaviour) -> Option<Reply> {
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

    /// What is wrong, with everything this request can say about it.
    pub(crate) fn error(&self, kind: ErrorKind) -> ApiError {
        ApiError { details: self.details(kind), ..ApiError::new(kind) }
    }

    fn details(&self, kind: ErrorKind) -> Box<ErrorDetails> {
        // A refusal for want of credit names what was asked for even if the request does not.
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

    /// The most tokens that were asked for.
    pub(crate) fn output_tokens_max(&self) -> Option<u64> {
        self.request.output_tokens_max(&self.dialect.limits)
    }

    /// Tokens the account has to be able to pay: what was asked for, or the model's most within a cap.
    pub(crate) fn output_tokens_held(&self) -> u64 {
        const UNSET_MAX: u64 = 65_536;
        self.output_tokens_max().unwrap_or_else(|| self.served.output_tokens_max.min(UNSET_MAX))
    }

    /// Tokens of the prompt that the model sees.
    fn prompt_tokens(&self) -> u64 {
        let cut_at = self.dialect.cuts_prompt_at.map(|tokens| self.request.context_tokens.unwrap_or(tokens));
        self.request.prompt_tokens().min(cut_at.unwrap_or(u64::MAX))
    }

    fn provider(&self) -> &'static str {
        self.dialect.provider.unwrap_or(self.served.provider())
    }

    /// An answer, spoiled by the script's fault if there is one.
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

    /// What the answer says, and whether it fuses candidates.
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

    /// What the answer costs; an answer that ends in an error costs nothing.
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

/// What a fault that refuses says is wrong.
fn kind(fault: Fault) -> Option<ErrorKind> {
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
