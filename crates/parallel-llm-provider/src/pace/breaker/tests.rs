//! Circuits over time, which is paused.

use tokio::time::advance;

use super::*;
use parallel_llm_engine::ProviderId;

fn model(name: &str) -> ModelRef {
    ModelRef { provider: ProviderId("openrouter".to_owned()), model: name.to_owned() }
}

fn fault() -> Failure {
    Failure::new(Code::Upstream, "openrouter answered 502")
}

/// Makes one call: `x` fails, `.` begins to answer, `-` has no result that counts.
fn call(breakers: &Arc<Breakers>, what: char) {
    let token = breakers.enter(&model("a")).unwrap();
    match what {
        'x' => token.failed(&fault()),
        '.' => token.succeeded(),
        _ => token.failed(&Failure::new(Code::RateLimited, "openrouter answered 429")),
    }
}

/// Makes this many calls that are all running before the first of them fails.
fn fail_together(breakers: &Arc<Breakers>, calls: usize) {
    for token in let_in(breakers, calls) {
        token.failed(&fault());
    }
}

fn let_in(breakers: &Arc<Breakers>, calls: usize) -> Vec<Token> {
    std::iter::repeat_with(|| breakers.enter(&model("a")).unwrap()).take(calls).collect()
}

fn is_open(breakers: &Arc<Breakers>) -> bool {
    breakers.check(&model("a")).is_err()
}

#[tokio::test(start_paused = true)]
async fn a_circuit_opens_when_enough_has_failed() {
    for (calls, opens) in [
        ("xxxx", false),
        ("xxxxx", true),
        ("xxxx.xxxx", false),
        ("xx-xx-x", true),
        ("---------------", false),
        ("x.x.x.x.x", false),
        ("x.x.x.x.x.", false),
        ("x.x.x.x.x.x", true),
        ("..........xxxx", false),
        ("....xx..xx.xxx", true),
    ] {
        let breakers = Arc::new(Breakers::default());
        calls.chars().for_each(|what| call(&breakers, what));
        assert_eq!(is_open(&breakers), opens, "{calls}");
    }
}

#[tokio::test(start_paused = true)]
async fn half_of_the_calls_counts_within_a_minute_and_a_row_at_any_time() {
    let breakers = Arc::new(Breakers::default());
    "x.x.x.x.".chars().for_each(|what| call(&breakers, what));
    advance(WINDOW + Duration::from_secs(1)).await;
    "x.x.x".chars().for_each(|what| call(&breakers, what));
    assert!(!is_open(&breakers), "those of before are forgotten");
    for _ in 0..4 {
        advance(WINDOW * 2).await;
        call(&breakers, 'x');
    }
    assert!(is_open(&breakers));
}

#[tokio::test(start_paused = true)]
async fn calls_under_way_together_are_one_step_of_a_row() {
    let breakers = Arc::new(Breakers::default());
    fail_together(&breakers, 9);
    assert!(!is_open(&breakers), "one hiccup");
    for _ in 0..3 {
        // Far apart, so that the failure rate has no effect.
        advance(WINDOW * 2).await;
        fail_together(&breakers, 9);
        assert!(!is_open(&breakers));
    }
    advance(WINDOW * 2).await;
    fail_together(&breakers, 2);
    assert_eq!(breakers.circuits()[0].failures, 5, "it went on failing");
    // The failure rate counts calls, whenever they were admitted.
    let breakers = Arc::new(Breakers::default());
    fail_together(&breakers, 10);
    assert_eq!(breakers.circuits()[0].failures, 10);
}

#[tokio::test(start_paused = true)]
async fn a_row_grows_by_a_call_let_in_after_the_last_failure() {
    let breakers = Arc::new(Breakers::default());
    let mut before = let_in(&breakers, 1);
    for _ in 0..8 {
        // Each is admitted while the previous one is running, so only every second one lengthens the streak.
        let next = let_in(&breakers, 1);
        before[0].failed(&fault());
        before = next;
    }
    assert!(!is_open(&breakers));
    before[0].failed(&fault());
    assert_eq!(breakers.circuits()[0].failures, 9);
}

#[tokio::test(start_paused = true)]
async fn an_open_circuit_reports_its_failures() {
    let breakers = Arc::new(Breakers::default());
    "xxxxx".chars().for_each(|what| call(&breakers, what));
    advance(Duration::from_secs(7)).await;
    let failure = breakers.check(&model("a")).unwrap_err();
    let expected = "openrouter: `a` failed 5 times and is not asked for another 23 s; the last time: openrouter answered 502";
    assert_eq!(failure.message, expected);
    assert_eq!(
        (failure.code, failure.retryable, failure.retry_after_ms, failure.unsent),
        (Code::CircuitOpen, false, Some(23_000), true)
    );
    assert_eq!(breakers.enter(&model("a")).unwrap_err(), failure);
    assert!(breakers.check(&model("b")).is_ok());
    let last = "openrouter answered 502".to_owned();
    let open = Circuit { model: model("a"), state: CircuitState::Open, failures: 5, wait_ms: 23_000, last };
    assert_eq!(breakers.circuits(), [open]);
}

#[tokio::test(start_paused = true)]
async fn one_probe_closes_it_or_opens_it_again() {
    let breakers = Arc::new(Breakers::default());
    "xxxxx".chars().for_each(|what| call(&breakers, what));
    for failures in [6, 7] {
        advance(OPEN_FOR).await;
        let circuits: Vec<_> = breakers.circuits().into_iter().map(|it| (it.state, it.wait_ms)).collect();
        assert_eq!(circuits, [(CircuitState::HalfOpen, 0)]);
        let probe = breakers.enter(&model("a")).unwrap();
        let message = breakers.check(&model("a")).unwrap_err().message;
        assert!(message.contains("is not asked while another call tries it"), "{message}");
        probe.failed(&fault());
        let circuits: Vec<_> = breakers.circuits().into_iter().map(|it| (it.failures, it.wait_ms)).collect();
        assert_eq!(circuits, [(failures, 30_000)]);
    }
    advance(OPEN_FOR).await;
    call(&breakers, '.');
    assert_eq!(breakers.circuits(), []);
    "xxxx".chars().for_each(|what| call(&breakers, what));
    assert!(!is_open(&breakers), "it counts anew");
}

#[tokio::test(start_paused = true)]
async fn a_probe_without_a_result_is_replaced_by_the_next_call() {
    let breakers = Arc::new(Breakers::default());
    "xxxxx".chars().for_each(|what| call(&breakers, what));
    advance(OPEN_FOR).await;
    call(&breakers, '-');
    drop(breakers.enter(&model("a")).unwrap());
    assert_eq!(breakers.circuits()[0].state, CircuitState::HalfOpen);
    call(&breakers, '.');
    assert_eq!(breakers.circuits(), []);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_hangs_is_not_waited_for_for_ever() {
    let breakers = Arc::new(Breakers::default());
    "xxxxx".chars().for_each(|what| call(&breakers, what));
    advance(OPEN_FOR).await;
    let hanging = breakers.enter(&model("a")).unwrap();
    advance(OPEN_FOR / 2).await;
    assert!(is_open(&breakers));
    advance(OPEN_FOR / 2).await;
    let second = breakers.enter(&model("a")).unwrap();
    assert!(is_open(&breakers), "it has as long as the first");
    drop(hanging);
    assert!(is_open(&breakers), "its turn was another's already");
    drop(second);
    assert!(!is_open(&breakers));
    // A slow call that begins to answer closes the circuit, even if another call is its probe.
    let slow = breakers.enter(&model("a")).unwrap();
    advance(OPEN_FOR).await;
    let late = breakers.enter(&model("a")).unwrap();
    slow.succeeded();
    assert_eq!(breakers.circuits(), []);
    late.failed(&fault());
    assert_eq!(breakers.circuits(), []);
}

#[tokio::test(start_paused = true)]
async fn calls_of_before_are_old_news() {
    let breakers = Arc::new(Breakers::default());
    let before = let_in(&breakers, 12);
    "xxxxx".chars().for_each(|what| call(&breakers, what));
    before[5].succeeded();
    before[6].failed(&fault());
    assert_eq!(breakers.circuits()[0].failures, 5);
    advance(OPEN_FOR).await;
    call(&breakers, '.');
    for token in &before[7..] {
        token.failed(&fault());
    }
    assert!(!is_open(&breakers));
}

#[tokio::test(start_paused = true)]
async fn a_call_counts_once_by_how_it_began() {
    let breakers = Arc::new(Breakers::default());
    for _ in 0..10 {
        let token = breakers.enter(&model("a")).unwrap();
        token.succeeded();
        token.failed(&fault());
    }
    assert!(!is_open(&breakers));
}

#[tokio::test(start_paused = true)]
async fn only_the_servers_and_the_networks_faults_count() {
    let counts = |failure: Failure| {
        let breakers = Arc::new(Breakers::default());
        for _ in 0..5 {
            breakers.enter(&model("a")).unwrap().failed(&failure);
        }
        is_open(&breakers)
    };
    let all = || Code::ALL.iter().copied().map(|code| Failure::new(code, "x"));
    let counted: Vec<Code> = all().filter(|failure| counts(failure.clone())).map(|it| it.code).collect();
    assert_eq!(counted, [Code::Upstream, Code::Connection, Code::Timeout, Code::Protocol]);
    assert!(!all().any(|failure| counts(failure.never_sent())), "what did not leave says nothing");
}

#[tokio::test(start_paused = true)]
async fn the_number_of_models_is_limited_and_open_circuits_are_dropped_last() {
    let breakers = Arc::new(Breakers::default());
    "xxxxx".chars().for_each(|what| call(&breakers, what));
    for number in 0..BREAKERS_MAX {
        advance(Duration::from_millis(1)).await;
        breakers.enter(&model(&format!("m{number}"))).unwrap().succeeded();
    }
    assert_eq!(breakers.lock().breakers.len(), BREAKERS_MAX);
    assert!(is_open(&breakers) && !breakers.lock().breakers.contains_key(&model("m0")));
}
