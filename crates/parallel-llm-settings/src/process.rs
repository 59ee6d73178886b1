//! The id of this process, by which a question is recognized that comes back to the server that asked it.

use std::sync::OnceLock;

use crate::clock;

/// The id: letters and digits, different in every process, and the same for as long as it runs.
pub fn id() -> &'static str {
    static ID: OnceLock<String> = OnceLock::new();
    ID.get_or_init(|| match clock::new_identity() {
        Ok(identity) => identity.run_id.to_string(),
        // Without randomness nothing can be asked anyway.
        Err(_) => format!("{}T{}", std::process::id(), clock::unix_ms()),
    })
}
