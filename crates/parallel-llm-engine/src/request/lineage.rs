//! The lineage of a question that came over HTTP or in a batch: what its run passes on to the calls it makes.
//!
//! It changes no answer, so it is no part of the plan hash.

use serde::{Deserialize, Serialize};

use crate::value::id::BatchId;
use crate::value::trace::TraceContext;

/// The header with [`Lineage::via`], which one server sends and the next one reads.
pub const VIA_HEADER: &str = "x-parallel-llm-via";

/// Where a question comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// The servers of this program that it passed through, oldest first, each by the id of its process. A run asked of a
    /// server calls with that server's id added, so that a panel that is asked by itself is found out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
    /// The caller's place in its trace, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
    /// The batch and the line that the question is from. Nobody waits for its answer alone, so its calls give way to
    /// others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchLine>,
}

/// A line of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchLine {
    /// The batch.
    pub id: BatchId,
    /// The number of the line in its file, from 1.
    pub line: u64,
}
