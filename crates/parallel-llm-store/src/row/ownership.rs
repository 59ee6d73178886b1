//! Which process does a run, named so that another process can see whether it is still there.
//!
//! A process id alone is given again after a while, and means nothing on another machine or in another
//! container. So an owner is a machine (its boot, and the name space its process ids live in), a process id and
//! the moment that process started. Where the system does not say, the lease alone decides.

use std::fmt;
use std::fs;

/// Stands for a part that the system does not say.
const UNKNOWN: &str = "-";

/// A process, named for all time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The boot of the machine and the name space of its process ids.
    machine: Option<String>,
    pid: u32,
    /// When the process started, in clock ticks since the boot.
    started: Option<u64>,
}

impl Owner {
    /// This process.
    pub(crate) fn current() -> Self {
        let pid = std::process::id();
        Self { machine: machine(), pid, started: started(pid) }
    }

    /// Reads what [`fmt::Display`] wrote; `None` for anything else, which is then somebody unknown.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let (machine, pid, started) = (parts.next()?, parts.next()?, parts.next()?);
        let machine = Some(machine.to_owned()).filter(|machine| machine != UNKNOWN);
        Some(Self { machine, pid: pid.parse().ok()?, started: started.parse().ok() })
    }

    /// Whether the process is there; `None` where that cannot be seen from here.
    pub(crate) fn is_alive(&self) -> Option<bool> {
        let here = self.machine.is_some() && self.machine == machine();
        (here && self.started.is_some()).then(|| started(self.pid) == self.started)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}/", self.machine.as_deref().unwrap_or(UNKNOWN), self.pid)?;
        match self.started {
            Some(ticks) => write!(out, "{ticks}"),
            None => out.write_str(UNKNOWN),
        }
    }
}

/// Names this boot of this machine, and the name space in which process ids are given.
fn machine() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = fs::read_link("/proc/self/ns/pid").ok()?;
    let number: String = space.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    Some(format!("{}.{number}", boot.trim()))
}

/// When a process of this machine started, in clock ticks since the boot; `None` where there is no such process
/// any more.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, and may itself hold both of them and spaces.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    // A zombie has ended; only its parent has not looked yet.
    let ended = matches!(state, "Z" | "X" | "x");
    // The start is field 22; the state was field 3, so 18 lie between.
    fields.nth(18)?.parse().ok().filter(|_| !ended)
}

/// Who writes, and when: the same for everything in one transaction.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    pub(crate) owner: String,
    pub(crate) now_ms: i64,
    pub(crate) lease_until_ms: i64,
}

/// Who does a run, and until when that holds without another word.
#[derive(Clone, Debug)]
pub(crate) struct Ownership {
    pub(crate) owner: String,
    pub(crate) lease_until_ms: i64,
    pub(crate) is_closed: bool,
}

impl Ownership {
    /// Whether the run was left unfinished: at once where its process ran on this machine and is gone, after the
    /// lease where nobody here can see the process. One that is seen alive here only slept.
    pub(crate) fn is_interrupted(&self, now_ms: i64) -> bool {
        let is_alive = Owner::parse(&self.owner).and_then(|owner| owner.is_alive());
        !self.is_closed && is_alive.map_or(self.lease_until_ms < now_ms, |is_alive| !is_alive)
    }

    /// Whether nobody is at the run any more.
    pub(crate) fn is_over(&self, now_ms: i64) -> bool {
        self.is_closed || self.is_interrupted(now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_reads_back() {
        let unknown = Owner { machine: None, pid: 7, started: None };
        for owner in [Owner::current(), unknown.clone()] {
            assert_eq!(Owner::parse(&owner.to_string()), Some(owner));
        }
        assert_eq!(unknown.to_string(), "-/7/-");
        assert_eq!(Owner::parse("somebody"), None);
    }

    #[test]
    fn only_a_process_of_this_machine_can_be_seen_to_be_gone() {
        let me = Owner::current();
        let reused = Owner { started: me.started.map(|ticks| ticks + 1), ..me.clone() };
        let elsewhere = Owner { machine: Some("another.1".into()), ..reused.clone() };
        let unknown = Owner { started: None, ..me.clone() };
        let alive = [me, reused, elsewhere, unknown].map(|owner| owner.is_alive());
        let seen = |alive| Some(alive).filter(|_| cfg!(target_os = "linux"));
        assert_eq!(alive, [seen(true), seen(false), None, None]);
    }
}
