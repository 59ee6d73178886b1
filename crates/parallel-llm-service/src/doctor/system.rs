//! Facts from the operating system: disk space, file owners, process limits, host name.
//!
//! `None` if the system does not report a fact, which is no reason for a warning.

use std::fs::Metadata;
use std::path::Path;

/// The mode bits of group and others.
pub(super) const OTHERS: u32 = 0o077;
/// The write bits of group and others.
pub(super) const OTHERS_WRITE: u32 = 0o022;

/// The free space on the disk of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) free_bytes: u64,
    /// The free inodes; `None` if the file system has no such limit.
    pub(super) free_files: Option<u64>,
}

/// The relevant limits of this process; `None` for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) open_files: Option<u64>,
    pub(super) core_bytes: Option<u64>,
}

/// File systems on which database locks are known to fail between machines, or which have none: the magic numbers of
/// Linux (`statfs(2)`) and their names.
#[cfg(any(target_os = "linux", test))]
const UNSAFE: [(u32, &str); 9] = [
    (0x0000_6969, "NFS"),
    (0x0000_517b, "SMB"),
    (0xfe53_4d42, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0x0102_1997, "9P"),
    (0x5346_414f, "AFS"),
    (0x0000_564c, "NCP"),
    (0x786f_4256, "a shared folder of VirtualBox"),
    (0xbacb_acbc, "a shared folder of VMware"),
];

/// The name of a file system with unsafe locks.
#[cfg(any(target_os = "linux", test))]
fn unsafe_name(magic: u32) -> Option<&'static str> {
    UNSAFE.iter().find(|(known, _)| *known == magic).map(|(_, name)| *name)
}

#[cfg(unix)]
pub(super) fn room(folder: &Path) -> Option<Room> {
    let described = rustix::fs::statvfs(folder).ok()?;
    let free_files = (described.f_files > 0).then_some(described.f_favail);
    Some(Room { free_bytes: described.f_bavail.checked_mul(described.f_frsize)?, free_files })
}

#[cfg(not(unix))]
pub(super) fn room(_: &Path) -> Option<Room> {
    None
}

/// The name of a folder's file system if locks are unsafe on it.
#[cfg(target_os = "linux")]
pub(super) fn unsafe_file_system(folder: &Path) -> Option<&'static str> {
    // The magic numbers have 32 bits on every platform.
    unsafe_name(rustix::fs::statfs(folder).ok()?.f_type as u32)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn unsafe_file_system(_: &Path) -> Option<&'static str> {
    None
}

/// The permissions of a file or folder, as `chmod` takes them.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as on systems that do not report it")]
pub(super) fn mode(metadata: &Metadata) -> Option<u32> {
    Some(std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777)
}

#[cfg(not(unix))]
pub(super) fn mode(_: &Metadata) -> Option<u32> {
    None
}

/// The user id of its owner, if that is another user than this process's.
#[cfg(unix)]
pub(super) fn foreign_owner(metadata: &Metadata) -> Option<u32> {
    let owner = std::os::unix::fs::MetadataExt::uid(metadata);
    (owner != rustix::process::geteuid().as_raw()).then_some(owner)
}

#[cfg(not(unix))]
pub(super) fn foreign_owner(_: &Metadata) -> Option<u32> {
    None
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as on systems that do not report it")]
pub(super) fn limits() -> Option<Limits> {
    use rustix::process::{Resource, getrlimit};
    let current = |resource| getrlimit(resource).current;
    Some(Limits { open_files: current(Resource::Nofile), core_bytes: current(Resource::Core) })
}

#[cfg(not(unix))]
pub(super) fn limits() -> Option<Limits> {
    None
}

/// The host name.
#[cfg(unix)]
pub(super) fn host() -> Option<String> {
    rustix::system::uname().nodename().to_str().ok().filter(|name| !name.is_empty()).map(str::to_owned)
}

#[cfg(not(unix))]
pub(super) fn host() -> Option<String> {
    None
}

/// A path quoted for a shell.
pub(super) fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@%,".contains(&byte);
    if path.bytes().all(is_plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// A size for people: `12 GB`, `300 MB`, `40 kB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} kB", bytes / 1_000),
        10_000_000..10_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_of_other_machines_are_known_by_their_numbers() {
        let described = [0x6969, 0xff53_4d42, 0x0102_1997, 0xef53, 0x0102_1994].map(unsafe_name);
        assert_eq!(described, [Some("NFS"), Some("CIFS"), Some("9P"), None, None]);
    }

    #[test]
    fn sizes_and_paths_are_readable() {
        let sizes = [12, 268_435, 268_435_456, 25_000_000_000].map(size);
        assert_eq!(sizes, ["12 bytes", "268 kB", "268 MB", "25 GB"]);
        let paths = ["/a/b-c.d", "/a b", "/it's"].map(|path| quoted(Path::new(path)));
        assert_eq!(paths, ["/a/b-c.d", "'/a b'", r"'/it'\''s'"]);
    }
}
