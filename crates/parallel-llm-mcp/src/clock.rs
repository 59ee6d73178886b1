//! The one place of the program that asks what time it is and draws chance. Both become part of a run's
//! identity; everything after that derives from them.

use std::time::{SystemTime, UNIX_EPOCH};

use parallel_llm_engine::RunId;
use parallel_llm_engine::plan::Identity;

/// Milliseconds since 1970.
#[expect(clippy::disallowed_methods, reason = "this is the program's one clock")]
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A name and a seed no other run has.
pub(crate) fn new_identity() -> std::io::Result<Identity> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).map_err(std::io::Error::from)?;
    let (random, seed) = bytes.split_at(16);
    let random = u128::from_le_bytes(random.try_into().expect("sixteen of twenty-four bytes"));
    let seed = u64::from_le_bytes(seed.try_into().expect("the other eight bytes"));
    Ok(Identity { run_id: RunId::from_parts(unix_ms(), random), seed })
}
