//! What all requests share: the configuration, the clock, the account, the log and the stage.
//!
//! Each part sits behind its own lock, held for a few instructions and never across an `await`.

use std::net::SocketAddr;

use parking_lot::{Mutex, MutexGuard};

use crate::catalogue::Catalogue;
use crate::clock::Clock;
use crate::config::SimulatorConfig;
use crate::ledger::Ledger;
use crate::record::Log;
use crate::seed;
use crate::stage::Stage;

/// One simulator's state.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) config: SimulatorConfig,
    pub(crate) clock: Clock,
    pub(crate) catalogue: &'static Catalogue,
    /// Where the fault `redirect_307` points.
    pub(crate) trap: SocketAddr,
    ledger: Mutex<Ledger>,
    log: Mutex<Log>,
    trap_log: Mutex<Log>,
    stage: Mutex<Stage>,
}

/// What is known about the key of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyVerdict {
    Good,
    Bad,
    Missing,
}

impl KeyVerdict {
    /// The word that stands for the key in the log.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Bad => "bad",
            Self::Missing => "none",
        }
    }
}

impl Account {
    /// `trap` is the address of the second listener.
    pub(crate) fn open(mut config: SimulatorConfig, trap: SocketAddr) -> Self {
        if config.api_keys.is_empty() {
            config.api_keys.push(seed::api_key(config.seed));
        }
        Self {
            clock: Clock::start(),
            catalogue: Catalogue::embedded(),
            trap,
            ledger: Mutex::default(),
            log: Mutex::default(),
            trap_log: Mutex::default(),
            stage: Mutex::new(Stage::new(&config)),
            config,
        }
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock()
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock()
    }

    /// Who followed the redirect.
    pub(crate) fn trap_log(&self) -> MutexGuard<'_, Log> {
        self.trap_log.lock()
    }

    pub(crate) fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock()
    }

    /// Judges the value of an `Authorization` header, or of a bare key header.
    pub(crate) fn judge(&self, authorization: Option<&str>) -> KeyVerdict {
        let Some(value) = authorization.filter(|value| !value.is_empty()) else { return KeyVerdict::Missing };
        let key = value.strip_prefix("Bearer ").unwrap_or(value);
        if self.config.api_keys.iter().any(|known| known == key) { KeyVerdict::Good } else { KeyVerdict::Bad }
    }
}
