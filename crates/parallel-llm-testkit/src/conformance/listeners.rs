//! The clients that are notified of changes.

use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::service::{SubscriptionContext, SubscriptionSink};

/// The most listeners at once; beyond it the oldest is dropped.
const LISTENERS_MAX: usize = 64;

/// All listeners.
#[derive(Clone, Default)]
pub(super) struct Listeners(Arc<Mutex<Vec<SubscriptionSink>>>);

impl Listeners {
    /// Keeps a listener until it leaves.
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

    /// Notifies everybody that the list of tools has changed. The library skips those who did not ask for it.
    pub(super) async fn tools_changed(&self) {
        for sink in self.change(|sinks| sinks.clone()) {
            // It may have left.
            let _ = sink.notify_tool_list_changed().await;
        }
    }

    /// The same for prompts.
    pub(super) async fn prompts_changed(&self) {
        for sink in self.change(|sinks| sinks.clone()) {
            // It may have left.
            let _ = sink.notify_prompt_list_changed().await;
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<SubscriptionSink>) -> T) -> T {
        change(&mut self.0.lock())
    }
}
