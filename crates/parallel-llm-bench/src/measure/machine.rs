//! Facts about the machine that help to judge a number, without identifying it.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::clock::now_ns;
use crate::failure::Outcome;
use crate::measure::statistics::Spread;

/// The number of flushed writes that measure the disk.
const FLUSHES: usize = 30;
/// The size of such a write: one page of the database.
const FLUSH_BYTES: usize = 4096;

/// The machine in one line.
pub fn facts() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let (system, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    let memory = memory_gigabytes().map(|gigabytes| format!(", {gigabytes} GB")).unwrap_or_default();
    let load = load().map(|load| format!(", load before {load}")).unwrap_or_default();
    format!("{cores} cores, {system} {architecture}{memory}{load}")
}

/// The time to flush one page to the disk of this folder in microseconds, the minimum cost of a commit.
pub fn flush_us(folder: &Path) -> Outcome<Spread> {
    let path = folder.join("flush");
    let mut file = File::create(&path)?;
    let mut times = Vec::new();
    for _ in 0..FLUSHES {
        let before_ns = now_ns();
        file.write_all(&[7; FLUSH_BYTES])?;
        file.sync_data()?;
        times.push((now_ns() - before_ns) as f64 / 1e3);
    }
    std::fs::remove_file(path)?;
    Ok(Spread::of(times))
}

fn memory_gigabytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024 / 1_000_000_000)
}

/// The load average of the last minute.
fn load() -> Option<String> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next().map(str::to_owned)
}
