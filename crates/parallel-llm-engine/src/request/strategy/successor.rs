//! What takes the place of strategies and options that are no longer offered.
//!
//! Invariant: the next step of each refusal is a strategy that can be chosen as it is written there.

use super::options::{By, OptionName, StrategyOptions};
use super::retired::{RetiredOptions, RetiredStrategy, RetiredWord};
use super::{Extractor, Strategy, StrategyChoice};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::next::Next;

impl StrategyChoice {
    /// Fails for a strategy or option that only stored runs have. The next step is what takes its place.
    pub fn check_offered(self) -> Result<(), Failure> {
        if let Strategy::Retired(strategy) = self.strategy {
            return Err(retired(strategy, self.options));
        }
        let by_model = (self.options.extractor() == Extractor::Llm).then_some("extractor=llm");
        let retired = self.options.retired.written().next().map(|(name, _)| name);
        let Some(name) = by_model.or(retired) else { return Ok(()) };
        let extractor = self.options.extractor.filter(|_| by_model.is_none());
        let options = StrategyOptions { retired: RetiredOptions::default(), extractor, ..self.options };
        let offered = Self { options, ..self };
        let message = format!("the strategy `{}` has no option `{name}` any more", self.strategy.name());
        Err(Failure::new(Code::Usage, message).with_next(Next::WriteAs(offered.to_string().into())))
    }
}

/// The failure for a strategy that only stored runs have, written with these options; `None` if there never was one of the name.
pub(super) fn refusal(name: &str, pairs: Option<&str>) -> Option<Failure> {
    let strategy = RetiredStrategy::ALL.into_iter().find(|strategy| strategy.name() == name)?;
    let mut options = StrategyOptions::default();
    for pair in pairs.into_iter().flat_map(|pairs| pairs.split(',')) {
        let (word, value) = pair.split_once('=').unwrap_or((pair, ""));
        options.retired.take(word, value);
        if let Some(option) = OptionName::by_name(word) {
            // A wrong value is refused once the rest is right.
            let _ = options.set(option, value);
        }
    }
    Some(retired(strategy, options))
}

fn retired(strategy: RetiredStrategy, options: StrategyOptions) -> Failure {
    let name = strategy.name();
    let failure = |message: String| Failure::new(Code::Usage, message);
    let (by, options) = match strategy {
        RetiredStrategy::Consistency => (By::Consistency, StrategyOptions { orders: None, ..options }),
        RetiredStrategy::Tournament if options.retired.format == Some(RetiredWord::League) => {
            (By::League, options)
        }
        RetiredStrategy::Tournament => (By::Pairs, options),
        RetiredStrategy::SelfMoa => {
            let samples = options.retired.samples.unwrap_or(4);
            let now = offered(Strategy::Synthesize, options);
            let message = format!(
                "the strategy `{name}` is now `{now}` over a panel of one model, such as `MODEL*{samples}`"
            );
            return failure(message).with_next(Next::WriteAs(now.into()));
        }
        RetiredStrategy::Debate => {
            let message = format!("the strategy `{name}` is gone; `council` and `moa` come nearest to it");
            return failure(message).with_next(Next::choose_one(["council", "moa"]));
        }
    };
    let now = offered(Strategy::BestOfN, StrategyOptions { by: Some(by), ..options });
    failure(format!("the strategy `{name}` is now `{now}`")).with_next(Next::WriteAs(now.into()))
}

/// A strategy that is offered, with those of these options that it has.
fn offered(strategy: Strategy, options: StrategyOptions) -> String {
    let options = StrategyOptions { retired: RetiredOptions::default(), ..options };
    StrategyChoice { strategy, options }.to_string()
}
