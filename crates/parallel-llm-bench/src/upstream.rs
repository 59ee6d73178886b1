//! The harness's side of the upstream process.

use std::path::Path;
use std::process::Command;

use crate::call::{Script, Seen};
use crate::door::Door;
use crate::failure::{Failure, Outcome};

/// How long the upstream holds calls before it answers, in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delay {
    /// Every seat.
    pub seat_ms: u64,
    /// Each further seat of five, beyond the one before.
    pub step_ms: u64,
    /// Every synthesis.
    pub synthesis_ms: u64,
}

/// The upstream at work.
#[derive(Debug)]
pub struct Upstream {
    door: Door,
    address: String,
}

impl Upstream {
    /// Starts it, on a port that is free.
    pub fn start(binary: &Path) -> Outcome<Self> {
        let mut door = Door::open(&mut Command::new(binary))?;
        let address = door.read()?.trim_end().to_owned();
        Ok(Self { door, address })
    }

    /// The base URL that programs are given.
    pub fn base_url(&self) -> String {
        format!("http://{}/api/v1", self.address)
    }

    /// Sets how long calls are held.
    pub fn delay(&mut self, delay: Delay) -> Outcome<()> {
        let Delay { seat_ms, step_ms, synthesis_ms } = delay;
        self.tell(&format!("delay {seat_ms} {step_ms} {synthesis_ms}")).map(drop)
    }

    /// What it saw since this was last asked.
    pub fn take(&mut self) -> Outcome<Seen> {
        Ok(serde_json::from_str(&self.tell("take")?)?)
    }

    /// What the floor is to send: the requests of the last run.
    pub fn script(&mut self) -> Outcome<Script> {
        let requests: Vec<String> = serde_json::from_str(&self.tell("requests")?)?;
        if requests.len() != 6 {
            return Err(Failure::new(format!("a run made {} requests and not six", requests.len())));
        }
        Ok(Script { address: self.address.clone(), requests })
    }

    /// Ends it.
    pub fn close(self) -> Outcome<()> {
        self.door.close()
    }

    fn tell(&mut self, line: &str) -> Outcome<String> {
        self.door.write(line)?;
        self.door.read()
    }
}
