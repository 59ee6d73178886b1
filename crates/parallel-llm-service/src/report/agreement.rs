//! How far the answers agree: who says the same, what that is worth as votes, and what the one who read them all says they
//! agree and differ in.

use std::collections::BTreeMap;

use parallel_llm_engine::agreement::{Agreement, Cluster};
use parallel_llm_engine::prompt::reply::{Analysis, Remark};
use parallel_llm_engine::run::Run;
use parallel_llm_engine::run::analysis::{self, ClaimStatus};
use parallel_llm_engine::run::calibration::{ASKED_MIN, Band, Confidence, Row, Table, Why};
use parallel_llm_engine::run::novelty::{self, Novelty};
use parallel_llm_engine::{Outcome, SeatNumber, agreement::votes};
use schemars::JsonSchema;
use serde::Serialize;

/// Where the correlations come from by which votes are counted.
const PRIOR: &str = "prior";
/// The band where no table tells how often such answers were right.
const UNCALIBRATED: &str = "uncalibrated";

/// Which answers say the same: what they come to, where the question has one short right answer or the strategy has them read,
/// else letter by letter.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AgreementReport {
    /// The most that do.
    pub equal: usize,
    /// Of how many.
    pub of: usize,
    /// Who says what, the largest cluster first; empty where all answers to an open question differ.
    pub clusters: Vec<ClusterReport>,
    /// Seats whose answers do not say plainly what they come to, though the question or the strategy asks for it.
    pub unread: Vec<u8>,
    /// The part of the answers in the largest cluster; null where there are no clusters.
    pub share: Option<f64>,
    /// How far the answers are spread over clusters, in bits: 0 where all say the same. One that could not be read is a
    /// cluster of its own. Null where there are no clusters.
    pub entropy_bits: Option<f64>,
    /// How many independent votes the answers are worth; null where it is not known whose they are.
    pub effective_votes: Option<EffectiveVotes>,
    /// What the model that read them all says they agree and differ in; none of its fields where there is no such model, or
    /// where its words are not kept.
    #[serde(flatten)]
    pub analysis: Option<AnalysisReport>,
    /// What of a fused text stands in no answer; left out where nothing was fused, or where texts are not kept or too long
    /// to be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub novel: Option<NovelReport>,
}

/// Answers that say the same.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClusterReport {
    /// What they say, such as `B`, `42` or `yes`; null where they are the same letter by letter.
    pub value: Option<String>,
    /// Whose they are.
    pub seats: Vec<u8>,
}

/// How many independent votes answers are worth. Models err together, so that it is less than there are, and one model asked
/// several times is one vote.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EffectiveVotes {
    /// All that were considered.
    pub panel: f64,
    /// Those of the largest cluster; null where there is none.
    pub largest: Option<f64>,
    /// `prior`: reckoned with correlations measured elsewhere, not on your questions.
    pub source: String,
}

/// What the model that read all answers says of them: its opinion, in its words, checked only for whom it names.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AnalysisReport {
    /// What the answers say. The lists below name claims by their place here, counted from 0.
    pub claims: Vec<ClaimReport>,
    /// Claims that all answers support and none contradicts.
    pub consensus: Vec<usize>,
    /// Claims that some answer contradicts.
    pub contradictions: Vec<usize>,
    /// Claims of one answer alone, which no other contradicts.
    pub unique_points: Vec<usize>,
    /// The strongest views that were not followed, and why.
    pub dissent: Vec<RemarkReport>,
    /// Answers that nothing was taken from, and why.
    pub discarded: Vec<RemarkReport>,
    /// What it thinks that no answer covers.
    pub blind_spots: Vec<String>,
}

/// One thing that answers say.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClaimReport {
    /// What.
    pub text: String,
    /// Seats that say so.
    pub supported_by: Vec<u8>,
    /// Seats that say otherwise.
    pub contradicted_by: Vec<u8>,
    /// `kept`, `changed` or `dropped` in the final text; null where that is not told.
    pub verdict: Option<String>,
    /// Why; may be empty.
    pub reason: String,
}

/// What is said of one answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RemarkReport {
    /// Whose.
    pub seat: u8,
    /// What.
    pub text: String,
}

/// What of a fused text stands in none of the answers, those of every layer included, nor in the question. By wording alone.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NovelReport {
    /// The part of its sentences and list items that share no three words in a row with them: 0 none, 1 all.
    pub share: f64,
    /// The first of these.
    pub passages: Vec<String>,
    /// What the text comes to, where the question has one short right answer and no answer comes to that; null elsewhere.
    pub value: Option<String>,
}

/// How sure one may be of the answer, as far as somebody has measured how often such answers are right. Its counts are left
/// out where nobody has.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ConfidenceReport {
    /// `high`, `medium` or `low`, by where the interval of the share begins; `uncalibrated` where no table tells how often
    /// answers with such agreement are right, or where it tells too little.
    pub band: String,
    /// What there is to go by.
    pub basis: String,
    /// The name of the calibration set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// The share of such answers that were right there: 0 none, 1 all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right_share: Option<f64>,
    /// Where the 95 % interval of that share begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Where it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Of how many questions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<u32>,
}

impl AgreementReport {
    pub(super) fn of(run: &Run) -> Option<Self> {
        let outcome = run.outcome.as_ref()?;
        let agreement = outcome.agreement.as_ref();
        if agreement.is_none() && outcome.considered.len() < 2 {
            return None;
        }
        let cluster = |Cluster { value, seats: whose }: &Cluster| ClusterReport {
            value: value.clone(),
            seats: seats(whose),
        };
        let clusters = agreement.map(|agreement| agreement.clusters.as_slice()).unwrap_or_default();
        let counted = agreement.filter(|agreement| !agreement.clusters.is_empty());
        Some(Self {
            equal: agreement.map_or(1, |agreement| agreement.equal),
            of: agreement.map_or(outcome.considered.len(), |agreement| agreement.of),
            clusters: clusters.iter().map(cluster).collect(),
            unread: agreement.map(|agreement| seats(&agreement.unread)).unwrap_or_default(),
            share: counted.map(|agreement| rounded(agreement.equal as f64 / agreement.of as f64)),
            entropy_bits: counted.map(entropy_bits),
            effective_votes: EffectiveVotes::of(run, outcome, clusters.first()),
            analysis: analysis::of(run).map(|analysis| AnalysisReport::of(&analysis, outcome)),
            novel: novelty::of(run).map(NovelReport::of),
        })
    }
}

impl EffectiveVotes {
    fn of(run: &Run, outcome: &Outcome, largest: Option<&Cluster>) -> Option<Self> {
        let count = |seats: &[SeatNumber]| {
            let models: Vec<_> =
                seats.iter().filter_map(|seat| run.seat(*seat)).map(|view| &view.model).collect();
            votes::effective(&models)
        };
        (!outcome.considered.is_empty()).then(|| Self {
            panel: count(&outcome.considered),
            largest: largest.map(|cluster| count(&cluster.seats)),
            source: PRIOR.to_owned(),
        })
    }
}

impl AnalysisReport {
    fn of(analysis: &Analysis, outcome: &Outcome) -> Self {
        let claims = analysis.claims.iter().map(|claim| ClaimReport {
            text: claim.text.clone(),
            supported_by: seats(&claim.supported_by),
            contradicted_by: seats(&claim.contradicted_by),
            verdict: claim.verdict.map(|verdict| verdict.as_str().to_owned()),
            reason: claim.reason.clone(),
        });
        // Who did not see an answer cannot say that it agrees.
        let answers =
            outcome.reading.as_ref().map_or(outcome.considered.len(), |reading| reading.shown.len());
        let standings: Vec<ClaimStatus> =
            analysis.claims.iter().map(|claim| ClaimStatus::of(claim, answers)).collect();
        let those = |wanted: ClaimStatus| {
            let numbered = standings.iter().enumerate().filter(|(_, standing)| **standing == wanted);
            numbered.map(|(index, _)| index).collect()
        };
        Self {
            claims: claims.collect(),
            consensus: those(ClaimStatus::Consensus),
            contradictions: those(ClaimStatus::Contradiction),
            unique_points: those(ClaimStatus::Unique),
            dissent: analysis.dissent.iter().map(RemarkReport::of).collect(),
            discarded: analysis.discarded.iter().map(RemarkReport::of).collect(),
            blind_spots: analysis.blind_spots.clone(),
        }
    }

    /// The claims of one of its lists.
    pub fn those<'a>(&'a self, list: &'a [usize]) -> impl Iterator<Item = &'a ClaimReport> {
        list.iter().filter_map(|index| self.claims.get(*index))
    }
}

impl RemarkReport {
    fn of(remark: &Remark) -> Self {
        Self { seat: remark.seat.0, text: remark.text.clone() }
    }
}

impl NovelReport {
    fn of(novelty: Novelty) -> Self {
        Self { share: novelty.share, passages: novelty.passages, value: novelty.value }
    }
}

impl ConfidenceReport {
    /// How sure one may be of an answer with this agreement.
    pub(super) fn of(agreement: &AgreementReport, confidence: Confidence<'_>) -> Self {
        let basis = match agreement.clusters.as_slice() {
            [] if !agreement.unread.is_empty() => {
                format!("a question with a short answer, and of {} answers none could be read", agreement.of)
            }
            [] => format!("{} answers to an open question, which are not counted", agreement.of),
            _ => format!("{} of {} agree", agreement.equal, agreement.of),
        };
        match confidence {
            Confidence::Counted { band, table, row } => Self::counted(&basis, band, table, row),
            Confidence::Uncalibrated(why) => {
                // That there is nothing to count has been said.
                let why = reason(why).filter(|_| !agreement.clusters.is_empty());
                Self::uncalibrated([Some(basis), why].into_iter().flatten().collect::<Vec<_>>().join("; "))
            }
        }
    }

    fn uncalibrated(basis: String) -> Self {
        let band = UNCALIBRATED.to_owned();
        Self { band, basis, set: None, right_share: None, low: None, high: None, asked: None }
    }

    fn counted(basis: &str, band: Band, table: &Table, row: &Row) -> Self {
        let (share, [low, high]) = (row.share(), row.interval());
        let [right, from, to] = [share, low, high].map(|share| share * 100.0);
        let described = format!(
            "in calibration set `{}` ({}) such answers were right {right:.0} % [{from:.0}–{to:.0}], n={}",
            table.set, table.made, row.asked
        );
        Self {
            band: band.as_str().to_owned(),
            basis: format!("{basis}; {described}"),
            set: Some(table.set.clone()),
            right_share: Some(rounded(share)),
            low: Some(rounded(low)),
            high: Some(rounded(high)),
            asked: Some(row.asked),
        }
    }

    /// The band with what it rests on, for people.
    pub fn described(&self) -> String {
        format!("confidence: {} ({})", self.band, self.basis)
    }

    /// Whether it rests on answers that were counted.
    pub const fn is_calibrated(&self) -> bool {
        self.set.is_some()
    }
}

/// Why no table says how sure one may be, where there is one.
fn reason(why: Why<'_>) -> Option<String> {
    Some(match why {
        Why::NoTable => return None,
        Why::Unusable => "the calibration table cannot be used".to_owned(),
        Why::Open => "calibration tells of questions with one short right answer".to_owned(),
        Why::NotKept => "the words that would have to be compared are not kept".to_owned(),
        Why::Unsaid => "the text does not say plainly what it comes to".to_owned(),
        Why::Otherwise => "the text says something else than the most answers".to_owned(),
        Why::NoRow(table) => format!("calibration set `{}` has no such answers", table.set),
        Why::TooFew(table, row) => {
            format!(
                "calibration set `{}` has {} such answers, and {ASKED_MIN} are needed",
                table.set, row.asked
            )
        }
    })
}

/// The entropy of the clusters; an answer that was not read is one of its own.
fn entropy_bits(agreement: &Agreement) -> f64 {
    let sizes = agreement.clusters.iter().map(|cluster| cluster.seats.len());
    let sizes = sizes.chain(std::iter::repeat_n(1, agreement.unread.len()));
    // Equal sizes together, so that a sum of equal parts is exact.
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    sizes.for_each(|size| *counts.entry(size).or_default() += 1);
    let part = |(size, count): (usize, usize)| {
        let share = size as f64 / agreement.of as f64;
        -(count as f64) * share * share.log2()
    };
    rounded(counts.into_iter().map(part).sum::<f64>().abs())
}

fn seats(seats: &[SeatNumber]) -> Vec<u8> {
    seats.iter().map(|seat| seat.0).collect()
}

/// Three places: more would be noise.
fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}
