//! A thousand malformed requests: each is a 4xx whose body names the field, and the server goes on.

use std::fmt::Write as _;
use std::net::SocketAddr;

use serde_json::{Value, json};

use super::{chat, panel, send};
use crate::http::client::Wire;
use crate::http::program::{sandbox_with, serve};

/// How many requests are made.
const REQUESTS: usize = 1_200;
/// Where the generator begins; a failure names the number of its request.
const SEED: u64 = 0x19_0a_11;

/// A small generator, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below as u64).expect("it is below a usize")
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.next(all.len())]
    }

    fn word(&mut self) -> String {
        let length = 1 + self.next(12);
        (0..length).map(|_| char::from(*self.pick(b"abcdefghijklmnopqrstuvwxyz"))).collect()
    }
}

/// A malformed request, and what its refusal must name: the field, or what its name begins with.
struct Malformed {
    path: &'static str,
    kind: &'static str,
    body: Vec<u8>,
    names: Option<String>,
}

/// A value of none of these types.
fn wrong(random: &mut Random, right: &[&str]) -> Value {
    let all = [
        ("text", json!("words")),
        ("number", json!(0.5)),
        ("switch", json!(true)),
        ("list", json!([["a"]])),
        ("object", json!({"zz": 1})),
    ];
    let others: Vec<&Value> =
        all.iter().filter(|(kind, _)| !right.contains(kind)).map(|(_, value)| value).collect();
    (*random.pick(&others)).clone()
}

/// The fields of both requests, with their types.
const CHAT: [(&str, &[&str]); 13] = [
    ("model", &["text"]),
    ("messages", &["list"]),
    ("stream", &["switch"]),
    ("stream_options", &["object"]),
    ("temperature", &["number"]),
    ("max_tokens", &[]),
    ("max_completion_tokens", &[]),
    ("reasoning_effort", &[]),
    ("store", &["switch"]),
    ("metadata", &["object"]),
    ("user", &["text"]),
    ("n", &[]),
    ("parallel_llm", &["object"]),
];
const RESPONSES: [(&str, &[&str]); 9] = [
    ("model", &["text"]),
    ("input", &["text", "list"]),
    ("instructions", &["text"]),
    ("stream", &["switch"]),
    ("temperature", &["number"]),
    ("max_output_tokens", &[]),
    ("reasoning", &["object"]),
    ("previous_response_id", &["text"]),
    ("parallel_llm", &["object"]),
];

fn malformed(random: &mut Random) -> Malformed {
    let is_chat = random.next(2) == 0;
    let (path, base) = if is_chat {
        ("/v1/chat/completions", chat(&panel()))
    } else {
        ("/v1/responses", json!({"model": panel(), "input": [{"role": "user", "content": "Why?"}]}))
    };
    let list = if is_chat { "messages" } else { "input" };
    let kind = "application/json";
    let of = |body: Value, names: String| Malformed {
        path,
        kind,
        body: body.to_string().into(),
        names: Some(names),
    };
    match random.next(12) {
        0 | 1 => {
            let (name, right) = if is_chat { *random.pick(&CHAT) } else { *random.pick(&RESPONSES) };
            of(with(base, name, wrong(random, right)), name.to_owned())
        }
        2 => {
            let word = format!("x_{}", random.word());
            let value = wrong(random, &[]);
            of(with(base, &word, value), word)
        }
        3 => {
            let message = json!({"role": random.word(), "content": "a"});
            of(with(base, list, json!([message])), format!("{list}[0].role"))
        }
        4 => {
            let content = wrong(random, &["text", "list"]);
            of(with(base, list, json!([{"role": "user", "content": content}])), format!("{list}[0].content"))
        }
        5 => part(random, base, list, path),
        6 => {
            let text = base.to_string();
            let depth = 130 + random.next(5_000);
            let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            let body = text.replacen('{', &format!("{{\"tools\":{deep},"), 1).into();
            Malformed { path, kind, body, names: Some("tools".to_owned()) }
        }
        7 => {
            let twice = *random.pick(&["model", "stream", "n", "tools", list]);
            let value = if twice == list { base[list].to_string() } else { "null".to_owned() };
            let body = format!("{{\"{twice}\":{value},\"{twice}\":{value},\"stop\":null}}");
            Malformed { path, kind, body: body.into(), names: Some(twice.to_owned()) }
        }
        8 | 9 => broken(random, base, list, path),
        10 => {
            let kind = *random.pick(&["text/plain", "application/xml", "application/json; charset=latin1"]);
            Malformed { path, kind, body: base.to_string().into(), names: None }
        }
        _ => {
            let (name, value) = random
                .pick(&[
                    ("temperature", json!(-0.1)),
                    ("temperature", json!(1e300)),
                    ("model", json!("m".repeat(100_000))),
                    ("model", json!("panel/\u{0}\u{202e}")),
                    ("model", json!("panel/a/b++c/d")),
                    ("parallel_llm.deadline_s", json!({"deadline_s": 0})),
                    ("parallel_llm.budget_usd", json!({"budget_usd": -3})),
                ])
                .clone();
            let field = name.split('.').next().unwrap_or(name);
            of(with(base, field, value), name.to_owned())
        }
    }
}

/// A body that is no JSON: of bytes that are no UTF-8, or cut.
fn broken(random: &mut Random, base: Value, list: &str, path: &'static str) -> Malformed {
    let kind = "application/json";
    if random.next(2) == 0 {
        // Bytes that are no UTF-8, or half a surrogate pair, in the model's name.
        let bad: &[u8] = random.pick::<&[u8]>(&[b"\xff", b"\xc3\x28", b"\\ud800", b"\xf0\x9f"]);
        let body = [b"{\"model\":\"panel/", bad, b"\",\"stream\":false}"].concat();
        return Malformed { path, kind, body, names: Some("model".to_owned()) };
    }
    // Cut within the text of the question.
    let text = with(base, list, json!([{"role": "user", "content": "a".repeat(200)}]));
    let start = format!("{{\"{list}\":{}", text[list]);
    let body = start[..start.len() - 40 - random.next(120)].into();
    Malformed { path, kind, body, names: Some(format!("{list}[0].content")) }
}

/// A message with a malformed part.
fn part(random: &mut Random, base: Value, list: &str, path: &'static str) -> Malformed {
    let (picture, field) =
        if list == "messages" { ("image_url", "image_url.url") } else { ("input_image", "image_url") };
    let uri = random.pick(&[
        "https://example.com/a.png",
        "file:///etc/passwd",
        "data:image/png;base64,????",
        "data:image/png,plain",
        "data:;base64,AAAA",
        "",
    ]);
    let image = if list == "messages" { json!({"url": uri}) } else { json!(uri) };
    let place = format!("{list}[0].content[1]");
    let (part, names) = match random.next(4) {
        0 => (json!({"type": picture, "image_url": image}), format!("{place}.{field}")),
        1 => (json!({"type": random.word()}), format!("{place}.type")),
        2 => (json!({"type": "text", "text": wrong(random, &["text"])}), format!("{place}.text")),
        _ => (json!({"type": "text", "text": "a", "x_y": 1}), format!("{place}.x_y")),
    };
    let message = json!({"role": "user", "content": [{"type": "text", "text": "Why?"}, part]});
    let body = with(base, list, json!([message]));
    Malformed { path, kind: "application/json", body: body.to_string().into(), names: Some(names) }
}

fn with(mut body: Value, name: &str, value: Value) -> Value {
    body[name] = value;
    body
}

/// Sends it, and says what is wrong with its refusal, if anything is.
fn fault(wire: &mut Wire, address: SocketAddr, request: &Malformed) -> Option<String> {
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {address}\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n",
        request.path,
        request.kind,
        request.body.len()
    );
    wire.write([head.as_bytes(), &request.body].concat());
    let Some(reply) = wire.reply() else {
        *wire = Wire::to(address);
        return Some("no reply".to_owned());
    };
    if reply.header("connection") == Some("close") {
        *wire = Wire::to(address);
    }
    let error = &reply.json()["error"];
    let named = error["param"].as_str();
    let is_right = match (&request.names, named) {
        (None, None) => true,
        (Some(names), Some(named)) => {
            named == names
                || named.starts_with(&format!("{names}."))
                || named.starts_with(&format!("{names}["))
        }
        _ => false,
    };
    let is_refusal =
        (400..500).contains(&reply.status) && error["message"].is_string() && error["code"].is_string();
    (!is_refusal || !is_right)
        .then(|| format!("{} {named:?} and not {:?}: {error}", reply.status, request.names))
}

#[test]
fn a_thousand_malformed_requests_are_refused_by_the_name_of_their_field() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let mut random = Random(SEED);
    let mut wire = Wire::to(address);
    let mut faults = String::new();
    for number in 0..REQUESTS {
        let request = malformed(&mut random);
        if let Some(fault) = fault(&mut wire, address, &request) {
            let body = String::from_utf8_lossy(&request.body);
            writeln!(faults, "request {number}: {fault}\n  {body:.300}").unwrap();
        }
    }
    assert_eq!(faults, "");
    assert_eq!(sandbox.chats().len(), 0, "nothing was asked");
    assert_eq!(send(address, "/v1/chat/completions", "", &chat(&panel())).status, 200);
}
