//! How answers become one text. A strategy is one file, its prompts, one row of the table here, one same-named test, and a
//! section of `docs/strategies.md`.
//!
//! A strategy builds text only through [`crate::prompt`], calls models only through [`parts::call`], and reads replies only
//! through [`crate::prompt::reply`]. If everything it tries fails, the best answer is returned word for word and the outcome
//! says so: what was paid for is never lost.

pub(crate) mod annotate;
mod best_of_n;
mod cascade;
mod consistency;
mod council;
mod debate;
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

/// Every strategy: its name in flags, settings and JSON, its file, what the engine knows of it before it runs, and its own
/// prompts by folder. The folders below take from it what is theirs: `request` the names and what can be set, `plan` the calls,
/// `prompt` the templates. A prompt marked `answers` or `revises` asks for an answer to
/// the question itself; with `revises`, whoever answered before is shown its own answer apart.
macro_rules! strategies {
    ($define:ident) => {
        $define! {
            /// A synthesizer starts from the best answer and patches it only where it can say why.
            Synthesize = "synthesize" in synthesize,
                Traits {
                    fuses: true,
                    option_names: &[Gate, First, Early, Mode, Analysis, Paranoid, TopK, ShownTokensMax, ShowVotes],
                    ..Traits::PLAIN
                },
                prompts {
                    /// Make one answer of them, starting from the best.
                    Synthesize = "synthesize",
                    /// Make one answer of them, starting from none.
                    Free = "synthesize/free",
                    /// Compare them, for whoever makes one answer of them.
                    Analyse = "synthesize/analyse",
                    /// Make one answer of them, starting from the best, with an analysis at hand.
                    Write = "synthesize/write",
                    /// The same, starting from none.
                    WriteFree = "synthesize/write_free",
                }
            /// The answer that most others agree with is taken as it is.
            Vote = "vote" in vote,
                Traits { option_names: &[First, Weights, Extractor, MinShare], ..Traits::PLAIN },
                prompts {
                    /// Say what each comes to.
                    Extract = "vote",
                }
            /// A judge says which answer is best, and that one is taken as it is.
            BestOfN = "best-of-n" in best_of_n,
                Traits {
                    calls: Calls::Verdict,
                    option_names: &[By, Orders, Gate, First, ShownTokensMax],
                    ..Traits::PLAIN
                },
                prompts {
                    /// Say which are better than others.
                    Judge = "best-of-n",
                }
            /// Some are asked first; only where they do not agree, the others are, and a synthesizer fuses all.
            Cascade = "cascade" in cascade,
                Traits {
                    fuses: true,
                    first: Some(FIRST_OF_CASCADE),
                    option_names: &[First, Mode, Analysis, Paranoid, TopK, ShownTokensMax, ShowVotes],
                    ..Traits::PLAIN
                },
                prompts {}
            /// The answer that comes first is taken as it is.
            Race = "race" in race,
                Traits { needs_one: true, option_names: &[HedgeAfterMs], ..Traits::PLAIN },
                prompts {}
            /// All answers, side by side.
            Panel = "panel" in panel,
                Traits::PLAIN,
                prompts {}
            /// A judge says which answer the others most support, and that one is taken as it is.
            Consistency = "consistency" in consistency,
                Traits {
                    orders: 1,
                    calls: Calls::Verdict,
                    option_names: &[Orders, Gate, First, TopK, ShownTokensMax],
                    ..Traits::PLAIN
                },
                prompts {
                    /// Say which the others most support.
                    Consistency = "consistency",
                }
            /// A judge compares the answers two by two, and the winner is taken as it is.
            Tournament = "tournament" in tournament,
                Traits {
                    calls: Calls::Matches,
                    option_names: &[Format, Orders, Gate, First, ShownTokensMax],
                    ..Traits::PLAIN
                },
                prompts {
                    /// Say which of two is better.
                    Match = "tournament",
                }
            /// Those who answered rank each other's answers, and a chair that is told the ranking writes the text.
            Council = "council" in council,
                Traits {
                    fuses: true,
                    calls: Calls::Reviews,
                    option_names: &[Gate, First, ShownTokensMax],
                    ..Traits::PLAIN
                },
                prompts {
                    /// Rank those of one's fellows.
                    Review = "council/review",
                    /// Make one answer of them, being told how their authors ranked each other.
                    Chair = "council",
                }
            /// Every seat answers again, having read all answers, before a synthesizer makes one text of the newest.
            Moa = "moa" in moa,
                Traits {
                    fuses: true,
                    calls: Calls::Layers,
                    option_names: &[Layers, Gate, First, Mode, Analysis, TopK, ShowVotes],
                    ..Traits::PLAIN
                },
                prompts {
                    /// Answer again, having read them.
                    Propose = "moa" answers,
                }
            /// One model is asked several times, and a synthesizer makes one text of what it gave.
            SelfMoa = "self-moa" in self_moa,
                Traits {
                    fuses: true,
                    samples_one_model: true,
                    option_names: &[Samples, Gate, Mode, Analysis, Paranoid, TopK, ShownTokensMax, ShowVotes],
                    ..Traits::PLAIN
                },
                prompts {}
            /// Every seat holds its answer against the others and keeps or changes it; then the most frequent one stands.
            Debate = "debate" in debate,
                Traits {
                    calls: Calls::Revisions,
                    option_names: &[Rounds, Gate, First],
                    ..Traits::PLAIN
                },
                prompts {
                    /// Keep its own answer or change it.
                    Revise = "debate" revises,
                }
        }
    };
}

macro_rules! define {
    ($(
        $(#[$doc:meta])*
        $strategy:ident = $name:literal in $file:ident,
        $traits:expr,
        prompts { $($prompts:tt)* }
    )*) => {
        /// Makes one text of the answers, of which there is at least one.
        pub(crate) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
            match context.plan.strategy {
                $( Strategy::$strategy => $file::decide(context, answers).await, )*
            }
        }
    };
}

strategies!(define);
