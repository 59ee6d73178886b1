//! Reading: the list of runs, and whole runs with their texts put back. Nothing here waits for the writer, and a run is read
//! as it was at one moment.

use std::collections::BTreeSet;
use std::sync::Arc;

use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::value::next::{Advice, Next, Operation};
use parallel_llm_engine::{Code, Failure, Recorded, RunId, RunStatus};

use crate::clock;
use crate::database::{Database, Reader};
use crate::fault;
use crate::row::count;
use crate::row::damage::{self, CheckedText, DamagedParts};
use crate::row::event_batch::text_of;
use crate::row::filter::RunPage;
use crate::row::new_run::keeps_texts;
use crate::row::run_row::ListedRun;
use crate::row::seat_fact::{SeatFact, StoredFact};
use crate::runs::{LIST_MAX, RunFilter, RunSummary, Whose};
use crate::stored_run::{Checkpoint, RunProgress, StoredRun};

/// Damaged events that are named. More say the same.
const DAMAGED_MAX: usize = 10;
/// Stands for the newest run where a prefix of an id is asked for.
const NEWEST: &str = "@";
/// The most facts of seats that are given at once: those of some twenty thousand runs, in about as many megabytes.
const FACTS_MAX: i64 = 100_000;

/// The runs that pass, newest first.
pub(crate) async fn list(
    database: &Database,
    whose: Whose<'_>,
    filter: RunFilter,
) -> Result<Vec<RunSummary>, Failure> {
    let limit = filter.limit.min(LIST_MAX);
    // Whether a run is interrupted is not in its row, so a page of rows may give less than a page of runs.
    let (status, rows) = match filter.status {
        Some(RunStatus::Running | RunStatus::Interrupted) => (Some(RunStatus::Running), LIST_MAX),
        status => (status, limit),
    };
    let status = status.map(RunStatus::as_str);
    let mut page = RunPage { before: filter.before, status, asked_by: whose.name(), rows };
    let mut snapshot = database.snapshot().await?;
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

fn summary(listed: ListedRun, now_ms: i64) -> Result<RunSummary, Failure> {
    let mut run = listed.stored.summary(listed.cost_lacks_calls)?;
    if run.status == RunStatus::Running && listed.tenure.is_interrupted(now_ms) {
        run.status = RunStatus::Interrupted;
    }
    Ok(run)
}

/// A whole run, as it was at one moment. What is damaged of it is among the warnings of its plan.
pub(crate) async fn load(
    database: &Database,
    whose: Whose<'_>,
    run_id: RunId,
) -> Result<Option<StoredRun>, Failure> {
    let mut snapshot = database.snapshot().await?;
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
    put_texts_back(&mut reader, run_id, &mut events, keeps_texts(&plan), &mut damaged).await?;
    let checkpoints = checkpoints(&mut reader, run_id).await?;
    if let Some(warning) = damaged.warning() {
        Arc::make_mut(&mut plan).warnings.push(warning);
    }
    Ok(Some(StoredRun {
        plan,
        events,
        created_at_ms: record.stored.row.created_at_ms,
        checkpoints,
        interrupted: record.tenure.is_interrupted(clock::now_ms()),
        epoch: record.epoch,
    }))
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
async fn put_texts_back(
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
        if let Some(part) = damage::put_text_back(&mut recorded.event, text) {
            damaged.add(part);
        }
    }
    Ok(())
}

/// Whether nobody is at a run any more. Nobody is at one that is not there.
pub(crate) async fn is_over(database: &Database, run_id: RunId) -> Result<bool, Failure> {
    let tenure = database.connection().await?.reader().tenure(run_id).await?;
    Ok(tenure.is_none_or(|tenure| tenure.is_over(clock::now_ms())))
}

/// The runs that began before this moment and are not under way, oldest first.
pub(crate) async fn purgeable(database: &Database, before_ms: i64) -> Result<Vec<RunId>, Failure> {
    // A run's age is in its name.
    let before = RunId::from_parts(u64::try_from(before_ms).unwrap_or_default(), 0);
    Ok(database.connection().await?.reader().runs_over_before(before, clock::now_ms()).await?)
}

/// What has happened in a run after its event of this number, and the texts on their way.
pub(crate) async fn follow(
    database: &Database,
    run_id: RunId,
    after_seq: u64,
) -> Result<Option<RunProgress>, Failure> {
    let mut snapshot = database.snapshot().await?;
    let mut reader = snapshot.reader();
    let Some(tenure) = reader.tenure(run_id).await? else { return Ok(None) };
    let id = run_id.to_string();
    let mut events = Vec::new();
    for row in reader.events(run_id, after_seq).await? {
        let mut recorded = row.recorded(&id)?;
        // Each text by itself: there are few new ones, and those before may be many.
        if let Some(hash) = text_of(&recorded.event).map(|text| text.hash.to_owned()) {
            let text = CheckedText::of(reader.text(run_id, &hash).await?, &hash, false);
            damage::put_text_back(&mut recorded.event, text);
        }
        events.push(recorded);
    }
    let checkpoints = checkpoints(&mut reader, run_id).await?;
    Ok(Some(RunProgress { events, checkpoints, interrupted: tenure.is_interrupted(clock::now_ms()) }))
}

async fn checkpoints(reader: &mut Reader<'_>, run_id: RunId) -> Result<Vec<Checkpoint>, Failure> {
    let id = run_id.to_string();
    let mut checkpoints: Vec<Checkpoint> = Vec::new();
    for piece in reader.pieces(run_id).await? {
        let slot =
            serde_json::from_str(&piece.slot).map_err(|cause| fault::unreadable("a checkpoint", &cause))?;
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

/// The one run whose id begins like this.
pub(crate) async fn find(database: &Database, whose: Whose<'_>, prefix: &str) -> Result<RunId, Failure> {
    let is_newest = prefix == NEWEST;
    let start = if is_newest { String::new() } else { prefix.to_ascii_uppercase() };
    let found = database.connection().await?.reader().runs_beginning(&start, whose.name()).await?;
    match found.as_slice() {
        [] if is_newest => {
            Err(Failure::new(Code::RunNotFound, "there are no runs yet").with_next(Advice::AskSomethingFirst))
        }
        [run_id, others @ ..] if is_newest || (others.is_empty() && !prefix.is_empty()) => Ok(*run_id),
        [_, _, ..] => {
            let message = format!("more than one run has an id that begins with `{prefix}`");
            Err(Failure::new(Code::Usage, message)
                .with_next([Next::Do(Advice::GiveMoreOfId), Next::Use(Operation::FindRun)]))
        }
        _ => Err(Failure::new(Code::RunNotFound, format!("no run has an id that begins with `{prefix}`"))),
    }
}

/// The newest facts of seats first. One that is damaged is left out: it would count for a model that it may not be about.
pub(crate) async fn seat_facts(
    database: &Database,
    whose: Whose<'_>,
    since_ms: Option<i64>,
) -> Result<Vec<SeatFact>, Failure> {
    let since_ms = since_ms.unwrap_or(i64::MIN);
    let facts = database.connection().await?.reader().seat_facts(whose.name(), since_ms, FACTS_MAX).await?;
    Ok(facts.into_iter().filter(StoredFact::is_sound).map(|stored| stored.fact).collect())
}
