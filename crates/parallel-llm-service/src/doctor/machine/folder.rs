//! The data and output folders: write access, permissions, free space, and whether locks work there.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::doctor::finding::Finding;
use crate::doctor::instruments::{Doctor, aside};
use crate::doctor::system::{OTHERS, Room, foreign_owner, mode, quoted, room, size, unsafe_file_system};
use crate::runs::measures::calibration::{REMEDY, table_of};
use parallel_llm_settings::private_files;

/// Less free space than this is reported: a run takes some hundred kilobytes, and a full disk loses answers.
const FREE_BYTES_MIN: u64 = 256 * 1024 * 1024;
/// Fewer free inodes than this are reported: a run makes up to seventy files.
const FREE_FILES_MIN: u64 = 10_000;
/// The most entries whose permissions are checked. More would take too long.
const ENTRIES_MAX: usize = 10_000;

/// The remedy for an unusable folder.
const ELSEWHERE: &str = "set `PARALLEL_LLM_DATA_DIR` to another folder";

/// The data folder.
pub(crate) async fn examine(doctor: &Doctor) -> Vec<Finding> {
    let folder = doctor.settings.data_dir.clone();
    aside(move || {
        let mut findings = folder_findings(&folder, ELSEWHERE);
        findings.extend(loose_entries(&folder));
        findings.extend(room_findings(room(&folder)));
        findings.push(locks(unsafe_file_system(&folder)));
        findings.extend(calibration(&folder));
        findings
    })
    .await
}

/// The finding for an unusable calibration table.
fn calibration(folder: &Path) -> Option<Finding> {
    let wrong = table_of(folder).err()?;
    Some(Finding::warning(wrong, REMEDY))
}

/// The output folder, if it is not in the data folder.
pub(crate) async fn examine_output(doctor: &Doctor) -> Vec<Finding> {
    let (folder, data_dir) = (doctor.history.output_dir.clone(), doctor.settings.data_dir.clone());
    if !doctor.settings.files {
        return vec![Finding::ok("no files are written (`files` is `off`)")];
    }
    if folder.starts_with(&data_dir) {
        return vec![Finding::ok(format!("{} is in the data folder", folder.display()))];
    }
    aside(move || {
        let mut findings = folder_findings(&folder, "set `output_dir` to another folder");
        findings.extend(room_findings(room(&folder)));
        findings
    })
    .await
}

fn folder_findings(folder: &Path, elsewhere: &str) -> Vec<Finding> {
    let mut findings = vec![writable(folder, elsewhere)];
    let metadata = folder.metadata().ok().filter(std::fs::Metadata::is_dir);
    if let Some(metadata) = metadata {
        findings.extend(foreign_owner(&metadata).map(|owner| foreign(folder, owner, elsewhere)));
        findings.extend(mode(&metadata).map(|mode| privacy(folder, mode)));
    }
    findings
}

/// Writes a file into the folder, and creates the folder if needed, as the first run would.
fn writable(folder: &Path, elsewhere: &str) -> Finding {
    let probe = folder.join(format!(".{}.probe", std::process::id()));
    let written = private_files::folder_builder()
        .recursive(true)
        .create(folder)
        .and_then(|()| private_files::file_options().open(&probe)?.write_all(b"a word"));
    // If the write failed, there is nothing to remove.
    let _ = std::fs::remove_file(&probe);
    match written {
        Ok(()) => Finding::ok(format!("{} can be written", folder.display())),
        Err(error) => Finding::failed(
            format!("{} cannot be written: {error}", folder.display()),
            format!("{}, or {elsewhere}", remedy(error.kind())),
        ),
    }
}

/// What helps against this error of a write.
const fn remedy(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space on its disk",
        ErrorKind::ReadOnlyFilesystem => "mount its disk for writing",
        _ => "correct its permissions",
    }
}

fn foreign(folder: &Path, owner: u32, elsewhere: &str) -> Finding {
    let found = format!("it belongs to another user (number {owner}), who can read and change all of it");
    Finding::warning(found, format!("`sudo chown -R \"$(id -u)\" {}`, or {elsewhere}", quoted(folder)))
}

fn privacy(folder: &Path, mode: u32) -> Finding {
    if mode & OTHERS == 0 {
        Finding::ok(format!("nobody else can read it (mode {mode:03o})"))
    } else {
        let found = format!("others can look into it (mode {mode:03o})");
        Finding::warning(found, format!("`chmod 700 {}`", quoted(folder)))
    }
}

/// Entries that others may read or write once they are inside: those beside the database, and one folder deep.
fn loose_entries(folder: &Path) -> Option<Finding> {
    let inside = entries(folder).take(ENTRIES_MAX);
    let all = inside.flat_map(|entry| {
        let below: Vec<PathBuf> =
            if entry.is_dir() { entries(&entry).take(ENTRIES_MAX).collect() } else { Vec::new() };
        std::iter::once(entry).chain(below)
    });
    let is_loose = |path: &PathBuf| {
        // SQLite's own files come and go with the database, and have its mode.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with("-wal") || name.ends_with("-shm") {
            return false;
        }
        let metadata = path.symlink_metadata().ok().filter(|metadata| !metadata.is_symlink());
        metadata.and_then(|metadata| mode(&metadata)).is_some_and(|mode| mode & OTHERS != 0)
    };
    let loose: Vec<PathBuf> = all.take(ENTRIES_MAX).filter(is_loose).collect();
    let first = loose.first()?;
    let name = first.strip_prefix(folder).unwrap_or(first).display();
    let more = if loose.len() == 1 { String::new() } else { format!(" and {} more", loose.len() - 1) };
    let found = format!("`{name}`{more} in it can be read or written by others");
    Some(Finding::warning(found, format!("`chmod -R go= {}`", quoted(folder))))
}

/// The entries of a folder in a fixed order; empty if it cannot be read.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let listed = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = listed.take(ENTRIES_MAX).map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter()
}

fn room_findings(room: Option<Room>) -> Vec<Finding> {
    let Some(room) = room else {
        return vec![Finding::ok("this system does not report the free space")];
    };
    let bytes = if room.free_bytes < FREE_BYTES_MIN {
        let found = format!("only {} free: a full disk loses answers", size(room.free_bytes));
        Finding::warning(found, format!("make room, or {ELSEWHERE} on another disk"))
    } else {
        Finding::ok(format!("{} free", size(room.free_bytes)))
    };
    let few = room.free_files.filter(|free| *free < FREE_FILES_MIN).map(|free| {
        let found = format!("only {free} more files can be made on its disk, which has no more inodes");
        Finding::warning(found, format!("remove files, or {ELSEWHERE} on another disk"))
    });
    std::iter::once(bytes).chain(few).collect()
}

fn locks(unsafe_file_system: Option<&str>) -> Finding {
    match unsafe_file_system {
        Some(name) => Finding::warning(
            format!("it is on {name}, where database locks are unreliable"),
            "set `PARALLEL_LLM_DATA_DIR` to a folder on a local disk",
        ),
        None => Finding::ok("it is on no file system whose locks are known to fail"),
    }
}

#[cfg(test)]
mod tests {
    use parallel_llm_engine::value::next;

    use super::*;

    fn described(findings: &[Finding]) -> Vec<String> {
        findings.iter().map(|finding| format!("{} {}", finding.state.word(), finding.found)).collect()
    }

    #[test]
    fn low_disk_space_is_reported_with_its_reason() {
        let room = |free_bytes, free_files| described(&room_findings(Some(Room { free_bytes, free_files })));
        assert_eq!(room(FREE_BYTES_MIN, None), ["ok 268 MB free"]);
        assert_eq!(
            room(FREE_BYTES_MIN - 1, Some(9)),
            [
                "warning only 268 MB free: a full disk loses answers",
                "warning only 9 more files can be made on its disk, which has no more inodes",
            ]
        );
        assert_eq!(described(&room_findings(None)), ["ok this system does not report the free space"]);
    }

    #[test]
    fn a_full_disk_is_not_mended_by_permissions() {
        let remedies =
            [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::PermissionDenied].map(remedy);
        let space = "free some space on its disk";
        assert_eq!(remedies, [space, space, "correct its permissions"]);
    }

    #[test]
    fn locks_of_other_machines_are_not_relied_on() {
        assert_eq!(
            described(&[locks(Some("NFS"))]),
            ["warning it is on NFS, where database locks are unreliable"]
        );
    }

    #[test]
    fn a_folder_of_another_user_is_reported_with_a_command() {
        let finding = foreign(Path::new("/a b"), 7, ELSEWHERE);
        assert_eq!(finding.state.word(), "warning");
        assert!(
            finding
                .next
                .unwrap()
                .render(&next::PLAIN)
                .starts_with("`sudo chown -R \"$(id -u)\" '/a b'`, or set")
        );
    }

    #[cfg(unix)]
    #[test]
    fn files_readable_by_others_are_counted() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let set = |name: &str, mode| {
            let path = folder.path().join(name);
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        std::fs::create_dir(folder.path().join("models")).unwrap();
        for (name, mode) in [("models", 0o700), ("runs.db", 0o600), ("models/a.json", 0o600)] {
            if !name.eq("models") {
                std::fs::write(folder.path().join(name), "").unwrap();
            }
            set(name, mode);
        }
        assert_eq!(loose_entries(folder.path()), None);
        set("models/a.json", 0o644);
        let one = loose_entries(folder.path()).unwrap();
        assert_eq!(one.found, "`models/a.json` in it can be read or written by others");
        set("runs.db", 0o602);
        let two = loose_entries(folder.path()).unwrap();
        assert_eq!(two.found, "`models/a.json` and 1 more in it can be read or written by others");
    }
}
