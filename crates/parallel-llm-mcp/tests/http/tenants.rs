//! Who is let in by the real program, and that those who are let in never meet.

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
use super::program::{PANEL, question, serve, stage_of, structured};
use super::sessions::{Legacy, modern_with};

/// A call in either era.
#[derive(Clone, Copy, Debug)]
enum Era {
    Sessions,
    Modern,
}

/// Somebody with a token.
struct Holder {
    address: SocketAddr,
    header: String,
}

impl Holder {
    /// The holder of a token made on the command line.
    fn of_stage(sandbox: &Sandbox, address: SocketAddr, name: &str, flags: &[&str]) -> Self {
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

    /// Calls a tool. Whatever comes back, the token is not in it.
    fn call(&self, era: Era, tool: &str, arguments: &Value) -> Value {
        let reply = self.reply(era, tool, arguments);
        assert!(!reply.to_string().contains(self.token()), "a token in a reply");
        reply
    }

    fn reply(&self, era: Era, tool: &str, arguments: &Value) -> Value {
        match era {
            Era::Sessions => {
                let client = Legacy::begun(self.address, &self.header);
                client.ask("tools/call", json!({"name": tool, "arguments": arguments})).json()
            }
            Era::Modern => {
                let mut wire = Wire::to(self.address);
                wire.write(modern_with(&self.header, self.address, tool, arguments));
                wire.reply().expect("an answer").json()
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
fn two_holders_never_meet_and_a_revoked_one_is_let_in_no_more() {
    let sandbox = stage_of(None);
    let (running, address) = serve(&sandbox, &[], &[("log_level", "trace")]);
    let anna = Holder::of_stage(&sandbox, address, "anna", &[]);
    let bert = Holder::of_stage(&sandbox, address, "bert", &[]);
    for era in [Era::Sessions, Era::Modern] {
        let mut asked = question();
        asked["idempotency_key"] = format!("{era:?}").into();
        let of_anna = anna.call(era, "process_prompt", &asked);
        let of_bert = bert.call(era, "process_prompt", &asked);
        let id = |report: &Value| structured(report)["run_id"].as_str().expect("a run").to_owned();
        assert_eq!(structured(&of_anna)["status"], "complete", "{of_anna}");
        assert_ne!(id(&of_anna), id(&of_bert), "the same question of another is another run");
        // The beginning of all ids names its own runs alone, and no newest run is another's.
        for name in ["01", "@", "@~1"] {
            let found = bert.call(era, "get_run", &json!({"run_id": name})).to_string();
            assert!(!found.contains(&id(&of_anna)), "{name}: {found}");
        }
        let nobodys = "01JD0M3Z8K5Q2W7V9X4B6N1C0A";
        for (tool, part) in [
            ("get_run", None),
            ("get_run", Some("answer:1")),
            ("get_run", Some("events")),
            ("resume_run", None),
        ] {
            let told_of = |id: &str| {
                let mut arguments = json!({"run_id": id});
                if let Some(part) = part {
                    arguments["part"] = part.into();
                }
                bert.call(era, tool, &arguments).to_string().replace(id, "ID")
            };
            let others = told_of(&id(&of_anna));
            assert!(others.contains("run_not_found"), "{others}");
            assert_eq!(others, told_of(nobodys), "{era:?} {tool} {part:?}");
            assert_ne!(told_of(&id(&of_bert)), others, "its own is there");
        }
    }
    let session = Legacy::begun(address, &anna.header);
    let stolen = Legacy { address, key: &bert.header, session: session.session.clone() };
    assert_eq!(stolen.ask("tools/list", json!({})).status, 404);

    let revoked = sandbox.call(["keys", "revoke", "anna", "--yes"]).run();
    assert_eq!(revoked.code, Some(0), "{}", revoked.transcript());
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let mut wire = Wire::to(address);
    wire.write(post(address, "/mcp", &anna.header, list));
    let refused = wire.reply().expect("an answer");
    assert_eq!((refused.status, refused.code().as_str()), (401, "token_refused"));
    // Nor do they stand anywhere that is kept, logged or listed, however much is logged.
    #[cfg(target_os = "linux")]
    let listed = String::from_utf8_lossy(&running.command_line()).into_owned();
    running.signal("TERM");
    let output = running.wait();
    assert_eq!(output.code, Some(0));
    output.assert_no_key();
    sandbox.assert_no_key_in_files();
    for secret in [anna.token(), bert.token()] {
        sandbox.assert_nowhere(secret.as_bytes());
        assert!(!output.stderr.contains(secret) && !output.text().contains(secret), "a token is told");
        #[cfg(target_os = "linux")]
        assert!(!listed.contains(secret) && listed.contains("serve"), "{listed}");
    }
}

#[test]
fn a_token_allows_what_it_was_made_for() {
    let sandbox = stage_of(None);
    let (_running, address) = serve(&sandbox, &[], &[]);
    let reader = Holder::of_stage(&sandbox, address, "reader", &["--scope", "read"]);
    let poor = Holder::of_stage(&sandbox, address, "poor", &["--budget-day", "0.0001"]);
    let hasty = Holder::of_stage(&sandbox, address, "hasty", &["--per-minute", "2"]);
    let refused = reader.call(Era::Modern, "process_prompt", &question());
    assert_eq!(structured(&refused)["code"], "scope_missing", "{refused}");
    assert_eq!(reader.call(Era::Modern, "list_models", &json!({}))["result"]["isError"], false);
    let refused = poor.call(Era::Modern, "process_prompt", &question());
    assert_eq!(structured(&refused)["code"], "budget", "{refused}");
    let statuses: Vec<u16> = (0..3).map(|_| hasty.get("/nothing").status).collect();
    assert_eq!(statuses, [404, 404, 429]);
    assert!(sandbox.chats().is_empty(), "nothing was paid");
}

#[test]
fn a_token_that_is_over_lets_nobody_in() {
    let sandbox = stage_of(None);
    let (_running, address) = serve(&sandbox, &[], &[]);
    let brief = Holder::of_stage(&sandbox, address, "brief", &["--expires", "3s"]);
    assert_eq!(brief.get("/nothing").status, 404, "it is let in");
    sandbox.pause(Duration::from_secs(3));
    let refused = brief.get("/nothing");
    assert_eq!((refused.status, refused.code().as_str()), (401, "token_refused"));
    let listed = sandbox.call(["keys", "list"]).run();
    assert!(listed.text().contains("expired"), "{}", listed.text());
}

/// A server for identities on loopback: its description and its keys.
fn issuer(keys: Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("it is bound"));
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
            // A client that has gone needs no answer.
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
        }
    });
    address
}

/// An issuer, and what signs its tokens.
struct Identities {
    key: Ed25519KeyPair,
    address: String,
}

/// What tokens of tests are for.
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

    /// What it says of somebody who may do all, until a day after any a test runs on.
    fn claims(&self, subject: &str) -> Value {
        let exp = 4_000_000_000_u64;
        json!({"iss": self.address, "aud": AUDIENCE, "sub": subject, "exp": exp, "scope": "ask read"})
    }
}

/// Its tokens need no database, so a broken one is met by what they ask for.
#[test]
fn a_holder_is_told_no_path_and_no_step_of_the_owners() {
    let identities = Identities::new();
    let sandbox = stage_of(None);
    let taken = [("issuer", identities.address.as_str()), ("issuer_audience", AUDIENCE)];
    let database = sandbox.data_dir().join("runs.db");
    std::fs::create_dir_all(sandbox.data_dir()).unwrap();
    std::fs::write(&database, "this is no database at all".repeat(400)).unwrap();
    let (running, address) = serve(&sandbox, &[], &taken);
    let ada = Holder::with(address, &identities.token(&identities.claims("ada")));
    let nobodys = "01JD0M3Z8K5Q2W7V9X4B6N1C0A";
    let client = Legacy::begun(address, &ada.header);
    let replies = [
        ada.call(Era::Modern, "process_prompt", &question()),
        ada.call(Era::Sessions, "get_run", &json!({"run_id": nobodys})),
        ada.call(Era::Modern, "resume_run", &json!({"run_id": nobodys})),
        client.ask("resources/list", json!({})).json(),
        client.ask("resources/read", json!({"uri": format!("parallel-llm://runs/{nobodys}")})).json(),
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
        let told = reply.to_string();
        assert!(told.contains("the run database of this server has trouble"), "{told}");
        assert!(told.contains("ask the owner of this server, whose log says why"), "{told}");
        assert!(!told.contains(&home) && !told.contains("runs.db") && !told.contains("DATA_DIR"), "{told}");
    }
    let log = std::fs::read_to_string(sandbox.home().join("log")).unwrap();
    assert!(log.contains(&database.display().to_string()), "the owner's log says why: {log}");
    running.signal("TERM");
    running.wait();

    // A key that is missing, or that a program of the owner's does not give.
    std::fs::remove_file(&database).unwrap();
    let config = "[providers.mistral]\nkey_command = \"/bin/sh -c 'echo /etc/passwd is mine >&2; exit 1'\"\n";
    sandbox.write(".config/parallel-llm-mcp/config.toml", config);
    let (_running, address) = serve(&sandbox, &[], &taken);
    let ada = Holder::with(address, &identities.token(&identities.claims("ada")));
    for models in [
        json!(["mistral:mistral-large-latest"]),
        json!(["groq:llama"]),
        json!(["mistral:mistral-large-latest", PANEL[0]]),
    ] {
        let asked = json!({"prompt": "Why?", "models": models});
        let reply = ada.call(Era::Modern, "process_prompt", &asked);
        let told = reply.to_string();
        assert!(told.contains("this server has no key for a provider"), "{told}");
        for owners in ["/bin/sh", "/etc/passwd", "keys set", "key_command", "_API_KEY"] {
            assert!(!told.contains(owners), "{owners}: {told}");
        }
        let Some(run_id) = super::program::structured(&reply)["run_id"].as_str() else { continue };
        let events =
            ada.call(Era::Modern, "get_run", &json!({"run_id": run_id, "part": "events"})).to_string();
        assert!(!events.contains("/bin/sh") && !events.contains("/etc/passwd"), "{events}");
    }
}

#[test]
fn whoever_an_issuer_names_is_let_in_and_others_are_told_where_to_go() {
    let identities = Identities::new();
    let (issuer, audience) = (identities.address.as_str(), AUDIENCE);
    let sandbox = stage_of(None);
    let (_running, address) = serve(&sandbox, &[], &[("issuer", issuer), ("issuer_audience", audience)]);

    let nobody = Holder { address, header: String::new() };
    let refused = nobody.get("/mcp");
    let metadata = "https://llm.example.com/.well-known/oauth-protected-resource/mcp";
    let challenge = format!(r#"Bearer realm="parallel-llm-mcp", resource_metadata="{metadata}""#);
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some(challenge.as_str())));
    for path in ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"] {
        let expected = json!({
            "resource": audience, "resource_name": "Parallel LLM", "authorization_servers": [issuer],
            "scopes_supported": ["ask", "read"], "bearer_methods_supported": ["header"],
        });
        let described = nobody.get(path);
        assert_eq!((described.status, described.json()), (200, expected), "{path}");
    }
    assert_eq!(nobody.get("/.well-known/else").status, 401);

    let holder = |subject| Holder::with(address, &identities.token(&identities.claims(subject)));
    let (ada, eve) = (holder("ada"), holder("eve"));
    let report = ada.call(Era::Modern, "process_prompt", &question());
    assert_eq!(structured(&report)["status"], "complete", "{report}");
    let run = json!({"run_id": structured(&report)["run_id"]});
    assert_eq!(structured(&ada.call(Era::Modern, "get_run", &run))["status"], "complete");
    assert_eq!(structured(&eve.call(Era::Modern, "get_run", &run))["code"], "run_not_found");
    let mut over = identities.claims("ada");
    over["exp"] = 1.into();
    assert_eq!(Holder::with(address, &identities.token(&over)).get("/mcp").code(), "token_refused");
    assert_eq!(sandbox.asked(PANEL[0]), 1);
}

#[test]
fn a_holder_uses_a_persona_by_its_name_and_is_not_shown_its_words() {
    let identities = Identities::new();
    let sandbox = stage_of(None);
    sandbox.write(".config/parallel-llm-mcp/config.toml", "[personas.critic]\nsystem = 'Find the flaw.'\n");
    let taken = [("issuer", identities.address.as_str()), ("issuer_audience", AUDIENCE)];
    let (_running, address) = serve(&sandbox, &[], &taken);
    let ada = Holder::with(address, &identities.token(&identities.claims("ada")));
    let cast = format!("{}@persona=critic,stance=for", PANEL[0]);
    let reply = ada.call(Era::Modern, "process_prompt", &json!({"prompt": "Why?", "models": [cast]}));
    let run_id = super::program::structured(&reply)["run_id"].as_str().unwrap();
    let report = || ada.call(Era::Modern, "get_run", &json!({"run_id": run_id, "part": "report"}));
    let persona = |seat: usize| super::program::structured(&report())["answers"][seat]["persona"].clone();
    assert_eq!(persona(0), "critic");
    assert!(sandbox.chats()[0].body.to_string().contains("Find the flaw."));
    let further = json!({"run_id": run_id, "models": [format!("{}@persona=critic", PANEL[1])]});
    let further = ada.call(Era::Modern, "resume_run", &further);
    assert_eq!(super::program::structured(&further)["answered"], "2 of 2", "{further}");
    assert_eq!(persona(1), "critic");
    for part in ["plan", "events", "prompt", "report"] {
        let told = ada.call(Era::Modern, "get_run", &json!({"run_id": run_id, "part": part})).to_string();
        assert!(!told.contains("flaw") && !told.contains("Argue"), "{part}: {told}");
        assert_eq!(told.contains("critic"), part != "prompt", "{part}: {told}");
    }
    for part in ["plan", "events"] {
        let uri = format!("parallel-llm://runs/{run_id}/{part}");
        let read = Legacy::begun(address, &ada.header).ask("resources/read", json!({"uri": uri})).json();
        assert!(!read.to_string().contains("flaw") && read.to_string().contains("critic"), "{read}");
    }
}
