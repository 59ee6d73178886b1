//! Gates over time, which is paused.

use std::collections::BTreeSet;

use futures_util::FutureExt;
use tokio::task::JoinSet;
use tokio::time::{advance, sleep};

use super::*;

/// A model of OpenRouter, whose name may contain a colon, or one of Moonshot.
fn model(name: &str) -> ModelRef {
    let (provider, model) = match name.strip_prefix("moonshot:") {
        Some(model) => ("moonshot", model),
        None => ("openrouter", name),
    };
    ModelRef { provider: ProviderId(provider.to_owned()), model: model.to_owned() }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Waits and enters like a call.
async fn admit(gates: &Arc<Gates>, model: &ModelRef) -> Result<Pass, Failure> {
    let mut waiter = Waiter::default();
    loop {
        gates.wait(model, &mut waiter).await?;
        if let Some(pass) = gates.enter(model) {
            return Ok(pass);
        }
    }
}

async fn pass(gates: &Arc<Gates>, model: &ModelRef) -> Pass {
    admit(gates, model).await.unwrap()
}

/// Waits without entering.
async fn wait(gates: &Arc<Gates>, model: &ModelRef) -> Result<(), Failure> {
    gates.wait(model, &mut Waiter::default()).await
}

/// Whether a call to this model may go now.
fn is_open(gates: &Arc<Gates>, name: &str) -> bool {
    wait(gates, &model(name)).now_or_never().is_some_and(|waited| waited.is_ok())
}

/// How long the next probe of the model waits.
async fn wait_of(gates: &Arc<Gates>, name: &str) -> (u128, Pass) {
    let start = Instant::now();
    let pass = pass(gates, &model(name)).await;
    (start.elapsed().as_millis(), pass)
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_what_was_requested_or_else_grows_from_a_second_to_eight() {
    let gates = Arc::new(Gates::default());
    let mut waits = Vec::new();
    let mut last = pass(&gates, &model("a")).await;
    for requested in [Some(2_500), None, None, None, None, Some(0), Some(100)] {
        last.limited(Scope::Model, requested.map(ms));
        let (wait, probe) = wait_of(&gates, "a").await;
        waits.push(wait);
        last = probe;
    }
    assert_eq!(waits, [2_500, 2_000, 4_000, 8_000, 8_000, 8_000, 100], "a wait of nothing is none");
    last.reply_began();
    // The next calls come at once, as before.
    last.limited(Scope::Model, None);
    let (wait, mut probe) = wait_of(&gates, "a").await;
    assert_eq!(wait, 8_000);
    probe.reply_began();
    drop(probe);
    advance(BACKOFF_RESET_AFTER + ms(1)).await;
    pass(&gates, &model("a")).await.limited(Scope::Model, None);
    assert_eq!(wait_of(&gates, "a").await.0, 1_000, "after a calm it begins anew");
}

#[tokio::test(start_paused = true)]
async fn one_wave_counts_as_one() {
    let gates = Arc::new(Gates::default());
    let mut wave: Vec<Pass> = std::iter::repeat_with(|| gates.enter(&model("a")).unwrap()).take(50).collect();
    for pass in &mut wave {
        pass.limited(Scope::Model, None);
    }
    let (wait, probe) = wait_of(&gates, "a").await;
    assert_eq!(wait, 1_000);
    // A late call of the first batch neither stops the probe nor opens the gate.
    wave[0].limited(Scope::Model, Some(ms(5_000)));
    wave[1].reply_began();
    assert!(!is_open(&gates, "a"));
    drop(probe);
    assert!(is_open(&gates, "a"), "the turn is the next one's");
    pass(&gates, &model("a")).await.limited(Scope::Model, None);
    // While it is closed, the longest wait that any call got counts.
    wave[2].limited(Scope::Model, Some(ms(5_000)));
    wave[3].limited(Scope::Model, Some(ms(3_000)));
    assert_eq!(wait_of(&gates, "a").await.0, 5_000);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_calls_come_back_one_first_and_the_others_spread() {
    let gates = Arc::new(Gates::default());
    let start = Instant::now();
    let mut calls = JoinSet::new();
    for _ in 0..100 {
        let gates = Arc::clone(&gates);
        calls.spawn(async move {
            let mut sent = Vec::new();
            loop {
                let mut pass = pass(&gates, &model("a")).await;
                sent.push(start.elapsed().as_millis());
                sleep(ms(50)).await;
                // The provider refuses everything for three seconds.
                if start.elapsed() < ms(3_000) {
                    pass.limited(Scope::Model, None);
                } else {
                    pass.reply_began();
                    return sent;
                }
            }
        });
    }
    let mut sent: Vec<u128> = calls.join_all().await.into_iter().flatten().collect();
    sent.sort_unstable();
    assert_eq!(sent[..100], [0; 100], "nobody knew");
    assert_eq!(sent[100..102], [1_050, 3_100], "one asks for all");
    let rest = &sent[102..];
    assert_eq!(rest.len(), 99, "each of the others asks once");
    let opened = 3_150;
    assert!(
        rest[0] >= opened && *rest.last().unwrap() <= opened + RELEASE_SPREAD_MAX.as_millis(),
        "{rest:?}"
    );
    let crowds = rest.iter().map(|at| rest.iter().filter(|other| (*at..*at + 100).contains(other)).count());
    assert!(crowds.max().unwrap() <= 8, "no more than some five in a tenth of a second: {rest:?}");
}

#[tokio::test(start_paused = true)]
async fn a_few_wait_hardly_longer_than_the_probe() {
    let gates = Arc::new(Gates::default());
    gates.enter(&model("a")).unwrap().limited(Scope::Model, None);
    let (_, mut probe) = wait_of(&gates, "a").await;
    let a = model("a");
    let others = [wait(&gates, &a), wait(&gates, &a), wait(&gates, &a)];
    let mut others = std::pin::pin!(futures_util::future::join_all(others));
    assert!((&mut others).now_or_never().is_none());
    advance(ms(4_000)).await;
    assert!((&mut others).now_or_never().is_none(), "the probe has not been answered");
    probe.reply_began();
    let opened = Instant::now();
    others.await;
    assert!(opened.elapsed() <= 3 * RELEASE_INTERVAL, "{:?}", opened.elapsed());
    assert!(is_open(&gates, "a"), "who comes later does not wait at all");
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_dropped_wakes_the_next() {
    let gates = Arc::new(Gates::default());
    gates.enter(&model("a")).unwrap().limited(Scope::Model, None);
    let (_, probe) = wait_of(&gates, "a").await;
    let a = model("a");
    let mut next = std::pin::pin!(pass(&gates, &a));
    assert!((&mut next).now_or_never().is_none());
    assert!(gates.enter(&a).is_none(), "there is one probe");
    drop(probe);
    let next = next.now_or_never().expect("the turn is free");
    drop(next);
    assert!(is_open(&gates, "a"));
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_hangs_is_followed_by_another() {
    let gates = Arc::new(Gates::default());
    gates.enter(&model("a")).unwrap().limited(Scope::Model, None);
    let (_, mut hangs) = wait_of(&gates, "a").await;
    let (wait, second) = wait_of(&gates, "a").await;
    assert_eq!(wait, 10_000);
    assert!(gates.enter(&model("a")).is_none());
    hangs.reply_began();
    assert!(gates.enter(&model("a")).is_some(), "whichever of them is answered opens the gate");
    drop(second);
    assert!(gates.enter(&model("a")).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_dropped_leaves_nothing_behind() {
    let gates = Arc::new(Gates::default());
    gates.enter(&model("a")).unwrap().limited(Scope::Model, None);
    let count = || gates.lock().gates.values().map(|gate| gate.waiting).sum::<u32>();
    {
        let a = model("a");
        let mut waiting = std::pin::pin!(wait(&gates, &a));
        assert!((&mut waiting).now_or_never().is_none());
        assert_eq!(count(), 1);
    }
    assert_eq!(count(), 0);
    pass(&gates, &model("a")).await;
    assert_eq!(count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_long_wait_fails_at_once_and_is_asked_about_again_after_ten_minutes() {
    let gates = Arc::new(Gates::default());
    let day = Duration::from_secs(86_400);
    gates.enter(&model("a")).unwrap().limited(Scope::Model, Some(day));
    let failure = wait(&gates, &model("a")).now_or_never().unwrap().unwrap_err();
    assert_eq!(
        (failure.code, failure.retry_after_ms, failure.unsent),
        (Code::RateLimited, Some(86_400_000), true)
    );
    assert_eq!(
        failure.message,
        "openrouter told an earlier call to wait: `a` is limited for another 86400 s"
    );
    advance(PROBE_AFTER_MAX).await;
    let probe = pass(&gates, &model("a")).await;
    let failure = wait(&gates, &model("a")).now_or_never().unwrap().unwrap_err();
    assert_eq!(failure.retry_after_ms, Some(85_800_000), "nobody waits for this probe");
    drop(probe);
    pass(&gates, &model("a")).await.reply_began();
    assert!(is_open(&gates, "a"));
}

#[tokio::test(start_paused = true)]
async fn a_waiting_call_fails_when_the_wait_becomes_too_long() {
    let gates = Arc::new(Gates::default());
    let mut wave = [gates.enter(&model("a")).unwrap(), gates.enter(&model("a")).unwrap()];
    wave[0].limited(Scope::Model, None);
    let a = model("a");
    let mut waiting = std::pin::pin!(wait(&gates, &a));
    assert!((&mut waiting).now_or_never().is_none());
    wave[1].limited(Scope::Model, Some(Duration::from_secs(3_600)));
    assert_eq!(waiting.now_or_never().unwrap().unwrap_err().code, Code::RateLimited);
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_stays_is_waited_for_two_minutes_in_all() {
    let gates = Arc::new(Gates::default());
    gates.enter(&model("a")).unwrap().limited(Scope::Model, None);
    let mut calls = JoinSet::new();
    for _ in 0..100 {
        let gates = Arc::clone(&gates);
        calls.spawn(async move {
            let start = Instant::now();
            let failure = match admit(&gates, &model("a")).await {
                Ok(mut pass) => {
                    pass.limited(Scope::Model, None);
                    None
                }
                Err(failure) => Some(failure),
            };
            (start.elapsed(), failure)
        });
    }
    let ends = calls.join_all().await;
    let (asked, gave_up): (Vec<_>, Vec<_>) = ends.into_iter().partition(|(_, failure)| failure.is_none());
    // After 1, 2 and 4 seconds, and then every eight.
    assert_eq!(asked.len(), 3 + 14);
    for (waited, failure) in gave_up {
        let failure = failure.unwrap();
        assert!(waited <= WAIT_TOTAL_MAX && waited + BACKOFF.1 > WAIT_TOTAL_MAX, "{waited:?}");
        assert_eq!((failure.code, failure.retry_after_ms), (Code::RateLimited, Some(8_000)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_gate_stops_whom_the_limit_is_about() {
    let names = ["a", "b", "a:free", "b:free", "moonshot:a"];
    for (limited, scope, requested, left) in [
        ("a", Scope::Model, None, vec!["b", "a:free", "b:free", "moonshot:a"]),
        ("a:free", Scope::Model, None, vec!["a", "b", "b:free", "moonshot:a"]),
        ("a:free", Scope::FreeModels, None, vec!["a", "b", "moonshot:a"]),
        // A model without the suffix `:free` closes only its own gate.
        ("a", Scope::FreeModels, None, vec!["b", "a:free", "b:free", "moonshot:a"]),
        ("a", Scope::Key, None, vec!["moonshot:a"]),
        ("a", Scope::Key, Some(WAIT_MAX), vec!["moonshot:a"]),
        ("a", Scope::Key, Some(WAIT_MAX * 2), vec!["b", "a:free", "b:free", "moonshot:a"]),
    ] {
        let gates = Arc::new(Gates::default());
        gates.enter(&model(limited)).unwrap().limited(scope, requested);
        let open: Vec<&str> = names.into_iter().filter(|name| is_open(&gates, name)).collect();
        assert_eq!(open, left, "{limited} {scope:?} {requested:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_probes_all_its_gates_or_none() {
    let gates = Arc::new(Gates::default());
    let mut wave = [gates.enter(&model("a")).unwrap(), gates.enter(&model("b")).unwrap()];
    wave[0].limited(Scope::Key, None);
    wave[1].limited(Scope::Model, Some(ms(5_000)));
    advance(ms(1_000)).await;
    assert!(gates.enter(&model("b")).is_none(), "its own gate is closed still");
    let mut probe = gates.enter(&model("a")).expect("the key's turn was not taken");
    assert!(gates.enter(&model("c")).is_none());
    // It learns that its model is limited, and nothing about the key.
    probe.limited(Scope::Model, None);
    assert!(gates.enter(&model("c")).is_none(), "the turn comes back when the call is over");
    drop(probe);
    assert!(gates.enter(&model("c")).is_some());
}

#[tokio::test(start_paused = true)]
async fn the_number_of_gates_is_limited_and_the_oldest_open_one_is_dropped_first() {
    let gates = Arc::new(Gates::default());
    let name = |number: usize| format!("m{number}");
    for number in 0..GATES_MAX {
        gates.enter(&model(&name(number))).unwrap().limited(Scope::Model, Some(ms(1_000)));
    }
    advance(ms(1_000)).await;
    for number in [7, 9] {
        gates.enter(&model(&name(number))).unwrap().reply_began();
    }
    for number in GATES_MAX..GATES_MAX + 3 {
        gates.enter(&model(&name(number))).unwrap().limited(Scope::Model, Some(ms(1_000)));
    }
    let table = gates.lock();
    let is_known = |number: &usize| table.gates.contains_key(&GateKey::Model(model(&name(*number))));
    let evicted: BTreeSet<usize> = (0..GATES_MAX + 3).filter(|number| !is_known(number)).collect();
    assert_eq!(evicted, BTreeSet::from([0, 7, 9]));
}
