//! The program as a long-running MCP server, called tool by tool.

use parallel_llm_testkit::{Call, Output, Running, Sandbox};
use serde_json::{Value, json};

/// A server and the id of its last request.
pub(crate) struct Server<'a> {
    pub(crate) running: Running<'a>,
    sandbox: &'a Sandbox,
    last_id: u64,
}

impl<'a> Server<'a> {
    /// Starts the server and performs the handshake.
    pub(crate) fn start(sandbox: &'a Sandbox, serve: Call<'a>) -> Self {
        let mut server = Self { running: serve.listening().start(), sandbox, last_id: 0 };
        let hello = json!({"name": "matrix", "version": "1"});
        server.request(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": hello}),
        );
        server.running.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        server
    }

    /// Calls a tool with a progress token. Returns the id of the call.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> u64 {
        let meta = json!({"progressToken": self.last_id + 1});
        self.send("tools/call", &json!({"name": tool, "arguments": arguments, "_meta": meta}))
    }

    /// Waits for the result of a call: its structured content.
    pub(crate) fn result(&self, id: u64) -> Value {
        let mut reply = None;
        self.sandbox.until("the call is answered", || {
            let stdout = self.running.stdout_so_far();
            let messages = stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            reply = messages.into_iter().find(|message| message["id"] == id);
            reply.is_some()
        });
        reply.expect("it was waited for")["result"]["structuredContent"].clone()
    }

    /// Calls a tool and waits for its result.
    pub(crate) fn ask(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.call(tool, arguments);
        self.result(id)
    }

    /// Closes stdin and waits for the end.
    pub(crate) fn end(self) -> Output {
        self.running.wait()
    }

    fn request(&mut self, method: &str, params: &Value) {
        let id = self.send(method, params);
        self.result(id);
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        self.running.send_line(&request.to_string());
        self.last_id
    }
}
