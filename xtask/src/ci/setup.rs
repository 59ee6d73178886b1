//! A setup for third-party clients: the built program, served over HTTP and on pipes, with a simulated provider.
//!
//! The provider is the program's own `simulate`; its control route sets the behaviour of each model. Invariants: a process ends
//! when its [`Process`] is dropped, and no setting of this machine reaches the program.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::{built, program};

/// Time limit for a server to start. Our program takes a second, LiteLLM ten; a busy machine takes longer.
const START_MAX: Duration = Duration::from_mins(2);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The timeout of the clients in ms: a minute scaled down.
pub(super) const CLIENT_TIMEOUT_MS: u64 = 3_000;
/// The time to the first word of the slow model in ms, longer than the clients' timeout.
const SLOW_MS: u64 = 5_000;
/// The slow model, and one that answers at once. The provider notices at once if a caller hangs up on either.
const SLOW: &str = "x-ai/grok-4.7";
pub(super) const FAST: &str = "openai/gpt-6.1-sol";

/// The name of the transport.
pub(super) const fn transport(over_http: bool) -> &'static str {
    if over_http { "HTTP" } else { "pipes" }
}

/// A process that ends when it is dropped.
pub(super) struct Process(Child);

impl Process {
    /// Starts the command and waits for this many lines on its stdout, which are returned. stdout goes to `log`, stderr to a
    /// file beside it.
    pub(super) fn start(
        mut command: Command,
        log: &Path,
        lines: usize,
    ) -> Result<(Self, Vec<String>), Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(format!("cannot start the program that logs to `{}`: {error}", log.display()))
        };
        let errors = File::create(log.with_extension("err")).map_err(failed)?;
        let output = File::create(log).map_err(failed)?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let mut process = Self(command.spawn().map_err(failed)?);
        let output = process.wait(log, || {
            let output = std::fs::read_to_string(log).unwrap_or_default();
            let whole: Vec<String> =
                output.split_inclusive('\n').map(|line| line.trim_end().to_owned()).collect();
            (whole.len() >= lines && (lines == 0 || output.ends_with('\n'))).then_some(whole)
        })?;
        Ok((process, output))
    }

    /// Starts a server and waits until it accepts connections at `address`.
    pub(super) fn listening(command: Command, log: &Path, address: SocketAddr) -> Result<Self, Failure> {
        let (mut process, _) = Self::start(command, log, 0)?;
        process.wait(log, || TcpStream::connect_timeout(&address, POLL_INTERVAL).ok())?;
        Ok(process)
    }

    /// Waits until `poll` returns a value. Fails if the process ends first.
    fn wait<T>(&mut self, log: &Path, mut poll: impl FnMut() -> Option<T>) -> Result<T, Failure> {
        let begun = program::now();
        loop {
            if let Some(value) = poll() {
                return Ok(value);
            }
            if let Ok(Some(status)) = self.0.try_wait() {
                return Err(Failure::new(format!("it ended with {status}; see {}", log.display())));
            }
            if begun.elapsed() > START_MAX {
                return Err(Failure::new(format!("it did not start in time; see {}", log.display())));
            }
            std::thread::park_timeout(POLL_INTERVAL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if it has just ended by itself.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// The simulator, the program serving HTTP, and the command that serves on pipes.
pub(super) struct Setup {
    binary: PathBuf,
    /// The whole environment of the program.
    pub(super) environment: Vec<(String, String)>,
    upstream: SocketAddr,
    http: SocketAddr,
    _processes: [Process; 2],
}

impl Setup {
    /// Starts a setup in a folder of this name below `target`, with an empty home.
    pub(super) fn start(binary: &Path, name: &str) -> Result<Self, Failure> {
        let folder = built::target()?.join("setups").join(name);
        let failed =
            |error: std::io::Error| Failure::new(format!("cannot make `{}`: {error}", folder.display()));
        // The folder of an earlier run; there may be none.
        std::fs::remove_dir_all(&folder).ok();
        std::fs::create_dir_all(folder.join("home")).map_err(failed)?;
        let mut environment = environment(&folder.join("home"));
        let simulator = command(binary, &environment, &["simulate", "--port", "0"]);
        let (simulator, variables) = Process::start(simulator, &folder.join("simulator.txt"), 2)?;
        let pairs = variables.iter().filter_map(|line| line.split_once('='));
        environment.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let upstream = address(&environment).ok_or_else(|| {
            Failure::new(format!("the simulator does not print its address: {}", variables.join(" ")))
        })?;
        for (model, ms) in [("*", 0), (FAST, 0), (SLOW, SLOW_MS)] {
            set_script(upstream, model, &json!({"behaviour": {"ttft_ms": {"mean": ms}, "tokens_per_s": 0}}))?;
        }
        let http = free_address()?;
        let log = folder.join("http.txt");
        let server = command(binary, &environment, &["serve", "--http", &http.to_string(), "--no-auth"]);
        let server = Process::listening(server, &log, http)?;
        Ok(Self { binary: binary.to_owned(), environment, upstream, http, _processes: [simulator, server] })
    }

    /// The URL of MCP over HTTP.
    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.http)
    }

    /// Sets the behaviour of a model.
    pub(super) fn script(&self, model: &str, script: &Value) -> Result<(), Failure> {
        set_script(self.upstream, model, script)
    }

    /// Starts another server over the same data, for callers with a token, and makes one.
    pub(super) fn serve_tokens(&self) -> Result<TokenServer, Failure> {
        let address = free_address()?;
        let words = ["serve", "--http", &address.to_string()];
        let log = built::target()?.join("setups").join(format!("tokens-{}.txt", address.port()));
        let process = Process::listening(command(&self.binary, &self.environment, &words), &log, address)?;
        let create =
            command(&self.binary, &self.environment, &["keys", "create", "client", "--json"]).output();
        let made: Value = create
            .map_err(|error| error.to_string())
            .and_then(|made| serde_json::from_slice(&made.stdout).map_err(|error| error.to_string()))
            .map_err(|why| Failure::new(format!("a token cannot be made: {why}")))?;
        let token = made["token"].as_str().unwrap_or_default().to_owned();
        Ok(TokenServer { address, token, _process: process })
    }

    /// The command that serves MCP on pipes.
    pub(super) fn pipes(&self) -> [String; 2] {
        [self.binary.display().to_string(), "serve".to_owned()]
    }

    /// The input of a client's script: how to reach the program, the client's timeout, and the simulator.
    pub(super) fn order(&self, over_http: bool) -> Value {
        let mut order =
            json!({"wall_ms": CLIENT_TIMEOUT_MS, "upstream": format!("http://{}", self.upstream)});
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

/// The program over HTTP, for callers with a token.
pub(super) struct TokenServer {
    pub(super) address: SocketAddr,
    pub(super) token: String,
    _process: Process,
}

fn environment(home: &Path) -> Vec<(String, String)> {
    let pairs = [
        ("HOME", home.display().to_string()),
        ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
        ("PARALLEL_LLM_CLIENT_WALL_MS", CLIENT_TIMEOUT_MS.to_string()),
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

/// Sets the behaviour of a model of the simulator.
fn set_script(simulator: SocketAddr, model: &str, script: &Value) -> Result<(), Failure> {
    let body = json!({"model": model, "script": script}).to_string();
    let request = format!(
        "POST /__sim/script HTTP/1.1\r\nhost: {simulator}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = TcpStream::connect_timeout(&simulator, START_MAX).and_then(|mut stream| {
        stream.set_read_timeout(Some(START_MAX))?;
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    });
    let answer = answer.map_err(|error| Failure::new(format!("the simulator cannot be reached: {error}")))?;
    if answer.starts_with("HTTP/1.1 200") {
        Ok(())
    } else {
        Err(Failure::new(format!("the simulator answered {answer}")))
    }
}

/// A free local address. Another program may take it first; the server that should use it then ends at once.
pub(super) fn free_address() -> Result<SocketAddr, Failure> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    bound.map_err(|error| Failure::new(format!("there is no free local port: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ends_at_once_is_a_failure() {
        let log = std::env::temp_dir().join(format!("xtask-process-{}.txt", std::process::id()));
        let failure = Process::start(Command::new("false"), &log, 1).err().unwrap().to_string();
        std::fs::remove_file(&log).unwrap();
        std::fs::remove_file(log.with_extension("err")).unwrap();
        assert!(failure.starts_with("it ended with exit status: 1"), "{failure}");
    }

    #[test]
    fn the_simulator_prints_its_address() {
        let parsed = |url: &str| address(&[("OPENROUTER_BASE_URL".to_owned(), url.to_owned())]);
        assert_eq!(parsed("http://127.0.0.1:8930/api/v1"), Some(([127, 0, 0, 1], 8930).into()));
        assert_eq!(parsed("nothing"), None);
    }
}
