//! Controls the upstream process for the harness.

use std::path::Path;
use std::process::Command;

use crate::failure::{Failure, Outcome};
use crate::programs::call::{Observed, Script};
use crate::programs::door::{Door, Language};
use crate::programs::reply::{self, Packing, Size};

/// The delays of the upstream's replies in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delay {
    /// For every seat.
    pub seat_ms: u64,
    /// Added for each further seat of five.
    pub step_ms: u64,
    /// For every synthesis.
    pub synthesis_ms: u64,
}

/// The running upstream.
#[derive(Debug)]
pub struct Upstream {
    door: Door,
    address: String,
}

impl Upstream {
    /// Starts it on a free port.
    pub fn start(binary: &Path) -> Outcome<Self> {
        let mut door = Door::open(&mut Command::new(binary), Language::Plain)?;
        let address = door.read()?.trim_end().to_owned();
        Ok(Self { door, address })
    }

    /// The base URL for programs.
    pub fn base_url(&self) -> String {
        format!("http://{}/api/v1", self.address)
    }

    /// Sets the delays.
    pub fn delay(&mut self, delay: Delay) -> Outcome<()> {
        let Delay { seat_ms, step_ms, synthesis_ms } = delay;
        self.command(&format!("delay {seat_ms} {step_ms} {synthesis_ms}")).map(drop)
    }

    /// The connections and calls since the last query.
    pub fn take(&mut self) -> Outcome<Observed> {
        Ok(serde_json::from_str(&self.command("take")?)?)
    }

    /// Sets the size of every answer.
    pub fn size(&mut self, size: Size) -> Outcome<()> {
        self.command(&format!("size {} {}", size.bytes, size.pieces)).map(drop)
    }

    /// Sets how the events of a reply are sent.
    pub fn packing(&mut self, packing: Packing) -> Outcome<()> {
        self.command(&format!("packing {}", packing.word())).map(drop)
    }

    /// Sets the time over which each reply is written.
    pub fn spread(&mut self, ms: u64) -> Outcome<()> {
        self.command(&format!("spread {ms}")).map(drop)
    }

    /// The script of the floor, from the requests of the last run, which made this many calls.
    pub fn script(&mut self, calls: usize) -> Outcome<Script> {
        let requests: Vec<String> = serde_json::from_str(&self.command(&format!("requests {calls}"))?)?;
        if requests.len() != calls {
            return Err(Failure::new(format!("a run made {} requests instead of {calls}", requests.len())));
        }
        if requests.last().and_then(|last| reply::nonce(last)).is_none() {
            return Err(Failure::new("the last request of a run is no synthesis"));
        }
        Ok(Script { address: self.address.clone(), requests })
    }

    /// Ends it.
    pub fn close(self) -> Outcome<()> {
        self.door.close()
    }

    fn command(&mut self, line: &str) -> Outcome<String> {
        self.door.write(line)?;
        self.door.read()
    }
}
