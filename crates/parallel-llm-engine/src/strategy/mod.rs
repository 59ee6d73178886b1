//! The strategies that make one text of the answers, and their table.
//!
//! A strategy is one file, its prompts, one row of the table, a test of the same name, and a section of
//! `docs/strategies.md`. It builds prompts only through [`crate::prompt`], calls models only through [`parts::calls`], and
//! reads replies only through [`crate::prompt::reply`]. If everything it tries fails, it returns the best answer word for
//! word and the outcome says so: what was paid for is never lost.

pub(crate) mod annotate;
mod best_of_n;
mod cascade;
mod council;
mod flow;
mod moa;
mod panel;
mod parts;
mod race;
mod synthesize;
mod vote;

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::request::strategy::Strategy;
use crate::run::outcome::Outcome;

pub(crate) use parts::calls::equivalence::{compared, recorded};
pub(crate) use parts::choice::answers::Answers;
pub(crate) use parts::choice::verbatim::fallback;
pub(crate) use parts::texts::considered::considered;
pub(crate) use parts::texts::early::gather;

/// The table of strategies: name in flags, settings and JSON, file, traits, and prompts by folder. Other modules expand it
/// for their part: `request` takes the names and options, `prompt` the templates. A prompt marked `answers` asks for an answer
/// to the question itself.
macro_rules! strategies {
    ($define:ident) => {
        $define! {
            /// A synthesizer starts from the best answer and changes it only for a reason.
            Synthesize = "synthesize" in synthesize,
                Traits {
                    fuses: true,
                    option_names: &[Gate, First, Early, Analysis, Paranoid, ShownTokensMax],
                    ..Traits::choosing("One good text from several answers")
                },
                prompts {
                    /// Make one text of the answers, starting from the best.
                    Synthesize = "synthesize",
                    /// Compare the answers for another call.
                    Analyse = "synthesize/analyse",
                    /// Make one text of the answers with an analysis.
                    Write = "synthesize/write",
                }
            /// The answer most others agree with is selected.
            Vote = "vote" in vote,
                Traits { option_names: &[First, Weights, Extractor, MinShare], ..Traits::choosing("A fact, a number or a choice, by count") },
                prompts {
                    /// Group the short answers that mean the same, for every strategy that counts them.
                    Equivalence = "equivalence",
                }
            /// The answer that a judge or a check finds best is selected.
            BestOfN = "best-of-n" in best_of_n,
                Traits {
                    calls: Calls::Verdict,
                    option_names: &[By, Orders, Gate, First, ShownTokensMax],
                    ..Traits::choosing("The best answer unchanged, by a judge or your `--check`")
                },
                prompts {
                    /// Rank the answers.
                    Judge = "best-of-n",
                    /// Say which of two answers is better.
                    Match = "best-of-n/pairs",
                    /// Say which answer the others support most.
                    Consistency = "best-of-n/consistency",
                }
            /// The seats rank each other's answers, and a chair that knows the ranking writes the text.
            Council = "council" in council,
                Traits {
                    fuses: true,
                    calls: Calls::Reviews,
                    option_names: &[Gate, First, ShownTokensMax],
                    ..Traits::choosing("A text that knows how the models rank each other")
                },
                prompts {
                    /// Rank the answers of the other seats.
                    Review = "council/review",
                    /// Make one text of the answers, knowing their ranks.
                    Chair = "council",
                }
            /// Every seat answers again after reading all answers, and a synthesizer makes one text of the newest.
            Moa = "moa" in moa,
                Traits {
                    fuses: true,
                    calls: Calls::Layers,
                    option_names: &[Layers, Gate, First, Analysis],
                    ..Traits::choosing("Answers rewritten after reading the others")
                },
                prompts {
                    /// Answer again after reading the answers.
                    Propose = "moa" answers,
                }
            /// Some seats are asked first. If they disagree, the others are asked, and a synthesizer fuses all answers.
            Cascade = "cascade" in cascade,
                Traits {
                    fuses: true,
                    first: Some(FIRST_OF_CASCADE),
                    option_names: &[First, Analysis, Paranoid, ShownTokensMax],
                    ..Traits::choosing("Cheap models first, the others only on disagreement")
                },
                prompts {}
            /// The first answer is selected.
            Race = "race" in race,
                Traits { needs_one: true, option_names: &[HedgeAfterMs], ..Traits::choosing("An answer as fast as possible") },
                prompts {}
            /// All answers are listed.
            Panel = "panel" in panel,
                Traits::choosing("All answers, side by side"),
                prompts {}
        }
    };
}

/// Makes one text of the answers, stage by stage if the plan has a flow. There is at least one answer.
pub(crate) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    match &context.plan.flow {
        Some(flow) => flow::decide(context, flow, answers.usable).await,
        None => by_strategy(context, answers).await,
    }
}

macro_rules! define {
    ($(
        $(#[$doc:meta])*
        $strategy:ident = $name:literal in $file:ident,
        $traits:expr,
        prompts { $($prompts:tt)* }
    )*) => {
        /// Makes one text of the answers by the strategy of the plan. There is at least one answer.
        async fn by_strategy(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
            match context.plan.strategy {
                $( Strategy::$strategy => $file::decide(context, answers).await, )*
                // No run is opened with one, so this is a run whose text was made by an older program.
                Strategy::Retired(_) => fallback(context, answers.usable),
            }
        }
    };
}

strategies!(define);
