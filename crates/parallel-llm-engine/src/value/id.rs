//! The ids of runs and batches: ULIDs, so ids sort by time and do not collide.

use serde::{Deserialize, Serialize};
use ulid::Ulid;

macro_rules! ids {
    ($( $(#[$doc:meta])* $name:ident, $is:literal; )*) => { $(
        $(#[$doc])*
        ///
        /// Written as 26 characters of Crockford's base 32. Parsing accepts nothing else, so an id is always safe as a file
        /// name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Ulid);

        impl $name {
            /// Makes an id from milliseconds since 1970 and eighty random bits (higher bits are dropped).
            pub const fn from_parts(unix_ms: u64, random: u128) -> Self {
                Self(Ulid::from_parts(unix_ms, random))
            }

            /// Its bits: 48 of milliseconds since 1970, then eighty random ones.
            pub const fn bits(self) -> u128 {
                self.0.0
            }

            /// When the id was made, in milliseconds since 1970.
            pub const fn unix_ms(self) -> u64 {
                self.0.timestamp_ms()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(out)
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Ulid::from_string(text).map(Self).map_err(|_| format!(concat!("`{}` is not ", $is), text))
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }
    )* };
}

ids! {
    /// The id of a run.
    RunId, "a run id";
    /// The id of a batch: a file of questions, each of which becomes a run.
    BatchId, "a batch id";
}
