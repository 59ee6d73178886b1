//! A value as `config show` tells it.

use super::origin::Origin;

/// A resolved value, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveValue {
    /// The name of the setting, with its table if it is in one.
    pub name: String,
    /// Its text form; for a secret only whether it is set.
    pub value: String,
    /// Its origin.
    pub origin: Origin,
}
