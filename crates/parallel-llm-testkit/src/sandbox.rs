//! Where the program is tested: a temporary home and a simulated provider.

use std::path::{Path, PathBuf};
use std::time::Duration;

use parallel_llm_simulator::{Behaviour, RecordedRequest, Script, Simulator, SimulatorConfig};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::time::Instant;

/// The longest a test waits for anything. Only a failing test waits so long; a busy machine is many times slower than
/// an idle one.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(180);

/// How often a condition is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A temporary home and a running simulator. Both end with it.
pub struct Sandbox {
    binary: PathBuf,
    simulator: Simulator,
    home: TempDir,
    /// Last, because the simulator runs on it.
    pub(crate) runtime: Runtime,
}

impl Sandbox {
    /// A sandbox whose models answer at once.
    pub fn new(binary: &str) -> Self {
        Self::with(binary, prompt_config())
    }

    /// A sandbox with this simulator.
    pub fn with(binary: &str, config: SimulatorConfig) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a test machine can start a thread");
        let simulator = runtime.block_on(Simulator::start(config)).expect("a local port is free");
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        Self { binary: PathBuf::from(binary), simulator, home, runtime }
    }

    /// Sets the script of a model.
    #[must_use]
    pub fn scripted(self, model: &str, script: Script) -> Self {
        self.simulator.script(model, script);
        self
    }

    /// The simulated provider.
    pub fn simulator(&self) -> &Simulator {
        &self.simulator
    }

    /// The program.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// The home.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Where the program stores its runs by default.
    pub fn data_dir(&self) -> PathBuf {
        self.home().join(".local/share/parallel-llm-mcp")
    }

    /// Writes a file below the home and returns its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.home().join(name);
        let folder = path.parent().expect("a file lies in a folder");
        std::fs::create_dir_all(folder).expect("a folder can be made below the home");
        std::fs::write(&path, content).expect("a file can be written below the home");
        path
    }

    /// The chat requests the simulator received, oldest first.
    pub fn chats(&self) -> Vec<RecordedRequest> {
        let requests = self.simulator.requests().into_iter();
        requests.filter(|request| request.path.ends_with("/chat/completions")).collect()
    }

    /// How many chat requests named this model.
    pub fn asked(&self, model: &str) -> usize {
        self.chats().iter().filter(|chat| chat.model.as_deref() == Some(model)).count()
    }

    /// Waits until the condition holds.
    pub fn until(&self, what: &str, is_so: impl FnMut() -> bool) {
        self.until_within(WAIT_MAX, what, is_so);
    }

    /// Waits until the condition holds, no longer than this.
    pub fn until_within(&self, limit: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
        let end = Instant::now() + limit;
        while !is_so() {
            assert!(Instant::now() < end, "waited in vain until {what}");
            self.pause(POLL_INTERVAL);
        }
    }

    /// Lets time pass.
    pub fn pause(&self, time: Duration) {
        self.runtime.block_on(async { tokio::time::sleep(time).await });
    }

    /// Every file below the home with its bytes, by its relative path.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        collect(self.home(), &mut files);
        files.sort();
        let home = self.home();
        let inside = |path: PathBuf| path.strip_prefix(home).map(Path::to_owned).unwrap_or(path);
        files.into_iter().map(|(path, bytes)| (inside(path), bytes)).collect()
    }
}

/// Healthy answers come at once; delays of a fault take real time.
fn prompt_config() -> SimulatorConfig {
    SimulatorConfig { behaviour: Behaviour::instant(), ..SimulatorConfig::default() }
}

fn collect(folder: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, files);
        } else if let Ok(bytes) = std::fs::read(&path) {
            files.push((path, bytes));
        }
    }
}
