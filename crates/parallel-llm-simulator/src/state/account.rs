//! The state that all requests share: configuration, clock, ledger, logs and scripts.
//!
//! Each part has its own lock, held for a few instructions and never across an `await`.

use std::net::SocketAddr;

use parking_lot::{Mutex, MutexGuard};

use super::catalogue::Catalogue;
use super::clock::Clock;
use super::ledger::Ledger;
use super::record::Log;
use crate::behaviour::config::SimulatorConfig;
use crate::behaviour::script_table::ScriptTable;
use crate::behaviour::seed;

/// One simulator's state.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) config: SimulatorConfig,
    pub(crate) clock: Clock,
    pub(crate) catalogue: &'static Catalogue,
    /// The target of `redirect_307`.
    pub(crate) redirect_target: SocketAddr,
    ledger: Mutex<Ledger>,
    log: Mutex<Log>,
    redirect_log: Mutex<Log>,
    scripts: Mutex<ScriptTable>,
}

/// The verdict on the key of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyVerdict {
    Good,
    Bad,
    Missing,
}

impl KeyVerdict {
    /// The word that replaces the key in the log.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Bad => "bad",
            Self::Missing => "none",
        }
    }
}

impl Account {
    /// `redirect_target` is the address of the second listener.
    pub(crate) fn open(mut config: SimulatorConfig, redirect_target: SocketAddr) -> Self {
        if config.api_keys.is_empty() {
            config.api_keys.push(seed::api_key(config.seed));
        }
        Self {
            clock: Clock::start(),
            catalogue: Catalogue::embedded(),
            redirect_target,
            ledger: Mutex::default(),
            log: Mutex::default(),
            redirect_log: Mutex::default(),
            scripts: Mutex::new(ScriptTable::new(&config)),
            config,
        }
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock()
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock()
    }

    /// The log of clients that followed the redirect.
    pub(crate) fn redirect_log(&self) -> MutexGuard<'_, Log> {
        self.redirect_log.lock()
    }

    pub(crate) fn scripts(&self) -> MutexGuard<'_, ScriptTable> {
        self.scripts.lock()
    }

    /// Judges the value of an `Authorization` header or of a plain key header.
    pub(crate) fn judge(&self, authorization: Option<&str>) -> KeyVerdict {
        let Some(value) = authorization.filter(|value| !value.is_empty()) else { return KeyVerdict::Missing };
        let key = value.strip_prefix("Bearer ").unwrap_or(value);
        if self.config.api_keys.iter().any(|known| known == key) { KeyVerdict::Good } else { KeyVerdict::Bad }
    }
}
