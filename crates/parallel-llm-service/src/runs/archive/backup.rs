//! Database maintenance: check, back up and restore.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_store::{
    Backup, CheckDepth, Copied, Integrity, Location, Restored, SpillState, Store, StoreConfig,
};

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

/// A database that a history is copied from or to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryPlace {
    /// The file in the data folder.
    DataFolder,
    /// The server of the setting `database_url`.
    Server,
    /// A file.
    File(PathBuf),
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

    /// Copies the whole history from a file to the server or from the server to a file, which must be new or empty, and
    /// verifies the copy.
    pub async fn copy(&self, from: &HistoryPlace, to: &HistoryPlace) -> Result<Copied, Failure> {
        self.principal.check_owner()?;
        let sides = [from, to].map(|place| *place == HistoryPlace::Server);
        if sides[0] == sides[1] {
            let message = "a history is copied from a file to the server, or from the server to a file";
            let next = [Next::Type("store copy file server".into()), Next::Type("store backup FILE".into())];
            return Err(Failure::new(Code::Usage, message).with_next(next));
        }
        let source = self.config_of(from)?;
        if let Location::File(path) = &source.location
            && !path.exists()
        {
            let message = format!("there is no run database at `{}`", path.display());
            return Err(Failure::new(Code::Usage, message));
        }
        let target = self.config_of(to)?;
        parallel_llm_store::copy_history(source, &target.location).await
    }

    fn config_of(&self, place: &HistoryPlace) -> Result<StoreConfig, Failure> {
        let settings = &self.settings;
        Ok(match place {
            HistoryPlace::DataFolder => StoreConfig::new(settings.database()),
            HistoryPlace::File(path) => StoreConfig::new(path),
            HistoryPlace::Server => {
                let unset = || {
                    let failure = Failure::new(Code::Usage, "no server is set to copy to or from");
                    failure.with_next([Next::Set("database_url".into())])
                };
                let url = settings.database_url.as_ref().ok_or_else(unset)?;
                StoreConfig::on_server(url.expose().parse()?, &settings.data_dir)
            }
        })
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
