//! Access to the real program over HTTP: who is let in, and how token holders are kept apart.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parallel_llm_testkit::Sandbox;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

use super::client::{Reply, Wire, post};
use super::program::{PANEL, question, sandbox_with, serve, structured};
use super::sessions::{Legacy, modern_with};

/// The version of the protocol in which a call is made.
#[derive(Clone, Copy, Debug)]
enum Version {
    Sessions,
    Modern,
}

/// The holder of a token.
struct Holder {
    address: SocketAddr,
    header: String,
}

impl Holder {
    /// The holder of a token made on the command line.
    fn created(sandbox: &Sandbox, address: SocketAddr, name: &str, flags: &[&str]) -> Self {
        let made = sandbox.call(["keys", "create", name]).args(flags).run();
        assert_eq!(made.code, Some(0), "{}", made.transcript());
        Self::with(address, made.text().trim())
    }

    fn with(address: SocketAddr, token: &str) -> Self {
        Self { address, header: format!("Authorization: Bearer {token}\r\n") }
    }

    fn token(&self) -> &str {
        self.header.trim_end().rsplit(' ').next().unwrap_or_default()
    }

    /// Calls a tool. The reply must not contain the token.
    fn call(&self, version: Version, tool: &str, arguments: &Value) -> Value {
        let reply = self.reply(version, tool, arguments);
        assert!(!reply.to_string().contains(self.token()), "a token in a reply");
        reply
    }

    fn reply(&self, version: Version, tool: &str, arguments: &Value) -> Value {
        self.raw(version, tool, arguments).json()
    }

    fn raw(&self, version: Version, tool: &str, arguments: &Value) -> Reply {
        match version {
            Version::Sessions => {
                let client = Legacy::connect(self.address, &self.header);
                client.ask("tools/call", json!({"name": tool, "arguments": arguments}))
            }
            Version::Modern => {
                let mut wire = Wire::to(self.address);
                wire.write(modern_with(&self.header, self.address, tool, arguments));
                wire.reply().expect("an answer")
            }
        }
    }

    fn get(&self, path: &str) -> Reply {
        let mut wire = Wire::to(self.address);
        wire.write(format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{}\r\n", self.address, self.header));
        wire.reply().expect("an answer")
    }
}

#[test]
fn holders_never_see_each_others_runs_and_a_revoked_token_is_refused() {
    let sandbox = sandbox_with(None);
    let (running, address) = serve(&sandbox, &[], &[("log_level", "trace")]);
    let anna = Holder::created(&sandbox, address, "anna", &[]);
    let bert = Holder::created(&sandbox, address, "bert", &[]);
    for version in [Version::Sessions, Version::Modern] {
        let mut asked = question();
        asked["idempotency_key"] = format!("{version:?}").into();
        let of_anna = anna.call(version, "process_prompt", &asked);
        let of_bert = bert.call(version, "process_prompt", &asked);
        let id = |report: &Value| structured(report)["run_id"].as_str().expect("a run").to_owned();
        assert_eq!(structured(&of_anna)["status"], "complete", "{of_anna}");
        assert_ne!(id(&of_anna), id(&of_bert), "the same question of another holder is another run");
        // The common beginning of all ids finds only a holder's own runs, and the newest run is a holder's own.
        for name in ["01", "@", "@~1"] {
            let found = bert.call(version, "get_run", &json!({"run_id": name})).to_string();
            assert!(!found.contains(&id(&of_anna)), "{name}: {found}");
        }
        let unknown_id = "01JD0M3Z8K5Q2W7V9X4B6N1C0A";
        for (tool, part) in [
            ("get_run", None),
            ("get_run", Some("answer:1")),
            ("get_run", Some("events")),
            ("resume_run", None),
            ("process_prompt", None),
        ] {
            let reply_about = |id: &str| {
                let mut arguments = match tool {
                    "process_prompt" => json!({"prompt": "And then?", "continue_run": id}),
                    _ => json!({"run_id": id}),
                };
                if let Some(part) = part {
                    arguments["part"] = part.into();
                }
                bert.call(version, tool, &arguments).to_string().replace(id, "ID")
            };
            let others = reply_about(&id(&of_anna));
            assert!(others.contains("run_not_found"), "{others}");
            assert_eq!(others, reply_about(unknown_id), "{version:?} {tool} {part:?}");
            assert_ne!(reply_about(&id(&of_bert)), others, "a holder's own run is found");
        }
    }
    let session = Legacy::connect(address, &anna.header);
    let stolen = Legacy { address, key: &bert.header, session: session.session.clone() };
    assert_eq!(stolen.ask("tools/list", json!({})).status, 404);

    let revoked = sandbox.call(["keys", "revoke", "anna", "--yes"]).run();
    assert_eq!(revoked.code, Some(0), "{}", revoked.transcript());
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let mut wire = Wire::to(address);
    wire.write(post(address, "/mcp", &anna.header, list));
    let refused = wire.reply().expect("an answer");
    assert_eq!((refused.status, refused.code().as_str()), (401, "token_refused"));
    // Nor do the tokens appear in any file, log or process list, however verbose the log.
    #[cfg(target_os = "linux")]
    let listed = String::from_utf8_lossy(&running.command_line()).into_owned();
    running.signal("TERM");
    let output = running.wait();
    assert_eq!(output.code, Some(0));
    output.assert_no_key();
    sandbox.assert_no_key_in_files();
    for secret in [anna.token(), bert.token()] {
        sandbox.assert_nowhere(secret.as_bytes());
        assert!(!output.stderr.contains(secret) && !output.text().contains(secret), "a token is printed");
        #[cfg(target_os = "linux")]
        assert!(!listed.contains(secret) && listed.contains("serve"), "{listed}");
    }
}

#[test]
fn a_token_allows_only_its_scope_budget_and_rate() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &[], &[]);
    let reader = Holder::created(&sandbox, address, "reader", &["--scope", "read"]);
    let poor = Holder::created(&sandbox, address, "poor", &["--budget-day", "0.0001"]);
    let hasty = Holder::created(&sandbox, address, "hasty", &["--per-minute", "2"]);
    for (version, tool) in [(Version::Modern, "process_prompt"), (Version::Sessions, "resume_run")] {
        let refused = reader.raw(version, tool, &question());
        assert_eq!((refused.status, refused.code().as_str()), (403, "scope_missing"), "{tool}: {refused:?}");
        let narrow = r#"Bearer realm="parallel-llm-mcp", error="insufficient_scope", scope="ask""#;
        assert_eq!(refused.header("www-authenticate"), Some(narrow), "{tool}");
    }
    let models = reader.get("/v1/models");
    assert_eq!(models.status, 200, "{models:?}");
    let asked = json!({"model": "panel/quick", "messages": [{"role": "user", "content": "Why?"}]});
    let mut wire = Wire::to(address);
    wire.write(post(address, "/v1/chat/completions", &reader.header, &asked.to_string()));
    let refused = wire.reply().expect("an answer");
    assert_eq!((refused.status, refused.header("www-authenticate").is_some()), (403, true), "{refused:?}");
    assert_eq!(reader.call(Version::Modern, "list_models", &json!({}))["result"]["isError"], false);
    let refused = poor.call(Version::Modern, "process_prompt", &question());
    assert_eq!(structured(&refused)["code"], "budget", "{refused}");
    let statuses: Vec<u16> = (0..3).map(|_| hasty.get("/nothing").status).collect();
    assert_eq!(statuses, [404, 404, 429]);
    assert!(sandbox.chats().is_empty(), "nothing was paid");
}

#[test]
fn a_token_is_shown_only_what_it_may_call() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &[], &[]);
    for (name, scope, tools, prompts) in [
        ("asks", "ask", "process_prompt get_run resume_run list_models", 3),
        ("reads", "read", "get_run list_models", 0),
        ("counts", "metrics", "", 0),
    ] {
        let holder = Holder::created(&sandbox, address, name, &["--scope", scope]);
        let client = Legacy::connect(address, &holder.header);
        let listed = client.ask("tools/list", json!({})).json();
        let names = listed["result"]["tools"].as_array().into_iter().flatten();
        let names: Vec<&str> = names.filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(names.join(" "), tools, "{scope}");
        let offered = client.ask("prompts/list", json!({})).json()["result"]["prompts"].clone();
        assert_eq!(offered.as_array().map(Vec::len), Some(prompts), "{scope}: {offered}");
    }
}

#[test]
fn an_expired_token_is_refused() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &[], &[]);
    let short_lived = Holder::created(&sandbox, address, "brief", &["--expires", "3s"]);
    assert_eq!(short_lived.get("/nothing").status, 404, "it is let in");
    sandbox.pause(Duration::from_secs(3));
    let refused = short_lived.get("/nothing");
    assert_eq!((refused.status, refused.code().as_str()), (401, "token_refused"));
    let listed = sandbox.call(["keys", "list"]).run();
    assert!(listed.text().contains("expired"), "{}", listed.text());
}

/// An OpenID provider on loopback, with its metadata and its keys.
fn issuer(keys: Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("the listener is bound"));
    let description = json!({"issuer": address, "jwks_uri": format!("{address}/keys")});
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut line = String::new();
            let mut reader = BufReader::new(&mut stream);
            if reader.read_line(&mut line).is_err() {
                continue;
            }
            let mut header = String::new();
            while reader.read_line(&mut header).is_ok_and(|count| count > 2) {
                header.clear();
            }
            let body = if line.contains("/keys") { keys.to_string() } else { description.to_string() };
            // A client that has closed the connection needs no reply.
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
        }
    });
    address
}

/// An issuer of tokens with its signing key.
struct Identities {
    key: Ed25519KeyPair,
    address: String,
}

/// The audience of the tokens.
const AUDIENCE: &str = "https://llm.example.com/mcp";

impl Identities {
    fn new() -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("random bytes");
        let key = Ed25519KeyPair::from_pkcs8(key.as_ref()).expect("a key just made");
        let public = URL_SAFE_NO_PAD.encode(key.public_key().as_ref());
        let address = issuer(json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": public}]}));
        Self { key, address }
    }

    fn token(&self, claims: &Value) -> String {
        let header = json!({"alg": "EdDSA", "typ": "at+jwt"}).to_string();
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let signed = format!("{}.{}", encode(header.as_bytes()), encode(claims.to_string().as_bytes()));
        format!("{signed}.{}", encode(self.key.sign(signed.as_bytes()).as_ref()))
    }

    /// The claims of a subject with every scope, valid for longer than any test machine.
    fn claims(&self, subject: &str) -> Value {
        let exp = 4_000_000_000_u64;
        json!({"iss": self.address, "aud": AUDIENCE, "sub": subject, "exp": exp, "scope": "ask read"})
    }
}

/// Tokens of an issuer need no database, so it is the call itself that meets the broken database.
#[test]
fn failures_name_no_path_and_no_remedy_of_the_owner_to_a_holder() {
    let identities = Identities::new();
    let sandbox = sandbox_with(None);
    let issuer_settings = [("issuer", identities.address.as_str()), ("issuer_audience", AUDIENCE)];
    let database = sandbox.data_dir().join("runs.db");
    std::fs::create_dir_all(sandbox.data_dir()).unwrap();
    std::fs::write(&database, "this is no database at all".repeat(400)).unwrap();
    let (running, address) = serve(&sandbox, &[], &issuer_settings);
    let ada = Holder::with(address, &identities.token(&identities.claims("ada")));
    let unknown_id = "01JD0M3Z8K5Q2W7V9X4B6N1C0A";
    let client = Legacy::connect(address, &ada.header);
    let replies = [
        ada.call(Version::Modern, "process_prompt", &question()),
        ada.call(Version::Sessions, "get_run", &json!({"run_id": unknown_id})),
        ada.call(Version::Modern, "resume_run", &json!({"run_id": unknown_id})),
        client.ask("resources/list", json!({})).json(),
        client.ask("resources/read", json!({"uri": format!("parallel-llm://runs/{unknown_id}")})).json(),
        client
            .ask(
                "completion/complete",
                json!({
                    "ref": {"type": "ref/resource", "uri": "parallel-llm://runs/{run_id}"},
                    "argument": {"name": "run_id", "value": "0"},
                }),
            )
            .json(),
    ];
    let home = sandbox.home().display().to_string();
    for reply in &replies {
        let text = reply.to_string();
        assert!(text.contains("the run database of this server has trouble"), "{text}");
        assert!(text.contains("ask the owner of this server, whose log says why"), "{text}");
        assert!(!text.contains(&home) && !text.contains("runs.db") && !text.contains("DATA_DIR"), "{text}");
    }
    let log = std::fs::read_to_string(sandbox.home().join("log")).unwrap();
    assert!(log.contains(&database.display().to_string()), "the owner's log says why: {log}");
    running.signal("TERM");
    running.wait();

    // A missing key, and a key whose program fails.
    std::fs::remove_file(&database).unwrap();
    let config = "[providers.mistral]\nkey_command = \"/bin/sh -c 'echo /etc/passwd is mine >&2; exit 1'\"\n";
    sandbox.write(".config/parallel-llm-mcp/config.toml", config);
    let (_running, address) = serve(&sandbox, &[], &issuer_settings);
    let ada = Holder::with(address, &identities.token(&identities.claims("ada")));
    for models in [
        json!(["mistral:mistral-large-latest"]),
        json!(["groq:llama"]),
        json!(["mistral:mistral-large-latest", PANEL[0]]),
    ] {
        let question = json!({"prompt": "Why?", "models": models});
        let reply = ada.call(Version::Modern, "process_prompt", &question);
        let text = reply.to_string();
        assert!(text.contains("this server has no key for a provider"), "{text}");
        for detail in ["/bin/sh", "/etc/passwd", "keys set", "key_command", "_API_KEY"] {
            assert!(!text.contains(detail), "{detail}: {text}");
        }
        let Some(run_id) = super::program::structured(&reply)["run_id"].as_str() else { continue };
        let events =
            ada.call(Version::Modern, "get_run", &json!({"run_id": run_id, "part": "events"})).to_string();
        assert!(!events.contains("/bin/sh") && !events.contains("/etc/passwd"), "{events}");
    }
}

#[test]
fn subjects_of_an_issuer_are_let_in_and_others_get_its_address() {
    let identities = Identities::new();
    let (issuer, audience) = (identities.address.as_str(), AUDIENCE);
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &[], &[("issuer", issuer), ("issuer_audience", audience)]);

    let without_token = Holder { address, header: String::new() };
    let refused = without_token.get("/mcp");
    let metadata = "https://llm.example.com/.well-known/oauth-protected-resource/mcp";
    let challenge =
        |lack: &str| format!(r#"Bearer realm="parallel-llm-mcp", {lack}, resource_metadata="{metadata}""#);
    let none = challenge(r#"scope="ask read""#);
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some(none.as_str())));
    let mut read = identities.claims("rita");
    read["scope"] = json!("read");
    let reader = Holder::with(address, &identities.token(&read));
    let refused = reader.raw(Version::Modern, "process_prompt", &question());
    let narrow = challenge(r#"error="insufficient_scope", scope="ask""#);
    assert_eq!((refused.status, refused.header("www-authenticate")), (403, Some(narrow.as_str())));
    for path in ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"] {
        let expected = json!({
            "resource": audience, "resource_name": "Parallel LLM", "authorization_servers": [issuer],
            "scopes_supported": ["ask", "read"], "bearer_methods_supported": ["header"],
        });
        let described = without_token.get(path);
        assert_eq!((described.status, described.json()), (200, expected), "{path}");
    }
    assert_eq!(without_token.get("/.well-known/else").status, 401);

    let holder = |subject| Holder::with(address, &identities.token(&identities.claims(subject)));
    let (ada, eve) = (holder("ada"), holder("eve"));
    let report = ada.call(Version::Modern, "process_prompt", &question());
    assert_eq!(structured(&report)["status"], "complete", "{report}");
    let run = json!({"run_id": structured(&report)["run_id"]});
    assert_eq!(structured(&ada.call(Version::Modern, "get_run", &run))["status"], "complete");
    assert_eq!(structured(&eve.call(Version::Modern, "get_run", &run))["code"], "run_not_found");
    let mut over = identities.claims("ada");
    over["exp"] = 1.into();
    assert_eq!(Holder::with(address, &identities.token(&over)).get("/mcp").code(), "token_refused");
    assert_eq!(sandbox.asked(PANEL[0]), 1);
}

#[test]
fn a_holder_may_name_a_persona_but_not_read_its_prompt() {
    let identities = Identities::new();
    let sandbox = sandbox_with(None);
    sandbox.write(".config/parallel-llm-mcp/config.toml", "[personas.critic]\nsystem = 'Find the flaw.'\n");
    let issuer_settings = [("issuer", identities.address.as_str()), ("issuer_audience", AUDIENCE)];
    let (_running, address) = serve(&sandbox, &[], &issuer_settings);
    let ada = Holder::with(address, &identities.token(&identities.claims("ada")));
    let model = format!("{}@persona=critic,stance=for", PANEL[0]);
    let reply = ada.call(Version::Modern, "process_prompt", &json!({"prompt": "Why?", "models": [model]}));
    let run_id = super::program::structured(&reply)["run_id"].as_str().unwrap();
    let report = || ada.call(Version::Modern, "get_run", &json!({"run_id": run_id, "part": "report"}));
    let persona = |seat: usize| super::program::structured(&report())["answers"][seat]["persona"].clone();
    assert_eq!(persona(0), "critic");
    assert!(sandbox.chats()[0].body.to_string().contains("Find the flaw."));
    let further = json!({"run_id": run_id, "models": [format!("{}@persona=critic", PANEL[1])]});
    let further = ada.call(Version::Modern, "resume_run", &further);
    assert_eq!(super::program::structured(&further)["answered"], "2 of 2", "{further}");
    assert_eq!(persona(1), "critic");
    for part in ["plan", "events", "prompt", "report"] {
        let text = ada.call(Version::Modern, "get_run", &json!({"run_id": run_id, "part": part})).to_string();
        assert!(!text.contains("flaw") && !text.contains("Argue"), "{part}: {text}");
        assert_eq!(text.contains("critic"), part != "prompt", "{part}: {text}");
    }
    for part in ["plan", "events"] {
        let uri = format!("parallel-llm://runs/{run_id}/{part}");
        let read = Legacy::connect(address, &ada.header).ask("resources/read", json!({"uri": uri})).json();
        assert!(!read.to_string().contains("flaw") && read.to_string().contains("critic"), "{read}");
    }
}
