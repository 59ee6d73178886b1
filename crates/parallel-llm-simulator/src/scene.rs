//! One request that was admitted meets its script: a refusal, an oddity, or an answer, whole or broken.

use crate::account::Account;
use crate::answer;
use crate::catalogue::{Model, stops_billing};
use crate::draft::{Dialect, Draft};
use crate::fault::Fault;
use crate::ledger::Bill;
use crate::odd;
use crate::refusal::{FreePeriod, RateHint, Refusal};
use crate::reply::Reply;
use crate::request::ChatRequest;
use crate::script::{Answer, Behaviour, UsageShape};
use crate::seed::Draw;
use crate::sse::Framing;
use crate::stage::Act;
use crate::stream;
use crate::tempo::Tempo;
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

/// Everything a reply depends on.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) account: &'a Account,
    pub(crate) dialect: Dialect,
    pub(crate) request: &'a ChatRequest,
    /// What was asked for, and the model that answers.
    pub(crate) asked: &'a Model,
    pub(crate) served: &'a Model,
    pub(crate) authorization: Option<&'a str>,
    pub(crate) generation_id: &'a str,
}

impl Scene<'_> {
    /// The reply that this act asks for.
    pub(crate) fn play(&self, act: &Act) -> Reply {
        let refused = act.fault.and_then(|fault| self.refusal(fault).map(Refusal::reply));
        let reply = refused.or_else(|| act.fault.and_then(|fault| self.oddity(fault, &act.behaviour)));
        match (reply, &act.retry_after) {
            (Some(reply), Some(value)) => reply.header("retry-after", value),
            (Some(reply), None) => reply,
            (None, _) => self.answer(act),
        }
    }

    /// Faults that are OpenRouter's error objects.
    fn refusal(&self, fault: Fault) -> Option<Refusal> {
        let (slug, clock) = (self.served.id.as_str(), &self.account.clock);
        let refusal = match fault {
            Fault::AuthMissing => Refusal::key_missing(),
            Fault::AuthBad => Refusal::key_unknown(),
            Fault::BadModel => Refusal::unknown_model(&self.asked.id),
            Fault::CtxOverflow => self.context_exceeded(),
            Fault::ReasoningMandatory => Refusal::reasoning_mandatory(),
            Fault::Credits => Refusal::credits(self.output_tokens_held(), AFFORDABLE_TOKENS),
            Fault::InFlight => Refusal::in_flight(),
            Fault::KeyLimit => Refusal::key_limit(),
            Fault::Moderation => Refusal::moderation(&self.request.question(), self.served.provider(), slug),
            Fault::NoEndpoints => Refusal::no_endpoints(&self.asked.id),
            Fault::DataPolicy => Refusal::data_policy(),
            Fault::Timeout408 => Refusal::timed_out(),
            Fault::TooLarge413 => Refusal::too_large(),
            Fault::Invalid422 => Refusal::invalid(),
            Fault::RateUpstream => {
                Refusal::rate_upstream(slug, RateHint::InBody { seconds: 1 }).header("retry-after", "1")
            }
            Fault::RateUpstreamB => Refusal::rate_upstream(slug, RateHint::InBody { seconds: 1 }),
            Fault::RateUpstreamC => Refusal::rate_upstream(slug, RateHint::None),
            Fault::RateUpstreamD => Refusal::rate_upstream(slug, RateHint::None)
                .header("retry-after", clock.http_date(RETRY_DATE_AHEAD_S)),
            Fault::RateUpstreamE => {
                Refusal::rate_upstream(slug, RateHint::None).header("retry-after", RETRY_FAR_S)
            }
            Fault::RateFreeDay => {
                Refusal::rate_free(FreePeriod::Day, FREE_PER_DAY, next_multiple(clock.unix_ms(), DAY_MS))
            }
            Fault::Server500 => Refusal::server_error(),
            Fault::BadGateway => Refusal::bad_gateway(),
            Fault::Unavailable503 => {
                Refusal::unavailable().header("retry-after", clock.http_date(RETRY_DATE_AHEAD_S))
            }
            Fault::Overloaded529 => Refusal::overloaded(),
            Fault::KeyEcho => Refusal::key_echo(self.authorization.unwrap_or_default()),
            _ => return None,
        };
        Some(refusal)
    }

    /// Faults that are no error object of OpenRouter's.
    fn oddity(&self, fault: Fault, behaviour: &Behaviour) -> Option<Reply> {
        let time_scale = self.account.config.time_scale;
        let reply = match fault {
            Fault::Cf524Html => odd::timeout_page(),
            Fault::Html200 => odd::login_page(),
            Fault::Redirect307 => odd::redirect(self.account.trap),
            Fault::Zod400 => odd::zod(None),
            Fault::OkErrorBody => odd::late_error(self.generation_id, behaviour.comment_every_ms, time_scale),
            Fault::AcceptNoReply => odd::silence(),
            Fault::AcceptAndClose => odd::hang_up(),
            _ => return None,
        };
        Some(reply)
    }

    /// The context rule, with the request's own numbers.
    pub(crate) fn context_exceeded(&self) -> Refusal {
        let output = self.request.output_tokens_max().unwrap_or(0);
        Refusal::context_exceeded(self.served.context_tokens, self.request.prompt_tokens(), output)
    }

    /// Tokens the account has to be able to pay: what was asked for, or the model's most within a cap.
    pub(crate) fn output_tokens_held(&self) -> u64 {
        const UNSET_MAX: u64 = 65_536;
        self.request.output_tokens_max().unwrap_or_else(|| self.served.output_tokens_max.min(UNSET_MAX))
    }

    /// An answer, spoiled by the act's fault if there is one.
    fn answer(&self, act: &Act) -> Reply {
        let question = self.request.question();
        let (text, is_synthesis) = self.text(&act.behaviour.answer, &question);
        let mut draft = self.draft(act, text);
        if let Some(fault) = act.fault {
            draft.spoil(fault);
        }
        if let Some(tokens_max) = self.request.output_tokens_max() {
            draft.limit(tokens_max);
        }
        let account = self.account;
        let mut draw = Draw::new(account.config.seed, &["tempo", &self.served.id, &question]);
        let tempo = Tempo::draw(&act.behaviour, is_synthesis, account.config.time_scale, &mut draw);
        let mut reply = if self.request.stream {
            let behaviour = self.streaming(act);
            stream::reply(&draft, &behaviour, framing(act), tempo)
        } else {
            whole::reply(&draft, &tempo)
        };
        reply.write_split = if act.fault == Some(Fault::ByteSplit) { 1 } else { act.behaviour.write_split };
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

    fn draft(&self, act: &Act, text: String) -> Draft {
        let provider = act.behaviour.provider.as_deref().unwrap_or(self.served.provider());
        let date = if act.behaviour.dated_slug { "-20260929" } else { "" };
        let prompt_tokens = self.request.prompt_tokens();
        let mut draft = Draft {
            dialect: self.dialect,
            id: self.generation_id.to_owned(),
            created: self.account.clock.unix_seconds(),
            model: format!("{}{date}", self.served.id),
            provider: provider.to_owned(),
            rate: self.asked.price.rate(prompt_tokens),
            prompt_tokens,
            content: Some(text),
            reasoning: String::new(),
            refusal: None,
            finish: "stop",
            native_finish: "stop",
            has_choice: true,
            novel: false,
            breaks: None,
            after_tokens: u64::from(act.after_tokens),
        };
        draft.reason(act.behaviour.reasoning_tokens as usize);
        draft
    }

    /// The behaviour of a stream: the dialect and the fault may ask for another end.
    fn streaming(&self, act: &Act) -> Behaviour {
        let mut behaviour = act.behaviour.clone();
        if self.dialect == Dialect::OpenAi {
            let wanted = self.request.wants_usage();
            behaviour.usage_shape = if wanted { UsageShape::EmptyChoices } else { UsageShape::None };
        }
        behaviour.done &= act.fault != Some(Fault::SseNoDone);
        behaviour
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
            provider: draft.provider.clone(),
            rate: draft.rate,
            prompt_tokens: draft.prompt_tokens,
            completion_tokens: draft.completion_tokens(),
            stops_billing: stops_billing(&draft.provider),
            streamed: self.request.stream,
            breaks: draft.breaks.is_some(),
        })
    }
}

fn framing(act: &Act) -> Framing {
    if act.fault == Some(Fault::OddFraming) {
        let newline = crate::script::Newline::Crlf;
        return Framing { newline, space_after_colon: false, odd: true };
    }
    let Behaviour { newline, space_after_colon, .. } = act.behaviour;
    Framing { newline, space_after_colon, odd: false }
}

/// The first multiple of `step` after `now`.
pub(crate) fn next_multiple(now: u64, step: u64) -> u64 {
    (now / step + 1) * step
}
