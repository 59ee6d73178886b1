//! Programs of the operating system that a stage needs: found, or installed with apt.

use std::time::Duration;

use crate::failure::Failure;
use crate::program::Program;

/// Time limit of each command that installs a program; the largest, a browser, is a download of 100 MB.
const INSTALL_TIME_MAX: Duration = Duration::from_mins(5);

/// Installs a program with the package of its name if it is missing.
pub(super) fn program(name: &str) -> Result<(), Failure> {
    let version = || Program::new(name).arguments(["--version"]).output().map(drop);
    if version().is_ok() {
        return Ok(());
    }
    package(name)?;
    version().map_err(|failure| missing(name, &failure))
}

/// Installs a package, as root or by sudo without a password.
pub(super) fn package(name: &str) -> Result<(), Failure> {
    let is_root = Program::new("id").arguments(["-u"]).output()?.trim() == "0";
    let apt = |words: &str| {
        let apt =
            if is_root { Program::new("apt-get") } else { Program::new("sudo").arguments(["-n", "apt-get"]) };
        apt.arguments(words.split_whitespace()).time_limit(INSTALL_TIME_MAX).run()
    };
    // Old lists name packages that are gone; with none, nothing can be installed.
    let installed = apt("update --quiet")
        .and_then(|()| apt(&format!("install --quiet --yes --no-install-recommends {name}")));
    installed.map_err(|failure| missing(name, &failure))
}

fn missing(name: &str, failure: &Failure) -> Failure {
    Failure::new(format!("{} IS MISSING and cannot be installed: {failure}", name.to_uppercase()))
}
