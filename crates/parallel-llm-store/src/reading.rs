//! Reading: the list of runs, and whole runs with their texts put back. Nothing here waits for the writer, and a run is read
//! as it was at one moment.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::value::next::{Advice, Next, Operation};
use parallel_llm_engine::{Code, Failure, Recorded, RunId, RunStatus};

use crate::clock;
use crate::database::Reader;
use crate::error;
use crate::row::count;
use crate::row::damage::{self, CheckedText, DamagedParts};
use crate::row::event_batch::text_of;
use crate::row::filter::RunPage;
use crate::row::new_run::keeps_texts;
use crate::row::run_row::ListedRun;
use crate::row::seat_fact::{SeatFact, StoredFact};
use crate::runs::{LIST_MAX, RunFilter, RunScope, RunSummary};
use crate::spill::Spill;
use crate::store::Store;
use crate::stored_run::{Checkpoint, RunProgress, StoredRun};

/// Damaged events that are named. More say the same.
const DAMAGED_MAX: usize = 10;
/// How long files that wait are read. They are a few, of a few kilobytes each.
const SPILL_READ_MAX: Duration = Duration::from_secs(5);
/// Stands for the newest run where a prefix of an id is asked for.
const NEWEST: &str = "@";
/// The most facts of seats that are given at once: those of some twenty thousand runs, in about as many megabytes.
const FACTS_MAX: i64 = 100_000;

impl Store {
    /// Runs, newest first.
    pub async fn list(&self, whose: RunScope<'_>, filter: RunFilter) -> Result<Vec<RunSummary>, Failure> {
        let limit = filter.limit.min(LIST_MAX);
        // Whether a run is interrupted is not in its row, so a page of rows may give less than a page of runs.
        let (status, rows) = match filter.status {
            Some(RunStatus::Running | RunStatus::Interrupted) => (Some(RunStatus::Running), LIST_MAX),
            status => (status, limit),
        };
        let status = status.map(RunStatus::as_str);
        let mut page = RunPage { before: filter.before, status, asked_by: whose.name(), rows };
        let mut snapshot = self.shared.database.snapshot().await?;
        let mut found = Vec::with_capacity(limit);
        while found.len() < limit {
            let runs = snapshot.reader().run_page(&page).await?;
            if runs.is_empty() {
                break;
            }
            let now_ms = clock::now_ms();
            for listed in runs {
                let run = summary(listed, now_ms)?;
                page.before = Some(run.run_id);
                found.extend(filter.status.is_none_or(|status| run.status == status).then_some(run));
            }
        }
        found.truncate(limit);
        Ok(found)
    }

    /// A whole run, texts included as far as they are kept; `None` where there is no such run.
    pub async fn load(&self, whose: RunScope<'_>, run_id: RunId) -> Result<Option<StoredRun>, Failure> {
        // Read before the database: what another process imports meanwhile is then found there.
        let spills = self.spilled(run_id).await;
        let mut snapshot = self.shared.database.snapshot().await?;
        let mut reader = snapshot.reader();
        let Some(record) = reader.run(run_id).await? else { return Ok(None) };
        if whose.name().is_some_and(|name| record.stored.row.asked_by.as_deref() != Some(name)) {
            return Ok(None);
        }
        let mut damaged = DamagedParts::default();
        if !record.stored.is_sound() {
            damaged.add("what the list shows of the run".to_owned());
        }
        if !record.is_plan_sound() {
            damaged.add("the plan of the run".to_owned());
        }
        let mut plan = record.plan()?;
        let last_seq = count(record.stored.row.last_seq);
        let mut events = events(&mut reader, run_id, last_seq, &mut damaged).await?;
        restore_texts(&mut reader, run_id, &mut events, keeps_texts(&plan), &mut damaged).await?;
        let checkpoints = checkpoints(&mut reader, run_id).await?;
        if let Some(warning) = damaged.warning() {
            Arc::make_mut(&mut plan).warnings.push(warning);
        }
        let mut stored = StoredRun {
            plan,
            events,
            created_at_ms: record.stored.row.created_at_ms,
            checkpoints,
            interrupted: record.ownership.is_interrupted(clock::now_ms()),
            epoch: record.epoch,
        };
        stored.add(spills);
        Ok(Some(stored))
    }

    /// The one run whose id begins like this, in either case; `@` is the newest. Fails with `run_not_found` where
    /// there is none and with `usage` where there are several.
    pub async fn find_prefix(&self, whose: RunScope<'_>, prefix: &str) -> Result<RunId, Failure> {
        let is_newest = prefix == NEWEST;
        let start = if is_newest { String::new() } else { prefix.to_ascii_uppercase() };
        let found =
            self.shared.database.connection().await?.reader().runs_beginning(&start, whose.name()).await?;
        match found.as_slice() {
            [] if is_newest => {
                Err(Failure::new(Code::RunNotFound, "there are no runs yet")
                    .with_next(Advice::AskSomethingFirst))
            }
            [run_id, others @ ..] if is_newest || (others.is_empty() && !prefix.is_empty()) => Ok(*run_id),
            [_, _, ..] => {
                let message = format!("more than one run has an id that begins with `{prefix}`");
                Err(Failure::new(Code::Usage, message)
                    .with_next([Next::Do(Advice::GiveMoreOfId), Next::Use(Operation::FindRun)]))
            }
            _ => {
                Err(Failure::new(Code::RunNotFound, format!("no run has an id that begins with `{prefix}`")))
            }
        }
    }

    /// What has happened in a run after its event of this number, whoever does it, and the texts on their way; `None`
    /// where there is no such run. Made to be called a few times a second.
    pub async fn follow(&self, run_id: RunId, after_seq: u64) -> Result<Option<RunProgress>, Failure> {
        let mut snapshot = self.shared.database.snapshot().await?;
        let mut reader = snapshot.reader();
        let Some(ownership) = reader.ownership(run_id).await? else { return Ok(None) };
        let id = run_id.to_string();
        let mut events = Vec::new();
        for row in reader.events(run_id, after_seq).await? {
            let mut recorded = row.recorded(&id)?;
            // Each text by itself: there are few new ones, and those before may be many.
            if let Some(hash) = text_of(&recorded.event).map(|text| text.hash.to_owned()) {
                let text = CheckedText::of(reader.text(run_id, &hash).await?, &hash, false);
                damage::restore_text(&mut recorded.event, text);
            }
            events.push(recorded);
        }
        let checkpoints = checkpoints(&mut reader, run_id).await?;
        Ok(Some(RunProgress { events, checkpoints, interrupted: ownership.is_interrupted(clock::now_ms()) }))
    }

    /// Whether nobody is at this run any more: it has ended, was left unfinished, or is not there.
    pub async fn is_over(&self, run_id: RunId) -> Result<bool, Failure> {
        let ownership = self.shared.database.connection().await?.reader().ownership(run_id).await?;
        Ok(ownership.is_none_or(|ownership| ownership.is_over(clock::now_ms())))
    }

    /// The runs that began before this moment (milliseconds since 1970) and are not under way, oldest first: those
    /// that [`Store::purge`] would take away.
    pub async fn purgeable(&self, before_ms: i64) -> Result<Vec<RunId>, Failure> {
        // A run's age is in its name.
        let before = RunId::from_parts(u64::try_from(before_ms).unwrap_or_default(), 0);
        let mut connection = self.shared.database.connection().await?;
        Ok(connection.reader().runs_over_before(before, clock::now_ms()).await?)
    }

    /// What became of the seats of runs that were decided at `since_ms` (milliseconds since 1970) or later, the newest
    /// first; at most 100,000.
    pub async fn seat_facts(
        &self,
        whose: RunScope<'_>,
        since_ms: Option<i64>,
    ) -> Result<Vec<SeatFact>, Failure> {
        let since_ms = since_ms.unwrap_or(i64::MIN);
        let mut connection = self.shared.database.connection().await?;
        let facts = connection.reader().seat_facts(whose.name(), since_ms, FACTS_MAX).await?;
        Ok(facts.into_iter().filter(StoredFact::is_sound).map(|stored| stored.fact).collect())
    }

    /// What waits of a run in files, read before the database is: what is taken in meanwhile is seen there.
    async fn spilled(&self, run_id: RunId) -> Vec<Spill> {
        let spills = self.shared.spills.clone();
        let read = tokio::task::spawn_blocking(move || spills.of_run(run_id));
        // A folder that does not answer hides nothing that was in the database.
        tokio::time::timeout(SPILL_READ_MAX, read).await.ok().and_then(Result::ok).unwrap_or_default()
    }
}

fn summary(listed: ListedRun, now_ms: i64) -> Result<RunSummary, Failure> {
    let mut run = listed.stored.summary(listed.cost_lacks_calls)?;
    if run.status == RunStatus::Running && listed.ownership.is_interrupted(now_ms) {
        run.status = RunStatus::Interrupted;
    }
    Ok(run)
}

/// The events of a run that are as they were written; the others are left out and noted.
async fn events(
    reader: &mut Reader<'_>,
    run_id: RunId,
    last_seq: u64,
    damaged: &mut DamagedParts,
) -> Result<Vec<Recorded>, Failure> {
    let id = run_id.to_string();
    let mut events = Vec::new();
    for row in reader.events(run_id, 0).await? {
        match row.recorded(&id) {
            Ok(recorded) => events.push(recorded),
            // Noted below, with those that are not there at all.
            Err(failure) if failure.code == Code::Damaged => {}
            Err(failure) => return Err(failure),
        }
    }
    let sound: BTreeSet<u64> = events.iter().map(|recorded| recorded.seq).collect();
    for seq in (1..=last_seq).filter(|seq| !sound.contains(seq)).take(DAMAGED_MAX) {
        damaged.add(format!("event {seq}"));
    }
    Ok(events)
}

/// Puts the texts of all events of a run back. `keeps_texts` says whether they must be there.
async fn restore_texts(
    reader: &mut Reader<'_>,
    run_id: RunId,
    events: &mut [Recorded],
    keeps_texts: bool,
    damaged: &mut DamagedParts,
) -> Result<(), Failure> {
    let texts = reader.texts(run_id).await?;
    for recorded in events {
        let Some(carried) = text_of(&recorded.event) else { continue };
        let found = texts.get(carried.hash).map(Arc::clone);
        let text = CheckedText::of(found, carried.hash, keeps_texts && !carried.is_empty);
        if let Some(part) = damage::restore_text(&mut recorded.event, text) {
            damaged.add(part);
        }
    }
    Ok(())
}

async fn checkpoints(reader: &mut Reader<'_>, run_id: RunId) -> Result<Vec<Checkpoint>, Failure> {
    let id = run_id.to_string();
    let mut checkpoints: Vec<Checkpoint> = Vec::new();
    for piece in reader.pieces(run_id).await? {
        let slot =
            serde_json::from_str(&piece.slot).map_err(|cause| error::unreadable("a checkpoint", &cause))?;
        let attempt = Attempt { slot, number: piece.attempt };
        if checkpoints.last().is_none_or(|last| last.attempt != attempt) {
            checkpoints.push(Checkpoint { attempt, text: String::new(), at_ms: piece.at_ms });
        }
        // A piece that is damaged, or does not follow the one before, ends the text: what comes after it follows nothing.
        if let Some(last) = checkpoints.last_mut()
            && piece.is_sound(&id)
            && last.text.len() as u64 == count(piece.start)
        {
            last.text.push_str(&piece.text);
            last.at_ms = piece.at_ms;
        }
    }
    checkpoints.retain(|checkpoint| !checkpoint.text.is_empty());
    Ok(checkpoints)
}
