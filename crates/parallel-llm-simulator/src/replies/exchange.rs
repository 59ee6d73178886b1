//! One request from its arrival to the last byte of its reply, and its entries in log and ledger.
//!
//! An exchange is settled exactly once. Dropping an unsettled one means that the client hung up.

use std::sync::Arc;

use bytes::Bytes;

use super::reply::{Head, Reply};
use crate::state::account::Account;
use crate::state::ledger::{Bill, Ending};
use crate::state::record::RecordedRequest;

/// A sequence number that no logged request has.
const UNLOGGED: u64 = u64::MAX;

/// A request being answered.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) account: Arc<Account>,
    pub(crate) sequence: u64,
    counted: bool,
    bill: Option<Box<Bill>>,
    tokens_sent: u64,
    settled: bool,
}

impl Exchange {
    /// Logs a request that has arrived.
    pub(crate) fn open(account: &Arc<Account>, request: RecordedRequest) -> Self {
        let sequence = account.log().open(request);
        let account = Arc::clone(account);
        Self { account, sequence, counted: false, bill: None, tokens_sent: 0, settled: false }
    }

    /// A request that is neither logged nor charged.
    pub(crate) fn unlogged(account: &Arc<Account>) -> Self {
        let account = Arc::clone(account);
        Self { account, sequence: UNLOGGED, counted: false, bill: None, tokens_sent: 0, settled: true }
    }

    /// Logs the body of the request.
    pub(crate) fn body(&self, body: Bytes) {
        self.account.log().keep_body(self.sequence, body);
    }

    /// Logs the requested slug, and counts the request as in flight.
    pub(crate) fn chat(&mut self, slug: Option<&str>, known: bool) {
        self.counted = true;
        let mut log = self.account.log();
        log.enter();
        let counted_as = slug.filter(|_| known).unwrap_or("unknown");
        if let Some(count) = log.stats.per_model.get_mut(counted_as) {
            *count += 1;
        } else {
            log.stats.per_model.insert(counted_as.to_owned(), 1);
        }
        if let Some(entry) = log.entry(self.sequence) {
            entry.request.model = slug.map(str::to_owned);
        }
    }

    /// Logs the head of the reply.
    pub(crate) fn begin(&mut self, reply: &mut Reply) {
        self.bill = reply.bill.take();
        let Head::Status(status, headers) = &reply.head else { return };
        let now_us = self.account.clock.micros();
        let mut log = self.account.log();
        let Some(entry) = log.entry(self.sequence) else { return };
        entry.request.status = Some(status.as_u16());
        entry.request.first_byte_us = Some(now_us);
        entry.request.provider = self.bill.as_ref().map(|bill| bill.provider.to_owned());
        let id = headers.iter().find(|(name, _)| name == "x-generation-id").map(|(_, value)| value);
        let id = id.and_then(|id| id.to_str().ok()).map(str::to_owned);
        entry.request.generation_id = id.or_else(|| Some(self.bill.as_ref()?.generation_id.clone()));
    }

    /// Counts tokens handed to the connection.
    pub(crate) fn sent(&mut self, tokens: u64) {
        self.tokens_sent += tokens;
    }

    /// Settles an exchange whose whole reply was handed to the connection.
    pub(crate) fn complete(&mut self) {
        self.settle(true, false);
    }

    /// Settles an exchange that the simulator broke off on purpose.
    pub(crate) fn broken(&mut self) {
        self.settle(false, false);
    }

    fn settle(&mut self, complete: bool, cancelled: bool) {
        if std::mem::replace(&mut self.settled, true) {
            return;
        }
        let at_us = self.account.clock.micros();
        let ending = Ending { tokens_sent: self.tokens_sent, complete, cancelled, at_us };
        if let Some(bill) = self.bill.take() {
            self.account.ledger().charge(*bill, ending);
        }
        let mut log = self.account.log();
        if self.counted {
            log.leave();
        }
        log.stats.client_cancelled += u64::from(cancelled);
        if let Some(entry) = log.entry(self.sequence) {
            entry.request.last_byte_us = Some(at_us);
            entry.request.client_cancelled = cancelled;
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.settle(false, true);
    }
}
