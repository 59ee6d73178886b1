//! Database maintenance: check, back up and restore.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_store::{Backup, CheckDepth, Integrity, Restored, SpillState, Store};

use crate::access::Principal;
use crate::lazy::Lazy;
use parallel_llm_settings::settings::Settings;

/// The longest time for a full check: enough for some hundred gigabytes.
const READ_MAX: Duration = Duration::from_secs(3_600);

/// The result of a check.
#[derive(Clone, Debug)]
pub struct StoreCheck {
    /// The number of runs.
    pub runs: u64,
    /// The size of the database in bytes.
    pub bytes: u64,
    /// Whether the database is intact.
    pub soundness: Integrity,
    /// Spilled files that wait to be read in, and those that were set aside.
    pub spills: SpillState,
}

/// The run database.
#[derive(Clone)]
pub struct Database {
    pub(crate) settings: Arc<Settings>,
    pub(crate) store: Arc<Lazy<Store>>,
    pub(crate) principal: Principal,
}

impl Database {
    /// Checks the database: its pages, or with `reads_data` each text and row as well.
    pub async fn check(&self, reads_data: bool) -> Result<StoreCheck, Failure> {
        self.check_exists()?;
        let store = self.store.get().await?;
        let state = store.state().await?;
        let thoroughness = if reads_data { CheckDepth::Full } else { CheckDepth::Quick };
        Ok(StoreCheck {
            runs: state.runs_total(),
            bytes: state.bytes,
            soundness: store.check(thoroughness, READ_MAX).await?,
            spills: store.spills(),
        })
    }

    /// Writes a backup to this new file. Returns it with the number of spilled files that it lacks.
    pub async fn back_up(&self, to: &Path) -> Result<(Backup, usize), Failure> {
        self.check_exists()?;
        let store = self.store.get().await?;
        let backed_up = store.back_up(to).await?;
        Ok((backed_up, store.spills().waiting.len()))
    }

    /// Replaces the database by a backup, and keeps the old one beside it.
    pub async fn restore(&self, from: &Path) -> Result<Restored, Failure> {
        self.principal.check_owner()?;
        if self.store.made().is_some() {
            return Err(Failure::new(Code::Busy, "this process has the run database open"));
        }
        let settings = &self.settings;
        if settings.database_url.is_some() {
            let failure = Failure::new(
                Code::Usage,
                "a run database on a server is restored with the server's own program",
            );
            return Err(failure.with_next(Next::Type("pg_restore".into())));
        }
        parallel_llm_store::restore(&settings.database(), &settings.spill_folders(), from).await
    }

    /// Fails for anybody but the owner, and for a missing database, which opening would create.
    fn check_exists(&self) -> Result<(), Failure> {
        self.principal.check_owner()?;
        if self.settings.has_database() {
            return Ok(());
        }
        let path = self.settings.database();
        let message = format!("there is no run database at `{}`", path.display());
        Err(Failure::new(Code::Usage, message)
            .with_next([Next::Do(Advice::AskSomethingFirst), Next::Do(Advice::SetDataFolder)]))
    }
}
