//! A program that is asked over its stdin and answers on its stdout, a line each: the floor in its own words, the
//! program and the library in those of MCP.
//!
//! Reading has no time limit: a watch on every answer would cost a thread's waking, which is what is measured. Who
//! starts the harness bounds it as a whole, and every program ends with its stdin.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::call::Script;
use crate::clock::now_ns;
use crate::failure::{Failure, Outcome};
use crate::process::Process;

/// The question that is asked: as long as a short real one.
const PROMPT: &str = "Is it safe to add an index to a table of two hundred million rows while the application keeps \
    writing to it? The database is PostgreSQL 17, there is a replica that serves reads, and the deployment window is \
    one hour. Say what could go wrong and what you would do.";

/// A program that waits for questions.
#[derive(Debug)]
pub struct Door {
    child: Child,
    /// Closed to tell the program to end.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next_id: u64,
}

/// When one question was asked and answered, in nanoseconds of [`crate::clock`].
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Before the first byte of it was written.
    pub from_ns: u64,
    /// When the last byte of its answer had been read.
    pub until_ns: u64,
}

impl Asked {
    /// How long it took.
    pub const fn took_ns(&self) -> u64 {
        self.until_ns - self.from_ns
    }
}

/// The words a program is spoken to with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Any line is one run.
    Plain,
    /// A line of JSON-RPC is a call of the tool.
    Mcp,
}

impl Door {
    /// Starts a program. What it logs is thrown away, as most clients do.
    pub fn open(command: &mut Command) -> Outcome<Self> {
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
            next_id: 1,
        })
    }

    /// The process, to be looked at.
    pub fn process(&self) -> Process {
        Process::new(self.child.id())
    }

    /// Greets in the words of MCP and waits for the reply.
    pub fn greet(&mut self) -> Outcome<()> {
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
            return Err(Failure::new(format!("the greeting was answered with {reply}")));
        }
        self.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string())
    }

    /// Tells the floor what to send, and waits until it is connected.
    pub fn prepare(&mut self, script: &Script) -> Outcome<()> {
        self.write(&serde_json::to_string(script)?)?;
        self.read().map(drop)
    }

    /// Asks one question and waits for its answer.
    pub fn ask(&mut self, words: Words) -> Outcome<Asked> {
        let question = self.question();
        let from_ns = now_ns();
        self.write(&question)?;
        if words == Words::Plain {
            self.read()?;
            return Ok(Asked { from_ns, until_ns: now_ns() });
        }
        loop {
            let line = self.read()?;
            let until_ns = now_ns();
            if is_answer(&line)? {
                return Ok(Asked { from_ns, until_ns });
            }
        }
    }

    /// Asks so many questions at once and waits for all answers.
    pub fn ask_at_once(&mut self, count: usize) -> Outcome<Asked> {
        let questions: Vec<String> = (0..count).map(|_| self.question()).collect();
        let from_ns = now_ns();
        for question in &questions {
            self.write(question)?;
        }
        let mut answered = 0;
        let mut until_ns = from_ns;
        while answered < count {
            let line = self.read()?;
            until_ns = now_ns();
            answered += usize::from(is_answer(&line)?);
        }
        Ok(Asked { from_ns, until_ns })
    }

    /// Writes one line.
    pub fn write(&mut self, line: &str) -> Outcome<()> {
        let input = self.input.as_mut().ok_or_else(|| Failure::new("the program was told to end"))?;
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

    /// The next question; its number tells its answer from notifications.
    fn question(&mut self) -> String {
        let id = self.next_id;
        self.next_id += 1;
        let params = json!({ "name": "process_prompt", "arguments": { "prompt": PROMPT } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string()
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

/// Whether the line is an answer, and not a notification. An answer that is not whole is a failure: what did less
/// cannot be compared.
fn is_answer(line: &str) -> Outcome<bool> {
    let message: Value = serde_json::from_str(line)?;
    if message.get("id").is_none() {
        return Ok(false);
    }
    let told = &message["result"]["structuredContent"];
    let whole = told["status"] == "complete" && told["synthesis"]["kind"] == "fused";
    if whole { Ok(true) } else { Err(Failure::new(format!("a run was not whole: {}", line.trim_end()))) }
}
