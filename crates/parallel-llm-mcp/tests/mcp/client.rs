//! A tiny MCP client: JSON lines to the real program and back. It knows nothing of the program's own types.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use parallel_llm_testkit::Sandbox;
use serde_json::{Value, json};
use tokio::time::Instant;

/// The longest a test waits for anything. Only a test that fails waits so long.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// The longest that something may take that has nothing to wait for: far less than what it must not wait for, and
/// enough
/// for a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// The panel of most tests: three labs of the simulator.
pub(crate) const PANEL: [&str; 3] = ["openai/gpt-6.1-sol", "google/gemini-4-argon", "x-ai/grok-4.7"];

/// The program and the messages that it has sent so far.
pub(crate) struct Client {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// The received messages that nobody has waited for, in order.
    pub(crate) seen: Vec<Value>,
    next_id: i64,
}

impl Client {
    /// Starts the program and performs the handshake.
    pub(crate) fn new(sandbox: &Sandbox, settings: &[(&str, &str)]) -> Self {
        let mut client = Self::silent(sandbox, settings);
        client.begin("test-client");
        client
    }

    /// Starts the program without a handshake.
    pub(crate) fn silent(sandbox: &Sandbox, settings: &[(&str, &str)]) -> Self {
        let stderr = File::create(sandbox.home().join("stderr")).expect("a file can be made");
        let mut child = spawn(sandbox, settings, stderr.into());
        let stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let (sender, lines) = sync_channel(10_000);
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let message =
                    serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON on stdout: {line}"));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self { stdin: child.stdin.take(), child, lines, seen: Vec::new(), next_id: 1000 }
    }

    /// Starts the program and never reads from its pipes.
    pub(crate) fn deaf(sandbox: &Sandbox, settings: &[(&str, &str)]) -> Self {
        let mut child = spawn(sandbox, settings, Stdio::piped());
        let (_, lines) = sync_channel(1);
        Self { stdin: child.stdin.take(), child, lines, seen: Vec::new(), next_id: 1000 }
    }

    /// Reads so many messages of a program from whose pipes nothing was read.
    pub(crate) fn read_late(&mut self, count: usize) -> Vec<Value> {
        let stdout = BufReader::new(self.child.stdout.take().expect("nothing was read"));
        let lines = stdout.lines().map_while(Result::ok).take(count);
        lines.map(|line| serde_json::from_str(&line).expect("stdout carries the protocol")).collect()
    }

    /// Performs the handshake under this name.
    pub(crate) fn begin(&mut self, name: &str) -> Value {
        let reply = self.request("initialize", hello(name));
        self.notify("notifications/initialized", json!({}));
        reply["result"].clone()
    }

    /// Sends bytes and a line end.
    pub(crate) fn line(&mut self, bytes: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        let line = [bytes.as_ref(), b"\n"].concat();
        stdin.write_all(&line).and_then(|()| stdin.flush()).expect("the program reads");
    }

    /// Sends a request and returns its id.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> i64 {
        self.next_id += 1;
        let mut request = json!({"jsonrpc": "2.0", "id": self.next_id, "method": method});
        request["params"] = params;
        self.line(request.to_string());
        self.next_id
    }

    /// Sends a notification.
    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        let mut notification = json!({"jsonrpc": "2.0", "method": method});
        notification["params"] = params;
        self.line(notification.to_string());
    }

    /// Sends a request and waits for its reply.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.reply(&json!(id))
    }

    /// Calls a tool, with a progress token, and returns the request's id.
    pub(crate) fn start(&mut self, tool: &str, arguments: Value) -> i64 {
        let mut params = json!({"name": tool, "_meta": {"progressToken": self.next_id + 1}});
        params["arguments"] = arguments;
        self.send("tools/call", params)
    }

    /// Calls a tool and waits for its result.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.start(tool, arguments);
        self.result(id)
    }

    /// The whole report of the run of this result.
    pub(crate) fn report(&mut self, result: &Value) -> Value {
        let run_id = &structured(result)["run_id"];
        let report = self.call("get_run", json!({"run_id": run_id, "part": "report"}));
        structured(&report).clone()
    }

    /// The result of a request.
    pub(crate) fn result(&mut self, id: i64) -> Value {
        let reply = self.reply(&json!(id));
        assert!(reply.get("result").is_some(), "no result: {reply}");
        reply["result"].clone()
    }

    /// The reply with this id.
    pub(crate) fn reply(&mut self, id: &Value) -> Value {
        self.find(|message| message.get("method").is_none() && message["id"] == *id)
            .unwrap_or_else(|| panic!("no reply to {id}; seen: {:?}", self.seen))
    }

    /// The first message for which this holds, if it comes in time.
    pub(crate) fn find(&mut self, is_so: impl Fn(&Value) -> bool) -> Option<Value> {
        if let Some(at) = self.seen.iter().position(&is_so) {
            return Some(self.seen.remove(at));
        }
        let end = Instant::now() + WAIT_MAX;
        loop {
            let message = self.lines.recv_timeout(end.saturating_duration_since(Instant::now())).ok()?;
            if is_so(&message) {
                return Some(message);
            }
            self.seen.push(message);
        }
    }

    /// The progress notifications of a call that were received and not waited for.
    pub(crate) fn progress(&self, id: i64) -> Vec<Value> {
        let is_its = |message: &&Value| {
            message["method"] == "notifications/progress" && message["params"]["progressToken"] == id
        };
        self.seen.iter().filter(is_its).map(|message| message["params"].clone()).collect()
    }

    /// Closes the program's stdin.
    pub(crate) fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("sh").args(["-c", "kill -s \"$0\" \"$1\"", name, &id]).status();
        assert!(sent.is_ok_and(|status| status.success()));
    }

    /// Waits for the end of the program. Returns its status and the time it took.
    pub(crate) fn wait(&mut self) -> (ExitStatus, Duration) {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child can be asked") {
                return (status, begun.elapsed());
            }
            assert!(begun.elapsed() < WAIT_MAX, "the program does not end");
            std::thread::park_timeout(Duration::from_millis(2));
        }
    }
}

/// Starts the program as a client does.
fn spawn(sandbox: &Sandbox, settings: &[(&str, &str)], stderr: Stdio) -> Child {
    let mut command = Command::new(sandbox.binary());
    command
        .env_clear()
        .env("HOME", sandbox.home())
        .env("PATH", "/usr/bin:/bin")
        .env("OPENROUTER_BASE_URL", sandbox.simulator().base_url())
        .env("OPENROUTER_API_KEY", sandbox.simulator().api_key())
        .envs(settings.iter().copied())
        .current_dir(sandbox.home())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(stderr);
    command.spawn().expect("the program starts")
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The parameters of `initialize` for a client of this name.
pub(crate) fn hello(name: &str) -> Value {
    json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}})
}

/// The structured content of a result.
pub(crate) fn structured(result: &Value) -> &Value {
    &result["structuredContent"]
}

/// The text of a result.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}
