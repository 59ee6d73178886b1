//! A run off a terminal: one line per event on stderr, readable in a log.

use parallel_llm_engine::live::{Update, Watch};
use parallel_llm_engine::retry::Retry;
use parallel_llm_engine::run::{Run, RunStatus};
use parallel_llm_engine::{Event, Recorded};

use super::console::Console;
use super::live;
use super::safe;
use super::seat::seconds;

/// Shows a run until its answer is settled.
pub async fn show(console: &Console, mut run: Run, mut watch: Watch) {
    let mut told = run.seq;
    loop {
        if run.status != RunStatus::Running {
            return;
        }
        let update = watch.next().await;
        if let Update::Event(recorded) = &update
            && recorded.seq > told
            && live::is_told(&recorded.event)
        {
            told = recorded.seq;
            console.say(&line(&run, recorded));
        }
        live::take(&mut run, update);
    }
}

/// One event as one line.
pub fn line(run: &Run, recorded: &Recorded) -> String {
    let what = match &recorded.event {
        Event::Started { reserved, .. } => {
            let seats = match run.seats.len() {
                1 => "1 model".to_owned(),
                count => format!("{count} models"),
            };
            format!("run {} started: {seats}, at most {reserved}{}", run.plan.run_id, unpriced(run))
        }
        Event::Reopened { reopening, reserved } => {
            let asked = reopening.ask.len() + reopening.seats.len();
            format!(
                "run {} goes on: {asked} of {} seats are asked, at most {reserved}",
                run.plan.run_id,
                run.seats.len() + reopening.seats.len()
            )
        }
        Event::Decided { outcome } => format!("decided: {}", outcome.reason),
        Event::Closed { cost } => format!("closed: {cost} in all"),
        event => {
            let attempt = event.attempt();
            let who = attempt.map(|attempt| attempt.place.to_string()).unwrap_or_default();
            let model =
                attempt.and_then(|attempt| run.place(attempt.place)).map(|seat| seat.model.to_string());
            format!("{who} {}: {}", model.unwrap_or_default(), told(event))
        }
    };
    format!("[{:>8}] {what}", format!("+{}", seconds(recorded.elapsed_ms)))
}

/// What the most a run may cost leaves out.
fn unpriced(run: &Run) -> String {
    match run.plan.seats.iter().filter(|seat| seat.price.is_none()).count() {
        0 => String::new(),
        1 => " and what one model without a known price costs".to_owned(),
        count => format!(" and what {count} models without a known price cost"),
    }
}

fn told(event: &Event) -> String {
    match event {
        Event::Sent { attempt } if attempt.number > 1 => format!("asked again (try {})", attempt.number),
        Event::Sent { .. } => "asked".to_owned(),
        Event::Answered { answer, .. } => {
            let tokens =
                answer.usage.output_tokens.map(|tokens| format!(", {tokens} tokens")).unwrap_or_default();
            let cost = answer.cost.map(|cost| format!(", {cost}")).unwrap_or_default();
            format!("answered, {} bytes{tokens}{cost}", answer.text_bytes)
        }
        Event::Cut { answer, failure, .. } => {
            format!("cut after {} bytes: {}", answer.text_bytes, safe::for_terminal(&failure.message))
        }
        Event::Failed { failure, retry, .. } => {
            let next = match retry {
                Retry::Never => String::new(),
                Retry::After { ms } => format!("; trying again in {}", seconds(*ms)),
                Retry::Without { field } => format!("; trying again without `{field}`"),
            };
            format!("failed [{}]: {}{next}", failure.code, safe::for_terminal(&failure.message))
        }
        Event::Cancelled { .. } => "cancelled".to_owned(),
        Event::Accepted { generation_id, .. } => format!("accepted as {}", safe::for_terminal(generation_id)),
        Event::Reconciled { cost, .. } => format!("had cost {cost}, its provider says"),
        Event::Started { .. } | Event::Reopened { .. } | Event::Decided { .. } | Event::Closed { .. } => {
            String::new()
        }
    }
}
