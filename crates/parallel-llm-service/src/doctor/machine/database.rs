//! The database: opens or creates it, and checks its integrity, its size and interrupted runs.

use std::path::PathBuf;
use std::time::Duration;

use parallel_llm_engine::{Failure, RunStatus};
use parallel_llm_store::{CheckDepth, DatabaseState, Integrity, RunFilter, SpillState};

use crate::doctor::finding::{Finding, Health};
use crate::doctor::instruments::{Depth, Doctor};
use crate::doctor::system::size;

/// The most interrupted runs counted. More would say the same.
const INTERRUPTED_MAX: usize = 100;
/// The time limit of the quick check: enough for some hundred megabytes.
const QUICK_MAX: Duration = Duration::from_millis(1_200);
/// The time limit of the deep check: enough for some tens of gigabytes.
pub(crate) const WHOLE_MAX: Duration = Duration::from_secs(300);
/// The size above which a write-ahead log is reported. It is checkpointed at 32 MB, unless a reader keeps it open.
const LOG_BYTES_MAX: u64 = 128 * 1024 * 1024;

pub(crate) async fn examine(doctor: &Doctor, depth: Depth) -> Vec<Finding> {
    match inspect(doctor, depth).await {
        Ok(findings) => findings,
        Err(failure) => vec![Finding::failed(failure.message.clone(), failure.next_steps())],
    }
}

async fn inspect(doctor: &Doctor, depth: Depth) -> Result<Vec<Finding>, Failure> {
    let store = doctor.store.get().await?;
    let state = store.state().await?;
    let place = doctor.settings.database_url.as_ref().map(|url| format!("it is on the server {url}"));
    let mut findings = vec![Finding::ok("it opens, and is of this program's version")];
    findings.extend(place.map(Finding::ok));
    findings.push(extent(&state));
    findings.extend(state.log_bytes.map(log));
    let (thoroughness, within) = match depth {
        Depth::Quick => (CheckDepth::Quick, QUICK_MAX),
        Depth::Deep => (CheckDepth::Full, WHOLE_MAX),
    };
    findings.extend(state.has_purged_words.then(unpurged));
    findings.push(whole(store.check(thoroughness, within).await?, within));
    findings.extend(spilled(&store.spills()));
    findings.extend(interrupted(doctor).await?);
    Ok(findings)
}

fn extent(state: &DatabaseState) -> Finding {
    let DatabaseState { version, format, bytes, .. } = state;
    let runs = state.runs_total();
    let words = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
    Finding::ok(format!("{words} in {}, format {format}, {version}", size(*bytes)))
}

fn log(bytes: u64) -> Finding {
    let found = format!("{} in its write-ahead log", size(bytes));
    if bytes <= LOG_BYTES_MAX {
        return Finding::ok(found);
    }
    let next = "end other programs that have it open, such as a database browser or a stopped server";
    Finding::warning(format!("{found}: some program reads on and on, so that it cannot be emptied"), next)
}

/// The finding after an interrupted purge.
fn unpurged() -> Finding {
    let found = "the index still has words of purged runs, because a purge was interrupted or is in progress";
    Finding::warning(found, "`runs purge --older-than 2000-01-01 --yes` removes no run and overwrites them")
}

fn whole(soundness: Integrity, within: Duration) -> Finding {
    match soundness {
        Integrity::Intact => Finding::ok("it is whole"),
        Integrity::Damaged(damages) => Finding::failed(
            format!("it is damaged: {}", damages.problems.join("; ").replace('\n', " ")),
            "make a copy of the data folder, see which runs with `store check --read-data`, then restore a backup with \
             `store restore`, or what can be read of it with `sqlite3 runs.db .recover`",
        ),
        Integrity::Unfinished => {
            let found =
                format!("nothing is wrong with what could be read of it in {} ms", within.as_millis());
            Finding::of(Health::Ok, found, Some("`doctor --deep` reads all of it".into()))
        }
    }
}

/// The findings on spilled files, which hold what the database did not accept.
fn spilled(spills: &SpillState) -> Vec<Finding> {
    let kinds = [
        (
            &spills.waiting,
            "answers wait to be taken into it",
            "nothing is lost: end what keeps it locked, or make room on its disk, and run any command",
        ),
        (
            &spills.aside,
            "answers wait for runs that it does not have, because they were purged or another history was restored",
            "restore the history that has these runs, or delete these files",
        ),
        (
            &spills.damaged,
            "answers that it did not take are damaged",
            "check the disk, look at what can be read of these files, then delete them",
        ),
    ];
    let finding = |(paths, what, next): (&Vec<PathBuf>, &str, &'static str)| {
        let first = paths.first()?;
        let folder = first.parent().unwrap_or(first).display();
        let files = if paths.len() == 1 { "1 file".to_owned() } else { format!("{} files", paths.len()) };
        Some(Finding::warning(format!("{what}: {files} in `{folder}`"), next))
    };
    kinds.into_iter().filter_map(finding).collect()
}

async fn interrupted(doctor: &Doctor) -> Result<Option<Finding>, Failure> {
    let filter =
        RunFilter { limit: INTERRUPTED_MAX, status: Some(RunStatus::Interrupted), ..RunFilter::default() };
    let interrupted = doctor.history.list(filter).await?;
    let Some(newest) = interrupted.first() else { return Ok(None) };
    let (runs, or_more) = match interrupted.len() {
        1 => ("run was", ""),
        INTERRUPTED_MAX => ("runs were", " or more"),
        _ => ("runs were", ""),
    };
    let command = doctor.history.load(newest.run_id).await?.run.resuming();
    Ok(Some(Finding::warning(
        format!("{}{or_more} {runs} interrupted; the newest is {}", interrupted.len(), newest.run_id),
        command.map_or_else(
            || "leave it: its texts were not kept, so it cannot be continued".to_owned(),
            |command| format!("{command}, or leave it"),
        ),
    )))
}

#[cfg(test)]
mod tests {
    use parallel_llm_store::DamageReport;

    use super::*;

    #[test]
    fn an_unfinished_check_is_not_called_intact() {
        let described = |soundness| {
            let finding = whole(soundness, QUICK_MAX);
            format!("{} {}", finding.state.word(), finding.found)
        };
        assert_eq!(described(Integrity::Intact), "ok it is whole");
        let unfinished = "ok nothing is wrong with what could be read of it in 1200 ms";
        assert_eq!(described(Integrity::Unfinished), unfinished);
        let problems = vec!["*** in database main ***\nTree 5".to_owned(), "row 7".to_owned()];
        let damaged = "failed it is damaged: *** in database main *** Tree 5; row 7";
        assert_eq!(described(Integrity::Damaged(DamageReport { problems, runs: Vec::new() })), damaged);
    }

    #[test]
    fn files_that_wait_and_files_without_a_run_are_reported() {
        let paths = |name: &str| vec![PathBuf::from("/data/runs.db.spill").join(name)];
        let state =
            SpillState { waiting: paths("1"), aside: [paths("2"), paths("3")].concat(), damaged: Vec::new() };
        let described: Vec<String> = spilled(&state).into_iter().map(|finding| finding.found).collect();
        assert_eq!(
            described,
            [
                "answers wait to be taken into it: 1 file in `/data/runs.db.spill`",
                "answers wait for runs that it does not have, because they were purged or another history was restored: 2 \
                 files in `/data/runs.db.spill`",
            ]
        );
    }

    #[test]
    fn a_growing_log_is_reported() {
        let described = [LOG_BYTES_MAX, LOG_BYTES_MAX + 1].map(|bytes| log(bytes).state);
        assert_eq!(described, [Health::Ok, Health::Warning]);
    }
}
