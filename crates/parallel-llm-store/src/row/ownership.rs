//! The process that owns a run, named so that other processes can see whether it is alive.
//!
//! A process id alone is reused, and means nothing on another machine or in another container. So an owner consists of
//! a machine (its boot id and process id name space), a process id, and the start time of the process. On systems that
//! do not report these, only the lease decides.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;

use parallel_llm_engine::RunId;

/// The placeholder for an unknown part.
const UNKNOWN: &str = "-";

/// A process with a unique name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The boot id of the machine and the name space of its process ids.
    machine: Option<String>,
    pid: u32,
    /// The start of the process, in clock ticks since boot.
    started: Option<u64>,
}

impl Owner {
    /// This process.
    pub(crate) fn current() -> Self {
        let pid = std::process::id();
        Self { machine: machine(), pid, started: started(pid) }
    }

    /// Parses the output of [`fmt::Display`]; `None` for anything else, which means an unknown owner.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let (machine, pid, started) = (parts.next()?, parts.next()?, parts.next()?);
        let machine = Some(machine.to_owned()).filter(|machine| machine != UNKNOWN);
        Some(Self { machine, pid: pid.parse().ok()?, started: started.parse().ok() })
    }

    /// Whether the process is alive; `None` if that cannot be determined from here.
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

/// The boot id of this machine and its process id name space.
fn machine() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = fs::read_link("/proc/self/ns/pid").ok()?;
    let number: String = space.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    Some(format!("{}.{number}", boot.trim()))
}

/// The start of a local process, in clock ticks since boot; `None` if it does not exist any more.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may itself contain parentheses and spaces.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    // A zombie has ended; only its parent has not collected it yet.
    let ended = matches!(state, "Z" | "X" | "x");
    // The start time is field 22; field 3 has been read, so 18 fields are between.
    fields.nth(18)?.parse().ok().filter(|_| !ended)
}

/// The owner and time of a write, the same for a whole transaction.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    pub(crate) owner: String,
    pub(crate) now_ms: i64,
    pub(crate) lease_until_ms: i64,
}

/// Whether an owner of this machine that is alive loses a run whose lease has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseRule {
    /// It keeps the run, because it was only suspended: all processes are on one machine, and nobody waits for another.
    AliveOwnerKeeps,
    /// It loses the run: another machine cannot see whether it is alive, and all must decide alike.
    LeaseDecides,
}

/// The leases that a heartbeat has extended.
#[derive(Debug, Default)]
pub(crate) struct ExtendedLeases {
    /// Runs with their epochs.
    pub(crate) runs: Vec<(RunId, u64)>,
    /// The number of claimed jobs.
    pub(crate) jobs: usize,
}

/// The owner of a run, and the end of its lease.
#[derive(Clone, Debug)]
pub(crate) struct Ownership {
    pub(crate) owner: String,
    pub(crate) lease_until_ms: i64,
    pub(crate) is_closed: bool,
    pub(crate) rule: LeaseRule,
}

impl Ownership {
    /// Whether the owner stopped before the run was closed. A local owner is known to have ended at once; for others the
    /// lease decides, and for a local owner that is alive, [`LeaseRule`].
    pub(crate) fn is_interrupted(&self, now_ms: i64) -> bool {
        !self.is_closed && self.has_stopped(is_alive(&self.owner), now_ms)
    }

    fn has_stopped(&self, is_owner_alive: Option<bool>, now_ms: i64) -> bool {
        let is_lease_over = self.lease_until_ms < now_ms;
        match is_owner_alive {
            Some(false) => true,
            Some(true) if self.rule == LeaseRule::AliveOwnerKeeps => false,
            Some(true) | None => is_lease_over,
        }
    }

    /// Whether no process runs the run any more.
    pub(crate) fn is_over(&self, now_ms: i64) -> bool {
        self.is_closed || self.is_interrupted(now_ms)
    }
}

/// Whether this owner is alive; `None` if that cannot be determined from here.
fn is_alive(owner: &str) -> Option<bool> {
    Owner::parse(owner).and_then(|owner| owner.is_alive())
}

/// Owners at one moment, each looked up once, however many runs it has.
#[derive(Debug)]
pub(crate) struct Owners {
    now_ms: i64,
    alive: BTreeMap<String, Option<bool>>,
}

impl Owners {
    /// No owner looked up so far.
    pub(crate) const fn at(now_ms: i64) -> Self {
        Self { now_ms, alive: BTreeMap::new() }
    }

    /// See [`Ownership::is_interrupted`].
    pub(crate) fn is_interrupted(&mut self, run: &Ownership) -> bool {
        if run.is_closed {
            return false;
        }
        let known = self.alive.get(&run.owner).copied();
        let is_owner_alive = known.unwrap_or_else(|| {
            let is_owner_alive = is_alive(&run.owner);
            self.alive.insert(run.owner.clone(), is_owner_alive);
            is_owner_alive
        });
        run.has_stopped(is_owner_alive, self.now_ms)
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
    fn only_a_process_of_this_machine_can_be_known_to_have_ended() {
        let me = Owner::current();
        let reused = Owner { started: me.started.map(|ticks| ticks + 1), ..me.clone() };
        let elsewhere = Owner { machine: Some("another.1".into()), ..reused.clone() };
        let unknown = Owner { started: None, ..me.clone() };
        let alive = [me, reused, elsewhere, unknown].map(|owner| owner.is_alive());
        let seen = |alive| Some(alive).filter(|_| cfg!(target_os = "linux"));
        assert_eq!(alive, [seen(true), seen(false), None, None]);
    }
}
