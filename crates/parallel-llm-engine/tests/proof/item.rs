//! Random questions as scenarios: each model has a script for its answer.

use parallel_llm_engine::port::Call;
use parallel_llm_engine::{Outcome, RunRequest, SeatNumber};

use crate::proof::panel::{Choice, NOTHING, Panel, RIGHT};
use crate::proof::rng::Rng;
use crate::proof::writing::{Question, Written};
use crate::scenario::{RunResult, Scenario, scenario};
use crate::script::{Reply, after, says};

pub(super) const NAMES: [&str; 9] = ["ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal", "ivy"];

/// A question, and what each model answers.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) question: Question,
    pub(super) choices: Vec<Choice>,
    pub(super) written: Vec<Written>,
}

impl Item {
    /// The answers of a panel to a random question, with options or with a number as its answer.
    pub(super) fn sample(panel: &Panel, rng: &mut Rng) -> Self {
        let choices = panel.answer(rng);
        let options = panel.options();
        let question =
            if options <= 4 { Question::choice(options, rng) } else { Question::number(options, rng) };
        Self::written(question, choices, rng)
    }

    pub(super) fn written(question: Question, choices: Vec<Choice>, rng: &mut Rng) -> Self {
        let written = choices.iter().map(|choice| question.write(*choice, rng)).collect();
        Self { question, choices, written }
    }

    /// The same answers from seats in another order; `order` holds indices from 0.
    pub(super) fn in_order(&self, order: &[usize]) -> Self {
        let choices = order.iter().map(|index| self.choices[*index]).collect();
        let written = order.iter().map(|index| self.written[*index].clone()).collect();
        Self { question: self.question.clone(), choices, written }
    }

    /// The replies of the panel, from random models at random times.
    pub(super) fn replies(&self, rng: &mut Rng) -> Vec<(&'static str, Reply)> {
        let mut names = NAMES;
        rng.shuffle(&mut names);
        let replies = self.written.iter().map(|written| {
            let ms = 1 + u64::try_from(rng.below(100)).expect("it is small");
            match written {
                Written::Text(text) => says(ms, text),
                Written::Refused(words) => after(ms).end_with(|end| end.refusal = Some(words.clone())),
            }
        });
        names.into_iter().zip(replies).collect()
    }

    /// The scenario that asks this panel, and the other models with these replies.
    pub(super) fn scenario(
        &self,
        strategy: &str,
        others: Vec<(&'static str, Reply)>,
        rng: &mut Rng,
    ) -> Scenario {
        let replies = self.replies(rng).into_iter().chain(others);
        let request = RunRequest {
            strategy: Some(strategy.to_owned()),
            ..RunRequest::prompt(self.question.text.as_str())
        };
        scenario(replies).requests(request)
    }

    /// The choice of the seat whose answer was selected; `None` if no seat's answer was.
    pub(super) fn chosen(&self, outcome: &Outcome) -> Option<Choice> {
        let seat = outcome.base_seat?;
        let written = &self.written[seat.index()];
        assert_eq!(outcome.text.as_deref(), Some(written.text()), "a selected answer is unchanged");
        Some(self.choices[seat.index()])
    }

    pub(super) fn is_right(&self, outcome: &Outcome) -> bool {
        self.chosen(outcome) == Some(RIGHT)
    }

    /// Asserts that the engine read every answer correctly and read none that says nothing.
    pub(super) fn check_clusters(&self, outcome: &Outcome) {
        if self.choices.iter().all(|choice| *choice == NOTHING) {
            return;
        }
        let agreement = outcome.agreement.as_ref().expect("a closed question is compared");
        let mut seen: Vec<Vec<SeatNumber>> =
            agreement.clusters.iter().map(|cluster| cluster.seats.clone()).collect();
        let mut there: Vec<Vec<SeatNumber>> = Vec::new();
        let mut unread = Vec::new();
        for (index, choice) in self.choices.iter().enumerate() {
            let seat = SeatNumber::at(index);
            let before = self.choices[..index].iter().position(|other| other == choice);
            match (*choice, before) {
                (NOTHING, _) => {
                    unread.extend(matches!(self.written[index], Written::Text(_)).then_some(seat));
                }
                (_, Some(other)) => {
                    let seats = there.iter_mut().find(|seats| seats.contains(&SeatNumber::at(other)));
                    seats.expect("it was put there").push(seat);
                }
                (_, None) => there.push(vec![seat]),
            }
        }
        seen.sort();
        there.sort();
        assert_eq!((seen, &agreement.unread), (there, &unread), "{:?}", self.written);
    }
}

/// The answers that a call shows: label and text, in the order shown.
pub(super) fn candidates(call: &Call) -> Vec<(String, String)> {
    let shown = call.messages.last().expect("a call has messages");
    let prompt = shown.texts().collect::<Vec<_>>().join("\n");
    let blocks = prompt.split("\n<<candidate ").skip(1);
    let candidate = |block: &str| {
        let (label, rest) = block.split_once(' ').expect("a block has a label");
        let lines = rest.lines().skip(1).map_while(|line| line.strip_prefix("| "));
        (label.to_owned(), lines.collect::<Vec<_>>().join("\n"))
    };
    blocks.map(candidate).collect()
}

/// A judge's verdict in its format, best label first.
pub(super) fn verdict(labels: impl IntoIterator<Item = String>) -> String {
    let labels: Vec<String> = labels.into_iter().map(|label| format!("{label:?}")).collect();
    format!("{{\"ranking\": [{}]}}", labels.join(", "))
}

/// The outcome of a decided run.
pub(super) fn outcome(result: &RunResult) -> &Outcome {
    result.run.outcome.as_ref().expect("the run is decided")
}
