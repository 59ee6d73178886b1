//! The progress of a batch: a bar, the rate, the cost and the time left, in one line.

use std::collections::VecDeque;
use std::time::Duration;

use parallel_llm_service::Batch;
use parallel_llm_service::report::age::age;
use tokio::time::Instant;

use super::description::{cost, questions, state};
use crate::terminal::console::Console;

/// The time over which the rate is measured: long enough for slow panels, short enough to see an outage.
const WINDOW: Duration = Duration::from_secs(60);
/// How often a line is printed where it cannot be drawn again.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// The width of the bar in columns.
const BAR: usize = 20;
/// Clears the line from the cursor on.
const CLEAR: &str = "\x1b[K";

/// A view of the progress. Dropping it ends the line.
pub(super) struct BatchProgress<'c> {
    console: &'c Console,
    /// How many jobs had ended when.
    ended: VecDeque<(Instant, u64)>,
    printed: Option<(Instant, String)>,
}

impl<'c> BatchProgress<'c> {
    pub(super) const fn new(console: &'c Console) -> Self {
        Self { console, ended: VecDeque::new(), printed: None }
    }

    /// Shows how far the batch is.
    pub(super) fn show(&mut self, batch: &Batch) {
        let now = Instant::now();
        let ended = batch.answered + batch.failed;
        while self.ended.len() > 1 && self.ended.front().is_some_and(|(at, _)| now - *at > WINDOW) {
            self.ended.pop_front();
        }
        self.ended.push_back((now, ended));
        let line = line(batch, self.rate());
        if self.console.is_live() {
            let columns = self.console.columns().saturating_sub(1);
            let cut: String = line.chars().take(columns).collect();
            if self.console.draw(&format!("\r{cut}{CLEAR}")) {
                self.printed = Some((now, line));
            }
            return;
        }
        let is_due = self.printed.as_ref().is_none_or(|(at, _)| now - *at >= LINE_EVERY);
        let is_new = self.printed.as_ref().is_none_or(|(_, printed)| *printed != line);
        if is_due && is_new {
            self.console.say(&line);
            self.printed = Some((now, line));
        }
    }

    /// Takes the bar away, so that a message has a line of its own; the next look draws it again.
    pub(super) fn clear(console: &Console) {
        if console.is_live() {
            console.write(&format!("\r{CLEAR}"));
        }
    }

    /// Jobs that ended in a second, over the window.
    fn rate(&self) -> Option<f64> {
        let ((first_at, first), (last_at, last)) = (*self.ended.front()?, *self.ended.back()?);
        let seconds = (last_at - first_at).as_secs_f64();
        (seconds > 0.0 && last > first).then(|| (last - first) as f64 / seconds)
    }
}

impl Drop for BatchProgress<'_> {
    fn drop(&mut self) {
        if self.printed.is_some() {
            Self::clear(self.console);
        }
    }
}

fn line(batch: &Batch, rate: Option<f64>) -> String {
    let total = questions(batch);
    let ended = batch.answered + batch.failed;
    let filled = (BAR as u64 * ended).checked_div(total).unwrap_or_default() as usize;
    let bar = format!("{}{}", "#".repeat(filled), ".".repeat(BAR - filled));
    let mut parts = vec![format!("[{bar}] {ended} of {total}")];
    if batch.failed > 0 {
        parts.push(format!("{} failed", batch.failed));
    }
    parts.push(format!("{} of {}", cost(batch.spent).short(), batch.budget));
    if let Some(rate) = rate {
        parts.push(if rate >= 1.0 { format!("{rate:.1}/s") } else { format!("{:.1}/min", rate * 60.0) });
        if batch.open() > 0 {
            // Rounded up, because nothing is left in no time.
            parts.push(format!("about {} left", age((batch.open() as f64 / rate).ceil() as u64 * 1_000)));
        }
    }
    if state(batch) != "running" {
        parts.push(state(batch).to_owned());
    }
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use parallel_llm_engine::{BatchId, PicoUsd};
    use parallel_llm_service::{BatchState, JobCost};

    #[test]
    fn a_line_has_the_bar_the_rate_the_cost_and_the_time_left() {
        let mut batch = Batch {
            id: BatchId::from_parts(1, 1),
            name: "q.jsonl".to_owned(),
            state: BatchState::Running,
            pause: None,
            budget: PicoUsd::from_usd(20),
            created_at_ms: 0,
            settled_at_ms: None,
            jobs: 1_001,
            bad: 1,
            answered: 240,
            partial: 3,
            failed: 10,
            spent: JobCost { known: PicoUsd::from_usd(5), ..JobCost::default() },
            reserved: PicoUsd::ZERO,
            running: 8,
            workers: 1,
        };
        assert_eq!(
            line(&batch, Some(2.5)),
            "[#####...............] 250 of 1000 · 10 failed · $5.00 of $20.00 · 2.5/s · about 5 min left"
        );
        (batch.answered, batch.failed, batch.state) = (0, 0, BatchState::Paused);
        assert_eq!(line(&batch, None), "[....................] 0 of 1000 · $5.00 of $20.00 · paused");
    }
}
