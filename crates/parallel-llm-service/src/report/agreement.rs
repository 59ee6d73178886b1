//! How far the answers agree: groups of equal answers, their weight as votes, and a reader's analysis.

use std::collections::BTreeMap;

use parallel_llm_engine::agreement::{Agreement, Cluster};
use parallel_llm_engine::prompt::reply::{Change, Claim};
use parallel_llm_engine::run::calibration::{ASKED_MIN, Band, Confidence, Row, Table, Why};
use parallel_llm_engine::run::novelty::{self, Novelty};
use parallel_llm_engine::run::{Run, analysis};
use parallel_llm_engine::{Outcome, SeatNumber, agreement::votes};
use schemars::JsonSchema;
use serde::Serialize;

/// The source of the correlations by which votes are counted.
const PRIOR: &str = "prior";
/// The band of a confidence without a calibration table.
const UNCALIBRATED: &str = "uncalibrated";

/// Which answers are equal: by the value they come to, if the question has one short right answer or the strategy has
/// them read, else letter by letter.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AgreementReport {
    /// The size of the largest group of equal answers.
    pub equal: usize,
    /// The number of answers compared.
    pub of: usize,
    /// The groups of equal answers, the largest first; empty if all answers to an open question differ.
    pub clusters: Vec<ClusterReport>,
    /// Seats whose answers give no plain value, although the question or the strategy asks for one.
    pub unread: Vec<u8>,
    /// The model that says that values which are written differently mean the same; left out if no group has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grouped_by: Option<String>,
    /// The share of the answers in the largest cluster; null without clusters.
    pub share: Option<f64>,
    /// The entropy over the clusters, in bits: 0 if all answers are equal. An answer without a plain value is a cluster
    /// of its own. Null without clusters.
    pub entropy_bits: Option<f64>,
    /// The number of independent votes that the answers are worth; null if their models are unknown.
    pub effective_votes: Option<EffectiveVotes>,
    /// The analysis by the model that read all answers; its fields are absent without such a model or if its text is
    /// not kept.
    #[serde(flatten)]
    pub analysis: Option<AnalysisReport>,
    /// The new wording of a fused text; left out if nothing was fused, or if texts are not kept or too long to compare.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub novel: Option<NovelReport>,
}

/// A group of equal answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClusterReport {
    /// Their value, such as `B`, `42` or `yes`; null if they are equal letter by letter.
    pub value: Option<String>,
    /// Other values that mean the same, in the opinion of the model in `grouped_by`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Their seats.
    pub seats: Vec<u8>,
}

impl ClusterReport {
    /// All its values.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.value.iter().chain(&self.also).map(String::as_str)
    }
}

/// The number of independent votes that answers are worth. Models err together, so it is less than their number, and
/// several samples of one model are one vote.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EffectiveVotes {
    /// The votes of all considered answers.
    pub panel: f64,
    /// The votes of the largest cluster; null without clusters.
    pub largest: Option<f64>,
    /// `prior`: computed with correlations measured elsewhere, not on your questions.
    pub source: String,
}

/// What the model that read all answers reports of its text: where it started, what it changed, and which answers stand behind
/// a claim. It is that model's opinion; only the seats it names are checked.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AnalysisReport {
    /// The model whose opinion this is.
    pub read_by: String,
    /// What it changed in the answer it started from.
    pub changes: Vec<ChangeReport>,
    /// The claims its text rests on, each with the answers for and against it.
    pub claims: Vec<ClaimReport>,
    /// The strongest view it did not follow, and why; may be empty.
    pub dissent: String,
}

/// A change of the answer that a text started from.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChangeReport {
    /// What was changed.
    pub what: String,
    /// The reason; may be empty.
    pub why: String,
    /// Seats whose answers it was taken from.
    pub from: Vec<u8>,
}

/// A claim, and which answers stand behind it in the model's opinion.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClaimReport {
    /// The claim.
    pub text: String,
    /// Seats that make it.
    pub r#for: Vec<u8>,
    /// Seats that contradict it. None of them is in `for`.
    pub against: Vec<u8>,
}

/// The sentences of a fused text whose wording is neither in an answer of any layer nor in the question. A known thought in
/// other words counts as new.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NovelReport {
    /// The share of its sentences and list items that share no three consecutive words with them: 0 none, 1 all.
    pub share: f64,
    /// The first of these sentences and items.
    pub passages: Vec<String>,
    /// The text's value, if the question has one short right answer and no answer comes to it; else null.
    pub value: Option<String>,
}

/// The confidence in the answer, from a measured share of right answers. Its counts are left out without such a
/// measurement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ConfidenceReport {
    /// `high`, `medium` or `low`, by the lower end of the interval; `uncalibrated` without a table for such agreement,
    /// or with too few questions in it.
    pub band: String,
    /// The reason for the band.
    pub basis: String,
    /// The name of the calibration set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// The share of such answers that were right in the set: 0 none, 1 all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right_share: Option<f64>,
    /// The lower end of the share's 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The number of questions measured.
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
        let cluster = |Cluster { value, also, seats: whose }: &Cluster| ClusterReport {
            value: value.clone(),
            also: also.clone(),
            seats: seats(whose),
        };
        let clusters = agreement.map(|agreement| agreement.clusters.as_slice()).unwrap_or_default();
        let counted = agreement.filter(|agreement| !agreement.clusters.is_empty());
        Some(Self {
            equal: agreement.map_or(1, |agreement| agreement.equal),
            of: agreement.map_or(outcome.considered.len(), |agreement| agreement.of),
            clusters: clusters.iter().map(cluster).collect(),
            unread: agreement.map(|agreement| seats(&agreement.unread)).unwrap_or_default(),
            grouped_by: agreement.and_then(|agreement| Some(agreement.grouped_by.as_ref()?.to_string())),
            share: counted.map(|agreement| rounded(agreement.equal as f64 / agreement.of as f64)),
            entropy_bits: counted.map(entropy_bits),
            effective_votes: EffectiveVotes::of(run, outcome, clusters.first()),
            analysis: AnalysisReport::of(run, outcome),
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
    fn of(run: &Run, outcome: &Outcome) -> Option<Self> {
        let (analysis, reading) = (analysis::of(run)?, outcome.reading.as_ref()?);
        let change = |change: &Change| ChangeReport {
            what: change.what.clone(),
            why: change.why.clone(),
            from: seats(&change.from),
        };
        let claim = |claim: &Claim| ClaimReport {
            text: claim.text.clone(),
            r#for: seats(&claim.r#for),
            against: seats(&claim.against),
        };
        Some(Self {
            read_by: run.view(reading.by)?.model.to_string(),
            changes: analysis.changes.iter().map(change).collect(),
            claims: analysis.claims.iter().map(claim).collect(),
            dissent: analysis.dissent,
        })
    }

    /// The claims that an answer contradicts.
    pub fn contradicted(&self) -> impl Iterator<Item = &ClaimReport> {
        self.claims.iter().filter(|claim| !claim.against.is_empty())
    }
}

impl NovelReport {
    fn of(novelty: Novelty) -> Self {
        Self { share: novelty.share, passages: novelty.passages, value: novelty.value }
    }
}

impl ConfidenceReport {
    /// The confidence in an answer with this agreement.
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
                // The basis already says that there is nothing to count.
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

    /// The band and its basis as text.
    pub fn described(&self) -> String {
        format!("confidence: {} ({})", self.band, self.basis)
    }

    /// Whether the band comes from a calibration table.
    pub const fn is_calibrated(&self) -> bool {
        self.set.is_some()
    }
}

/// Why no table gives a confidence; `None` if there is no table.
fn reason(why: Why<'_>) -> Option<String> {
    Some(match why {
        Why::NoTable => return None,
        Why::Unusable => "the calibration table cannot be used".to_owned(),
        Why::Open => "calibration applies only to questions with one short right answer".to_owned(),
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

/// The entropy of the clusters in bits; an unread answer is a cluster of its own.
fn entropy_bits(agreement: &Agreement) -> f64 {
    let sizes = agreement.clusters.iter().map(|cluster| cluster.seats.len());
    let sizes = sizes.chain(std::iter::repeat_n(1, agreement.unread.len()));
    // Equal sizes are counted together, so that a sum of equal parts is exact.
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

/// Rounds to three decimal places: more would be noise.
fn rounded(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}
