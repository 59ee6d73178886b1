//! The chat endpoint: OpenRouter's checks in OpenRouter's order, then the scene that the script asks for.
//!
//! Everything here is decided at once from values; waiting and sending are left to `player`.

use bytes::Bytes;
use hyper::StatusCode;

use crate::account::{Account, KeyVerdict};
use crate::catalogue::{GONE_MODEL, Model};
use crate::draft::Dialect;
use crate::exchange::Exchange;
use crate::ledger::cost_pico;
use crate::odd;
use crate::plain;
use crate::refusal::{FreePeriod, Refusal};
use crate::reply::{Head, Reply};
use crate::request::{BadBody, ChatRequest};
use crate::scene::{Scene, next_multiple};
use crate::seed::Draw;

/// Models of one request's fallback list that are tried.
const FALLBACKS_MAX: usize = 8;

/// Milliseconds in a minute.
const MINUTE_MS: u64 = 60_000;

/// A chat request as it came over the wire.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) dialect: Dialect,
    pub(crate) authorization: Option<String>,
    /// The value of `X-Sim-Scenario`.
    pub(crate) scenario: Option<String>,
    /// `None`: longer than allowed.
    pub(crate) body: Option<Bytes>,
}

/// The reply to a chat request.
pub(crate) fn reply(exchange: &mut Exchange, call: &Call) -> Reply {
    let account = std::sync::Arc::clone(&exchange.account);
    let request = call.body.as_deref().map(ChatRequest::read);
    let asked = request.as_ref().and_then(|read| read.as_ref().ok()?.candidates().next());
    exchange.chat(asked, asked.is_some_and(|slug| find(&account, call.dialect, slug).is_some()));

    let generation_id = generation_id(&account, call.dialect, exchange.sequence);
    let desk = Desk { account: &account, call, generation_id: &generation_id, sequence: exchange.sequence };
    let reply = match desk.admit(request) {
        Ok(request) => desk.first_answer(&request),
        Err(refused) => refused,
    };
    desk.finish_headers(reply)
}

/// Where one request is checked.
struct Desk<'a> {
    account: &'a Account,
    call: &'a Call,
    generation_id: &'a str,
    sequence: u64,
}

impl Desk<'_> {
    /// The checks that need no model.
    fn admit(&self, request: Option<Result<ChatRequest, BadBody>>) -> Result<ChatRequest, Reply> {
        match (self.account.judge(self.call.authorization.as_deref()), self.call.dialect) {
            (KeyVerdict::Good, _) => {}
            (_, Dialect::OpenAi) => return Err(plain::bad_key()),
            (KeyVerdict::Missing, _) => return Err(Refusal::key_missing().reply()),
            (KeyVerdict::Bad, _) => return Err(Refusal::key_unknown().reply()),
        }
        match request {
            None => Err(Refusal::too_large().reply()),
            Some(Err(BadBody::Empty)) => Err(Refusal::no_input().reply()),
            Some(Err(BadBody::NoMessages)) => Err(Refusal::no_messages().reply()),
            Some(Err(BadBody::WrongType(reason))) => Err(odd::zod(Some(&reason))),
            Some(Ok(request)) => Ok(request),
        }
    }

    /// Walks the fallback list: the first model that does not refuse, or the last one's refusal.
    fn first_answer(&self, request: &ChatRequest) -> Reply {
        let mut last = Refusal::no_model().reply();
        for slug in request.candidates().take(FALLBACKS_MAX) {
            last = self.answer(request, slug).unwrap_or_else(|refused| refused);
            if !is_refusal(&last) {
                break;
            }
        }
        last
    }

    /// The checks that depend on the model, then the scene.
    fn answer(&self, request: &ChatRequest, slug: &str) -> Result<Reply, Reply> {
        let Some(asked) = find(self.account, self.call.dialect, slug) else {
            return Err(match (self.call.dialect, slug) {
                (Dialect::OpenAi, _) => plain::unknown_model(slug),
                (_, GONE_MODEL) => Refusal::no_endpoints(slug).reply(),
                _ => Refusal::unknown_model(slug).reply(),
            });
        };
        let scene = Scene {
            account: self.account,
            dialect: self.call.dialect,
            request,
            asked,
            served: self.account.catalogue.served(asked),
            authorization: self.call.authorization.as_deref(),
            generation_id: self.generation_id,
        };
        if scene.dialect == Dialect::OpenAi {
            plain::check(request, scene.served)?;
        }
        check_request(&scene).map_err(Refusal::reply)?;
        self.check_money(&scene).map_err(Refusal::reply)?;
        self.check_rate(&scene).map_err(Refusal::reply)?;
        let scenario = self.call.scenario.as_deref();
        let act = self.account.stage().act(scenario, slug, &scene.served.id);
        let act = act.map_err(|unknown| Refusal::bad_order(&unknown.to_string()).reply())?;
        Ok(scene.play(&act))
    }

    /// Key limit, balance, and what requests in flight hold.
    fn check_money(&self, scene: &Scene<'_>) -> Result<(), Refusal> {
        let config = &self.account.config;
        let prompt_tokens = scene.request.prompt_tokens();
        let output_tokens = scene.output_tokens_held();
        let rate = scene.asked.price.rate(prompt_tokens);
        let hold_pico = cost_pico(rate, prompt_tokens, output_tokens);
        let mut ledger = self.account.ledger();
        let charged_pico = ledger.charged_pico();
        if config.key_limit_pico_usd.is_some_and(|limit| charged_pico >= limit) {
            return Err(Refusal::key_limit());
        }
        let balance_pico = config.balance_pico_usd - charged_pico;
        if hold_pico > balance_pico {
            let for_output_pico = (balance_pico - cost_pico(rate, prompt_tokens, 0)).max(0);
            let affordable = for_output_pico / rate.completion_pico.max(1);
            return Err(Refusal::credits(output_tokens, affordable.unsigned_abs()));
        }
        let held_pico = ledger.held_pico();
        if config.in_flight_pico_usd.is_some_and(|limit| held_pico + hold_pico > limit) {
            return Err(Refusal::in_flight());
        }
        ledger.hold(self.sequence, hold_pico);
        Ok(())
    }

    fn check_rate(&self, scene: &Scene<'_>) -> Result<(), Refusal> {
        let Some(limit) = self.account.config.free_per_minute.filter(|_| scene.asked.is_free()) else {
            return Ok(());
        };
        let clock = &self.account.clock;
        if self.account.pace().admit(clock.micros(), limit) {
            return Ok(());
        }
        let reset = next_multiple(clock.unix_ms(), MINUTE_MS);
        Err(Refusal::rate_free(FreePeriod::Minute, limit, reset))
    }

    /// The headers every chat reply has.
    fn finish_headers(&self, reply: Reply) -> Reply {
        let ray = Draw::new(self.account.config.seed, &["ray", self.generation_id]).number();
        let reply = reply.header("server", "cloudflare").header("cf-ray", &format!("{ray:016x}-SIM"));
        if matches!(reply.head, Head::Status(StatusCode::UNAUTHORIZED, _)) {
            return reply;
        }
        reply.header("x-generation-id", self.generation_id)
    }
}

/// The reasoning rule and the context's length.
fn check_request(scene: &Scene<'_>) -> Result<(), Refusal> {
    let mandatory = scene.served.reasoning_mandatory && !scene.asked.is_alias();
    if mandatory && scene.request.forbids_reasoning() {
        return Err(Refusal::reasoning_mandatory());
    }
    let output = scene.request.output_tokens_max().unwrap_or(0);
    if scene.request.prompt_tokens().saturating_add(output) > scene.served.context_tokens {
        return Err(scene.context_exceeded());
    }
    Ok(())
}

/// The entry for a slug; the plain dialect leaves out the lab.
fn find<'a>(account: &'a Account, dialect: Dialect, slug: &str) -> Option<&'a Model> {
    let catalogue = account.catalogue;
    let by_name = || {
        let has_name = |model: &&Model| model.id.split_once('/').is_some_and(|(_, name)| name == slug);
        catalogue.models.iter().find(has_name)
    };
    catalogue.find(slug).or_else(|| if dialect == Dialect::OpenAi { by_name() } else { None })
}

fn is_refusal(reply: &Reply) -> bool {
    match &reply.head {
        Head::Status(status, _) => status.is_client_error() || status.is_server_error(),
        Head::Never | Head::Closed => false,
    }
}

fn generation_id(account: &Account, dialect: Dialect, sequence: u64) -> String {
    let letters = Draw::new(account.config.seed, &["generation", &sequence.to_string()]).letters(20);
    match dialect {
        Dialect::OpenRouter => format!("gen-{}-{letters}", account.clock.unix_seconds()),
        Dialect::OpenAi => format!("chatcmpl-{letters}"),
    }
}
