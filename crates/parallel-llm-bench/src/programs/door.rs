//! A program that reads questions from stdin and answers on stdout, one line each.
//!
//! The floor takes any line as a run and answers with the run's number; the program and the Python server speak MCP. Reading has no time limit: a timer for every
//! answer would wake a thread, which is what is measured. `cargo xtask bench` limits the harness as a whole, and every program
//! ends with its stdin.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use memchr::memmem;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::clock::now_ns;
use crate::failure::{Failure, Outcome};
use crate::programs::call::Script;
use crate::programs::process::Process;

/// The question, as long as a short real one.
const PROMPT: &str = "Is it safe to add an index to a table of two hundred million rows while the application keeps \
    writing to it? The database is PostgreSQL 17, there is a replica that serves reads, and the deployment window is \
    one hour. Say what could go wrong and what you would do.";

/// A running program that waits for questions.
#[derive(Debug)]
pub struct Door {
    child: Child,
    /// Closed to end the program.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    language: Language,
    next_id: u64,
    /// When each question that is not answered yet was asked, in nanoseconds of [`crate::clock`].
    asked_ns: HashMap<u64, u64>,
}

/// The times of one question, or of several asked at once, in nanoseconds of [`crate::clock`].
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// Before the first byte of the question was written.
    pub from_ns: u64,
    /// After the last byte of the answer was read.
    pub until_ns: u64,
}

impl Exchange {
    /// The time between both.
    pub const fn took_ns(&self) -> u64 {
        self.until_ns - self.from_ns
    }
}

/// The protocol of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Any line is one run, which is answered with its number, counted from 1.
    Plain,
    /// A run is a tool call in JSON-RPC.
    Mcp,
}

impl Door {
    /// Starts a program. Its stderr is discarded, as by most clients.
    pub fn open(command: &mut Command, language: Language) -> Outcome<Self> {
        let named = format!("{}", command.get_program().to_string_lossy());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child =
            command.spawn().map_err(|error| Failure::new(format!("`{named}` cannot be started: {error}")))?;
        let ends = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = ends else { return Err(Failure::new("a child has no pipes")) };
        Ok(Self {
            child,
            input: Some(input),
            output: BufReader::with_capacity(64 * 1024, output),
            language,
            next_id: 1,
            asked_ns: HashMap::new(),
        })
    }

    /// Its process.
    pub fn process(&self) -> Process {
        Process::new(self.child.id())
    }

    /// Initializes MCP and waits for the reply.
    pub fn initialize(&mut self) -> Outcome<()> {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        });
        self.write(
            &json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string(),
        )?;
        let reply = self.read_reply()?;
        if reply.get("result").is_none() {
            return Err(Failure::new(format!("`initialize` was answered with {reply}")));
        }
        self.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string())
    }

    /// Sends its script to the floor, and waits until it is connected.
    pub fn prepare(&mut self, script: &Script) -> Outcome<()> {
        self.write(&serde_json::to_string(script)?)?;
        self.read().map(drop)
    }

    /// Asks one question and waits for its answer.
    pub fn ask(&mut self) -> Outcome<Exchange> {
        self.begin()?;
        self.finish()
    }

    /// Asks several questions at once and waits for all answers.
    pub fn ask_at_once(&mut self, count: usize) -> Outcome<Exchange> {
        let from_ns = now_ns();
        for _ in 0..count {
            self.begin()?;
        }
        let mut until_ns = from_ns;
        for _ in 0..count {
            until_ns = self.finish()?.until_ns;
        }
        Ok(Exchange { from_ns, until_ns })
    }

    /// Asks one question. No two are the same: the program answers a question that is asked twice at once only once.
    pub fn begin(&mut self) -> Outcome<()> {
        let id = self.next_id;
        self.next_id += 1;
        let prompt = format!("{PROMPT} This is ticket {id}.");
        let params = json!({ "name": "process_prompt", "arguments": { "prompt": prompt } });
        let question = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let question = question.to_string();
        self.asked_ns.insert(id, now_ns());
        self.write(&question)
    }

    /// Reads up to the next answer, of whichever question.
    pub fn finish(&mut self) -> Outcome<Exchange> {
        loop {
            let line = self.read()?;
            let until_ns = now_ns();
            let answered = match self.language {
                Language::Plain => line.trim_end().parse().ok(),
                Language::Mcp => answered(&line)?,
            };
            if let Some(id) = answered {
                let from_ns = self.asked_ns.remove(&id);
                let from_ns = from_ns.ok_or_else(|| Failure::new("an answer to no question"))?;
                return Ok(Exchange { from_ns, until_ns });
            }
        }
    }

    /// Writes one line.
    pub fn write(&mut self, line: &str) -> Outcome<()> {
        let input = self.input.as_mut().ok_or_else(|| Failure::new("the program's stdin is closed"))?;
        // One write: two would wake the program twice.
        Ok(input.write_all(format!("{line}\n").as_bytes())?)
    }

    /// Reads one line.
    pub fn read(&mut self) -> Outcome<String> {
        let mut line = String::new();
        match self.output.read_line(&mut line)? {
            0 => Err(Failure::new("the program ended before it had answered")),
            _ => Ok(line),
        }
    }

    /// Closes the program's stdin and waits until it has ended.
    pub fn close(mut self) -> Outcome<()> {
        self.input = None;
        self.child.wait()?;
        Ok(())
    }

    fn read_reply(&mut self) -> Outcome<Value> {
        loop {
            let message: Value = serde_json::from_str(&self.read()?)?;
            if message.get("id").is_some() {
                return Ok(message);
            }
        }
    }
}

impl Drop for Door {
    /// Ends a program that was not closed because a measurement failed: it would write to folders that are being removed.
    fn drop(&mut self) {
        // Both fail only if it has ended.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The id of the question that the line answers; `None` for a notification. Fails for an incomplete answer, because a run that
/// did less cannot be compared.
fn answered(line: &str) -> Outcome<Option<u64>> {
    #[derive(Deserialize)]
    struct Message {
        id: Option<u64>,
    }
    let message: Message = serde_json::from_str(line)?;
    // Only searched, because the harness shares the processor with the program.
    if message.id.is_none() || memmem::find(line.as_bytes(), b"\"status\":\"complete\"").is_some() {
        Ok(message.id)
    } else {
        Err(Failure::new(format!("a run was not complete: {}", line.trim_end())))
    }
}
