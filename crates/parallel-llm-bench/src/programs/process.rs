//! The processor time and memory of another process.
//!
//! Read from `/proc`, so known on Linux only; elsewhere the table shows a dash.

use std::path::PathBuf;

/// Another process.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    id: u32,
}

impl Process {
    /// The process with this id.
    pub const fn new(id: u32) -> Self {
        Self { id }
    }

    /// The processor time used so far, in nanoseconds. The scheduler's count is exact but lacks threads that have ended; the
    /// other count is coarse but complete. The greater one is closer to the truth.
    pub fn cpu_ns(self) -> Option<u64> {
        self.exact_ns().into_iter().chain(self.ticked_ns()).max()
    }

    /// The resident memory in bytes.
    pub fn resident_bytes(self) -> Option<u64> {
        self.memory("VmRSS:")
    }

    /// The most resident memory since the start or [`Self::reset_peak`], in bytes.
    pub fn peak_bytes(self) -> Option<u64> {
        self.memory("VmHWM:")
    }

    /// Sets the peak of the memory to its present size.
    pub fn reset_peak(self) -> std::io::Result<()> {
        std::fs::write(self.path("clear_refs"), "5")
    }

    fn memory(self, field: &str) -> Option<u64> {
        let text = self.read("status")?;
        let line = text.lines().find_map(|line| line.strip_prefix(field))?;
        let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kilobytes * 1024)
    }

    fn exact_ns(self) -> Option<u64> {
        let tasks = std::fs::read_dir(self.path("task")).ok()?;
        // A thread may end between being listed and being read.
        let of_task = |task: std::fs::DirEntry| -> Option<u64> {
            let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse().ok()
        };
        Some(tasks.filter_map(Result::ok).filter_map(of_task).sum())
    }

    fn ticked_ns(self) -> Option<u64> {
        let text = self.read("stat")?;
        // The name in parentheses may contain spaces. The field after it is the third.
        let (_, fields) = text.rsplit_once(')')?;
        let mut fields = fields.split_whitespace().skip(11);
        let user: u64 = fields.next()?.parse().ok()?;
        let system: u64 = fields.next()?.parse().ok()?;
        Some((user + system) * 1_000_000_000 / rustix::param::clock_ticks_per_second())
    }

    fn read(self, file: &str) -> Option<String> {
        std::fs::read_to_string(self.path(file)).ok()
    }

    fn path(self, file: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{file}", self.id))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_can_be_measured() {
        let this = Process::new(std::process::id());
        assert!(this.resident_bytes().unwrap() > 0);
        assert!(this.cpu_ns().is_some());
        assert!(Process::new(u32::MAX).cpu_ns().is_none());
    }
}
