//! The users' approvals that are waited for, where a caller comes back with the decision in a call of its own.
//!
//! What such a call brings is hostile until shown otherwise. What always holds: an approval is for one call of one
//! principal with the same arguments, for one amount, once, and only for a while; whatever else comes back approves
//! nothing. The caller carries a random word and nothing else, so there is nothing in it to forge.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use super::order::{Decision, Excess};
use crate::access::Principal;

/// How long a user may take to decide: a coffee, not a night in which prices change.
pub const DECISION_MAX: Duration = Duration::from_secs(10 * 60);
/// Approvals that are waited for at once. Beyond it the oldest is forgotten, and can be asked for again.
const OPEN_MAX: usize = 256;
/// Random bytes of the word: nobody guesses one within its ten minutes.
const WORD_BYTES: usize = 32;

/// A call as far as an approval is bound to it: who makes it, and everything it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(blake3::Hash);

/// The approvals that are waited for, asked and given on behalf of one principal.
#[derive(Clone)]
pub struct Approvals {
    pub(crate) all: OpenApprovals,
    pub(crate) principal: Principal,
}

/// Those of all principals of one process.
pub(crate) type OpenApprovals = Arc<Mutex<VecDeque<Open>>>;

/// One of them. The word itself is kept nowhere.
pub(crate) struct Open {
    word: blake3::Hash,
    call: Fingerprint,
    excess: Excess,
    until: Instant,
}

/// The word a call brings is none of this process for this very call, or not any more. Which of these it is, is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownApproval;

impl Approvals {
    /// What an approval of this call is bound to. What is equal has to be written equally: maps in order of their keys.
    pub fn fingerprint(&self, call: &impl Serialize) -> Fingerprint {
        let mut hasher = blake3::Hasher::new();
        // Not by way of a text, which may be as long as all attachments.
        serde_json::to_writer(&mut hasher, &(self.principal.name(), call))
            .expect("it is plain data with string keys, and hashing cannot fail");
        Fingerprint(hasher.finalize())
    }

    /// The word to come back with. `None` where the system gives no random bytes; then nobody is asked that way.
    pub fn ask(&self, call: Fingerprint, excess: Excess) -> Option<String> {
        let mut bytes = [0; WORD_BYTES];
        getrandom::fill(&mut bytes).ok()?;
        let word = blake3::Hash::from_bytes(bytes).to_hex().to_string();
        let until = Instant::now() + DECISION_MAX;
        let mut open = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() == OPEN_MAX {
            open.pop_front();
        }
        open.push_back(Open { word: blake3::hash(word.as_bytes()), call, excess, until });
        Some(word)
    }

    /// What the user decided on this call, by the word it brings. Without a decision the question stays open, and is
    /// asked anew.
    pub fn redeem(
        &self,
        call: Fingerprint,
        word: &str,
        approves: Option<bool>,
    ) -> Result<Option<Decision>, UnknownApproval> {
        let word = blake3::hash(word.as_bytes());
        let mut open = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|open| open.until > Instant::now());
        // Hashes are compared in constant time, and a word that somebody else brings stays good for its own call.
        let at =
            open.iter().position(|open| open.word == word && open.call == call).ok_or(UnknownApproval)?;
        let Some(approves) = approves else { return Ok(None) };
        let Open { excess, .. } = open.remove(at).ok_or(UnknownApproval)?;
        Ok(Some(if approves { Decision::Approved(excess) } else { Decision::Declined(excess) }))
    }
}

#[cfg(test)]
mod tests {
    use parallel_llm_engine::PicoUsd;

    use super::*;
    use crate::access::Grant;

    const EXCESS: Excess = Excess {
        worst_case: PicoUsd::from_usd(5),
        amount: PicoUsd::from_usd(5),
        limit: PicoUsd::from_usd(3),
    };

    fn of_owner() -> Approvals {
        Approvals { all: OpenApprovals::default(), principal: Principal::Owner }
    }

    /// The same process, asked by another.
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
        let word = approvals.ask(call("p"), EXCESS).unwrap();
        let unknown = Err(UnknownApproval);
        assert_eq!(approvals.redeem(call("q"), &word, Some(true)), unknown, "another question");
        let holder = of_holder(&approvals);
        let theirs = holder.fingerprint(&("process_prompt", "p"));
        assert_eq!(holder.redeem(theirs, &word, Some(true)), unknown, "another principal");
        let flipped = word.replace(&word[10..11], if &word[10..11] == "0" { "1" } else { "0" });
        assert_eq!(approvals.redeem(call("p"), &flipped, Some(true)), unknown, "tampered with");
        let elsewhere = of_owner().ask(call("p"), EXCESS).unwrap();
        assert_eq!(approvals.redeem(call("p"), &elsewhere, Some(true)), unknown, "another process's");
        assert_eq!(approvals.redeem(call("p"), &word, None), Ok(None), "nothing is decided");
        let first = approvals.redeem(call("p"), &word, Some(true));
        assert_eq!(first, Ok(Some(Decision::Approved(EXCESS))));
        assert_eq!(approvals.redeem(call("p"), &word, Some(true)), unknown, "a second time");
        let word = approvals.ask(call("p"), EXCESS).unwrap();
        let declined = approvals.redeem(call("p"), &word, Some(false));
        assert_eq!(declined, Ok(Some(Decision::Declined(EXCESS))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_may_take_ten_minutes_to_decide_and_no_longer() {
        let approvals = of_owner();
        let decided_after_ms = async |ms| {
            let word = approvals.ask(call("p"), EXCESS).unwrap();
            tokio::time::advance(Duration::from_millis(ms)).await;
            approvals.redeem(call("p"), &word, Some(true))
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
        assert_eq!(approvals.redeem(call("p"), &first, Some(false)), Err(UnknownApproval));
    }
}
