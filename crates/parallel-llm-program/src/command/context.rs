//! What every command works with.

use crate::terminal::console::Console;
use parallel_llm_service::Services;

/// What a command works with.
pub struct CommandContext<'a> {
    /// The service over the settings in force.
    pub service: &'a Services,
    /// The standard streams.
    pub console: Console,
}
