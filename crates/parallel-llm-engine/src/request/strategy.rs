//! A strategy and its options as people write them, `synthesize@gate=on`.
//!
//! Every wrong text is refused before anything is paid, and the error names the accepted values.

mod extractor;
mod options;
mod retired;
mod successor;
mod traits;

use std::fmt;

use crate::request::panel::{ModelRef, PanelEntry, Seat};
use crate::request::wait::Wait;
use crate::text::short_answer::Form;
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::nearest;
use crate::value::next::{Advice, Next};
pub(crate) use options::CONTROLLED_MIN;
use options::OptionName;
pub(crate) use traits::Calls;

pub use extractor::Extractor;
pub use options::{AnalysisCall, By, Gate, StrategyOption, StrategyOptions, Switch, Weights};
pub use retired::{RetiredOptions, RetiredStrategy, RetiredWord};
pub use traits::Strategy;

/// Chooses the strategy by the question.
pub const AUTO: &str = "auto";
/// What a user who leaves the choice to the question wants.
pub const AUTO_SITUATION: &str = "The program to choose by the question";
/// How it is chosen.
pub const AUTO_ABOUT: &str = "A question with one short right answer is asked to two seats first, and to the others only if these differ. Another one \
     goes to `best-of-n@by=check` if a check command is set, else to `synthesize`.";
/// How many seats are asked first when the question has one short right answer. On published per-item outputs, asking two,
/// and three more only when they differ, lost nothing against asking five (facts of fusing, finding 10).
const FIRST_OF_CLOSED: u8 = 2;
const WHY_CLOSED: &str = "the question has one short right answer, so two are asked first, the others only where these differ, \
     and nobody fuses where all agree";
const WHY_CHECKED: &str =
    "a check command is set, and what an answer does when it is run says more of it than any judge";
const WHY_OPEN: &str =
    "the question is an open one, so all are asked and a synthesizer patches the best answer";

/// A strategy with its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrategyChoice {
    /// The strategy.
    pub strategy: Strategy,
    /// Its options.
    pub options: StrategyOptions,
}

/// The strategy for one question, and the reason for it when the user named none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedStrategy {
    /// The strategy and its options.
    pub choice: StrategyChoice,
    /// The reason in one sentence; `None` if the user named the strategy.
    pub why: Option<&'static str>,
}

impl ResolvedStrategy {
    /// Reads the strategy that `text` names. `auto` depends on the kind of the question and on whether answers can be checked.
    pub fn of(text: &str, question: &str, has_checker: bool) -> Result<Self, Failure> {
        if text != AUTO {
            return Ok(Self { choice: StrategyChoice::parse(text)?, why: None });
        }
        let is_closed = Form::of(question).is_some_and(|form| form.is_certain());
        // A check is for what can be run. Short answers are compared with each other for nothing.
        if has_checker && !is_closed {
            let options = StrategyOptions { by: Some(By::Check), ..StrategyOptions::default() };
            let choice = StrategyChoice { strategy: Strategy::BestOfN, options };
            return Ok(Self { choice, why: Some(WHY_CHECKED) });
        }
        let (strategy, first, why) = if is_closed {
            (Strategy::Cascade, Some(FIRST_OF_CLOSED), WHY_CLOSED)
        } else {
            (Strategy::Synthesize, None, WHY_OPEN)
        };
        let choice =
            StrategyChoice { strategy, options: StrategyOptions { first, ..StrategyOptions::default() } };
        Ok(Self { choice, why: Some(why) })
    }

    /// Refuses a text that is wrong whatever the question is.
    pub fn check(text: &str) -> Result<(), Failure> {
        Self::of(text, "", false).map(drop)
    }
}

impl StrategyChoice {
    /// Reads `strategy[@option=value,...]`.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let (name, pairs) = split(text);
        let strategy = Strategy::by_name(name, pairs)?;
        let mut options = StrategyOptions::default();
        for pair in pairs.into_iter().flat_map(|pairs| pairs.split(',')) {
            let (word, value) = pair.split_once('=').unwrap_or((pair, ""));
            let known = strategy.option_names();
            let option =
                OptionName::by_name(word).filter(|option| known.contains(option)).ok_or_else(|| {
                    let message = format!("the strategy `{name}` has no option `{word}`");
                    unknown(message, word, known.iter().map(|option| option.name()))
                })?;
            options.set(option, value)?;
        }
        options.check()?;
        Ok(Self { strategy, options })
    }

    /// Fails if an option needs the accuracy of every seat and one lacks it.
    pub(crate) fn check_seats(self, seats: &[Seat]) -> Result<(), Failure> {
        self.check_accuracies(seats.iter().map(|seat| (&seat.model, seat.accuracy)))
    }

    /// As [`StrategyChoice::check_seats`], before the entries become seats.
    pub(crate) fn check_entries(self, entries: &[PanelEntry]) -> Result<(), Failure> {
        self.check_accuracies(entries.iter().map(|entry| (&entry.model, entry.options.accuracy)))
    }

    fn check_accuracies<'a>(
        self,
        mut rated: impl Iterator<Item = (&'a ModelRef, Option<f64>)>,
    ) -> Result<(), Failure> {
        let needs_accuracy = self.options.weights == Some(Weights::LogOdds);
        let unrated = rated.find(|(_, accuracy)| needs_accuracy && accuracy.is_none());
        unrated.map_or(Ok(()), |(model, _)| {
            let message = format!("`{self}` needs the accuracy of every seat, and `{model}` comes without");
            let next = [Next::Do(Advice::RateSeats), Next::Do(Advice::LeaveWeightsOut)];
            Err(Failure::new(Code::Usage, message).with_next(next))
        })
    }

    /// Whether short answers are counted, which decides what is asked, selected or left unfused.
    pub(crate) const fn counts(self) -> bool {
        matches!(self.strategy, Strategy::Vote | Strategy::Cascade)
            || matches!(self.options.gate, Some(Gate::On))
            || self.options.first.is_some()
    }

    /// How many of `seats` are asked at once. The others are asked only if the first answers do not settle the question.
    pub(crate) fn first(self, seats: usize) -> usize {
        match self.options.first.or(self.strategy.first()) {
            Some(first) => usize::from(first),
            None if self.options.hedge_after_ms.is_some() => 1,
            None => seats,
        }
    }

    /// The rule that says when to stop waiting. `wait` is the rule of the settings.
    pub(crate) const fn wait(self, wait: Wait) -> Wait {
        if self.strategy.needs_one() { Wait::First } else { wait }
    }
}

impl fmt::Display for StrategyChoice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.strategy.name())?;
        let names = self.strategy.option_names().iter();
        let set = names.filter_map(|option| Some((option.name(), self.options.written(*option)?)));
        let set = set.chain(self.options.retired.written());
        for ((name, value), sign) in set.zip(std::iter::once('@').chain(std::iter::repeat(','))) {
            write!(out, "{sign}{name}={value}")?;
        }
        Ok(())
    }
}

/// The name of a strategy and its options, as written.
fn split(text: &str) -> (&str, Option<&str>) {
    text.split_once('@').map_or((text, None), |(name, pairs)| (name, Some(pairs)))
}

/// The failure for a word that is not among the known ones.
fn unknown(message: String, word: &str, known: impl Iterator<Item = &'static str>) -> Failure {
    let known: Vec<&str> = known.collect();
    nearest::suggest_or_list(Failure::new(Code::Usage, message).with_next(Advice::LeaveItOut), word, &known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        let rendered = StrategyChoice::parse(text).map(|choice| choice.to_string());
        let rendered = rendered.map_err(|failure| format!("{}; {}", failure.message, failure.next_step()));
        assert_eq!(rendered.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn a_strategy_is_written_with_its_options() {
        check("synthesize", Ok("synthesize"));
        check("synthesize@gate=off", Ok("synthesize"));
        check("synthesize@first=2,gate=on", Ok("synthesize@gate=on,first=2"));
        check("synthesize@paranoid=on,gate=on", Ok("synthesize@gate=on,paranoid=on"));
        check("synthesize@analysis=separate", Ok("synthesize@analysis=separate"));
        check("cascade@paranoid=on,first=4", Ok("cascade@first=4,paranoid=on"));
        check("best-of-n@shown_tokens_max=4000", Ok("best-of-n@shown_tokens_max=4000"));
        check("synthesize@analysis=inline,paranoid=off", Ok("synthesize"));
        check("vote", Ok("vote"));
        check("best-of-n@by=judge,orders=1", Ok("best-of-n@orders=1"));
        check("best-of-n@by=check,gate=off", Ok("best-of-n@by=check"));
        check("best-of-n@orders=1,by=league", Ok("best-of-n@by=league,orders=1"));
        check("best-of-n@first=2,by=pairs", Ok("best-of-n@by=pairs,first=2"));
        check("best-of-n@by=consistency", Ok("best-of-n@by=consistency"));
        check("moa@gate=on,layers=3", Ok("moa@layers=3,gate=on"));
        check("vote@weights=equal", Ok("vote"));
        check("vote@weights=log-odds,first=3", Ok("vote@first=3,weights=log-odds"));
        check("vote@min_share=60,extractor=auto", Ok("vote@min_share=60"));
        check("vote@first=2,extractor=json:/a%2cb/k=v@w", Ok("vote@first=2,extractor=json:/a%2Cb/k=v@w"));
        check("vote@extractor=json:", Ok("vote@extractor=json:"));
    }

    #[test]
    fn an_extractor_model_is_no_longer_offered() {
        let refused = "`extractor=llm` is gone: the setting `equivalence_model` names the model that compares short answers; \
                       leave it out";
        check("vote@extractor=llm", Err(refused));
        check("vote@first=2,extractor=llm", Err(refused));
        let options = serde_json::from_str(r#"{"extractor":"llm","min_share":60}"#).unwrap();
        let choice = StrategyChoice { strategy: Strategy::Vote, options };
        assert_eq!(choice.to_string(), "vote@extractor=llm,min_share=60");
        let refused = choice.check_offered().unwrap_err();
        assert_eq!(refused.message, "the strategy `vote` has no option `extractor=llm` any more");
        assert_eq!(refused.next_step(), "write it like `vote@min_share=60`");
    }

    #[test]
    fn whoever_names_a_retired_strategy_is_told_what_takes_its_place() {
        for (text, now) in [
            ("consistency", "best-of-n@by=consistency"),
            ("consistency@orders=2,top_k=3", "best-of-n@by=consistency"),
            ("tournament", "best-of-n@by=pairs"),
            ("tournament@format=knockout,orders=1", "best-of-n@by=pairs,orders=1"),
            ("tournament@gate=on,format=league", "best-of-n@by=league,gate=on"),
        ] {
            let name = text.split('@').next().unwrap();
            check(text, Err(&format!("the strategy `{name}` is now `{now}`; write it like `{now}`")));
            assert_eq!(StrategyChoice::parse(now).unwrap().to_string(), now);
        }
        check(
            "self-moa@samples=3,paranoid=on",
            Err(
                "the strategy `self-moa` is now `synthesize@paranoid=on` over a panel of one model, such as `MODEL*3`; \
                 write it like `synthesize@paranoid=on`",
            ),
        );
        check(
            "debate@rounds=2",
            Err(
                "the strategy `debate` is gone; `council` and `moa` come nearest to it; choose one of: council, moa",
            ),
        );
    }

    #[test]
    fn a_retired_strategy_is_read_and_written_as_it_is_stored() {
        for (name, options, text) in [
            ("debate", r#"{"gate":"off","rounds":2}"#, "debate@gate=off,rounds=2"),
            ("tournament", r#"{"orders":1,"format":"league"}"#, "tournament@orders=1,format=league"),
            ("self-moa", r#"{"samples":3}"#, "self-moa@samples=3"),
            ("consistency", "{}", "consistency"),
        ] {
            let strategy: Strategy = serde_json::from_value(name.into()).unwrap();
            let choice = StrategyChoice { strategy, options: serde_json::from_str(options).unwrap() };
            assert_eq!(
                (serde_json::to_value(strategy).unwrap(), choice.to_string()),
                (name.into(), text.to_owned())
            );
            let written = serde_json::to_value(choice.options).unwrap();
            assert_eq!(written, serde_json::from_str::<serde_json::Value>(options).unwrap());
            assert!(choice.check_offered().unwrap_err().message.contains(name));
        }
        let options =
            serde_json::from_str(r#"{"first":2,"mode":"free","top_k":3,"show_votes":"on"}"#).unwrap();
        let choice = StrategyChoice { strategy: Strategy::Synthesize, options };
        assert_eq!(choice.to_string(), "synthesize@first=2,mode=free,top_k=3,show_votes=on");
        let refused = choice.check_offered().unwrap_err();
        assert_eq!(refused.message, "the strategy `synthesize` has no option `mode` any more");
        assert_eq!(refused.next_step(), "write it like `synthesize@first=2`");
        assert!(serde_json::from_value::<Strategy>("fuse".into()).is_err());
    }

    #[test]
    fn every_strategy_has_one_name() {
        for strategy in Strategy::ALL {
            assert_eq!(serde_json::to_value(strategy).unwrap(), strategy.name());
            assert_eq!(StrategyChoice::parse(strategy.name()).unwrap().strategy, *strategy);
        }
    }

    #[test]
    fn auto_chooses_by_the_question() {
        let rendered = |question, has_checker| {
            let chosen = ResolvedStrategy::of("auto", question, has_checker).unwrap();
            (chosen.choice.to_string(), chosen.why)
        };
        let (closed, open) = ("How many legs has a spider?", "How do tides work?");
        assert_eq!(rendered(closed, false), ("cascade@first=2".to_owned(), Some(WHY_CLOSED)));
        assert_eq!(rendered(open, false), ("synthesize".to_owned(), Some(WHY_OPEN)));
        assert_eq!(rendered(closed, true), ("cascade@first=2".to_owned(), Some(WHY_CLOSED)));
        assert_eq!(rendered(open, true), ("best-of-n@by=check".to_owned(), Some(WHY_CHECKED)));
        assert_eq!(ResolvedStrategy::of("vote", "How many?", true).unwrap().why, None);
        assert_eq!(ResolvedStrategy::check("auto@first=2").unwrap_err().code, Code::Usage);
    }

    #[test]
    fn a_wrong_option_is_refused_with_the_possible_values() {
        let names: Vec<&str> = Strategy::names().collect();
        let known = format!("there is no strategy `fuse`; choose one of: {}", names.join(", "));
        check("fuse", Err(&known));
        let of_vote = "first, weights, extractor, min_share";
        for (written, name) in
            [("gate=off", "gate"), ("", ""), ("paranoid=on", "paranoid"), ("by=check", "by")]
        {
            let message = format!("the strategy `vote` has no option `{name}`; choose one of: {of_vote}");
            check(&format!("vote@{written}"), Err(&message));
        }
        check(
            "synthesize@analysis=bold",
            Err("the option `analysis` cannot be `bold`; choose one of: inline, separate"),
        );
        check(
            "best-of-n@by=me",
            Err("the option `by` cannot be `me`; choose one of: judge, pairs, league, consistency, check"),
        );
        check(
            "best-of-n@by=consistency,orders=2",
            Err(
                "`orders` cannot go with `by=consistency`: what an answer comes to does not depend on where it stands; \
                 leave one of them out",
            ),
        );
        for (option, word) in [("first", "2"), ("orders", "2"), ("gate", "on"), ("shown_tokens_max", "900")] {
            let refusal = format!(
                "`{option}` cannot go with `by=check`: a check reads every answer, whole and once, whatever they agree in; \
                 leave one of them out"
            );
            check(&format!("best-of-n@{option}={word},by=check"), Err(&refusal));
        }
        check("synthesize@gate", Err("the option `gate` cannot be ``; choose one of: off, on"));
        check("vote@first=1", Err("the option `first` cannot be `1`; give a whole number from 2 to 63"));
        check("moa@layers=4", Err("the option `layers` cannot be `4`; give a whole number from 2 to 3"));
        check(
            "council@shown_tokens_max=199",
            Err("the option `shown_tokens_max` cannot be `199`; give a whole number from 200 to 1000000"),
        );
        check(
            "vote@min_share=0",
            Err("the option `min_share` cannot be `0`; give a whole number from 1 to 100"),
        );
        check(
            "vote@extractor=regex",
            Err("the option `extractor` cannot be `regex`; choose one of: auto, json:/pointer"),
        );
        let written = "write a JSON pointer such as `json:/answer/value`, a comma in it as `%2C`";
        for (wrong, why) in [
            ("json:answer", "a pointer begins with `/`"),
            ("json:/a~2", "`~` must be followed by `0` or `1`"),
            ("json:/%f", "`%` must be followed by two hexadecimal digits of UTF-8 text"),
        ] {
            let rendered = format!("the option `extractor` cannot be `{wrong}`: {why}; {written}");
            check(&format!("vote@extractor={wrong}"), Err(&rendered));
        }
        check("vote@first=two", Err("the option `first` cannot be `two`; give a whole number from 2 to 63"));
    }
}
