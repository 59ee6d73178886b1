//! Installs third-party packages for the stages: those of `xtask/clients`, `xtask/agents` and the page's browser tests, from npm
//! and PyPI.
//!
//! They are installed once below `target/tools`, in the versions of the lock files beside the scripts. If a package is not
//! available, the stage that needs it is skipped with the reason, because this is no fault of the program; only `real model`
//! fails, as it says.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::failure::Failure;
use crate::program::Program;
use crate::{built, repository};

/// Time limit for an installation; two hundred packages take half a minute.
const INSTALL_TIME_MAX: Duration = Duration::from_mins(5);

/// The oldest Node that the packages support, as major and minor version.
const NODE_MIN: (u32, u32) = (22, 19);
/// The Node that is installed, from npm, if the machine has none or an older one.
const NODE_VERSION: &str = "24.21.0";

/// Folders of the repository with our scripts and a `package.json`. The last name of each is that of its copy.
pub(super) const CLIENTS: &str = "xtask/clients";
pub(super) const AGENTS: &str = "xtask/agents";
pub(super) const BROWSER: &str = "crates/parallel-llm-web-door/tests/browser";

/// Node, and a folder with installed packages and our scripts.
#[derive(Debug)]
pub(super) struct Packages {
    pub(super) node: PathBuf,
    pub(super) folder: PathBuf,
}

impl Packages {
    /// The command that runs a script of a package, or one of ours.
    pub(super) fn script(&self, path: &str) -> Program {
        Program::new(&self.node).arguments([self.folder.join(path)])
    }
}

/// Installs the packages of a folder's `package.json`.
pub(super) fn packages(name: &str) -> Result<Packages, Failure> {
    let folder = folder(name)?;
    let lock = read(&folder.join("package-lock.json"))?;
    once(&folder, &lock, || {
        let clean = ["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel", "error", "--prefix"];
        Program::new("npm").arguments(clean).arguments([&folder]).time_limit(INSTALL_TIME_MAX).run()
    })?;
    Ok(Packages { node: node()?, folder })
}

/// Installs the packages of `xtask/clients/NAME.txt`, and returns the path of their Python.
pub(super) fn python(name: &str) -> Result<PathBuf, Failure> {
    python_with(name, &[])
}

/// As [`python`], with exactly the packages of the file, and nothing that must be compiled first.
pub(super) fn python_alone(name: &str) -> Result<PathBuf, Failure> {
    python_with(name, &["--no-deps", "--only-binary", ":all:"])
}

fn python_with(name: &str, options: &[&str]) -> Result<PathBuf, Failure> {
    let wanted = folder(CLIENTS)?.join(format!("{name}.txt"));
    let folder = built::target()?.join("tools").join(name);
    once(&folder, &read(&wanted)?, || {
        let make = Program::new("python3").arguments(["-m", "venv"]).arguments([&folder]);
        make.time_limit(INSTALL_TIME_MAX).run()?;
        let install = ["install", "--quiet", "--disable-pip-version-check"];
        let install = Program::new(folder.join("bin/pip")).arguments(install).arguments(options);
        let install = install.arguments(["-r"]).arguments([&wanted]);
        install.time_limit(INSTALL_TIME_MAX).run()
    })?;
    Ok(folder.join("bin/python"))
}

/// The path of a Node that is new enough, installed if necessary.
fn node() -> Result<PathBuf, Failure> {
    let here = Program::new("node").arguments(["--version"]).output();
    if here.is_ok_and(|output| version(&output) >= Some(NODE_MIN)) {
        return Ok(PathBuf::from("node"));
    }
    let package = format!("node-{}", platform()?);
    let folder = built::target()?.join("tools").join(format!("node-{NODE_VERSION}"));
    once(&folder, NODE_VERSION, || {
        let install = ["install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--prefix"];
        let install = Program::new("npm").arguments(install).arguments([&folder]);
        install.arguments([format!("{package}@{NODE_VERSION}")]).time_limit(INSTALL_TIME_MAX).run()
    })?;
    let name = format!("node{}", std::env::consts::EXE_SUFFIX);
    Ok(folder.join("node_modules").join(package).join("bin").join(name))
}

/// Parses `v24.21.0` as 24 and 21.
fn version(output: &str) -> Option<(u32, u32)> {
    let mut parts = output.trim().strip_prefix('v')?.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

/// npm's name for this platform.
fn platform() -> Result<String, Failure> {
    let system = match std::env::consts::OS {
        "linux" => "linux",
        "macos" => "darwin",
        "windows" => "win",
        other => return Err(Failure::new(format!("npm has no Node for {other}"))),
    };
    let processor = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => return Err(Failure::new(format!("npm has no Node for {other}"))),
    };
    Ok(format!("{system}-{processor}"))
}

/// Copies our current scripts to the folder of the packages, because Node looks for imports beside a script.
pub(super) fn folder(name: &str) -> Result<PathBuf, Failure> {
    let from = repository::root().join(name);
    let folder = built::target()?.join("tools").join(from.file_name().unwrap_or_default());
    let failed = |error: std::io::Error| Failure::new(format!("cannot copy `{}`: {error}", from.display()));
    std::fs::create_dir_all(&folder).map_err(failed)?;
    for entry in std::fs::read_dir(&from).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file() {
            std::fs::copy(&path, folder.join(path.file_name().unwrap_or_default())).map_err(failed)?;
        }
    }
    Ok(folder)
}

/// Installs unless exactly this is installed. An unfinished installation is repeated.
fn once(folder: &Path, what: &str, install: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    let mark = folder.join("installed");
    if std::fs::read_to_string(&mark).is_ok_and(|mark| mark == what) {
        return Ok(());
    }
    let failed =
        |error: std::io::Error| Failure::new(format!("cannot write `{}`: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    install()?;
    std::fs::write(mark, what).map_err(failed)
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read `{}`: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_new_enough_or_not() {
        let check = |output, expected| assert_eq!(version(output) >= Some(NODE_MIN), expected, "{output}");
        check("v20.20.2\n", false);
        check("v22.18.0", false);
        check("v22.19.0", true);
        check("v24.1.0", true);
        check("nothing", false);
    }

    #[test]
    fn a_finished_installation_is_not_repeated_and_a_failed_one_is() {
        let folder = std::env::temp_dir().join(format!("xtask-once-{}", std::process::id()));
        once(&folder, "one", || Err(Failure::new("no network"))).unwrap_err();
        once(&folder, "one", || Ok(())).unwrap();
        once(&folder, "one", || Err(Failure::new("again"))).unwrap();
        once(&folder, "two", || Err(Failure::new("another version"))).unwrap_err();
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
