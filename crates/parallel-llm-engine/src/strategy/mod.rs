//! The strategies that make one text of the answers, and their table.
//!
//! A strategy is one file, its prompts, one row of the table, a test of the same name, and a section of
//! `docs/strategies.md`. It builds prompts only through [`crate::prompt`], calls models only through [`parts::call`], and
//! reads replies only through [`crate::prompt::reply`]. If everything it tries fails, it returns the best answer word for
//! word and the outcome says so: what was paid for is never lost.

pub(crate) mod annotate;
mod best_of_n;
mod cascade;
mod consistency;
mod council;
mod debate;
mod flow;
mod moa;
mod panel;
mod parts;
mod race;
mod self_moa;
mod synthesize;
mod tournament;
mod vote;

use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::request::strategy::Strategy;
use crate::run::outcome::Outcome;

pub(crate) use parts::answers::{Answers, agreement};
pub(crate) use parts::considered::considered;
pub(crate) use parts::early::gather;
pub(crate) use parts::verbatim::fallback;

/// The table of strategies: name in flags, settings and JSON, file, traits, and prompts by folder. Other modules expand it
/// for their part: `request` takes the names and options, `prompt` the templates. A prompt marked `answers` or `revises` asks
/// for an answer to the question itself; with `revises`, the model is shown its own earlier answer apart.
macro_rules! strategies {
    ($define:ident) => {
        $define! {
            /// A synthesizer starts from the best answer and changes it only for a reason.
            Synthesize = "synthesize" in synthesize,
                Traits {
                    fuses: true,
                    option_names: &[Gate, First, Early, Mode, Analysis, Paranoid, TopK, ShownTokensMax, ShowVotes],
                    ..Traits::choosing("One good text from several answers")
                },
                prompts {
                    /// Make one text of the answers, starting from the best.
                    Synthesize = "synthesize",
                    /// Make one text of the answers, starting from none.
                    Free = "synthesize/free",
                    /// Compare the answers for another call.
                    Analyse = "synthesize/analyse",
                    /// Make one text of the answers with an analysis, starting from the best.
                    Write = "synthesize/write",
                    /// Make one text of the answers with an analysis, starting from none.
                    WriteFree = "synthesize/write_free",
                }
            /// The answer most others agree with is selected.
            Vote = "vote" in vote,
                Traits { option_names: &[First, Weights, Extractor, MinShare], ..Traits::choosing("A fact, a number or a choice, by count") },
                prompts {
                    /// Extract the value of each answer.
                    Extract = "vote",
                }
            /// The answer a judge finds best is selected.
            BestOfN = "best-of-n" in best_of_n,
                Traits {
                    calls: Calls::Verdict,
                    option_names: &[By, Orders, Gate, First, ShownTokensMax],
                    ..Traits::choosing("The best answer unchanged, by a judge or your `--check`")
                },
                prompts {
                    /// Rank the answers.
                    Judge = "best-of-n",
                }
            /// Some seats are asked first. If they disagree, the others are asked, and a synthesizer fuses all answers.
            Cascade = "cascade" in cascade,
                Traits {
                    fuses: true,
                    first: Some(FIRST_OF_CASCADE),
                    option_names: &[First, Mode, Analysis, Paranoid, TopK, ShownTokensMax, ShowVotes],
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
            /// The answer that a judge finds best supported by the others is selected.
            Consistency = "consistency" in consistency,
                Traits {
                    orders: 1,
                    calls: Calls::Verdict,
                    option_names: &[Orders, Gate, First, TopK, ShownTokensMax],
                    ..Traits::choosing("The answer that a judge finds the others support")
                },
                prompts {
                    /// Say which answer the others support most.
                    Consistency = "consistency",
                }
            /// A judge compares the answers in pairs, and the winner is selected.
            Tournament = "tournament" in tournament,
                Traits {
                    calls: Calls::Matches,
                    option_names: &[Format, Orders, Gate, First, ShownTokensMax],
                    ..Traits::choosing("The best answer unchanged, found by comparing pairs")
                },
                prompts {
                    /// Say which of two answers is better.
                    Match = "tournament",
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
                    option_names: &[Layers, Gate, First, Mode, Analysis, TopK, ShowVotes],
                    ..Traits::choosing("Answers rewritten after reading the others")
                },
                prompts {
                    /// Answer again after reading the answers.
                    Propose = "moa" answers,
                }
            /// One model is asked several times, and a synthesizer makes one text of its answers.
            SelfMoa = "self-moa" in self_moa,
                Traits {
                    fuses: true,
                    samples_one_model: true,
                    option_names: &[Samples, Gate, Mode, Analysis, Paranoid, TopK, ShownTokensMax, ShowVotes],
                    ..Traits::choosing("Several tries of one strong model")
                },
                prompts {}
            /// Every seat compares its answer with the others and keeps or changes it; then the answers are voted on.
            Debate = "debate" in debate,
                Traits {
                    calls: Calls::Revisions,
                    option_names: &[Rounds, Gate, First],
                    ..Traits::choosing("Experimental: seats that read each other, then a vote")
                },
                prompts {
                    /// Keep or change one's own answer.
                    Revise = "debate" revises,
                }
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
            }
        }
    };
}

strategies!(define);
