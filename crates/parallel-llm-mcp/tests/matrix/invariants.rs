//! What must hold after every fault.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use parallel_llm_testkit::Sandbox;

use super::database::{self, OutsideConnection};
use super::{PLAYGROUND, output_of, word};

/// More runs than any row makes.
const RUNS_MAX: &str = "500";
/// The statuses of a run that no process works on.
const ENDS: [&str; 5] = ["complete", "partial", "failed", "cancelled", "interrupted"];

/// Fails unless all invariants hold: the key is in no file; the program wrote only to its data folder, and nothing in
/// it is open to others; the database is intact; the simulator received no more requests than the database recorded;
/// every run has ended or is interrupted.
pub(crate) fn assert_invariants(sandbox: &Sandbox) {
    sandbox.assert_no_key_in_files();
    assert_nothing_outside_data_folder(sandbox);
    assert_private(&sandbox.data_dir());
    let path = database::path(sandbox);
    if !path.is_file() {
        assert_eq!(sandbox.chats().len(), 0, "nothing is sent that cannot be recorded");
        return;
    }
    let mut outside = OutsideConnection::new(&path);
    outside.assert_sound();
    // A database without its tables has recorded nothing.
    let has_tables = outside.number("PRAGMA user_version") > 0;
    let sent = if has_tables { outside.number("SELECT count(*) FROM events WHERE kind = 'sent'") } else { 0 };
    drop(outside);
    let asked = i64::try_from(sandbox.chats().len()).expect("few requests");
    assert!(asked <= sent, "{asked} requests were received, and {sent} were recorded");
    for run in output_of(sandbox.call(["runs", "list", "--json", "-n", RUNS_MAX])).json_lines() {
        assert!(ENDS.contains(&word(&run, "status")), "a run that has not ended: {run}");
    }
}

/// The program writes only to its data folder; everything else below the home belongs to the test.
fn assert_nothing_outside_data_folder(sandbox: &Sandbox) {
    let data = sandbox.data_dir();
    let data = data.strip_prefix(sandbox.home()).expect("it lies below the home");
    let is_known = |path: &Path| {
        [data, Path::new(".config"), Path::new(PLAYGROUND)].iter().any(|known| path.starts_with(known))
    };
    let strays: Vec<_> =
        sandbox.files().into_iter().map(|(path, _)| path).filter(|path| !is_known(path)).collect();
    assert_eq!(strays, Vec::<&Path>::new());
}

fn assert_private(path: &Path) {
    let Ok(metadata) = path.symlink_metadata() else { return };
    if metadata.is_symlink() {
        return;
    }
    let mode = metadata.permissions().mode() & 0o777;
    let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
    assert_eq!(mode, expected, "{} has mode {mode:03o}", path.display());
    if metadata.is_dir() {
        let entries = std::fs::read_dir(path).expect("the folder can be read");
        entries.flatten().for_each(|entry| assert_private(&entry.path()));
    }
}
