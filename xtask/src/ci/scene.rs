//! The built program in front of a pretend provider, for clients that nobody here wrote.
//!
//! The provider is the program's own `simulate`, told over its control how its models behave. What always holds: every
//! process ends with the value that stands for it, and nothing of this machine's settings reaches the program.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::{built, program};

/// A program of ours listens within a second; a machine that does much beside takes longer.
const READY_DEADLINE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// When the clients of the stages give up on a call, ms: a minute scaled down.
pub(super) const WALL_MS: u64 = 3_000;
/// What the slow model takes for its first word, ms: more than the wall.
const SLOW_MS: u64 = 5_000;
/// The model that is slow, and the one that answers at once. Hanging up on either is seen at once.
const SLOW: &str = "x-ai/grok-4.7";
pub(super) const FAST: &str = "openai/gpt-6.1-sol";

/// The transport, in words.
pub(super) const fn way(over_http: bool) -> &'static str {
    if over_http { "HTTP" } else { "pipes" }
}

/// A process that ends when it is dropped.
pub(super) struct Process(Child);

impl Process {
    /// Starts it and waits until its stdout has so many lines; gives them too. Both its streams are kept in `log`.
    pub(super) fn start(
        mut command: Command,
        log: &Path,
        lines: usize,
    ) -> Result<(Self, Vec<String>), Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(format!("cannot start what writes `{}`: {error}", log.display()))
        };
        let errors = File::create(log.with_extension("err")).map_err(failed)?;
        let output = File::create(log).map_err(failed)?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let mut process = Self(command.spawn().map_err(failed)?);
        let said = process.wait(log, || {
            let said = std::fs::read_to_string(log).unwrap_or_default();
            let whole: Vec<String> =
                said.split_inclusive('\n').map(|line| line.trim_end().to_owned()).collect();
            (whole.len() >= lines && (lines == 0 || said.ends_with('\n'))).then_some(whole)
        })?;
        Ok((process, said))
    }

    /// Waits until this is there, unless the process ends.
    fn wait<T>(&mut self, log: &Path, mut look: impl FnMut() -> Option<T>) -> Result<T, Failure> {
        let begun = program::now();
        loop {
            if let Some(seen) = look() {
                return Ok(seen);
            }
            if let Ok(Some(status)) = self.0.try_wait() {
                return Err(Failure::new(format!("it ended with {status}; see {}", log.display())));
            }
            if begun.elapsed() > READY_DEADLINE {
                return Err(Failure::new(format!("it did not come up; see {}", log.display())));
            }
            std::thread::park_timeout(LOOK_EVERY);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both may only fail when it has just ended by itself.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// The simulator, the program over HTTP, and what it takes to start the program on pipes.
pub(super) struct Scene {
    binary: PathBuf,
    /// The environment of the program: all of it.
    pub(super) environment: Vec<(String, String)>,
    upstream: SocketAddr,
    http: SocketAddr,
    _processes: [Process; 2],
}

impl Scene {
    /// A scene of its own below `target`, with an empty home.
    pub(super) fn start(binary: &Path, name: &str) -> Result<Self, Failure> {
        let folder = built::target()?.join("scenes").join(name);
        let failed =
            |error: std::io::Error| Failure::new(format!("cannot make `{}`: {error}", folder.display()));
        // What an earlier run left is in nobody's way, and may not be there.
        std::fs::remove_dir_all(&folder).ok();
        std::fs::create_dir_all(folder.join("home")).map_err(failed)?;
        let mut environment = environment(&folder.join("home"));
        let simulator = command(binary, &environment, &["simulate", "--port", "0"]);
        let (simulator, variables) = Process::start(simulator, &folder.join("simulator.txt"), 2)?;
        let pairs = variables.iter().filter_map(|line| line.split_once('='));
        environment.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let upstream = address(&environment).ok_or_else(|| {
            Failure::new(format!("the simulator does not say where it is: {}", variables.join(" ")))
        })?;
        for (model, ms) in [("*", 0), (FAST, 0), (SLOW, SLOW_MS)] {
            play(upstream, model, &json!({"behaviour": {"ttft_ms": {"mean": ms}, "tokens_per_s": 0}}))?;
        }
        let http = free_address().map_err(failed)?;
        let log = folder.join("http.txt");
        let server = command(binary, &environment, &["serve", "--http", &http.to_string(), "--no-auth"]);
        let (mut server, _) = Process::start(server, &log, 0)?;
        server.wait(&log, || TcpStream::connect_timeout(&http, LOOK_EVERY).ok())?;
        Ok(Self { binary: binary.to_owned(), environment, upstream, http, _processes: [simulator, server] })
    }

    /// Where the program serves MCP over HTTP.
    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.http)
    }

    /// Has a model behave like this from now on.
    pub(super) fn play(&self, model: &str, script: &Value) -> Result<(), Failure> {
        play(self.upstream, model, script)
    }

    /// The command that serves MCP on pipes.
    pub(super) fn pipes(&self) -> [String; 2] {
        [self.binary.display().to_string(), "serve".to_owned()]
    }

    /// What a script is told: where the program is, over HTTP or on pipes, the wall, and where the models are.
    pub(super) fn order(&self, over_http: bool) -> Value {
        let mut order = json!({"wall_ms": WALL_MS, "upstream": format!("http://{}", self.upstream)});
        if over_http {
            order["url"] = self.url().into();
        } else {
            let [command, word] = self.pipes();
            let environment: serde_json::Map<String, Value> =
                self.environment.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
            order["stdio"] = json!({"command": command, "args": [word], "env": environment});
        }
        order
    }
}

fn environment(home: &Path) -> Vec<(String, String)> {
    let pairs = [
        ("HOME", home.display().to_string()),
        ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
        ("PARALLEL_LLM_CLIENT_WALL_MS", WALL_MS.to_string()),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

fn command(binary: &Path, environment: &[(String, String)], words: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command.args(words).env_clear().envs(environment.iter().cloned());
    command
}

/// The address in `OPENROUTER_BASE_URL`.
fn address(environment: &[(String, String)]) -> Option<SocketAddr> {
    let (_, url) = environment.iter().find(|(name, _)| name == "OPENROUTER_BASE_URL")?;
    url.strip_prefix("http://")?.split('/').next()?.parse().ok()
}

/// Tells the simulator how a model behaves from now on.
fn play(simulator: SocketAddr, model: &str, script: &Value) -> Result<(), Failure> {
    let body = json!({"model": model, "script": script}).to_string();
    let request = format!(
        "POST /__sim/script HTTP/1.1\r\nhost: {simulator}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = TcpStream::connect_timeout(&simulator, READY_DEADLINE).and_then(|mut stream| {
        stream.set_read_timeout(Some(READY_DEADLINE))?;
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    });
    let answer = answer.map_err(|error| Failure::new(format!("the simulator cannot be told: {error}")))?;
    if answer.starts_with("HTTP/1.1 200") {
        Ok(())
    } else {
        Err(Failure::new(format!("the simulator says {answer}")))
    }
}

/// An address that nobody listens at. Another program may take it before ours does, which then ends at once.
fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ends_at_once_did_not_come_up() {
        let log = std::env::temp_dir().join(format!("xtask-process-{}.txt", std::process::id()));
        let failure = Process::start(Command::new("false"), &log, 1).err().unwrap().to_string();
        std::fs::remove_file(&log).unwrap();
        std::fs::remove_file(log.with_extension("err")).unwrap();
        assert!(failure.starts_with("it ended with exit status: 1"), "{failure}");
    }

    #[test]
    fn the_simulator_says_where_it_is() {
        let said = |url: &str| address(&[("OPENROUTER_BASE_URL".to_owned(), url.to_owned())]);
        assert_eq!(said("http://127.0.0.1:8930/api/v1"), Some(([127, 0, 0, 1], 8930).into()));
        assert_eq!(said("nothing"), None);
    }
}
