//! The findings of all checks, as they are shown.

use parallel_llm_engine::value::next::Vocabulary;
use serde::Serialize;

use super::finding::{Finding, Health};
use super::probe::ProbeReport;
use super::remedy::Remedy;

/// The findings of all checks.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnosis {
    /// The version of this format. Fields are added, never changed.
    pub schema: u32,
    /// The version of this program.
    pub version: &'static str,
    /// The worst of all findings.
    pub state: Health,
    /// The duration of the checks, in milliseconds.
    pub elapsed_ms: u64,
    /// The findings in the order of the checks.
    pub findings: Vec<Finding>,
    /// The result of asking each model of the panel; left out if they were not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<ProbeReport>,
}

impl Diagnosis {
    /// Adds findings, such as a door's own.
    pub fn add(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
        self.state = self.findings.iter().map(|finding| finding.state).max().unwrap_or(Health::Ok);
    }

    /// The same with its remedies in a door's vocabulary.
    #[must_use]
    pub fn in_vocabulary(mut self, vocabulary: &Vocabulary) -> Self {
        for finding in &mut self.findings {
            finding.next = finding.next.take().map(|next| Remedy::Text(next.render(vocabulary)));
        }
        self
    }
}
