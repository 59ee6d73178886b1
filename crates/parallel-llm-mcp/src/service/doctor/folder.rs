//! The data folder: whether it can be written, who else may read it, and what room there is.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::{Finding, Service};
use crate::files;

/// Room below this is told: a run comes to some hundred kilobytes, and a full disk loses answers.
const FREE_BYTES_MIN: u64 = 256 * 1024 * 1024;
/// What a mode gives to others than the owner.
#[cfg(unix)]
const OTHERS: u32 = 0o077;
/// How long the system is given to say how much room there is.
const FREE_WAIT: Duration = Duration::from_secs(2);

pub(super) async fn look(service: &Service) -> Vec<Finding> {
    let folder = &service.settings().data_dir;
    let mut findings = vec![writable(folder)];
    #[cfg(unix)]
    findings.extend(folder.metadata().ok().map(|metadata| privacy(folder, &metadata)));
    findings.push(room(folder).await);
    findings
}

/// Writes a word into the folder, which is made where there is none, as the first run would.
fn writable(folder: &Path) -> Finding {
    let probe = folder.join(format!(".{}.probe", std::process::id()));
    let written = files::private_folder_builder()
        .recursive(true)
        .create(folder)
        .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&probe)?.write_all(b"a word"));
    // Where it could not be written there is nothing to remove.
    let _ = std::fs::remove_file(&probe);
    match written {
        Ok(()) => Finding::ok(format!("{} can be written", folder.display())),
        Err(error) => Finding::failed(
            format!("{} cannot be written: {error}", folder.display()),
            "mend its permissions, or set `PARALLEL_LLM_DATA_DIR` to another folder",
        ),
    }
}

#[cfg(unix)]
fn privacy(folder: &Path, metadata: &std::fs::Metadata) -> Finding {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & OTHERS == 0 {
        Finding::ok(format!("nobody else can read it (mode {mode:03o})"))
    } else {
        let found = format!("others can look into it (mode {mode:03o})");
        Finding::warning(found, format!("`chmod 700 {}`", folder.display()))
    }
}

async fn room(place: &Path) -> Finding {
    match free_bytes(place).await {
        None => Finding::ok("how much room there is, this system does not tell"),
        Some(free) if free >= FREE_BYTES_MIN => Finding::ok(format!("{} free", size(free))),
        Some(free) => Finding::warning(
            format!("only {} free", size(free)),
            "make room, or set `PARALLEL_LLM_DATA_DIR` to a folder on another disk",
        ),
    }
}

/// What `df` says, in the shape that POSIX fixes: the standard library does not know.
async fn free_bytes(place: &Path) -> Option<u64> {
    let mut command = Command::new("df");
    command.arg("-Pk").arg(place).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let told = tokio::time::timeout(FREE_WAIT, command.output()).await.ok()?.ok()?;
    free_of(std::str::from_utf8(&told.stdout).ok()?)
}

fn free_of(told: &str) -> Option<u64> {
    // The name of the file system may hold spaces. What is free stands before the only column in percent; a name in the
    // shape of both would have to be somebody's jest.
    let columns: Vec<&str> = told.lines().nth(1)?.split_whitespace().collect();
    let kilobytes: u64 =
        columns.array_windows().find_map(|[free, used]| used.ends_with('%').then(|| free.parse().ok())?)?;
    kilobytes.checked_mul(1024)
}

/// `12 GB`, `300 MB`: enough to know whether there is room.
fn size(bytes: u64) -> String {
    const MB: u64 = 1_000_000;
    match bytes / MB {
        megabytes @ 0..10_000 => format!("{megabytes} MB"),
        megabytes => format!("{} GB", megabytes / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_column_before_the_percentage_is_what_is_free() {
        const HEAD: &str = "Filesystem 1024-blocks Used Available Capacity Mounted on";
        for place in ["/dev/x", "map auto home", "//nas/my 100% share"] {
            assert_eq!(free_of(&format!("{HEAD}\n{place} 100 40 60 40% /\n")), Some(61_440), "{place}");
        }
        for odd in ["", "one line", "a\nb c d e", "a\n40% /", "a\nb c 40% /"] {
            assert_eq!(free_of(odd), None, "{odd}");
        }
        assert_eq!([268_435_456, 25_000_000_000].map(size), ["268 MB", "25 GB"]);
    }
}
