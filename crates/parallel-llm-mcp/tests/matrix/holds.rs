//! What always holds, whatever the fault was.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use parallel_llm_testkit::Sandbox;

use super::database::{self, Stranger};
use super::{PLAYGROUND, done, word};

/// More runs than any row makes.
const RUNS_MAX: &str = "500";
/// How a run may stand when nobody is at it.
const ENDS: [&str; 5] = ["complete", "partial", "failed", "cancelled", "interrupted"];

/// Fails unless what always holds does: the key is in no file; nothing lies outside the data folder and nothing inside
/// is open to others; the database is whole; no more was asked of the simulator than the database knows of; and every
/// run has ended or is told as interrupted.
pub(crate) fn holds(sandbox: &Sandbox) {
    sandbox.assert_no_key_in_files();
    nothing_is_elsewhere(sandbox);
    nobody_else_may_look(&sandbox.data_dir());
    let path = database::path(sandbox);
    if !path.is_file() {
        assert_eq!(sandbox.chats().len(), 0, "what cannot be noted is not sent");
        return;
    }
    let mut stranger = Stranger::new(&path);
    stranger.assert_sound();
    // A database that never came to its tables knows of nothing.
    let has_tables = stranger.number("PRAGMA user_version") > 0;
    let sent =
        if has_tables { stranger.number("SELECT count(*) FROM events WHERE kind = 'sent'") } else { 0 };
    drop(stranger);
    let asked = i64::try_from(sandbox.chats().len()).expect("few requests");
    assert!(asked <= sent, "{asked} requests came, and {sent} are known");
    for run in done(sandbox.call(["runs", "list", "--json", "-n", RUNS_MAX])).json_lines() {
        assert!(ENDS.contains(&word(&run, "status")), "a run that has not ended: {run}");
    }
}

/// The program writes to its data folder; what else is below the home is the test's own.
fn nothing_is_elsewhere(sandbox: &Sandbox) {
    let data = sandbox.data_dir();
    let data = data.strip_prefix(sandbox.home()).expect("it lies below the home");
    let is_known = |path: &Path| {
        [data, Path::new(".config"), Path::new(PLAYGROUND)].iter().any(|known| path.starts_with(known))
    };
    let strays: Vec<_> =
        sandbox.files().into_iter().map(|(path, _)| path).filter(|path| !is_known(path)).collect();
    assert_eq!(strays, Vec::<&Path>::new());
}

fn nobody_else_may_look(path: &Path) {
    let Ok(metadata) = path.symlink_metadata() else { return };
    if metadata.is_symlink() {
        return;
    }
    let mode = metadata.permissions().mode() & 0o777;
    let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
    assert_eq!(mode, expected, "{} has mode {mode:03o}", path.display());
    if metadata.is_dir() {
        let entries = std::fs::read_dir(path).expect("the folder can be read");
        entries.flatten().for_each(|entry| nobody_else_may_look(&entry.path()));
    }
}
