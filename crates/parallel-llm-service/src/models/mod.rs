//! Models: the lists of models, their prices, and the check of configured models.

mod cached_names;
pub(crate) mod catalogue;
pub(crate) mod check;
mod estimate;
pub(crate) mod find;
pub(crate) mod lists;
mod local;
pub(crate) mod naming;
mod overview;
pub(crate) mod providers;
mod set_price;

use std::sync::Arc;

use crate::access::Principal;
use crate::ports::OpenCircuits;
use check::ConfiguredModels;
use lists::Lists;
use parallel_llm_settings::settings::Settings;

pub use catalogue::{Catalogues, Fetch, KeyUse};
pub use check::{CheckedModel, ModelCheck, ModelState};
pub use find::{FoundModels, ListLine, ModelLine, ModelQuery, ModelSort};
pub use local::LocalServer;
pub use overview::Overview;

/// The models on offer, for one principal.
#[derive(Clone)]
pub struct Models {
    pub(crate) lists: Lists,
    pub(crate) configured: ConfiguredModels,
    pub(crate) circuits: Arc<OpenCircuits>,
    pub(crate) principal: Principal,
}

impl Models {
    fn settings(&self) -> &Settings {
        &self.lists.providers.settings
    }
}
