//! [`Statistics`]: figures over the runs of a principal.

use std::sync::Arc;

use parallel_llm_store::Store;

use crate::access::Principal;
use crate::lazy::Lazy;

/// Sums and shares over many runs.
#[derive(Clone)]
pub struct Statistics {
    pub(crate) store: Arc<Lazy<Store>>,
    pub(crate) principal: Principal,
}
