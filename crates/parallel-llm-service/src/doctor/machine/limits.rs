//! Limits of the operating system: open files, and core dumps after a crash.

use std::collections::BTreeSet;

use crate::doctor::finding::{Finding, Health};
use crate::doctor::instruments::Doctor;
use crate::doctor::system::{self, Limits};

/// Open files beside the connections of calls: the database, the log, files of runs, standard streams, clients.
const FILES_BESIDE: u64 = 64;

pub(crate) fn examine(doctor: &Doctor) -> Vec<Finding> {
    match system::limits() {
        None => vec![Finding::ok("this system does not report a limit of open files")],
        Some(limits) => vec![open_files(limits.open_files, calls(doctor)), memory(&limits)],
    }
}

/// The most concurrent calls to all configured providers.
fn calls(doctor: &Doctor) -> u64 {
    let settings = &doctor.settings;
    let named: BTreeSet<_> =
        doctor.configured.models().into_iter().map(|named| named.model.provider).collect();
    let providers = settings.providers.iter().filter(|provider| named.contains(&provider.id));
    let calls: usize =
        providers.map(|provider| provider.calls_max.unwrap_or(settings.calls_per_key_max)).sum();
    calls.min(settings.calls_max) as u64
}

fn open_files(limit: Option<u64>, calls: u64) -> Finding {
    let needed = calls + FILES_BESIDE;
    match limit {
        None => Finding::ok("the number of open files has no limit"),
        Some(limit) if limit >= needed => {
            Finding::ok(format!("{limit} files may be open at once; {calls} calls need up to {needed}"))
        }
        Some(limit) => Finding::warning(
            format!("only {limit} files may be open at once; {calls} calls need up to {needed}"),
            format!("`ulimit -n {needed}` before the start, or lower `calls_per_key_max`"),
        ),
    }
}

/// A core dump of a crashed process holds keys and questions.
fn memory(limits: &Limits) -> Finding {
    if limits.core_bytes == Some(0) {
        return Finding::ok("a crash leaves no memory on the disk");
    }
    let found = "a crash may leave this program's memory on the disk, with keys and questions in it";
    Finding::of(Health::Ok, found, Some("`ulimit -c 0` before the start prevents that".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_of_open_files_is_reported() {
        let described = |limit| {
            let finding = open_files(limit, 64);
            format!("{} {}", finding.state.word(), finding.found)
        };
        assert_eq!(described(Some(128)), "ok 128 files may be open at once; 64 calls need up to 128");
        assert_eq!(
            described(Some(127)),
            "warning only 127 files may be open at once; 64 calls need up to 128"
        );
        assert_eq!(described(None), "ok the number of open files has no limit");
    }
}
