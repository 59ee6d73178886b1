//! Who listens for changes, and is told of them.

use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::service::{SubscriptionContext, SubscriptionSink};

/// The most that may listen at once; the oldest is told nothing more.
const LISTENERS_MAX: usize = 64;

/// Everybody who listens.
#[derive(Clone, Default)]
pub(super) struct Listeners(Arc<Mutex<Vec<SubscriptionSink>>>);

impl Listeners {
    /// Keeps one until it leaves.
    pub(super) async fn keep(&self, context: &SubscriptionContext) {
        let id = context.sink().id().clone();
        self.change(|sinks| {
            if sinks.len() == LISTENERS_MAX {
                sinks.remove(0);
            }
            sinks.push(context.sink().clone());
        });
        context.cancelled().await;
        self.change(|sinks| sinks.retain(|sink| *sink.id() != id));
    }

    /// Tells everybody that the list of tools is another. Who did not ask for it is told nothing, as the library sees to.
    pub(super) async fn tools_changed(&self) {
        for sink in self.change(|sinks| sinks.clone()) {
            // Who has left need not be told.
            let _ = sink.notify_tool_list_changed().await;
        }
    }

    /// The same of prompts.
    pub(super) async fn prompts_changed(&self) {
        for sink in self.change(|sinks| sinks.clone()) {
            // As above.
            let _ = sink.notify_prompt_list_changed().await;
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<SubscriptionSink>) -> T) -> T {
        change(&mut self.0.lock())
    }
}
