//! Looking after the database: whether it is what was written, a copy of it, and a copy put in its place.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_store::{Backup, CheckDepth, Integrity, Restored, SpillState, Store};

use crate::access::Principal;
use crate::lazy::Lazy;
use parallel_llm_settings::settings::Settings;

/// How long a database is read: some hundred gigabytes.
const READ_MAX: Duration = Duration::from_secs(3_600);

/// How the database stands.
#[derive(Clone, Debug)]
pub struct StoreCheck {
    /// How many runs there are.
    pub runs: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether it is whole.
    pub soundness: Integrity,
    /// Files that wait to be taken in, and those that were set aside.
    pub spills: SpillState,
}

/// The database as a whole.
#[derive(Clone)]
pub struct Database {
    pub(crate) settings: Arc<Settings>,
    pub(crate) store: Arc<Lazy<Store>>,
    pub(crate) principal: Principal,
}

impl Database {
    /// Whether the database is whole: its pages, or each text and each row as well.
    pub async fn check(&self, reads_data: bool) -> Result<StoreCheck, Failure> {
        self.check_there()?;
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

    /// Writes a backup of the database to this new file; and how many files wait that are not in it.
    pub async fn back_up(&self, to: &Path) -> Result<(Backup, usize), Failure> {
        self.check_there()?;
        let store = self.store.get().await?;
        let backed_up = store.back_up(to).await?;
        Ok((backed_up, store.spills().waiting.len()))
    }

    /// Puts a backup in the place of the database, which is kept beside it.
    pub async fn restore(&self, from: &Path) -> Result<Restored, Failure> {
        self.principal.check_owner()?;
        if self.store.made().is_some() {
            return Err(Failure::new(Code::Busy, "this process has the run database open"));
        }
        let settings = &self.settings;
        parallel_llm_store::restore(&settings.database(), &settings.spill_folders(), from).await
    }

    /// Refuses whoever is not the owner; and a database that is not there, which opening would make.
    fn check_there(&self) -> Result<(), Failure> {
        self.principal.check_owner()?;
        let path = self.settings.database();
        if path.exists() {
            return Ok(());
        }
        let message = format!("there is no run database at `{}`", path.display());
        Err(Failure::new(Code::Usage, message)
            .with_next([Next::Do(Advice::AskSomethingFirst), Next::Do(Advice::SetDataFolder)]))
    }
}
