//! The lineage of a question that came over HTTP: what its run passes on to the calls it makes.
//!
//! It changes no answer, so it is no part of the plan hash.

use serde::{Deserialize, Serialize};

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
}
