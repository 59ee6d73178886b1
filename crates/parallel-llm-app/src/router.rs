//! Callers of a library's user beside the providers of the settings.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parallel_llm_engine::port::{Call, Caller, Charge, Permit};
use parallel_llm_engine::{Failure, ModelRef, ProviderId};
use parallel_llm_provider::Provider;

/// The caller of every provider: the user's own where there is one, else ours.
pub(crate) fn caller(ours: Provider, own: &BTreeMap<ProviderId, Arc<dyn Caller>>) -> Arc<dyn Caller> {
    if own.is_empty() { Arc::new(ours) } else { Arc::new(Router { ours, own: own.clone() }) }
}

/// Routes each call by its provider.
struct Router {
    ours: Provider,
    own: BTreeMap<ProviderId, Arc<dyn Caller>>,
}

impl Router {
    fn of(&self, model: &ModelRef) -> &dyn Caller {
        self.own.get(&model.provider).map_or(&self.ours, |own| &**own)
    }
}

impl Caller for Router {
    fn admit(&self, call: Call) -> BoxFuture<'static, Result<Permit, Failure>> {
        self.of(&call.model).admit(call)
    }

    fn look_up(
        &self,
        model: &ModelRef,
        generation_id: &str,
    ) -> BoxFuture<'static, Result<Option<Charge>, Failure>> {
        self.of(model).look_up(model, generation_id)
    }
}
