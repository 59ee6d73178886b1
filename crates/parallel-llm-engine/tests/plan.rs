//! Resolving a request into a plan: every refusal with its message, and the defaults that are filled in.

use std::collections::BTreeSet;
use std::sync::Arc;

use parallel_llm_engine::plan::{Defaults, RunPlan, Terms};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::request::catalogue::{Inputs, PriceOverride};
use parallel_llm_engine::request::panel::SeatOptions;
use parallel_llm_engine::request::persona::Persona;
use parallel_llm_engine::request::persona_prompt::Stance;
use parallel_llm_engine::request::wait::Wait;
use parallel_llm_engine::{
    Attachment, Catalogue, Effort, Message, ModelInfo, ModelRef, Part, PicoUsd, Role, RunRequest, Seat,
};

use crate::scenario::{self, catalogues, identity, info, providers};
use crate::transcript;

fn catalogue(live: bool) -> Catalogue {
    let capped = ModelInfo { output_tokens_max: Some(500), ..info("vendor/small") };
    let models = ["~openai/gpt-sol-latest", "anthropic/claude-opus-5", "google/gemma-4:free"].map(info);
    Catalogue::new(models.into_iter().chain([capped]).collect(), live)
}

/// Without a limit, because most of these models have no price.
fn defaults() -> Defaults {
    Defaults { budget: PicoUsd::UNLIMITED, ..scenario::defaults() }
}

fn settings() -> Defaults {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Defaults {
        panel: owned(&["openai/gpt-sol-latest", "anthropic/claude-opus-5"]),
        synthesizers: owned(&["google/gemma-4:free", "anthropic/claude-opus-5"]),
        prompt_chars_max: 50,
        ..defaults()
    }
}

fn resolve_with(request: RunRequest, settings: &Defaults, live: bool) -> Result<RunPlan, String> {
    let terms =
        Terms { defaults: settings, providers: &providers(), catalogues: &catalogues(catalogue(live)) };
    RunPlan::resolve(request, &terms, identity(1)).map_err(|failure| {
        let (reason, next) = (transcript::reason(&failure), failure.next_step());
        transcript::without_names(&format!("{reason} | {next} | retryable {}", failure.retryable))
    })
}

fn resolve(request: RunRequest) -> Result<RunPlan, String> {
    resolve_with(request, &settings(), true)
}

fn question() -> RunRequest {
    RunRequest::prompt("How do tides work?")
}

fn models(models: &[&str]) -> RunRequest {
    RunRequest { models: Some(models.iter().map(|model| (*model).to_owned()).collect()), ..question() }
}

/// The seats, the synthesizers and the warnings of a plan, in one line.
fn summary(plan: &RunPlan) -> String {
    let seat = |seat: &Seat| {
        let temperature = seat.temperature.map(|degrees| format!(" at {degrees}")).unwrap_or_default();
        let strongest = if seat.strongest { " strongest" } else { "" };
        let price = if seat.price.is_some() { "" } else { " unpriced" };
        let Seat { number, model: ModelRef { provider, model }, max_tokens, .. } = seat;
        format!("{number} {provider}:{model} {max_tokens}{temperature}{strongest}{price}")
    };
    let list = |seats: &[Seat]| seats.iter().map(seat).collect::<Vec<_>>().join(", ");
    let warnings: Vec<String> = plan
        .warnings
        .iter()
        .map(|one| format!(" ! {}: {} ({})", one.code, one.message, one.next_step()))
        .collect();
    format!("{} → {}{}", list(&plan.seats), list(&plan.synthesizers), warnings.join(""))
}

fn refused(request: RunRequest) -> String {
    resolve(request).expect_err("it is refused")
}

#[test]
fn an_empty_or_overlong_prompt_is_refused() {
    insta::assert_snapshot!(refused(RunRequest::prompt("")), @"prompt_empty: the prompt is empty | give a prompt | retryable false");
    insta::assert_snapshot!(refused(RunRequest::prompt(" \n\t\u{3000}")), @"prompt_empty: the prompt is empty | give a prompt | retryable false");
    insta::assert_snapshot!(refused(RunRequest::default()), @"prompt_empty: the prompt is empty | give a prompt | retryable false");
    insta::assert_snapshot!(refused(RunRequest::prompt("潮".repeat(51))), @"prompt_too_long: the prompt has 51 characters; the limit is 50 | shorten the prompt, or raise the setting `prompt_chars_max` | retryable false");
    assert!(resolve(RunRequest::prompt("潮".repeat(50))).is_ok());
    let earlier = vec![Message::text(Role::System, "s".repeat(49)), Message::text(Role::User, "hi")];
    insta::assert_snapshot!(refused(RunRequest { messages: earlier, ..question() }), @"prompt_too_long: the prompt has 51 characters; the limit is 50 | shorten the prompt, or raise the setting `prompt_chars_max` | retryable false");
}

#[test]
fn an_invalid_option_is_refused() {
    insta::assert_snapshot!(refused(RunRequest { temperature: Some(2.1), ..question() }), @"usage: `temperature` is a number from 0 to 2 | see the documentation | retryable false");
    insta::assert_snapshot!(refused(RunRequest { temperature: Some(f64::NAN), ..question() }), @"usage: `temperature` is a number from 0 to 2 | see the documentation | retryable false");
    insta::assert_snapshot!(refused(RunRequest { max_tokens: Some(0), ..question() }), @"usage: `max_tokens` is a whole number from 1 to 1000000 | see the documentation | retryable false");
    insta::assert_snapshot!(refused(RunRequest { deadline_ms: Some(0), ..question() }), @"usage: the deadline is longer than nothing | see the documentation | retryable false");
    insta::assert_snapshot!(refused(RunRequest { strategy: Some("seance".to_owned()), ..question() }), @"usage: there is no strategy `seance` (choose one of: <strategies>) | choose one of: <strategies> | retryable false");
    insta::assert_snapshot!(refused(RunRequest { budget: Some(PicoUsd(1)), ..question() }), @"budget: the run may cost up to $0.033; the budget is $0.0000000000010 (give the budget as 0.04, lower the number of tokens of an answer, or ask fewer or cheaper models) | give the budget as 0.04, lower the number of tokens of an answer, or ask fewer or cheaper models | retryable false");
}

#[test]
fn a_panel_has_one_to_sixty_four_seats() {
    insta::assert_snapshot!(refused(models(&[])), @"panel_size: the panel has no seats | name between 1 and 64 models | retryable false");
    insta::assert_snapshot!(refused(models(&["vendor/small*64", "vendor/small"])), @"panel_size: the panel has more than 64 seats | name between 1 and 64 models | retryable false");
    insta::assert_snapshot!(refused(models(&["vendor/small*65"])), @"model_invalid: cannot read the model `vendor/small*65`: the number after `*` is between 1 and 64 (write it like `vendor/small*3`) | write it like `vendor/small*3` | retryable false");
    let most =
        RunRequest { budget: Some(PicoUsd::from_usd(100)), ..models(&["vendor/small*60", "vendor/small*4"]) };
    assert_eq!(resolve(most).map(|plan| plan.seats.len()), Ok(64));
}

#[test]
fn a_malformed_model_reference_is_refused() {
    for text in ["", "two words", "a,b", "m*0", "m*many", "m@speed=1", "m@temperature=3", "m@max_tokens=0"] {
        assert!(refused(models(&[text])).starts_with("model_invalid: "), "{text}");
    }
    insta::assert_snapshot!(refused(models(&["m@speed=1"])), @"model_invalid: cannot read the model `m@speed=1`: there is no option `speed` (choose one of: temperature, max_tokens, effort, strongest, accuracy, persona, stance) | choose one of: temperature, max_tokens, effort, strongest, accuracy, persona, stance | retryable false");
    insta::assert_snapshot!(refused(RunRequest { synthesizer: Some("a b".to_owned()), ..question() }), @"model_invalid: cannot read the model `a b`: a model name has 1 to 200 visible ASCII characters and no quotes or commas | write it as `vendor/model`, for example `~openai/gpt-sol-latest` | retryable false");
}

#[test]
fn weights_need_the_accuracy_of_every_seat() {
    let weighed =
        |names: &[&str]| RunRequest { strategy: Some("vote@weights=log-odds".to_owned()), ..models(names) };
    let rated = "vendor/small@accuracy=0.85";
    insta::assert_snapshot!(refused(weighed(&[rated, "google/gemma-4:free"])), @"usage: `vote@weights=log-odds` needs the accuracy of every seat, and `google/gemma-4:free` comes without (write your own estimate behind each model, such as `@accuracy=0.85`, or leave `weights` out) | write your own estimate behind each model, such as `@accuracy=0.85`, or leave `weights` out | retryable false");
    insta::assert_snapshot!(refused(weighed(&["vendor/small@accuracy=1"])), @"model_invalid: cannot read the model `vendor/small@accuracy=1`: `accuracy` must be between 0 and 1 (write it like `vendor/small@accuracy=0.85`) | write it like `vendor/small@accuracy=0.85` | retryable false");
    let plan = resolve(weighed(&[rated, "vendor/small*2@accuracy=0.7"])).expect("all have one");
    let accuracies: Vec<_> = plan.seats.iter().map(|seat| seat.accuracy).collect();
    assert_eq!(accuracies, [Some(0.85), Some(0.7), Some(0.7)]);
}

#[test]
fn an_unknown_model_is_refused_if_the_caller_named_it() {
    insta::assert_snapshot!(refused(models(&["anthropic/claude-opus5"])), @"model_unknown: the model `anthropic/claude-opus5` is unknown (did you mean `anthropic/claude-opus-5`?) | did you mean `anthropic/claude-opus-5`? | retryable false");
    insta::assert_snapshot!(refused(models(&["zzz"])), @"model_unknown: the model `zzz` is unknown | see which models there are | retryable false");
    let by_hand = RunRequest { synthesizer: Some("openai/gpt-sol-last".to_owned()), ..question() };
    insta::assert_snapshot!(refused(by_hand), @"model_unknown: the model `openai/gpt-sol-last` is unknown (did you mean `~openai/gpt-sol-latest`?) | did you mean `~openai/gpt-sol-latest`? | retryable false");
    // A model from the settings fails only its own seat.
    let settings = Defaults { panel: vec!["anthropic/claude-opus5".to_owned()], ..settings() };
    insta::assert_snapshot!(summary(&resolve_with(question(), &settings, true).expect("the plan is valid")), @"1 openrouter:anthropic/claude-opus5 1000 unpriced → 1 openrouter:google/gemma-4:free 1000, 2 openrouter:anthropic/claude-opus-5 1000 ! model_unknown: settings: the model `anthropic/claude-opus5` is unknown (did you mean `anthropic/claude-opus-5`?)");
    // Without a live catalogue no model counts as unknown.
    let plan = resolve_with(models(&["anthropic/claude-opus5"]), &settings, false);
    insta::assert_snapshot!(summary(&plan.expect("the plan is valid")), @"1 openrouter:anthropic/claude-opus5 1000 unpriced → 1 openrouter:google/gemma-4:free 1000, 2 openrouter:anthropic/claude-opus-5 1000");
}

#[test]
fn settings_fill_in_what_the_request_leaves_out() {
    let summary = |request| summary(&resolve(request).expect("the plan is valid"));
    insta::assert_snapshot!(summary(question()), @"1 openrouter:~openai/gpt-sol-latest 1000, 2 openrouter:anthropic/claude-opus-5 1000 → 1 openrouter:google/gemma-4:free 1000, 2 openrouter:anthropic/claude-opus-5 1000");
    insta::assert_snapshot!(summary(models(&["openai/gpt-sol-latest*2@temperature=0.5", "vendor/small@strongest=true"])), @"1 openrouter:~openai/gpt-sol-latest 1000 at 0.5, 2 openrouter:~openai/gpt-sol-latest 1000 at 0.5, 3 openrouter:vendor/small 500 strongest → 1 openrouter:google/gemma-4:free 1000, 2 openrouter:anthropic/claude-opus-5 1000");
    insta::assert_snapshot!(summary(RunRequest { temperature: Some(0.2), max_tokens: Some(700), ..models(&["vendor/small", "google/gemma-4:free@max_tokens=9"]) }), @"1 openrouter:vendor/small 500 at 0.2, 2 openrouter:google/gemma-4:free 9 at 0.2 → 1 openrouter:google/gemma-4:free 700, 2 openrouter:anthropic/claude-opus-5 700");
    insta::assert_snapshot!(summary(RunRequest { synthesizer: Some("vendor/small".to_owned()), ..question() }), @"1 openrouter:~openai/gpt-sol-latest 1000, 2 openrouter:anthropic/claude-opus-5 1000 → 1 openrouter:vendor/small 500, 2 openrouter:google/gemma-4:free 1000, 3 openrouter:anthropic/claude-opus-5 1000");
    insta::assert_snapshot!(summary(RunRequest { synthesizer: Some("anthropic/claude-opus-5".to_owned()), ..question() }), @"1 openrouter:~openai/gpt-sol-latest 1000, 2 openrouter:anthropic/claude-opus-5 1000 → 1 openrouter:anthropic/claude-opus-5 1000, 2 openrouter:google/gemma-4:free 1000");
}

#[test]
fn the_catalogue_applies_to_the_default_provider_only() {
    let plan = resolve(models(&["ollama:llama4:8b", "ollama:vendor/small"])).expect("the plan is valid");
    insta::assert_snapshot!(summary(&plan), @"1 ollama:llama4:8b 1000 unpriced, 2 ollama:vendor/small 1000 unpriced → 1 openrouter:google/gemma-4:free 1000, 2 openrouter:anthropic/claude-opus-5 1000");
}

#[test]
fn a_deadline_overrides_the_setting() {
    let run_ms =
        |deadline_ms| resolve(RunRequest { deadline_ms, ..question() }).map(|plan| plan.timers.run_ms);
    assert_eq!(run_ms(None), Ok(1_200_000));
    assert_eq!(run_ms(Some(5_000)), Ok(5_000));
    assert_eq!(run_ms(Some(9_000_000)), Ok(9_000_000));
}

#[test]
fn the_same_question_has_the_same_hash() {
    let hash = |request| resolve(request).expect("the plan is valid").plan_hash;
    let once = hash(question());
    assert_eq!(once.len(), 64);
    // Three kinds of details do not change the hash. Of the day: the list of models, which sets caps, and a name that
    // has lost its `~`. Of the caller: its timeout and its principal. Of the machine: timers and retries.
    let of_today = Catalogue::new(
        vec![ModelInfo { output_tokens_max: Some(7), ..info("openai/gpt-sol-latest") }],
        false,
    );
    let mut settings = settings();
    (settings.timers.idle_ms, settings.retries_max) = (1, 9);
    let terms = Terms { defaults: &settings, providers: &providers(), catalogues: &catalogues(of_today) };
    let asked_by = Some("somebody".to_owned());
    let again = RunRequest {
        client_timeout_ms: Some(60_000),
        asked_by,
        idempotency_key: Some("key".to_owned()),
        ..question()
    };
    let plan = RunPlan::resolve(again, &terms, identity(2)).expect("the plan is valid");
    insta::assert_snapshot!(summary(&plan), @"1 openrouter:openai/gpt-sol-latest 7, 2 openrouter:anthropic/claude-opus-5 1000 unpriced → 1 openrouter:google/gemma-4:free 1000 unpriced, 2 openrouter:anthropic/claude-opus-5 1000 unpriced");
    assert_eq!(plan.plan_hash, once);
    // It makes no difference whether a value comes from the settings or from the request.
    assert_eq!(
        hash(RunRequest { models: Some(settings.panel.clone()), store: Some(settings.store), ..question() }),
        once
    );
    let text = serde_json::to_string(&plan).expect("a plan is JSON");
    assert_eq!(serde_json::from_str::<RunPlan>(&text).expect("it reads back").plan_hash, once);
}

#[test]
fn another_question_has_another_hash() {
    let others = [
        question(),
        RunRequest::prompt("How do tides work!"),
        models(&["anthropic/claude-opus-5", "openai/gpt-sol-latest"]),
        models(&["vendor/small"]),
        RunRequest { synthesizer: Some("vendor/small".to_owned()), ..question() },
        RunRequest { temperature: Some(0.5), ..question() },
        RunRequest { max_tokens: Some(999), ..question() },
        RunRequest { effort: Some(Effort::Low), ..question() },
        RunRequest { deadline_ms: Some(5_000), ..question() },
        RunRequest { budget: Some(PicoUsd::from_usd(2)), ..question() },
        RunRequest { store: Some(StoreMode::Metadata), ..question() },
        RunRequest { files: Some(!settings().files), ..question() },
        with_image(&["vendor/small"]),
    ];
    let count = others.len();
    let hashes = others.map(|request| resolve(request).expect("the plan is valid").plan_hash);
    assert_eq!(hashes.iter().collect::<BTreeSet<_>>().len(), count);
    let settings = Defaults { wait: Wait::All, ..settings() };
    assert_ne!(resolve_with(question(), &settings, true).expect("the plan is valid").plan_hash, hashes[0]);
}

/// A question with an image.
fn with_image(models: &[&str]) -> RunRequest {
    let (name, media_type) = ("photo.png".to_owned(), "image/png".to_owned());
    let image =
        Part::File(Attachment { name, media_type, base64: "AAEC".into(), detail: None, tokens: None });
    let question = Part::Text { text: "What is it?".to_owned() };
    let messages = vec![Message { role: Role::User, parts: vec![question, image] }];
    RunRequest { messages, ..self::models(models) }
}

/// Resolves against three models: one takes images, one does not, and one does not say.
fn resolve_with_image_models(request: RunRequest, panel: &[&str]) -> Result<RunPlan, String> {
    let takes = |image| Some(Inputs { image, document: false });
    let sighted = ModelInfo { inputs: takes(true), ..info("vendor/sighted") };
    let blind = ModelInfo { inputs: takes(false), ..info("vendor/blind") };
    let catalogue = Catalogue::new(vec![sighted, blind, info("vendor/unsaid")], true);
    let panel = panel.iter().map(|name| (*name).to_owned()).collect();
    let defaults = Defaults { panel, synthesizers: Vec::new(), ..defaults() };
    let terms = Terms { defaults: &defaults, providers: &providers(), catalogues: &catalogues(catalogue) };
    RunPlan::resolve(request, &terms, identity(1)).map_err(|failure| transcript::reason(&failure))
}

#[test]
fn a_model_without_image_input_is_refused_if_the_caller_named_it() {
    let typed = |name| resolve_with_image_models(with_image(&[name]), &[]).map(|plan| summary(&plan));
    insta::assert_snapshot!(typed("vendor/blind").expect_err("it is refused"), @"attachment_unsupported: the model `vendor/blind` takes no images such as `photo.png` (ask a model that takes such files, leave the file out, or choose one of: vendor/sighted)");
    assert!(typed("vendor/sighted").is_ok() && typed("vendor/unsaid").is_ok());
    // A model from the settings fails only its own seat, which is not sent.
    let from_settings = RunRequest { models: None, ..with_image(&[]) };
    let plan = resolve_with_image_models(from_settings, &["vendor/blind", "vendor/sighted"])
        .expect("the plan is valid");
    let checks = plan.seats.iter().map(|seat| seat.check_inputs(&plan.messages).is_ok()).collect::<Vec<_>>();
    assert_eq!(checks, [false, true]);
}

#[test]
fn an_image_alone_is_no_question_but_counts_as_input() {
    let mut request = with_image(&["vendor/sighted"]);
    let plan = resolve_with_image_models(request.clone(), &[]).expect("the plan is valid");
    assert_eq!(plan.size().tokens, ("What is it?".len() as u64 + 6_000).div_ceil(3));
    request.messages[0].parts.remove(0);
    insta::assert_snapshot!(resolve_with_image_models(request, &[]).expect_err("nothing is asked"), @"prompt_empty: the prompt is empty");
}

#[test]
fn effort_comes_from_the_seat_then_the_request_then_the_settings() {
    let efforts = |request: RunRequest| {
        let settings = Defaults { effort: Some(Effort::Low), ..settings() };
        let plan = resolve_with(request, &settings, true).expect("the plan is valid");
        plan.seats.iter().map(|seat| seat.effort).collect::<Vec<_>>()
    };
    let both = models(&["vendor/small@effort=high", "vendor/small"]);
    assert_eq!(efforts(both.clone()), [Some(Effort::High), Some(Effort::Low)]);
    let asked = RunRequest { effort: Some(Effort::None), ..both };
    assert_eq!(efforts(asked), [Some(Effort::High), Some(Effort::None)]);
    insta::assert_snapshot!(refused(models(&["vendor/small@effort=hard"])), @"model_invalid: cannot read the model `vendor/small@effort=hard`: `effort` is one of none, minimal, low, medium, high, xhigh, max (write it like `vendor/small@effort=low`) | write it like `vendor/small@effort=low` | retryable false");
}

#[test]
fn the_price_follows_the_prompt_length_and_the_most_expensive_hour() {
    let over = |above_input_tokens, input, output| PriceOverride {
        above_input_tokens,
        input: Some(PicoUsd(input)),
        output: Some(PicoUsd(output)),
        request: None,
        cache_write: None,
    };
    let price_overrides = vec![
        over(Some(100), 5_000_000, 20_000_000),
        over(None, 4_000_000, 30_000_000),
        over(Some(200), 1, 2),
    ];
    let model = ModelInfo { price_overrides, ..info("vendor/tiered") };
    let at = |tokens| model.price_at(tokens).map(|price| (price.input.0, price.output.0));
    assert_eq!(at(100), Some((4_000_000, 30_000_000)), "strictly above, and the hour may be the dear one");
    assert_eq!(at(101), Some((5_000_000, 30_000_000)));
    assert_eq!(at(201), Some((5_000_000, 30_000_000)), "the call may be shorter than it is estimated");
    assert_eq!(ModelInfo { price: None, ..model }.price_at(101), None, "a varying price stays unknown");
}

#[test]
fn the_output_cap_leaves_room_for_the_prompt() {
    let caps = |context_tokens| {
        let model = ModelInfo { context_tokens: Some(context_tokens), ..info("vendor/narrow") };
        let catalogue = Catalogue::new(vec![model], true);
        let settings =
            Defaults { synthesizers: Vec::new(), prompt_chars_max: 10_000, max_tokens: 8_000, ..settings() };
        let terms =
            Terms { defaults: &settings, providers: &providers(), catalogues: &catalogues(catalogue) };
        let request = RunRequest {
            messages: vec![Message::text(Role::User, "x".repeat(9_000))],
            ..models(&["vendor/narrow"])
        };
        let plan = RunPlan::resolve(request, &terms, identity(1)).expect("the plan is valid");
        let warnings: Vec<String> = plan.warnings.into_iter().map(|warning| warning.message).collect();
        (plan.seats[0].max_tokens, warnings)
    };
    assert_eq!(caps(20_000), (8_000, vec![]));
    assert_eq!(caps(9_000), (6_000, vec![]));
    let warning = "the prompt has about 3000 tokens; `vendor/narrow` reads 2000".to_owned();
    assert_eq!(caps(2_000), (1_000, vec![warning]));
}

#[test]
fn a_model_is_shown_with_its_provider_unless_it_is_the_default() {
    let plan = resolve(models(&["ollama:llama4:8b", "vendor/small"])).expect("the plan is valid");
    let names: Vec<String> = plan.seats.iter().map(|seat| seat.model.to_string()).collect();
    assert_eq!(names, ["ollama:llama4:8b", "vendor/small"]);
}

/// Resolves against a live list with a model, its free variant under the same dated name, and an alias.
fn resolve_dated(names: &[&str]) -> Result<String, String> {
    let other_ids = |id: &str| vec![id.to_owned()];
    let dated = ModelInfo { other_ids: other_ids("lab/sol-0801"), ..info("lab/sol") };
    let free = ModelInfo { price: None, other_ids: other_ids("lab/sol-0801:free"), ..info("lab/sol:free") };
    let catalogue = Catalogue::new(vec![free, dated, info("~lab/sol-latest"), info("lab/tiny:free")], true);
    let defaults =
        Defaults { panel: Vec::new(), synthesizers: vec!["lab/sol-0801".to_owned()], ..defaults() };
    let terms = Terms { defaults: &defaults, providers: &providers(), catalogues: &catalogues(catalogue) };
    let plan = RunPlan::resolve(models(names), &terms, identity(1));
    plan.map(|plan| summary(&plan)).map_err(|failure| transcript::reason(&failure))
}

#[test]
fn dated_names_and_suffixes_are_known_and_sent_as_typed() {
    let known = |names: &[&str]| resolve_dated(names).expect("the plan is valid");
    insta::assert_snapshot!(known(&["lab/sol-0801", "lab/sol:nitro", "lab/sol-0801:floor"]), @"1 openrouter:lab/sol-0801 1000, 2 openrouter:lab/sol:nitro 1000 unpriced, 3 openrouter:lab/sol-0801:floor 1000 → 1 openrouter:lab/sol-0801 1000");
    insta::assert_snapshot!(known(&["lab/sol:free", "lab/sol-0801:free", "lab/sol:free:online"]), @"1 openrouter:lab/sol:free 1000 unpriced, 2 openrouter:lab/sol-0801:free 1000 unpriced, 3 openrouter:lab/sol:free:online 1000 unpriced → 1 openrouter:lab/sol-0801 1000");
    insta::assert_snapshot!(known(&["lab/sol-latest:exacto", "~lab/sol-latest:online"]), @"1 openrouter:~lab/sol-latest:exacto 1000 unpriced, 2 openrouter:~lab/sol-latest:online 1000 unpriced → 1 openrouter:lab/sol-0801 1000");
    for unknown in ["lab/tiny", "lab/tiny:nitro", "lab/sole:nitro", "lab/sol-0802"] {
        let refusal = resolve_dated(&[unknown]).expect_err("it is refused");
        assert!(refusal.starts_with("model_unknown: "), "{refusal}");
    }
}

/// Settings with three personas: one with every option, one with its own stance, and one with only a temperature.
fn with_personas() -> Defaults {
    let options = SeatOptions {
        temperature: Some(0.9),
        max_tokens: Some(300),
        effort: Some(Effort::High),
        stance: Stance::read("against"),
        ..SeatOptions::default()
    };
    let critic = Persona { system: Some("Find the flaw.".into()), options };
    let own = SeatOptions { stance: Stance::read("ships beat {{stance}} trains"), ..SeatOptions::default() };
    let cool = SeatOptions { temperature: Some(0.0), ..SeatOptions::default() };
    let personas = [
        ("critic", critic),
        ("sailor", Persona { system: None, options: own }),
        ("cool", Persona { system: None, options: cool }),
    ];
    let personas = personas.into_iter().map(|(name, persona)| (name.to_owned(), persona)).collect();
    Defaults { personas, ..settings() }
}

/// The first seat of the panel, and the messages it is sent for the question.
fn first_seat(reference: &str) -> String {
    let plan = match resolve_with(models(&[reference]), &with_personas(), true) {
        Ok(plan) => plan,
        Err(refusal) => return refusal,
    };
    let seat = &plan.seats[0];
    let persona_prompt =
        seat.persona_prompt.as_ref().map(|prompt| format!(" as {prompt}")).unwrap_or_default();
    let effort = seat.effort.map(|effort| format!(" {}", effort.word())).unwrap_or_default();
    let said: Vec<String> = seat.sent(&plan.messages).iter().map(rendered).collect();
    format!(
        "{}{effort}{persona_prompt} < {}",
        summary(&plan).split(" → ").next().unwrap_or_default(),
        said.join(" | ")
    )
}

fn rendered(message: &Message) -> String {
    format!("{:?}: {}", message.role, message.texts().collect::<Vec<_>>().join("+")).replace('\n', "/")
}

#[test]
fn a_persona_sets_the_system_message_and_options_of_its_seat() {
    insta::assert_snapshot!(first_seat("vendor/small"), @"1 openrouter:vendor/small 500 < User: How do tides work?");
    insta::assert_snapshot!(first_seat("vendor/small@persona=critic"), @"1 openrouter:vendor/small 300 at 0.9 high as critic, against < System: Find the flaw.//Argue from this stance: you are against what the question proposes./Make the strongest honest case for it. Invent no facts, and where the stance does not hold, say so in a sentence. | User: How do tides work?");
    // Options at the seat override those of its persona.
    insta::assert_snapshot!(first_seat("vendor/small@persona=critic,temperature=0.2,effort=low,max_tokens=9,stance=for"), @"1 openrouter:vendor/small 9 at 0.2 low as critic, for < System: Find the flaw.//Argue from this stance: you are for what the question proposes./Make the strongest honest case for it. Invent no facts, and where the stance does not hold, say so in a sentence. | User: How do tides work?");
    insta::assert_snapshot!(first_seat("vendor/small@persona=sailor"), @"1 openrouter:vendor/small 500 as sailor < System: Argue from this stance: ships beat {{stance}} trains/Make the strongest honest case for it. Invent no facts, and where the stance does not hold, say so in a sentence. | User: How do tides work?");
    insta::assert_snapshot!(first_seat("vendor/small@persona=cool"), @"1 openrouter:vendor/small 500 at 0 as cool < User: How do tides work?");
    insta::assert_snapshot!(first_seat("vendor/small@stance=against"), @"1 openrouter:vendor/small 500 as against < System: Argue from this stance: you are against what the question proposes./Make the strongest honest case for it. Invent no facts, and where the stance does not hold, say so in a sentence. | User: How do tides work?");
    let plan =
        resolve_with(models(&["vendor/small*2@persona=critic", "vendor/small"]), &with_personas(), true);
    insta::assert_snapshot!(summary(&plan.expect("the plan is valid")), @"1 openrouter:vendor/small 300 at 0.9, 2 openrouter:vendor/small 300 at 0.9, 3 openrouter:vendor/small 500 → 1 openrouter:google/gemma-4:free 1000, 2 openrouter:anthropic/claude-opus-5 1000");
}

#[test]
fn an_unknown_persona_is_refused() {
    insta::assert_snapshot!(first_seat("vendor/small@persona=critc"), @"model_invalid: there is no persona `critc` (did you mean `critic`?) | did you mean `critic`? | retryable false");
    insta::assert_snapshot!(first_seat("vendor/small@persona=zzz"), @"model_invalid: there is no persona `zzz` (choose one of: cool, critic, sailor) | choose one of: cool, critic, sailor | retryable false");
    insta::assert_snapshot!(first_seat("vendor/small@persona=Critic"), @"model_invalid: cannot read the model `vendor/small@persona=Critic`: the name of a persona has 1 to 40 lower-case letters, digits or `-` (write it like `vendor/small@persona=critic`) | write it like `vendor/small@persona=critic` | retryable false");
    insta::assert_snapshot!(first_seat("vendor/small@stance=maybe"), @"model_invalid: cannot read the model `vendor/small@stance=maybe`: `stance` is `for` or `against`; a persona may have one in words of its own (write it like `vendor/small@stance=for`) | write it like `vendor/small@stance=for` | retryable false");
    insta::assert_snapshot!(refused(models(&["vendor/small@persona=critic"])), @"model_invalid: there is no persona `critic` (write it as `[personas.NAME]` into the settings) | write it as `[personas.NAME]` into the settings | retryable false");
    // The same for models from the settings, because a persona will not come back tomorrow as a model may.
    let panel = vec!["vendor/small@persona=critc".to_owned()];
    let refusal = resolve_with(question(), &Defaults { panel, ..with_personas() }, true);
    insta::assert_snapshot!(refusal.expect_err("it is refused"), @"model_invalid: there is no persona `critc` (did you mean `critic`?) | did you mean `critic`? | retryable false");
    let fuser = RunRequest { synthesizer: Some("vendor/small@persona=critic".to_owned()), ..question() };
    let refusal = resolve_with(fuser, &with_personas(), true);
    insta::assert_snapshot!(refusal.expect_err("it is refused"), @"model_invalid: `vendor/small` is a synthesizer, which has neither a persona nor a stance: it fuses (name the persona at a seat of the panel) | name the persona at a seat of the panel | retryable false");
}

#[test]
fn a_persona_prompt_precedes_the_callers_system_message() {
    let sent = |messages: Vec<Message>| {
        let request = RunRequest { messages, ..models(&["vendor/small@persona=critic,stance=for"]) };
        let plan = resolve_with(request, &with_personas(), true).expect("the plan is valid");
        plan.seats[0].sent(&plan.messages).iter().map(rendered).collect::<Vec<_>>().join(" | ")
    };
    let system = |text: &str| Message::text(Role::System, text);
    let user = || Message::text(Role::User, "Why?");
    insta::assert_snapshot!(sent(vec![system("Be brief."), user()]), @"System: Find the flaw.//Argue from this stance: you are for what the question proposes./Make the strongest honest case for it. Invent no facts, and where the stance does not hold, say so in a sentence.//Be brief. | User: Why?");
    insta::assert_snapshot!(sent(vec![user(), system("Be brief."), user()]), @"System: Find the flaw.//Argue from this stance: you are for what the question proposes./Make the strongest honest case for it. Invent no facts, and where the stance does not hold, say so in a sentence. | User: Why? | System: Be brief. | User: Why?");
    let two = ["Be brief.", "Be kind."].map(|text| Part::Text { text: text.to_owned() });
    insta::assert_snapshot!(sent(vec![Message { role: Role::System, parts: two.into() }, user()]), @"System: Find the flaw.//Argue from this stance: you are for what the question proposes./Make the strongest honest case for it. Invent no facts, and where the stance does not hold, say so in a sentence.//Be brief.+Be kind. | User: Why?");
    let plan = resolve_with(models(&["vendor/small"]), &with_personas(), true).expect("the plan is valid");
    assert!(Arc::ptr_eq(&plan.seats[0].sent(&plan.messages), &plan.messages), "nothing is copied");
}

#[test]
fn a_persona_prompt_is_part_of_the_worst_case() {
    let wordy = Persona { system: Some("x".repeat(3_000).into()), options: SeatOptions::default() };
    let mut settings = with_personas();
    settings.personas.insert("wordy".to_owned(), wordy);
    let plan = |reference| resolve_with(models(&[reference]), &settings, true).expect("the plan is valid");
    let (plain, wordy) = (plan("vendor/small"), plan("vendor/small@persona=wordy"));
    // A millionth of a dollar for each of a thousand tokens.
    assert_eq!(wordy.worst_case.known_part().minus(plain.worst_case.known_part()), PicoUsd(1_001_000_000));
    assert_eq!(wordy.size(), plain.size());
    // Steps that ask the seat again include its persona prompt, and no others do.
    let steps = |reference, strategy: &str| {
        let strategy = Some(strategy.to_owned());
        let request = RunRequest { strategy, ..models(&["vendor/small", reference]) };
        let plan = resolve_with(request, &settings, true).expect("the plan is valid");
        plan.steps.iter().map(|step| step.input_tokens_max).collect::<Vec<_>>()
    };
    for (strategy, further) in [("moa", [0, 1_001]), ("best-of-n", [0, 0])] {
        let plain = steps("vendor/small", strategy);
        let wordy = steps("vendor/small@persona=wordy", strategy);
        let more: Vec<u64> = wordy.iter().zip(&plain).map(|(wordy, plain)| wordy - plain).collect();
        assert_eq!(more[..2], further, "{strategy}");
    }
    // It takes up context, as the question does.
    let narrow = ModelInfo { context_tokens: Some(2_500), ..info("vendor/narrow") };
    let terms = |settings| {
        RunPlan::resolve(
            models(&["vendor/narrow@persona=wordy"]),
            &Terms {
                defaults: settings,
                providers: &providers(),
                catalogues: &catalogues(Catalogue::new(vec![narrow.clone()], true)),
            },
            identity(1),
        )
    };
    let wide = Defaults { max_tokens: 2_000, ..settings.clone() };
    assert_eq!(terms(&wide).expect("the plan is valid").seats[0].max_tokens, 1_494);
    // Without its texts it is still the same seat.
    let bare = wordy.without_texts();
    assert!(bare.messages.is_empty() && !format!("{bare:?}").contains("xxx"));
    assert_eq!(bare.seats[0].persona_prompt.as_ref().map(ToString::to_string).as_deref(), Some("wordy"));
}

#[test]
fn rewording_a_persona_changes_the_plan_hash() {
    let hash = |settings: &Defaults, names: &[&str]| {
        resolve_with(models(names), settings, true).expect("the plan is valid").plan_hash
    };
    let (before, mut after) = (with_personas(), with_personas());
    after
        .personas
        .insert("critic".to_owned(), Persona { system: Some("Find two.".into()), ..Persona::default() });
    let named = ["vendor/small", "vendor/small@persona=critic"];
    assert_eq!(hash(&before, &named), hash(&before, &named));
    assert_ne!(hash(&before, &named), hash(&after, &named));
    // An unused persona changes nothing.
    assert_eq!(hash(&before, &["vendor/small"]), hash(&after, &["vendor/small"]));
    assert_eq!(hash(&before, &["vendor/small"]), hash(&settings(), &["vendor/small"]));
}
