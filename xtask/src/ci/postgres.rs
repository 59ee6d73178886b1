//! The stage `postgres`: the store, and several machines with one database, against a PostgreSQL server of its own.
//!
//! The server is installed with the system's packages if it is missing. Its data is a temporary folder, it listens on
//! loopback only, and it ends with the stage. Without a server the stage fails: half of the store would be untested.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::State;
use super::report::Verdict;
use super::system;
use crate::failure::Failure;
use crate::program::Program;

/// Where the system's packages put the programs of a server, by version.
const VERSIONS: &str = "/usr/lib/postgresql";
/// The user as whom the server runs if this is root, as which it refuses to; its package makes the user.
const USER: &str = "postgres";
/// The tests on a server: those of the store, and of the program those about several machines. The others need none. The
/// last one starts the server again, so it is alone.
const TESTS: [&str; 3] = [
    "test --workspace --locked --test store",
    "test --workspace --locked --test program -- replicas:: deploy:: batch::killed --skip restarts",
    "test --workspace --locked --test program -- batch::killed::a_batch_outlives_restarts_of_its_server",
];
/// The variable by which the tests find the server.
const VARIABLE: &str = "PARALLEL_LLM_TEST_DATABASE_URL";
/// How many faults each of the four groups of servers outlives with `--long`, by the variable that its test reads: a thousand
/// in all, and the time limit for them. They take half an hour.
const CYCLES: &str = "PARALLEL_LLM_TEST_REPLICA_CYCLES";
const CYCLES_LONG: &str = "250";
/// How many questions a batch has whose workers are killed, and with `--long`.
const JOBS: &str = "PARALLEL_LLM_TEST_BATCH_JOBS";
const JOBS_USUAL: &str = "500";
const JOBS_LONG: &str = "10000";
/// The variable with the command that starts the server again.
const RESTART: &str = "PARALLEL_LLM_TEST_DATABASE_RESTART";
const LONG_MAX: Duration = Duration::from_hours(2);
/// Time limit of making, starting and stopping a server, which take seconds.
const STEP_MAX: Duration = Duration::from_mins(2);
/// Its settings. What it stores need not survive a power cut; the tests that run at once have seven connections each.
const SETTINGS: &str =
    "-c fsync=off -c full_page_writes=off -c max_connections=300 -c listen_addresses=127.0.0.1";

/// A server that runs until it is dropped.
struct Cluster {
    programs: PathBuf,
    folder: PathBuf,
    is_root: bool,
    port: u16,
}

pub(super) fn run(state: &mut State) -> Result<Verdict, Failure> {
    let server = Cluster::start()?;
    let url = format!("postgres://{USER}@127.0.0.1:{}/postgres?sslmode=disable", server.port);
    for tests in TESTS {
        let jobs = if state.long { JOBS_LONG } else { JOBS_USUAL };
        let tests = Program::cargo(tests).variable(VARIABLE, &url).variable(JOBS, jobs);
        let tests = tests.variable(RESTART, server.restart_command());
        let tests = if state.long { tests.variable(CYCLES, CYCLES_LONG).time_limit(LONG_MAX) } else { tests };
        tests.run()?;
    }
    Ok(Verdict::Passed)
}

impl Cluster {
    fn start() -> Result<Self, Failure> {
        if programs().is_none() {
            system::package("postgresql")?;
        }
        let missing = || Failure::new("POSTGRESQL IS MISSING although its package is installed");
        let programs = programs().ok_or_else(missing)?;
        let is_root = Program::new("id").arguments(["-u"]).output()?.trim() == "0";
        let folder = std::env::temp_dir().join(format!("xtask-postgres-{}", std::process::id()));
        let made = fs::create_dir_all(&folder);
        made.map_err(|error| Failure::new(format!("cannot make `{}`: {error}", folder.display())))?;
        let server = Self { programs, folder, is_root, port: free_port()? };
        if is_root {
            Program::new("chown").arguments([USER.as_ref(), server.folder.as_os_str()]).run()?;
        }
        let data = server.folder.join("data");
        let (data, log) = (data.display(), server.folder.join("log"));
        server.program(
            "initdb",
            &format!("-D {data} -U {USER} --auth=trust --no-sync -E UTF8 --locale=C.UTF-8"),
        )?;
        let options = format!(
            "{SETTINGS} -c port={} -c unix_socket_directories={}",
            server.port,
            server.folder.display()
        );
        server.program("pg_ctl", &format!("-D {data} -l {} -w -o '{options}' start", log.display()))?;
        Ok(server)
    }

    /// The command, for a shell, that starts the server again and returns when it is ready.
    fn restart_command(&self) -> String {
        let command = format!(
            "{} -D {} -l {} -m fast -w restart",
            self.programs.join("pg_ctl").display(),
            self.folder.join("data").display(),
            self.folder.join("log").display()
        );
        if self.is_root { format!("su {USER} -s /bin/sh -c '{command}'") } else { command }
    }

    /// Runs a program of the server as a user who may.
    fn program(&self, name: &str, arguments: &str) -> Result<(), Failure> {
        let command = format!("{} {arguments}", self.programs.join(name).display());
        let shell = if self.is_root {
            Program::new("su").arguments([USER, "-s", "/bin/sh", "-c", &command])
        } else {
            Program::new("sh").arguments(["-c", &command])
        };
        shell.time_limit(STEP_MAX).output().map(drop)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // If it was not started, there is nothing to stop.
        let data = self.folder.join("data");
        self.program("pg_ctl", &format!("-D {} -m immediate -w stop", data.display())).ok();
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// The programs of the newest installed server.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(Path::new(VERSIONS)).ok()?.flatten();
    let number = |path: &PathBuf| path.parent()?.file_name()?.to_str()?.parse::<u32>().ok();
    let programs = versions.map(|entry| entry.path().join("bin")).filter(|path| path.join("initdb").exists());
    programs.max_by_key(number)
}

/// A port that nobody listens on.
fn free_port() -> Result<u16, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener
        .map(|address| address.port())
        .map_err(|error| Failure::new(format!("there is no free port: {error}")))
}
