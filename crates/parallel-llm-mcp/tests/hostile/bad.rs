//! Generates thousands of bad inputs, each with the replies that are due. The same seed gives the same inputs.

use serde_json::{Value, json};

/// One bad input, without its line end.
pub(crate) struct Bad {
    pub(crate) bytes: Vec<u8>,
    /// The ids of the replies that are due, `null` if no id can be recovered; empty for an input that gets no reply.
    pub(crate) replies: Vec<Value>,
}

/// The source of the inputs: a pseudorandom generator and a counter of ids.
pub(crate) struct Generator {
    state: u64,
    count: u64,
}

/// Valid requests, from which inputs are made: a method and its parameters.
const REQUESTS: [(&str, &str); 10] = [
    ("ping", "{}"),
    ("tools/list", "{}"),
    ("prompts/list", "{}"),
    ("resources/list", "{}"),
    ("resources/templates/list", "{}"),
    ("resources/read", r#"{"uri":"parallel-llm://runs/01JD0M3Z8K5Q2W7V9X4B6N1C0A/answer:1"}"#),
    ("prompts/get", r#"{"name":"compare","arguments":{"first":"{\"id\":1}","second":"b"}}"#),
    (
        "completion/complete",
        r#"{"ref":{"type":"ref/prompt","name":"compare"},"argument":{"name":"models","value":"g"}}"#,
    ),
    ("tools/call", r#"{"name":"get_run","arguments":{"run_id":"01JD0M3Z8K5Q2W7V9X4B6N1C0A"}}"#),
    ("server/discover", "{}"),
];

/// Methods of the protocol that get parameters of a wrong shape, whether the server has them or not.
const METHODS: [&str; 24] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "completion/complete",
    "logging/setLevel",
    "subscriptions/listen",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
    "tasks/result",
    "tasks/list",
    "roots/list",
    "sampling/createMessage",
    "elicitation/create",
    "notifications/initialized",
];

/// Parameters of wrong shapes.
const SHAPES: [&str; 26] = [
    "null",
    "5",
    "-0.0",
    "true",
    "\"x\"",
    "[]",
    "[1,{}]",
    "{}",
    r#"{"name":5}"#,
    r#"{"name":null,"arguments":{}}"#,
    r#"{"name":"get_run","arguments":[]}"#,
    r#"{"name":"get_run","arguments":"x"}"#,
    r#"{"name":"get_run","arguments":{"run_id":{}}}"#,
    r#"{"name":"get_run","arguments":{"run_id":"@","wait_s":1e99}}"#,
    r#"{"name":"compare","arguments":{"first":1}}"#,
    r#"{"uri":{}}"#,
    r#"{"uri":""}"#,
    r#"{"cursor":5}"#,
    r#"{"cursor":"x"}"#,
    r#"{"ref":5,"argument":[]}"#,
    r#"{"ref":{"type":"ref/none"},"argument":{"name":"","value":""}}"#,
    r#"{"_meta":5}"#,
    r#"{"_meta":{"progressToken":{}}}"#,
    r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"1999-01-01"}}"#,
    r#"{"protocolVersion":5,"capabilities":[],"clientInfo":"x"}"#,
    r#"{"taskId":7}"#,
];

/// Inputs that are no JSON, or no object.
const GARBAGE: [&str; 14] = [
    "hello",
    "GET / HTTP/1.1",
    "<html>",
    "{'id':1}",
    "undefined",
    "// {}",
    "\"id\": 5,",
    "42",
    "\"x\"",
    "null",
    "-",
    "}{",
    "{\"",
    "\\",
];

/// Values of `jsonrpc`; an empty one leaves the member out.
const VERSIONS: [&str; 7] = ["\"1.0\"", "2.0", "2", "null", "\"2.0 \"", "{}", ""];

impl Generator {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { state: seed, count: 0 }
    }

    /// At least this many inputs, of all kinds in turn.
    pub(crate) fn take(&mut self, least: usize) -> Vec<Bad> {
        let kinds: [fn(&mut Self) -> Vec<Bad>; 17] = [
            Self::cuts,
            Self::garbage,
            Self::bytes,
            Self::surrogates,
            Self::nesting,
            Self::numbers,
            Self::duplicates,
            Self::versions,
            Self::ids,
            Self::methods,
            Self::shapes,
            Self::unknown_names,
            Self::batches,
            Self::notifications,
            Self::responses,
            Self::twice,
            Self::blanks,
        ];
        let mut all = Vec::new();
        while all.len() < least {
            for kind in kinds {
                all.extend(kind(self));
            }
        }
        all
    }

    fn random_below(&mut self, below: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % below as u64).unwrap_or_default()
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.random_below(of.len())]
    }

    /// An id that no other input has: as written in JSON, and as read.
    fn id(&mut self) -> (String, Value) {
        self.count += 1;
        let number = 1_000_000 + self.count;
        match self.random_below(3) {
            0 => (number.to_string(), json!(number)),
            1 => (format!("\"h-{number}\""), json!(format!("h-{number}"))),
            _ => (format!("\"\\u00e9\\\"{number}\""), json!(format!("é\"{number}"))),
        }
    }

    /// A valid request with its id first or last, and the offset at which the id ends.
    fn request(&mut self, id: &str) -> (String, usize) {
        let (method, params) = self.pick(&REQUESTS);
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id}"#);
        let end = head.len();
        if self.random_below(2) == 0 {
            return (format!(r#"{head},"method":"{method}","params":{params}}}"#), end);
        }
        let head = format!(r#"{{"method":"{method}","params":{params},"jsonrpc":"2.0","id":{id}"#);
        let end = head.len();
        (format!("{head}}}"), end)
    }

    /// A message cut off after every byte. An id that is a string is complete at its closing quote; a number only at
    /// the byte after it.
    fn cuts(&mut self) -> Vec<Bad> {
        let (length, seed) = {
            let before = self.state;
            let id = self.id().0;
            (self.request(&id).0.len(), before)
        };
        let cut = |end| {
            // The same message each time, with another id of the same length.
            self.state = seed;
            let (id, read) = self.id();
            let (message, id_end) = self.request(&id);
            let is_whole = if id.ends_with('"') { end >= id_end } else { end > id_end };
            bad(&message.as_bytes()[..end], if is_whole { read } else { Value::Null })
        };
        (1..length).map(cut).collect()
    }

    fn garbage(&mut self) -> Vec<Bad> {
        let mut all: Vec<Bad> = GARBAGE.iter().map(|text| bad(text, Value::Null)).collect();
        let length = 1 + self.random_below(300);
        // All bytes are 128 or above, so none is a line end or looks like JSON.
        let noise: Vec<u8> =
            (0..length).map(|_| 0x80 | u8::try_from(self.random_below(128)).unwrap_or(0)).collect();
        all.push(bad(&noise, Value::Null));
        let (id, read) = self.id();
        all.push(bad(format!("{}x", self.request(&id).0), read));
        all
    }

    /// A request with bytes that JSON must not contain.
    fn bytes(&mut self) -> Vec<Bad> {
        let pieces: [&[u8]; 7] =
            [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\0", b"\x1b[2J", b"\xc0\xaf"];
        let with = |piece: &[u8], id: &str, is_first: bool| {
            let (before, after) = if is_first {
                (format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"pi"#), r#"ng","params":{}}"#.to_owned())
            } else {
                (
                    r#"{"params":{"x":""#.to_owned(),
                    format!(r#""}},"method":"ping","id":{id},"jsonrpc":"2.0"}}"#),
                )
            };
            [before.as_bytes(), piece, after.as_bytes()].concat()
        };
        let mut all = Vec::new();
        for piece in pieces {
            for is_first in [true, false] {
                let (id, read) = self.id();
                all.push(bad(with(piece, &id, is_first), read));
            }
        }
        all
    }

    /// Unpaired surrogates: in a text, in the name of a method, in an id.
    fn surrogates(&mut self) -> Vec<Bad> {
        let half = self.pick(&["\\ud83d", "\\uDE00", "\\ud83d\\ud83d"]);
        let (id, read) = self.id();
        let get = r#""method":"prompts/get","params":{"name":"second-opinion","arguments""#;
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},{get}:{{"question":"a{half}b"}}}}}}"#);
        let (other, other_read) = self.id();
        let method = format!(r#"{{"jsonrpc":"2.0","id":{other},"method":"pi{half}ng"}}"#);
        self.count += 1;
        let number = self.count;
        let replaced = "\u{fffd}".repeat(half.len() / 6);
        let in_id = format!(r#"{{"jsonrpc":"2.0","id":"{half}{number}","method":"ping"}}"#);
        vec![bad(text, read), bad(method, other_read), bad(in_id, json!(format!("{replaced}{number}")))]
    }

    fn nesting(&mut self) -> Vec<Bad> {
        let depth = self.pick(&[127, 128, 129, 200, 5_000, 50_000]);
        let (open, close) = self.pick(&[("[", "]"), ("{\"a\":", "}")]);
        let inner = if open == "[" { "" } else { "1" };
        let closes = if self.random_below(2) == 0 { close.repeat(depth) } else { String::new() };
        let deep = format!("{}{inner}{closes}", open.repeat(depth));
        let (id, read) = self.id();
        let first = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{"x":{deep}}}}}"#);
        vec![bad(first, read)]
    }

    fn numbers(&mut self) -> Vec<Bad> {
        let long = "9".repeat(400);
        ["1e400", "-1e400", "1e-400", "01", "1.", ".5", "+1", "NaN", "Infinity", "0x1", &long, "1e"]
            .map(|number| {
                let (id, read) = self.id();
                let text =
                    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","params":{{"x":{number}}}}}"#);
                bad(text, read)
            })
            .into()
    }

    fn duplicates(&mut self) -> Vec<Bad> {
        ["\"id\":0", "\"method\":\"ping\"", "\"jsonrpc\":\"2.0\"", "\"params\":{}", "\"params\":5"]
            .map(|member| {
                let (id, read) = self.id();
                bad(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","params":{{}},{member}}}"#), read)
            })
            .into()
    }

    fn versions(&mut self) -> Vec<Bad> {
        VERSIONS
            .map(|version| {
                let (id, read) = self.id();
                let version =
                    if version.is_empty() { String::new() } else { format!("\"jsonrpc\":{version},") };
                bad(format!(r#"{{{version}"id":{id},"method":"ping"}}"#), read)
            })
            .into()
    }

    /// Values that are no id, or ids that must be returned exactly.
    fn ids(&mut self) -> Vec<Bad> {
        self.count += 1;
        // Far from all other ids, even times a thousand.
        let number = 50_000_000 + self.count;
        let long = format!("\"{}\"", "x".repeat(300));
        let huge = format!("9999999999999999{number}");
        let cases = [
            ("null".to_owned(), Value::Null),
            ("true".to_owned(), Value::Null),
            ("{}".to_owned(), Value::Null),
            (format!("[{number}]"), Value::Null),
            (long, Value::Null),
            (format!("{number}.5"), json!(number as f64 + 0.5)),
            (format!("-{number}"), json!(-i64::try_from(number).unwrap_or(1))),
            (format!("{number}e3"), serde_json::from_str(&format!("{number}e3")).unwrap_or_default()),
            (huge.clone(), serde_json::from_str(&huge).unwrap_or_default()),
        ];
        cases.map(|(id, read)| bad(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#), read)).into()
    }

    fn methods(&mut self) -> Vec<Bad> {
        [
            "",
            r#","method":7"#,
            r#","method":null"#,
            r#","method":{}"#,
            r#","Method":"ping""#,
            r#","method":"""#,
            r#","method":"Ping""#,
            r#","method":"ping ""#,
            r#","method":"rpc.discover""#,
        ]
        .map(|method| {
            let (id, read) = self.id();
            bad(format!(r#"{{"jsonrpc":"2.0","id":{id}{method}}}"#), read)
        })
        .into()
    }

    /// Every method with some parameters of a wrong shape.
    fn shapes(&mut self) -> Vec<Bad> {
        METHODS
            .map(|method| {
                let (id, read) = self.id();
                let params = self.pick(&SHAPES);
                bad(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#), read)
            })
            .into()
    }

    /// Methods, tools, prompts, resources and arguments that do not exist.
    fn unknown_names(&mut self) -> Vec<Bad> {
        let name = self.pick(&["nothing", "", "\\u0000", "../../etc/passwd", "\\u202egnihton", "get_run "]);
        let long = "x".repeat(5_000);
        [
            ("no/such/method", "{}".to_owned()),
            ("tools/call", format!(r#"{{"name":"{name}","arguments":{{}}}}"#)),
            ("tools/call", format!(r#"{{"name":"get_run","arguments":{{"{name}":1}}}}"#)),
            ("tools/call", format!(r#"{{"name":"{long}"}}"#)),
            ("prompts/get", format!(r#"{{"name":"{name}"}}"#)),
            ("prompts/get", format!(r#"{{"name":"compare","arguments":{{"{long}":"{name}"}}}}"#)),
            ("resources/read", format!(r#"{{"uri":"parallel-llm://runs/{name}"}}"#)),
            ("resources/read", format!(r#"{{"uri":"file:///{name}"}}"#)),
            ("resources/list", format!(r#"{{"cursor":"{name}"}}"#)),
            (
                "completion/complete",
                format!(
                    r#"{{"ref":{{"type":"ref/resource","uri":"{name}"}},"argument":{{"name":"x","value":"{name}"}}}}"#
                ),
            ),
        ]
        .map(|(method, params)| {
            let (id, read) = self.id();
            bad(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#), read)
        })
        .into()
    }

    fn batches(&mut self) -> Vec<Bad> {
        let id = self.id().0;
        let request = self.request(&id).0;
        vec![
            bad(format!("[{request}]"), Value::Null),
            bad(format!("[{request},{request}]"), Value::Null),
            bad("[]", Value::Null),
            bad("[[[]]]", Value::Null),
            bad(format!("[{request}"), Value::Null),
        ]
    }

    fn notifications(&mut self) -> Vec<Bad> {
        let method = self.pick(&METHODS);
        let params = self.pick(&SHAPES);
        [
            format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#),
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#),
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody's"}}"#.to_owned(),
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#
                .to_owned(),
            r#"{"jsonrpc":"2.0","method":"notifications/no/such"}"#.to_owned(),
        ]
        .map(silent)
        .into()
    }

    /// Replies to requests that nobody made.
    fn responses(&mut self) -> Vec<Bad> {
        let id = self.id().0;
        let result = self.pick(&["{}", "5", "null", "[]", r#"{"tools":[]}"#, r#"{"action":"accept"}"#]);
        let error = self.pick(&["{}", "5", r#"{"code":1,"message":"m"}"#, r#"{"code":"x"}"#]);
        [
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":null,"error":{error}}}"#),
            format!(r#"{{"jsonrpc":"2.0","result":{result}}}"#),
        ]
        .map(silent)
        .into()
    }

    /// An id that is used twice in a row, perhaps while it is in flight.
    fn twice(&mut self) -> Vec<Bad> {
        let (id, read) = self.id();
        let request = self.request(&id).0;
        vec![bad(&request, read.clone()), bad(&request, read)]
    }

    fn blanks(&mut self) -> Vec<Bad> {
        vec![silent(""), silent(self.pick(&[" ", "\t", "\r", "  \r"]))]
    }
}

fn bad(bytes: impl AsRef<[u8]>, reply: Value) -> Bad {
    Bad { bytes: bytes.as_ref().to_vec(), replies: vec![reply] }
}

fn silent(bytes: impl AsRef<[u8]>) -> Bad {
    Bad { bytes: bytes.as_ref().to_vec(), replies: Vec::new() }
}
