//! Giving up a run that another process does: it is asked to through the database, and looks there.

use parallel_llm_engine::{Failure, RunId};

use super::store::Store;
use crate::database::Reader;
use crate::row::ownership::Owner;

impl Store {
    /// Asks the process that does this run to give it up. Does nothing if the run is closed or unknown; one that goes on
    /// with it later is not asked.
    pub async fn request_cancel(&self, run_id: RunId) -> Result<(), Failure> {
        self.shared.writer.write(move |into, _| Ok(Ok(into.request_cancel(run_id)?))).await
    }

    /// The open runs of this process that it is asked to give up.
    pub async fn requested_cancels(&self) -> Result<Vec<RunId>, Failure> {
        let owner = Owner::current().to_string();
        self.shared.database.read(move |reader: &Reader<'_>| Ok(reader.requested_cancels(&owner)?)).await
    }

    /// How many processes have taken this run over since one was asked to give it up; `None` if none was.
    pub async fn owners_since_cancel(&self, run_id: RunId) -> Result<Option<u64>, Failure> {
        self.shared.database.read(move |reader: &Reader<'_>| Ok(reader.owners_since_cancel(run_id)?)).await
    }
}
