//! The stages `aimock` and `litellm`: the real program against third-party servers.
//!
//! Each server is installed once below `target/upstreams`, at a fixed version, and started only for its tests in
//! `crates/parallel-llm-mcp/tests/upstreams.rs`. If a server is not available or does not start, its stage is skipped with the
//! reason, because this is no fault of the program.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::report::Verdict;
use super::setup::{Process, free_address};
use crate::failure::Failure;
use crate::program::{self, Program};
use crate::{built, repository, say};

/// A server: how it is installed into a folder and started.
struct Upstream {
    name: &'static str,
    version: &'static str,
    /// The file with its models, beside the tests.
    models: &'static str,
    /// Its executable, relative to the folder.
    binary: &'static str,
    install: fn(&Path, &str) -> Result<(), Failure>,
    start: fn(&mut Command, &Start<'_>),
}

/// The configuration of a server: its port, the key that it accepts, and the file with its models.
struct Start<'a> {
    port: &'a str,
    key: &'a str,
    models: &'a Path,
}

/// A package of npm that mocks the protocols of OpenAI, Anthropic and Google on one port.
const AIMOCK: Upstream = Upstream {
    name: "aimock",
    version: "1.43.0",
    models: "aimock.json",
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
            .time_limit(INSTALL_TIME_MAX)
            .run()
    },
    start: |command, start| {
        command
            .args(["--validate-on-load", "--strict", "--port", start.port, "--fixtures"])
            .arg(start.models);
        command.env("AIMOCK_API_KEYS", start.key);
    },
};

/// A package of PyPI: a proxy that many use between their programs and the providers. The version is old enough that all its
/// dependencies are on mirrors that lag by a month.
const LITELLM: Upstream = Upstream {
    name: "litellm",
    version: "1.106.0",
    models: "litellm.yaml",
    binary: "bin/litellm",
    install: |folder, version| {
        Program::new("python3")
            .arguments(["-m", "venv"])
            .arguments([folder])
            .time_limit(INSTALL_TIME_MAX)
            .run()?;
        let install = Program::new(folder.join("bin/pip")).arguments([
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]);
        install.arguments([format!("litellm[proxy]=={version}")]).time_limit(INSTALL_TIME_MAX).run()
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
            .arg(start.models)
            .env("LITELLM_MASTER_KEY", start.key)
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
    },
};

/// Time limit for an installation; LiteLLM's proxy and its hundred dependencies take a minute and a half.
const INSTALL_TIME_MAX: Duration = Duration::from_mins(8);

/// The test command; the tests of a server are named after it.
const TESTS: &str = "test --workspace --locked --test program";

pub(super) fn aimock() -> Result<Verdict, Failure> {
    run(&AIMOCK)
}

pub(super) fn litellm() -> Result<Verdict, Failure> {
    run(&LITELLM)
}

/// Starts LiteLLM's proxy with this configuration, for callers with this key.
pub(super) fn litellm_proxy(config: &Path, key: &str) -> Result<Server, Failure> {
    let folder = folder(&LITELLM)?;
    install(&LITELLM, &folder)?;
    Server::start(&LITELLM, &folder, key, config)
}

fn run(upstream: &Upstream) -> Result<Verdict, Failure> {
    let folder = folder(upstream)?;
    if let Err(failure) = install(upstream, &folder) {
        return Ok(Verdict::Skipped(format!(
            "{} {} is not available: {failure}",
            upstream.name, upstream.version
        )));
    }
    // Compiled first, so that the server does not run meanwhile.
    built::tests()?;
    // A key in a format that is always scrubbed, valid nowhere else.
    let key = format!("sk-or-v1-{}", "0".repeat(64));
    let models = repository::root().join("crates/parallel-llm-mcp/tests/upstreams").join(upstream.models);
    let server = match Server::start(upstream, &folder, &key, &models) {
        Ok(server) => server,
        Err(failure) => return Ok(Verdict::Skipped(failure.to_string())),
    };
    let tests = Program::cargo(TESTS).arguments(["--", "--ignored", upstream.name]);
    let tests = tests.variable("UPSTREAM_ADDRESS", server.address.to_string()).variable("UPSTREAM_KEY", &key);
    tests.run().map(|()| Verdict::Passed)
}

/// The folder of a server.
fn folder(upstream: &Upstream) -> Result<PathBuf, Failure> {
    Ok(built::target()?.join("upstreams").join(format!("{}-{}", upstream.name, upstream.version)))
}

/// Installs the server unless it is installed. An unfinished installation is repeated.
fn install(upstream: &Upstream, folder: &Path) -> Result<(), Failure> {
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

/// A running server.
pub(super) struct Server {
    _process: Process,
    address: SocketAddr,
}

impl Server {
    /// Where it listens.
    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts the server and waits until it accepts connections.
    fn start(upstream: &Upstream, folder: &Path, key: &str, models: &Path) -> Result<Self, Failure> {
        let address = free_address()?;
        let mut command = Command::new(folder.join(upstream.binary));
        (upstream.start)(&mut command, &Start { port: &address.port().to_string(), key, models });
        command.current_dir(folder);
        let begun = program::now();
        let process = Process::listening(command, &folder.join("log.txt"), address);
        let process = process.map_err(|failure| Failure::new(format!("{}: {failure}", upstream.name)))?;
        let seconds = begun.elapsed().as_secs_f64();
        say::note(&format!("{} listens at {address} after {seconds:.1} s", upstream.name));
        Ok(Self { _process: process, address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BROKEN: Upstream = Upstream {
        name: "broken",
        version: "0",
        models: "",
        binary: "/bin/false",
        install: |_, _| Err(Failure::new("no network")),
        start: |_, _| {},
    };

    #[test]
    fn an_unavailable_server_is_skipped_with_its_reason() {
        let verdict = run(&BROKEN).unwrap();
        assert!(matches!(verdict, Verdict::Skipped(why) if why == "broken 0 is not available: no network"));
    }

    #[test]
    fn a_server_that_ends_at_once_is_reported() {
        let folder = std::env::temp_dir().join(format!("xtask-upstream-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let failure = Server::start(&BROKEN, &folder, "", Path::new("")).err().unwrap().to_string();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(failure.starts_with("broken: it ended with exit status: 1"), "{failure}");
    }
}
