//! Reads runs: the list, and whole runs with their texts.
//!
//! Nothing here waits for the writer, and each read sees one consistent snapshot.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::value::next::{Advice, Next, Operation};
use parallel_llm_engine::{Code, Failure, Recorded, RunId, RunStatus};

use super::store::Store;
use super::stored_run::{Checkpoint, RunProgress, StoredRun};
use crate::database::Reader;
use crate::history::figures::{CALLS_MAX, CallFacts, HourSpend};
use crate::history::runs::{LIST_MAX, NamedRuns, RunFilter, RunScope, RunSummary};
use crate::row::count;
use crate::row::damage::{self, CheckedText, DamagedParts};
use crate::row::event_batch::text_of;
use crate::row::filter::RunPage;
use crate::row::new_run::keeps_texts;
use crate::row::run_row::{ListedRun, RunRecord};
use crate::row::seat_fact::{SeatFact, StoredFact};
use crate::spill::Spill;
use crate::system::error;

/// Damaged events named in the warning; more say the same.
const DAMAGED_MAX: usize = 10;
/// How long reading spill files may take. There are few, of a few kilobytes each.
const SPILL_READ_MAX: Duration = Duration::from_secs(5);
/// The name of the newest run, and the beginning of the names of those before it.
const NEWEST: &str = "@";
/// The most runs returned for an ambiguous name, the newest: enough to see what tells them apart.
const NAMED_MAX: usize = 5;
/// The most seat facts returned at once: those of about twenty thousand runs, about twenty megabytes.
const SEAT_FACTS_MAX: usize = 100_000;

impl Store {
    /// Lists runs, newest first.
    pub async fn list(&self, whose: RunScope<'_>, filter: RunFilter) -> Result<Vec<RunSummary>, Failure> {
        let limit = filter.limit.min(LIST_MAX);
        // A row does not say whether its run was interrupted, so a page of rows may yield fewer runs than asked for.
        let (status, rows) = match filter.status {
            Some(RunStatus::Running | RunStatus::Interrupted) => (Some(RunStatus::Running), LIST_MAX),
            status => (status, limit),
        };
        let status = status.map(RunStatus::as_str);
        let asked_by = whose.name().map(str::to_owned);
        let list = move |reader: &Reader<'_>| {
            let asked_by = asked_by.as_deref();
            let mut page = RunPage { before: filter.before, status, asked_by, rows };
            let mut found = Vec::with_capacity(limit);
            while found.len() < limit {
                let runs = reader.run_page(&page)?;
                if runs.is_empty() {
                    break;
                }
                for listed in runs {
                    let run = summary(listed, reader.now_ms)?;
                    page.before = Some(run.run_id);
                    found.extend(filter.status.is_none_or(|status| run.status == status).then_some(run));
                }
            }
            found.truncate(limit);
            Ok(found)
        };
        self.shared.database.read(list).await
    }

    /// A whole run, with its texts if they are stored; `None` if there is no such run. Damaged parts become warnings of
    /// its plan.
    pub async fn load(&self, whose: RunScope<'_>, run_id: RunId) -> Result<Option<StoredRun>, Failure> {
        // Read before the database: a file that another process imports meanwhile is then found there.
        let spills = self.spilled(run_id).await;
        let asked_by = whose.name().map(str::to_owned);
        let load = move |reader: &Reader<'_>| load(reader, run_id, asked_by.as_deref());
        let Some(mut stored) = self.shared.database.read(load).await? else { return Ok(None) };
        stored.add(spills);
        Ok(Some(stored))
    }

    /// The runs that a name stands for: a whole id, the beginning of one in any case, `@` for the newest run, `@~` or
    /// `@~1` for the one before it, and so on. Fails with `run_not_found` if there is none.
    pub async fn named(&self, whose: RunScope<'_>, name: &str) -> Result<NamedRuns, Failure> {
        let (asked_by, name) = (whose.name().map(str::to_owned), name.to_owned());
        self.shared.database.read(move |reader| named(reader, &name, asked_by.as_deref())).await
    }

    /// The events of a run after `after_seq` and its partial texts, whichever process runs it; `None` if there is no such run.
    /// Cheap enough to be called several times a second.
    pub async fn follow(&self, run_id: RunId, after_seq: u64) -> Result<Option<RunProgress>, Failure> {
        self.shared.database.read(move |reader| follow(reader, run_id, after_seq)).await
    }

    /// Whether no process runs this run any more: it is closed, was interrupted, or does not exist.
    pub async fn is_over(&self, run_id: RunId) -> Result<bool, Failure> {
        let is_over = move |reader: &Reader<'_>| {
            let ownership = reader.ownership(run_id)?;
            Ok(ownership.is_none_or(|ownership| ownership.is_over(reader.now_ms)))
        };
        self.shared.database.read(is_over).await
    }

    /// The runs that began before this time (milliseconds since 1970) and are not running, oldest first: those that
    /// [`Store::purge`] would remove.
    pub async fn purgeable(&self, before_ms: i64) -> Result<Vec<RunId>, Failure> {
        // A run's id begins with its start time.
        let before = RunId::from_parts(u64::try_from(before_ms).unwrap_or_default(), 0);
        let over = move |reader: &Reader<'_>| Ok(reader.runs_over_before(before, reader.now_ms)?);
        self.shared.database.read(over).await
    }

    /// What became of the seats of runs that were decided at `since_ms` (milliseconds since 1970) or later, newest
    /// first; at most 100,000.
    pub async fn seat_facts(
        &self,
        whose: RunScope<'_>,
        since_ms: Option<i64>,
    ) -> Result<Vec<SeatFact>, Failure> {
        let since_ms = since_ms.unwrap_or(i64::MIN);
        let asked_by = whose.name().map(str::to_owned);
        let facts = move |reader: &Reader<'_>| {
            Ok(reader.seat_facts(asked_by.as_deref(), since_ms, SEAT_FACTS_MAX)?)
        };
        let facts = self.shared.database.read(facts).await?;
        Ok(facts.into_iter().filter(StoredFact::is_sound).map(|stored| stored.fact).collect())
    }

    /// The calls sent at `since_ms` (milliseconds since 1970) or later, newest first; at most 5,000. Calls of purged
    /// runs are among them.
    pub async fn call_facts(&self, whose: RunScope<'_>, since_ms: i64) -> Result<CallFacts, Failure> {
        let asked_by = whose.name().map(str::to_owned);
        let read = move |reader: &Reader<'_>| {
            let mut calls = reader.call_facts(asked_by.as_deref(), since_ms, CALLS_MAX + 1)?;
            let is_complete = calls.len() <= CALLS_MAX;
            calls.truncate(CALLS_MAX);
            Ok(CallFacts { calls, is_complete })
        };
        self.shared.database.read(read).await
    }

    /// The spending on calls sent at `since_ms` (milliseconds since 1970) or later, by the hour since then; hours without
    /// calls are left out.
    pub async fn spent_by_hour(&self, whose: RunScope<'_>, since_ms: i64) -> Result<Vec<HourSpend>, Failure> {
        let asked_by = whose.name().map(str::to_owned);
        self.shared
            .database
            .read(move |reader| Ok(reader.spent_by_hour(asked_by.as_deref(), since_ms)?))
            .await
    }

    /// The spilled events of a run.
    async fn spilled(&self, run_id: RunId) -> Vec<Spill> {
        let spills = self.shared.spills.clone();
        let read = tokio::task::spawn_blocking(move || spills.of_run(run_id));
        // A folder that does not respond must not hide what the database has.
        tokio::time::timeout(SPILL_READ_MAX, read).await.ok().and_then(Result::ok).unwrap_or_default()
    }
}

/// A whole run without its spilled events; `None` if this principal has no such run.
fn load(reader: &Reader<'_>, run_id: RunId, asked_by: Option<&str>) -> Result<Option<StoredRun>, Failure> {
    let Some(record) = reader.run(run_id)? else { return Ok(None) };
    if asked_by.is_some() && record.stored.row.asked_by.as_deref() != asked_by {
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
    let mut events = events(reader, run_id, last_seq, &mut damaged)?;
    restore_texts(reader, run_id, &mut events, keeps_texts(&plan), &mut damaged)?;
    let checkpoints = checkpoints(reader, run_id)?;
    if let Some(warning) = damaged.warning() {
        Arc::make_mut(&mut plan).warnings.push(warning);
    }
    Ok(Some(StoredRun {
        plan,
        events,
        created_at_ms: record.stored.row.created_at_ms,
        checkpoints,
        interrupted: record.ownership.is_interrupted(reader.now_ms),
        epoch: record.epoch,
    }))
}

fn named(reader: &Reader<'_>, name: &str, asked_by: Option<&str>) -> Result<NamedRuns, Failure> {
    if let Some(back) = name.strip_prefix(NEWEST) {
        let back = steps_back(back).ok_or_else(|| misread(name))?;
        let found = reader.run_before_newest(back, asked_by)?;
        return found.map(NamedRuns::One).ok_or_else(|| no_run_so_old(name, back));
    }
    let prefix = name.to_ascii_uppercase();
    let found = reader.runs_beginning(&prefix, asked_by, NAMED_MAX)?;
    match found.as_slice() {
        [run_id] if !name.is_empty() => Ok(NamedRuns::One(*run_id)),
        [] | [_] => {
            let failure =
                Failure::new(Code::RunNotFound, format!("no run has an id that begins with `{name}`"));
            // Names of the newest run in other programs.
            let is_newest = ["last", "latest", "newest"].iter().any(|known| known.eq_ignore_ascii_case(name));
            Err(if is_newest { failure.with_next(Next::Meant(NEWEST.into())) } else { failure })
        }
        several => {
            let mut runs = Vec::new();
            for run_id in several {
                runs.extend(reader.run(*run_id)?);
            }
            let summary = |run: RunRecord| run.stored.summary(false);
            Ok(NamedRuns::Several(runs.into_iter().map(summary).collect::<Result<_, _>>()?))
        }
    }
}

fn follow(reader: &Reader<'_>, run_id: RunId, after_seq: u64) -> Result<Option<RunProgress>, Failure> {
    let Some(ownership) = reader.ownership(run_id)? else { return Ok(None) };
    let id = run_id.to_string();
    let mut events = Vec::new();
    for row in reader.events(run_id, after_seq)? {
        let mut recorded = row.recorded(&id)?;
        // One text at a time: few are new, while the older ones may be many.
        if let Some(carried) = text_of(&recorded.event) {
            let found = reader.text(run_id, carried.hash, carried.bytes)?;
            let text = CheckedText::of(found, carried.hash, false);
            damage::restore_text(&mut recorded.event, text);
        }
        events.push(recorded);
    }
    let checkpoints = checkpoints(reader, run_id)?;
    Ok(Some(RunProgress { events, checkpoints, interrupted: ownership.is_interrupted(reader.now_ms) }))
}

/// How far behind the newest run: nothing, `~`, or `~3`.
fn steps_back(text: &str) -> Option<u32> {
    match text.strip_prefix('~') {
        None if text.is_empty() => Some(0),
        None => None,
        Some("") => Some(1),
        Some(number) => number.parse().ok(),
    }
}

fn misread(name: &str) -> Failure {
    let message = format!("`{name}` is no name of a run: `@` is the newest, `@~1` the one before it");
    Failure::new(Code::Usage, message).with_next(Operation::FindRun)
}

fn no_run_so_old(name: &str, back: u32) -> Failure {
    if back == 0 {
        return Failure::new(Code::RunNotFound, "there are no runs yet").with_next(Advice::AskSomethingFirst);
    }
    Failure::new(Code::RunNotFound, format!("there is no run `{name}`: fewer runs are kept"))
}

fn summary(listed: ListedRun, now_ms: i64) -> Result<RunSummary, Failure> {
    let mut run = listed.stored.summary(listed.cost_lacks_calls)?;
    if run.status == RunStatus::Running && listed.ownership.is_interrupted(now_ms) {
        run.status = RunStatus::Interrupted;
    }
    Ok(run)
}

/// The undamaged events of a run; the others are recorded in `damaged`.
fn events(
    reader: &Reader<'_>,
    run_id: RunId,
    last_seq: u64,
    damaged: &mut DamagedParts,
) -> Result<Vec<Recorded>, Failure> {
    let id = run_id.to_string();
    let mut events = Vec::new();
    for row in reader.events(run_id, 0)? {
        match row.recorded(&id) {
            Ok(recorded) => events.push(recorded),
            // Recorded below, together with missing events.
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

/// Restores the texts of all events of a run. `keeps_texts`: missing texts count as damage.
fn restore_texts(
    reader: &Reader<'_>,
    run_id: RunId,
    events: &mut [Recorded],
    keeps_texts: bool,
    damaged: &mut DamagedParts,
) -> Result<(), Failure> {
    let carried = events.iter().filter_map(|recorded| text_of(&recorded.event));
    let lengths = carried.filter_map(|text| Some((text.hash.to_owned(), text.bytes?))).collect();
    let texts = reader.texts(run_id, &lengths)?;
    for recorded in events {
        let Some(carried) = text_of(&recorded.event) else { continue };
        let found = texts.get(carried.hash).map(Arc::clone);
        let text = CheckedText::of(found, carried.hash, keeps_texts && !carried.is_empty());
        if let Some(part) = damage::restore_text(&mut recorded.event, text) {
            damaged.add(part);
        }
    }
    Ok(())
}

fn checkpoints(reader: &Reader<'_>, run_id: RunId) -> Result<Vec<Checkpoint>, Failure> {
    let id = run_id.to_string();
    let mut checkpoints: Vec<Checkpoint> = Vec::new();
    for piece in reader.pieces(run_id)? {
        let slot =
            serde_json::from_str(&piece.slot).map_err(|cause| error::unreadable("a checkpoint", &cause))?;
        let attempt = Attempt { slot, number: piece.attempt };
        if checkpoints.last().is_none_or(|last| last.attempt != attempt) {
            checkpoints.push(Checkpoint { attempt, text: String::new(), at_ms: piece.at_ms });
        }
        // A damaged piece, or a gap, ends the text: later pieces cannot be joined to it.
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
