//! What all requests share: models and prices, the clock, the ledger, and the log of requests.

pub(crate) mod account;
pub(crate) mod catalogue;
pub(crate) mod clock;
pub(crate) mod ledger;
pub(crate) mod money;
pub(crate) mod record;
