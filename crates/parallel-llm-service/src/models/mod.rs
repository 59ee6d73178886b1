//! Models: which there are, what they cost, and whether those of the settings are still offered.

mod cached_names;
pub(crate) mod catalogue;
pub(crate) mod check;
pub(crate) mod find;
mod local;
mod overview;
pub(crate) mod providers;

pub use catalogue::{Catalogues, Fetch, KeyUse};
pub use check::{Present, RollCall, Standing};
pub use find::{FoundModels, ListLine, ModelLine, ModelQuery, ModelSort};
pub use local::LocalServer;
pub use overview::Overview;
