//! Approvals that users have yet to give, for callers that bring the decision in a second call.
//!
//! The second call is untrusted. Invariants: an approval is for one call of one principal with the same
//! arguments, for one amount, once, and for a limited time; anything else approves nothing. The caller carries only a
//! random token, so there is nothing to forge.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::time::Instant;

use super::order::{ConsentReply, Decision, Excess};
use crate::access::Principal;

/// The longest time a user may take to decide: long enough for a coffee, too short for prices to change.
pub const DECISION_MAX: Duration = Duration::from_secs(10 * 60);
/// The most open approvals. Beyond it the oldest is dropped, and can be asked for again.
const OPEN_MAX: usize = 256;
/// Random bytes of the token: too many to guess within its ten minutes.
const TOKEN_BYTES: usize = 32;

/// Hash of the principal and all arguments of a call, to which an approval is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(blake3::Hash);

/// Open approvals, requested and redeemed by one principal.
#[derive(Clone)]
pub struct Approvals {
    pub(crate) all: OpenApprovals,
    pub(crate) principal: Principal,
}

/// The open approvals of all principals of the process.
pub(crate) type OpenApprovals = Arc<Mutex<VecDeque<Open>>>;

/// An open approval. The token itself is not stored.
pub(crate) struct Open {
    token: blake3::Hash,
    call: Fingerprint,
    excess: Excess,
    until: Instant,
}

/// The token is unknown, belongs to another call, or has expired. The error does not say which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownApproval;

impl Approvals {
    /// The fingerprint of a call. Equal calls must serialize equally: maps in the order of their keys.
    pub fn fingerprint(&self, call: &impl Serialize) -> Fingerprint {
        let mut hasher = blake3::Hasher::new();
        // Hashed as it is written: the text may be as long as all attachments.
        serde_json::to_writer(&mut hasher, &(self.principal.name(), call))
            .expect("it is plain data with string keys, and hashing cannot fail");
        Fingerprint(hasher.finalize())
    }

    /// Opens an approval and returns its token. `None` if the system gives no random bytes; then the user cannot be
    /// asked this way.
    pub fn ask(&self, call: Fingerprint, excess: Excess) -> Option<String> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes).ok()?;
        let token = blake3::Hash::from_bytes(bytes).to_hex().to_string();
        let until = Instant::now() + DECISION_MAX;
        let mut open = self.all.lock();
        if open.len() == OPEN_MAX {
            open.pop_front();
        }
        open.push_back(Open { token: blake3::hash(token.as_bytes()), call, excess, until });
        Some(token)
    }

    /// The user's decision on this call. Without a reply the approval stays open, and the user is asked again.
    pub fn redeem(
        &self,
        call: Fingerprint,
        token: &str,
        reply: Option<ConsentReply>,
    ) -> Result<Option<Decision>, UnknownApproval> {
        let token = blake3::hash(token.as_bytes());
        let mut open = self.all.lock();
        open.retain(|open| open.until > Instant::now());
        // `blake3::Hash` compares in constant time. A token brought by another call stays valid for its own.
        let at =
            open.iter().position(|open| open.token == token && open.call == call).ok_or(UnknownApproval)?;
        let Some(reply) = reply else { return Ok(None) };
        let Open { excess, .. } = open.remove(at).ok_or(UnknownApproval)?;
        Ok(Some(reply.on(excess)))
    }
}

#[cfg(test)]
mod tests {
    use parallel_llm_engine::PicoUsd;

    use super::*;
    use crate::access::Grant;

    const EXCESS: Excess =
        Excess { likely: PicoUsd::from_usd(1), amount: PicoUsd::from_usd(5), limit: PicoUsd::from_usd(3) };

    fn of_owner() -> Approvals {
        Approvals { all: OpenApprovals::default(), principal: Principal::Owner }
    }

    /// The same process with another principal.
    fn of_holder(owner: &Approvals) -> Approvals {
        let grant =
            Grant { name: "h".to_owned(), scopes: Vec::new(), budget_day: None, requests_per_minute: None };
        Approvals { all: Arc::clone(&owner.all), principal: Principal::TokenHolder(Arc::new(grant)) }
    }

    fn call(prompt: &str) -> Fingerprint {
        of_owner().fingerprint(&("process_prompt", prompt))
    }

    #[test]
    fn an_approval_is_for_one_call_once() {
        let approvals = of_owner();
        let token = approvals.ask(call("p"), EXCESS).unwrap();
        let unknown = Err(UnknownApproval);
        assert_eq!(
            approvals.redeem(call("q"), &token, Some(ConsentReply::Approves)),
            unknown,
            "another question"
        );
        let holder = of_holder(&approvals);
        let theirs = holder.fingerprint(&("process_prompt", "p"));
        assert_eq!(holder.redeem(theirs, &token, Some(ConsentReply::Approves)), unknown, "another principal");
        let flipped = token.replace(&token[10..11], if &token[10..11] == "0" { "1" } else { "0" });
        assert_eq!(
            approvals.redeem(call("p"), &flipped, Some(ConsentReply::Approves)),
            unknown,
            "tampered with"
        );
        let elsewhere = of_owner().ask(call("p"), EXCESS).unwrap();
        assert_eq!(
            approvals.redeem(call("p"), &elsewhere, Some(ConsentReply::Approves)),
            unknown,
            "another process's"
        );
        assert_eq!(approvals.redeem(call("p"), &token, None), Ok(None), "nothing is decided");
        let first = approvals.redeem(call("p"), &token, Some(ConsentReply::Approves));
        assert_eq!(first, Ok(Some(Decision::Approved(EXCESS))));
        assert_eq!(
            approvals.redeem(call("p"), &token, Some(ConsentReply::Approves)),
            unknown,
            "a second time"
        );
        let token = approvals.ask(call("p"), EXCESS).unwrap();
        let declined = approvals.redeem(call("p"), &token, Some(ConsentReply::Declines));
        assert_eq!(declined, Ok(Some(Decision::Declined(EXCESS))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_may_take_ten_minutes_to_decide_and_no_longer() {
        let approvals = of_owner();
        let decided_after_ms = async |ms| {
            let token = approvals.ask(call("p"), EXCESS).unwrap();
            tokio::time::advance(Duration::from_millis(ms)).await;
            approvals.redeem(call("p"), &token, Some(ConsentReply::Approves))
        };
        assert_eq!(decided_after_ms(599_990).await, Ok(Some(Decision::Approved(EXCESS))));
        assert_eq!(decided_after_ms(600_010).await, Err(UnknownApproval));
    }

    #[test]
    fn the_oldest_that_is_waited_for_is_forgotten() {
        let approvals = of_owner();
        let first = approvals.ask(call("p"), EXCESS).unwrap();
        for _ in 0..OPEN_MAX {
            approvals.ask(call("p"), EXCESS).unwrap();
        }
        assert_eq!(approvals.redeem(call("p"), &first, Some(ConsentReply::Declines)), Err(UnknownApproval));
    }
}
