//! The stages `aimock` and `litellm`: the real program against servers that nobody here wrote.
//!
//! Each is installed once below `target/upstreams`, in the version its row names, and started for its tests alone, which are
//! in `crates/parallel-llm-mcp/tests/upstreams.rs`. A server that cannot be had or does not come up says nothing about the
//! program, so its stage is skipped, with the reason.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::report::Verdict;
use crate::failure::Failure;
use crate::program::{self, Program};
use crate::{built, repository, say};

/// A server: how it is installed into a folder, and how it is started from there.
struct Upstream {
    name: &'static str,
    version: &'static str,
    /// The file that is there when it is installed.
    binary: &'static str,
    install: fn(&Path, &str) -> Result<(), Failure>,
    start: fn(&mut Command, &Start<'_>),
}

/// What a server is told: where to listen, the key to ask for, and its models.
struct Start<'a> {
    port: &'a str,
    key: &'a str,
    models: PathBuf,
}

/// From npm; mocks the protocols of OpenAI, Anthropic and Google on one port.
const AIMOCK: Upstream = Upstream {
    name: "aimock",
    version: "1.43.0",
    binary: "node_modules/@copilotkit/aimock/dist/cli.js",
    install: |folder, version| {
        let install = Program::new("npm").arguments([
            "install",
            "--no-audit",
            "--no-fund",
            "--no-save",
            "--ignore-scripts",
            "--prefix",
        ]);
        install
            .arguments([folder])
            .arguments([format!("@copilotkit/aimock@{version}")])
            .deadline(INSTALL_DEADLINE)
            .run()
    },
    start: |command, start| {
        command
            .args(["--validate-on-load", "--strict", "--port", start.port, "--fixtures"])
            .arg(start.models.join("aimock.json"));
        command.env("AIMOCK_API_KEYS", start.key);
    },
};

/// From PyPI; the proxy that many put between their programs and the providers. The last version whose dependencies an
/// index that lags by a month has.
const LITELLM: Upstream = Upstream {
    name: "litellm",
    version: "1.106.0",
    binary: "bin/litellm",
    install: |folder, version| {
        Program::new("python3")
            .arguments(["-m", "venv"])
            .arguments([folder])
            .deadline(INSTALL_DEADLINE)
            .run()?;
        let install = Program::new(folder.join("bin/pip")).arguments([
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]);
        install.arguments([format!("litellm[proxy]=={version}")]).deadline(INSTALL_DEADLINE).run()
    },
    start: |command, start| {
        command.args([
            "--host",
            "127.0.0.1",
            "--num_workers",
            "1",
            "--telemetry",
            "False",
            "--port",
            start.port,
            "--config",
        ]);
        command
            .arg(start.models.join("litellm.yaml"))
            .env("LITELLM_MASTER_KEY", start.key)
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
    },
};

/// LiteLLM's proxy and its hundred dependencies take a minute and a half.
const INSTALL_DEADLINE: Duration = Duration::from_mins(8);

/// LiteLLM takes ten seconds to come up on a free machine.
const READY_DEADLINE: Duration = Duration::from_mins(2);
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The tests of a server are named for it.
const TESTS: &str = "test -p parallel-llm-mcp --locked --test program";

pub(super) fn aimock() -> Result<Verdict, Failure> {
    run(&AIMOCK)
}

pub(super) fn litellm() -> Result<Verdict, Failure> {
    run(&LITELLM)
}

fn run(upstream: &Upstream) -> Result<Verdict, Failure> {
    let folder = built::target()?.join("upstreams").join(format!("{}-{}", upstream.name, upstream.version));
    if let Err(failure) = installed(upstream, &folder) {
        return Ok(Verdict::Skipped(format!(
            "{} {} cannot be had: {failure}",
            upstream.name, upstream.version
        )));
    }
    // Built first, so that nobody waits for the compiler while the server runs.
    Program::cargo(TESTS).arguments(["--no-run"]).run()?;
    // A key of the shape that is scrubbed everywhere, and of no value anywhere.
    let key = format!("sk-or-v1-{}", "0".repeat(64));
    let server = match Server::start(upstream, &folder, &key) {
        Ok(server) => server,
        Err(failure) => return Ok(Verdict::Skipped(failure.to_string())),
    };
    let tests = Program::cargo(TESTS).arguments(["--", "--ignored", upstream.name]);
    let tests = tests.variable("UPSTREAM_ADDRESS", server.address.to_string()).variable("UPSTREAM_KEY", &key);
    tests.run().map(|()| Verdict::Passed)
}

/// Installs the server unless it is there. What was left half done is done again.
fn installed(upstream: &Upstream, folder: &Path) -> Result<(), Failure> {
    let mark = folder.join("installed");
    if mark.exists() && folder.join(upstream.binary).exists() {
        return Ok(());
    }
    let failed =
        |error: std::io::Error| Failure::new(format!("cannot write `{}`: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    (upstream.install)(folder, upstream.version)?;
    std::fs::write(mark, upstream.version).map_err(failed)
}

/// A server under way. It ends when it is dropped, also when its tests fail.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(upstream: &Upstream, folder: &Path, key: &str) -> Result<Self, Failure> {
        let failed =
            |error: std::io::Error| Failure::new(format!("{} cannot be started: {error}", upstream.name));
        let address = free_address().map_err(failed)?;
        let log = folder.join("log.txt");
        let output = std::fs::File::create(&log).map_err(failed)?;
        let mut command = Command::new(folder.join(upstream.binary));
        let models = repository::root().join("crates/parallel-llm-mcp/tests/upstreams");
        (upstream.start)(&mut command, &Start { port: &address.port().to_string(), key, models });
        command.current_dir(folder).stdin(Stdio::null());
        let child =
            command.stdout(output.try_clone().map_err(failed)?).stderr(output).spawn().map_err(failed)?;
        let mut server = Self { child, address };
        server.wait(upstream.name, &log)?;
        Ok(server)
    }

    /// Waits until the server takes connections.
    fn wait(&mut self, name: &str, log: &Path) -> Result<(), Failure> {
        let begun = program::now();
        while TcpStream::connect_timeout(&self.address, LOOK_EVERY).is_err() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(Failure::new(format!("{name} ended with {status}; see {}", log.display())));
            }
            if begun.elapsed() > READY_DEADLINE {
                let seconds = READY_DEADLINE.as_secs();
                return Err(Failure::new(format!(
                    "{name} did not come up in {seconds} s; see {}",
                    log.display()
                )));
            }
            std::thread::park_timeout(LOOK_EVERY);
        }
        say::note(&format!("{name} came up in {:.1} s at {}", begun.elapsed().as_secs_f64(), self.address));
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both may only fail when the server has just ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// An address that nobody listens at. Another program may take it before the server does; the server then ends at once.
fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BROKEN: Upstream = Upstream {
        name: "broken",
        version: "0",
        binary: "/bin/false",
        install: |_, _| Err(Failure::new("no network")),
        start: |_, _| {},
    };

    #[test]
    fn a_server_that_cannot_be_had_is_skipped_with_its_reason() {
        let verdict = run(&BROKEN).unwrap();
        assert!(matches!(verdict, Verdict::Skipped(why) if why == "broken 0 cannot be had: no network"));
    }

    #[test]
    fn a_server_that_ends_at_once_is_no_server() {
        let folder = std::env::temp_dir().join(format!("xtask-upstream-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let failure = Server::start(&BROKEN, &folder, "").err().unwrap().to_string();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(failure.starts_with("broken ended with exit status: 1"), "{failure}");
    }
}
