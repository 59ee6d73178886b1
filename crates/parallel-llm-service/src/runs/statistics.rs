//! What the runs of a principal come to as numbers.

use std::sync::Arc;

use parallel_llm_store::Store;

use crate::{Later, Principal};

/// Sums and shares over many runs.
#[derive(Clone)]
pub struct Statistics {
    pub(crate) store: Arc<Later<Store>>,
    pub(crate) principal: Principal,
}
