//! Every fault in the format of every provider, over HTTP/1.1 and HTTP/2: error code, attempts, kept text and cost.
//!
//! One panel of a provider meets many faults at once, one per seat: the simulator plays the fault that the name of the
//! model asks for. Attempts and costs are compared with the simulator's own record. A row of the table covers all
//! providers that play the fault, except those it names.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::port::{Call, Caller, ReplyPart, ReplyStream};
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::{Message, ModelRef, ProviderId, Role, RunId, SeatNumber};
use parallel_llm_provider::{ApiKey, Dialect, Endpoint, Known, Provider, ProviderConfig};
use parallel_llm_testkit::simulator::{
    Answer, Behaviour, Fault, HttpVersions, Script, Simulator, SimulatorConfig,
};
use parallel_llm_testkit::{Output, Sandbox, each_among};
use serde_json::Value;
use tokio::time::timeout;

/// Faults that end all calls with the same key, so they share a panel with no other fault.
const KEY_FAULTS: &[Fault] = &[Fault::AuthMissing, Fault::AuthBad, Fault::Credits, Fault::KeyLimit];

/// Faults that only a timer ends.
const TIMER_FAULTS: &[Fault] = &[Fault::Stall, Fault::SlowDrip, Fault::CommentsForever, Fault::AcceptNoReply];

/// The limit of the timers under test: long enough for the first text to arrive on a very busy machine.
const TIMER_MS: &str = "10000";

/// Panels asked at once. They wait for retries and timers most of the time.
const PANELS_AT_ONCE: usize = 24;

/// Longer than reading a few megabytes takes on a very busy machine.
const READ_MAX: Duration = Duration::from_secs(60);

/// Faults that break a connection, which on HTTP/2 other calls share.
const CONNECTION_FAULTS: &[Fault] = &[Fault::AcceptAndClose, Fault::SseEofInChunk, Fault::SseReset];

/// The faults that a provider plays, grouped into panels; a fault that breaks its connection gets a panel of its own.
fn panels(dialect: &str) -> Vec<Vec<Fault>> {
    let named = [KEY_FAULTS, TIMER_FAULTS];
    let alone = |fault: &&Fault| CONNECTION_FAULTS.contains(fault);
    let is_named = |fault: &&Fault| named.iter().any(|group| group.contains(fault)) || alone(fault);
    let rest: Vec<Fault> = Fault::ALL.iter().filter(|fault| !is_named(fault)).copied().collect();
    // A key may retry some twenty calls at once, and a panel has at most 64 seats.
    let (first, second) = rest.split_at(rest.len() / 2);
    let panels = named.map(<[Fault]>::to_vec).into_iter().chain([first.to_vec(), second.to_vec()]);
    let panels = panels.chain(CONNECTION_FAULTS.iter().map(|fault| vec![*fault]));
    let plays = |group: Vec<Fault>| group.into_iter().filter(|fault| fault.applies_to(dialect)).collect();
    panels.map(plays).filter(|group: &Vec<Fault>| !group.is_empty()).collect()
}

/// The reference of the model that plays a fault.
fn model(dialect: &str, fault: Fault) -> String {
    match dialect {
        "openrouter" => format!("sim/fault-{fault}"),
        _ => format!("{dialect}:fault-{fault}"),
    }
}

fn sandbox(http: HttpVersions) -> Sandbox {
    let tls = http == HttpVersions::Only2;
    let config = SimulatorConfig { behaviour: Behaviour::instant(), tls, http, ..SimulatorConfig::default() };
    Sandbox::with(env!("CARGO_BIN_EXE_parallel-llm-mcp"), config)
}

/// Asks one panel. Its models come from the settings, because flags refuse models that no list has.
fn ask(sandbox: &Sandbox, dialect: &str, faults: &[Fault]) -> Output {
    let known = Known::by_id(dialect).expect("every dialect is a known provider's");
    let base_url = sandbox.simulator().base_url_of(dialect).expect("the simulator speaks it");
    let panel: Vec<String> = faults.iter().map(|fault| model(dialect, *fault)).collect();
    let mut call = sandbox
        .call(["ask", "--json", "Which of two designs is safer?"])
        .env(known.base_url_variable, &base_url)
        .env(known.key_variable, sandbox.simulator().api_key())
        .settings([("panel", panel.join(",").as_str()), ("strategy", "panel")])
        .settings([("wait", "all"), ("retries_max", "1"), ("budget_usd", "none")]);
    if faults.iter().any(|fault| TIMER_FAULTS.contains(fault)) {
        let timers = ["first_text_timeout_ms", "idle_timeout_ms", "call_timeout_ms"];
        call = call.settings(timers.map(|timer| (timer, TIMER_MS))).settings([("retries_max", "0")]);
    }
    if let Some(certificate) = sandbox.simulator().certificate_pem() {
        let file = sandbox.write("certificate.pem", certificate);
        call = call.env("SSL_CERT_FILE", &file.display().to_string());
    }
    let output = call.run();
    output.assert_no_key();
    sandbox.assert_no_key_in_files();
    assert_eq!(sandbox.simulator().redirect_target_requests(), [], "no redirect is followed");
    output
}

/// The result of a seat: status, error code, attempts, whether text was kept, and the cost.
fn seat_result(sandbox: &Sandbox, seat: &Value, name: &str) -> String {
    let asked =
        sandbox.simulator().requests().iter().filter(|chat| chat.model.as_deref() == Some(name)).count();
    assert_eq!(
        seat["attempts"].as_u64(),
        u64::try_from(asked).ok(),
        "{name}: attempts as the simulator saw them"
    );
    let word = |name: &str| seat.pointer(name).and_then(Value::as_str).map(str::to_owned);
    let code = word("/error/code").map(|code| format!(" {code}")).unwrap_or_default();
    let text = if word("/text").is_some_and(|text| !text.is_empty()) { ", text kept" } else { "" };
    format!("{}{code} x{asked}{text}, {}", word("/status").unwrap_or_default(), cost(sandbox, seat, name))
}

/// `paid` if the report states the cost in the simulator's ledger, to the pico-dollar; `free` if nothing was charged
/// and the report says so; `unknown` if the report states no cost.
fn cost(sandbox: &Sandbox, seat: &Value, name: &str) -> &'static str {
    let Some(usd) = seat["cost_usd"].as_f64() else { return "unknown" };
    let ledger = sandbox.simulator().ledger();
    let requests = sandbox.simulator().requests();
    let calls = requests.iter().filter(|chat| chat.model.as_deref() == Some(name));
    let charges = calls.filter_map(|chat| ledger.charge(chat.generation_id.as_deref()?));
    let charged_pico: i64 = charges.map(|charge| charge.cost_pico_usd).sum();
    assert!(
        (usd * 1e12 - charged_pico as f64).abs() < 0.5,
        "{name}: {usd} reported, {charged_pico} pico charged"
    );
    if charged_pico == 0 { "free" } else { "paid" }
}

/// The results of a panel of faults at one provider.
fn outcomes(http: HttpVersions, dialect: &str, faults: &[Fault]) -> Vec<String> {
    let version = if http == HttpVersions::Only2 { "2" } else { "1.1" };
    // A sandbox for each panel: requests are counted by model, and a broken connection affects no other panel.
    let sandbox = sandbox(http);
    let report = ask(&sandbox, dialect, faults).json();
    let seats = faults.iter().enumerate().map(|(index, fault)| {
        let name = model(dialect, *fault);
        let name = name.split_once(':').map_or(name.as_str(), |(_, name)| name);
        seat_result(&sandbox, &report["answers"][index], name)
    });
    let outcomes = seats.collect();
    for request in sandbox.simulator().requests() {
        assert_eq!(request.version, version, "{dialect}: {}", request.path);
    }
    outcomes
}

/// One row per fault: the most frequent result, then other results with the providers that have them.
fn table(http: HttpVersions) -> Vec<String> {
    let dialects = Known::ALL.iter().map(|known| known.id);
    let cases = dialects.flat_map(|dialect| panels(dialect).into_iter().map(move |panel| (dialect, panel)));
    let mut cases: Vec<(&str, Vec<Fault>)> = cases.collect();
    // Those that wait for a timer begin first: they take longest.
    cases.sort_by_key(|(_, panel)| !TIMER_FAULTS.contains(&panel[0]));
    let all = each_among(PANELS_AT_ONCE, &cases, |(dialect, panel)| outcomes(http, dialect, panel));
    let mut faults: BTreeMap<String, BTreeMap<String, Vec<&str>>> = BTreeMap::new();
    for ((dialect, panel), outcomes) in cases.iter().zip(all) {
        for (fault, outcome) in panel.iter().zip(outcomes) {
            faults.entry(fault.to_string()).or_default().entry(outcome).or_default().push(dialect);
        }
    }
    let line = |fault: &Fault| {
        let Some(outcomes) = faults.remove(fault.name()) else { return format!("{fault:<20} nowhere") };
        let mut outcomes: Vec<(String, Vec<&str>)> = outcomes.into_iter().collect();
        outcomes.sort_by_key(|(_, who)| std::cmp::Reverse(who.len()));
        let rows = outcomes.into_iter().enumerate().map(|(index, (outcome, who))| {
            if index == 0 { outcome } else { format!("{:<20}   {outcome}: {}", "", who.join(", ")) }
        });
        format!("{:<20} {}", fault.name(), rows.collect::<Vec<_>>().join("\n"))
    };
    Fault::ALL.iter().map(line).collect()
}

/// Both protocols must give the same table, hence one snapshot for two tests.
fn check(http: HttpVersions) {
    let table = table(http);
    let replies = Fault::ALL.iter().position(|fault| *fault == Fault::OkErrorBody).expect("it is a fault");
    let (refused, replied) = table.split_at(replies);
    insta::allow_duplicates! {
        check_refusals(&refused.join("\n"));
        check_replies(&replied.join("\n"));
    }
}

fn check_refusals(table: &str) {
    insta::assert_snapshot!(table, @"
    auth_missing         failed auth x1, free
    auth_bad             failed auth x1, free
    bad_model            failed model_unknown x1, free
    ctx_overflow         failed context_length x1, free
    reasoning_mandatory  failed bad_request x1, free
    credits              failed credits x1, free
                           failed rate_limited x1, free: gemini
    in_flight            failed credits_in_flight x2, free
    key_limit            failed key_limit x1, free
    moderation           refused moderated x1, free
                           refused moderated x1, unknown: gemini
    no_endpoints         failed model_unknown x1, free
    data_policy          failed forbidden x1, free
    timeout_408          failed upstream x2, unknown
    too_large_413        failed too_large x1, free
    invalid_422          failed bad_request x1, free
    rate_upstream        failed rate_limited x2, free
    rate_upstream_b      failed rate_limited x2, free
    rate_upstream_c      failed rate_limited x2, free
    rate_upstream_d      failed rate_limited x2, free
    rate_upstream_e      failed rate_limited x1, free
    rate_free_day        failed rate_limited x1, free
    server_500           failed upstream x2, free
    bad_gateway          failed upstream x2, free
    unavailable_503      failed upstream x2, free
    overloaded_529       failed upstream x2, free
                           failed rate_limited x2, free: mistral, moonshot
    cf_524_html          failed upstream x2, unknown
    ");
}

fn check_replies(table: &str) {
    insta::assert_snapshot!(table, @"
    ok_error_body        failed upstream x2, unknown
    ok_finish_error      cut upstream x1, text kept, unknown
    empty_choices        failed empty x2, unknown
                           failed empty x2, paid: openrouter, xai
    null_content         failed empty x2, unknown
                           failed empty x2, paid: openrouter, xai
    empty_content        failed empty x2, unknown
                           failed empty x2, paid: openrouter, xai
    reasoning_burn       failed reasoning_only x1, unknown
                           failed reasoning_only x1, paid: openrouter, xai
    truncated_length     answered x1, text kept, unknown
                           answered x1, text kept, paid: openrouter, xai
    refusal              refused refused x1, unknown
                           refused refused x1, paid: openrouter, xai
                           cut moderated x1, text kept, unknown: anthropic
                           refused moderated x1, unknown: gemini
    content_filter       refused moderated x1, unknown
                           refused moderated x1, paid: openrouter, xai
                           refused refused x1, unknown: anthropic
    sse_error_mid        cut rate_limited x1, text kept, unknown
    sse_error_first      failed upstream x2, unknown
    sse_error_bare       cut upstream x1, text kept, unknown
    sse_cut              cut incomplete x1, text kept, unknown
    sse_reset            cut connection x1, text kept, unknown
    sse_eof_in_chunk     cut connection x1, text kept, unknown
    sse_no_done          answered x1, text kept, unknown
                           answered x1, text kept, paid: openrouter, xai
    stall                cut timeout x1, text kept, unknown
    comments_forever     failed timeout x1, unknown
    slow_drip            cut timeout x1, text kept, unknown
    bad_json_chunk       cut protocol x1, text kept, unknown
    odd_framing          answered x1, text kept, unknown
                           answered x1, text kept, paid: openrouter, xai
    byte_split           answered x1, text kept, unknown
                           answered x1, text kept, paid: openrouter, xai
    huge_line            failed protocol x1, unknown
    flood                cut answer_too_large x1, text kept, unknown
    html_200             failed protocol x1, unknown
    redirect_307         failed redirect x1, unknown
    accept_no_reply      failed timeout x1, unknown
    accept_and_close     failed connection x2, unknown
    zod_400              failed bad_request x1, free
    key_echo             failed bad_request x1, free
    unknown_fields       answered x1, text kept, unknown
                           answered x1, text kept, paid: openrouter, xai
    ");
}

#[test]
fn every_fault_in_every_dialect_over_http_1() {
    check(HttpVersions::Only1);
}

#[test]
#[ignore = "long: the same table as over HTTP/1.1; `cargo xtask ci --long`"]
fn every_fault_in_every_dialect_over_http_2() {
    check(HttpVersions::Only2);
}

/// A client of the simulator that trusts its certificate.
fn provider_for(simulator: &Simulator) -> Provider {
    let key = ApiKey::parse(simulator.api_key()).expect("it is a key");
    let id = ProviderId("openrouter".to_owned());
    let endpoint = Endpoint::new(id, &simulator.base_url(), key, Dialect::OPENROUTER).expect("it is sound");
    let certificates = simulator.certificate_der().map(<[u8]>::to_vec).into_iter().collect();
    let calls_per_key_max = 1_000;
    let config = ProviderConfig {
        endpoints: vec![endpoint],
        certificates,
        calls_per_key_max,
        ..ProviderConfig::default()
    };
    Provider::new(config).expect("it is sound")
}

/// A reply whose first text has arrived.
async fn started_reply(provider: &Provider, number: u8) -> ReplyStream {
    let model =
        ModelRef { provider: ProviderId("openrouter".to_owned()), model: "openai/gpt-6.1-sol".to_owned() };
    let call = Call {
        run_id: RunId::from_parts(1, 2),
        attempt: Attempt { slot: CallerSlot::Seat(SeatNumber(number)), number: 1 },
        model,
        messages: vec![Message::text(Role::User, "Say much.")].into(),
        temperature: None,
        max_tokens: 1_000_000,
        effort: None,
        json: false,
        routing: Arc::default(),
        lineage: Arc::default(),
        asked_by: None,
        without: Vec::new(),
    };
    let mut reply = provider.admit(call).await.expect("a slot is free").send();
    while !matches!(reply.next().await, Some(Ok(ReplyPart::Text(_)))) {}
    reply
}

#[tokio::test]
async fn unread_replies_do_not_block_others_on_their_connection() {
    let much = "More and more of the moon and the sun. ".repeat(80_000);
    let behaviour = Behaviour { answer: Answer::Fixed(much), chunk_tokens: 1_000, ..Behaviour::instant() };
    let config =
        SimulatorConfig { tls: true, http: HttpVersions::Only2, behaviour, ..SimulatorConfig::instant() };
    let simulator = Simulator::start(config).await.expect("a local port is free");
    let provider = provider_for(&simulator);
    let reading = async {
        let mut unread = Vec::new();
        for number in 1..=8 {
            unread.push(started_reply(&provider, number).await);
        }
        let mut read = started_reply(&provider, 9).await;
        while !matches!(read.next().await, Some(Ok(ReplyPart::End(_))) | None) {}
    };
    let read = timeout(READ_MAX, reading).await;
    assert!(read.is_ok(), "unread replies block the one that is read");
    assert_eq!(simulator.stats().connections, 1, "they share a connection");
}

#[tokio::test]
async fn calls_beyond_what_a_connection_carries_go_over_others() {
    let behaviour = Behaviour { answer: Answer::Fixed("Slowly, slowly.".to_owned()), ..Behaviour::instant() };
    let config =
        SimulatorConfig { tls: true, http: HttpVersions::Only2, behaviour, ..SimulatorConfig::instant() };
    let simulator = Simulator::start(config).await.expect("a local port is free");
    simulator.script("openai/gpt-6.1-sol", Script::fault(Fault::Stall));
    let provider = provider_for(&simulator);
    // The simulator takes 256 on a connection, as providers do or fewer.
    let started = futures_util::future::join_all((0..300).map(|_| started_reply(&provider, 1)));
    let replies = timeout(READ_MAX, started).await.expect("none waits behind the others");
    assert_eq!((replies.len(), simulator.stats().in_flight), (300, 300));
}

#[test]
fn every_known_provider_is_simulated() {
    let known: Vec<&str> = Known::ALL.iter().map(|known| known.id).collect();
    let spoken = parallel_llm_testkit::simulator::Simulator::dialects();
    assert!(known.iter().all(|id| spoken.contains(id)), "{known:?} in {spoken:?}");
}
