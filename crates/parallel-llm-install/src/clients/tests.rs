//! Adding and removing our entry leaves the rest of a file unchanged, and no content causes a panic.

use std::path::Path;

use parallel_llm_engine::Failure;
use proptest::prelude::*;

use super::change::{Act, Change};
use super::entry::{EntrySpec, Reach, path_of};
use super::format::Format;
use super::node::Node;
use super::table::{ALL, Client, System};
use super::{Content, content, example, snippet, state_at};
use parallel_llm_settings::settings::ConfigPaths;

fn spec(variables: &[&str]) -> EntrySpec {
    EntrySpec {
        reach: Reach::Start("parallel-llm-mcp".to_owned()),
        variables: variables.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn of(format: Format) -> impl Iterator<Item = &'static Client> {
    ALL.iter().filter(move |client| client.format == format)
}

/// A file with this text, with or without our entry.
fn change(client: &Client, text: &str, spec: Option<&EntrySpec>) -> Result<Change, Failure> {
    let (path, before) = (Path::new("FILE"), Some(text.to_owned()));
    match spec {
        Some(spec) => Change::install_into(client, path, before, spec),
        None => Change::remove_from(client, path, before, None),
    }
}

/// The text with our entry, which is added once; a second time there is nothing to do.
fn installed(client: &Client, text: &str, spec: &EntrySpec) -> String {
    let after = change(client, text, Some(spec)).unwrap().after;
    let again = change(client, &after, Some(spec)).unwrap();
    assert_eq!((again.act, &again.after), (Act::Nothing, &after), "{}: {text}", client.id);
    let Content::Present(entry) = content(client, &after) else { panic!("{}: {text}", client.id) };
    assert!(entry.is_ours && entry.reach.as_ref() == Some(&spec.reach), "{entry:?}");
    after
}

/// Adds and removes our entry; nothing else changes.
fn check_round(client: &Client, text: &str) {
    let with = installed(client, text, &spec(&["OPENROUTER_API_KEY"]));
    let without = change(client, &with, None).unwrap();
    assert_eq!(without.act, Act::Remove);
    assert_eq!(without.after, text, "{}: with our entry it was\n{with}", client.id);
}

#[test]
fn an_entry_leaves_the_file_as_it_found_it() {
    for client in of(Format::Json) {
        let servers = client.servers;
        let texts = [
            "{}\n".to_owned(),
            "{}".to_owned(),
            "\u{feff}{}\r\n".to_owned(),
            "{\n  \"a\": 1\n}\n".to_owned(),
            "{\r\n\t\"a\": [1, {\"b\": null}],\r\n\t\"c\": 1.50\r\n}\r\n".to_owned(),
            "// first\n{\n    // a note\n    \"a\": 1, // one\n    \"b\": {}, // last\n    /* end */\n}\n// after\n".to_owned(),
            "{\n  \"a\": 1,\n}\n".to_owned(),
            format!("{{\n  \"{servers}\": {{\n    \"x\": {{ \"command\": \"y\" }}\n  }},\n  \"z\": true\n}}\n"),
            format!("{{\n  \"{servers}\": {{\n    \"x\": {{}}, // one\n    // none left\n  }}\n}}"),
            format!("{{\n  \"{servers}\": {{\n    // to be filled\n  }}\n}}"),
        ];
        for text in &texts {
            check_round(client, text);
        }
    }
    for client in of(Format::Toml) {
        let texts = [
            "",
            "a = 1\n",
            "a = 1",
            "# only a note",
            "# note\n\na = 1 # one\r\nb = 2\r\n\r\n[c]\r\n  d = { e = 1 }\r\n",
            "[mcp_servers.x]\ncommand = \"y\"\n\n# about z\n[mcp_servers.z]\nurl = 'u'\n\n# the end\n",
            "[mcp_servers]\n\n[[other]]\na = 1\n[[other]]\na = 2\n\n\n",
            "mcp_servers = { x = { command = \"y\" } }\n",
            "mcp_servers.x.command = \"y\"\n",
        ];
        for text in &texts {
            check_round(client, text);
        }
    }
}

/// Afterwards it is unknown whether there was an object, and whether everything was on one line.
#[test]
fn an_entry_goes_into_an_empty_file_and_into_a_single_line() {
    let rows = [
        ("vscode", "", "{}\n"),
        ("vscode", "// mine", "// mine\n{}\n"),
        ("vscode", "\u{feff}/* mine */ // too\r\n\r\n", "\u{feff}/* mine */ // too\r\n{}\r\n"),
        // An entry gets lines of its own, and so do its neighbours.
        ("cursor", "{\"a\":1}", "{\n  \"a\":1\n}"),
        (
            "cursor",
            "{ \"mcpServers\": { \"x\": { \"command\": \"y\" } } }",
            "{ \"mcpServers\": {\n    \"x\": { \"command\": \"y\" }\n  } }",
        ),
    ];
    for (id, text, without) in rows {
        let client = Client::by_id(id).unwrap();
        let with = installed(client, text, &spec(&["OPENROUTER_API_KEY"]));
        assert_eq!(change(client, &with, None).unwrap().after, without, "{with}");
    }
    let vscode = Client::by_id("vscode").unwrap();
    insta::assert_snapshot!(installed(vscode, "// mine", &spec(&[])), @r#"
    // mine
    {
      "servers": {
        "parallel-llm": {
          "type": "stdio",
          "command": "parallel-llm-mcp",
          "args": []
        }
      }
    }
    "#);
}

/// Each of these once took time that grew with the square of its length, or too much memory.
#[test]
fn white_space_takes_no_more_time_and_room_than_it_needs() {
    const LENGTH: usize = 300_000;
    let (blanks, name) = (" ".repeat(LENGTH), "k".repeat(LENGTH));
    let rows = [
        ("cursor", format!("{{\n  \"{name}\":{blanks}1\n}}\n")),
        ("codex", format!("a = 1{blanks}\n{}", "\n".repeat(LENGTH))),
    ];
    for (id, text) in rows {
        let client = Client::by_id(id).unwrap();
        let with = installed(client, &text, &spec(&["A"]));
        assert!(with.len() < text.len() + 1_000, "{id}: {} bytes of {}", with.len(), text.len());
        assert!(super::diff("f", &text, &with).len() < 10_000, "{id}");
        assert_eq!(change(client, &with, None).unwrap().after, text);
    }
    let rows = [
        (format!("{{\n{blanks}\"a\": 1\n}}\n"), "line 2 is indented by more than 1000 blanks"),
        (format!("{{\"a\": 1{}}}\n", "\n".repeat(LENGTH)), "an object in it has more than 4000 parts"),
    ];
    for (text, why) in rows {
        let cursor = Client::by_id("cursor").unwrap();
        let refused = change(cursor, &text, Some(&spec(&["A"]))).unwrap_err().message;
        assert_eq!(refused, format!("`FILE` is left as it is: {why}"));
    }
}

#[test]
fn text_after_and_between_stays_when_the_entry_is_removed() {
    let codex = Client::by_id("codex").unwrap();
    let text = "a = 1\n\n[mcp_servers.parallel-llm] # ours\ncommand = \"/x/parallel-llm-mcp\"\nargs = [\n  \"serve\", # said\n]\n\n[mcp_servers.parallel-llm.env]\nA = \"1\"\n\n# about z\n[z]\nb = 2\n";
    let without = change(codex, text, None).unwrap();
    assert_eq!(without.after, "a = 1\n\n\n# about z\n[z]\nb = 2\n");
    let cursor = Client::by_id("cursor").unwrap();
    let text = "{\n  \"mcpServers\": { // all\n    \"parallel-llm\": { \"command\": \"parallel-llm-mcp\" }, \"x\": {}\n  }\n}\n";
    let without = change(cursor, text, None).unwrap();
    assert_eq!(without.after, "{\n  \"mcpServers\": { // all\n \"x\": {}\n  }\n}\n");
}

#[test]
fn the_users_choices_in_our_entry_stay() {
    let codex = Client::by_id("codex").unwrap();
    let text = "[mcp_servers.parallel-llm] # mine\ncommand = '/old/parallel-llm-mcp' # old\nargs = [\"serve\"]\ntool_timeout_sec = 600\nenabled = true\n[mcp_servers.parallel-llm.env]\nOPENROUTER_API_KEY = \"filled in\"\n";
    insta::assert_snapshot!(installed(codex, text, &spec(&[])), @r#"
    [mcp_servers.parallel-llm] # mine
    command = "parallel-llm-mcp" # old
    args = ["serve"]
    tool_timeout_sec = 600
    enabled = true
    [mcp_servers.parallel-llm.env]
    OPENROUTER_API_KEY = "filled in"
    PARALLEL_LLM_CLIENT_WALL_MS = "600000"
    "#);
    let zed = Client::by_id("zed").unwrap();
    let text = "{\n  // models\n  \"context_servers\": {\n    \"parallel-llm\": {\n      \"command\": \"/old/parallel-llm-mcp\",\n      \"env\": { \"OPENROUTER_API_KEY\": \"filled in\" }, // mine\n    },\n  },\n}\n";
    insta::assert_snapshot!(installed(zed, text, &spec(&["OPENROUTER_API_KEY"])), @r#"
    {
      // models
      "context_servers": {
        "parallel-llm": {
          "command": "parallel-llm-mcp",
          "env": {
            "OPENROUTER_API_KEY": "filled in",
            "PARALLEL_LLM_CLIENT_WALL_MS": "600000"
          }, // mine
          "args": [],
          "timeout": 600,
        },
      },
    }
    "#);
}

#[test]
fn a_file_that_cannot_be_understood_is_left_alone() {
    let result = |id: &str, text: &str| {
        let client = Client::by_id(id).unwrap();
        change(client, text, Some(&spec(&[]))).unwrap_err().message
    };
    let rows = [
        ("cursor", "{"),
        ("cursor", "[]"),
        ("cursor", "{\"mcpServers\": 1}"),
        ("cursor", "{\"mcpServers\": {}, \"mcpServers\": {}}"),
        ("cursor", "{\"mcpServers\": {\"parallel-llm\": {\"command\": \"npx\"}}}"),
        ("vscode", "{\"servers\": {\"parallel-llm\": {\"url\": \"https://example.com/other\"}}}"),
        ("codex", "a = \n"),
        ("codex", "[mcp_servers.parallel-llm]\nargs = []\n"),
        ("goose", "extensions: {}\n"),
    ];
    let all: Vec<String> = rows.iter().map(|(id, text)| result(id, text)).collect();
    insta::assert_snapshot!(all.join("\n"), @"
    `FILE` is left as it is: it is not JSON: Unterminated object on line 1 column 1
    `FILE` is left as it is: it holds no JSON object
    `FILE` is left as it is: there is no table where `parallel-llm` belongs
    `FILE` is left as it is: `mcpServers` occurs twice
    `FILE` has an entry `parallel-llm` that leads to `npx`, not to this program
    `FILE` has an entry `parallel-llm` that leads to `https://example.com/other`, not to this program
    `FILE` is left as it is: it is not TOML: line 1 cannot be read
    `FILE` has an entry `parallel-llm` that leads to nothing, not to this program
    `FILE` is left as it is: its YAML is not read here
    ");
}

#[test]
fn files_lie_where_each_system_has_them() {
    let paths = ConfigPaths {
        home: "/home/u".into(),
        config: "/home/u/.config".into(),
        app_data: Some("/app".into()),
        ..ConfigPaths::default()
    };
    let rows: Vec<String> = ALL
        .iter()
        .map(|client| {
            let on = |system| client.user_file_on(system, &paths).unwrap().display().to_string();
            format!("{} {} {} {}", client.id, on(System::Linux), on(System::Mac), on(System::Windows))
        })
        .collect();
    insta::assert_snapshot!(rows.join("\n"), @"
    claude-code /home/u/.claude.json /home/u/.claude.json /home/u/.claude.json
    claude-desktop /home/u/.config/Claude/claude_desktop_config.json /home/u/Library/Application Support/Claude/claude_desktop_config.json /app/Claude/claude_desktop_config.json
    cursor /home/u/.cursor/mcp.json /home/u/.cursor/mcp.json /home/u/.cursor/mcp.json
    vscode /home/u/.config/Code/User/mcp.json /home/u/Library/Application Support/Code/User/mcp.json /app/Code/User/mcp.json
    codex /home/u/.codex/config.toml /home/u/.codex/config.toml /home/u/.codex/config.toml
    zed /home/u/.config/zed/settings.json /home/u/.config/zed/settings.json /app/Zed/settings.json
    goose /home/u/.config/goose/config.yaml /home/u/.config/goose/config.yaml /app/Block/goose/config/config.yaml
    windsurf /home/u/.codeium/windsurf/mcp_config.json /home/u/.codeium/windsurf/mcp_config.json /home/u/.codeium/windsurf/mcp_config.json
    gemini /home/u/.gemini/settings.json /home/u/.gemini/settings.json /home/u/.gemini/settings.json
    ");
    let moved = ConfigPaths { codex: Some("/c".into()), claude: Some("/d".into()), ..paths };
    let at = |id| Client::by_id(id).unwrap().user_file(&moved).unwrap();
    assert_eq!(at("codex"), Path::new("/c/config.toml"));
    assert_eq!(at("claude-code"), Path::new("/d/.claude.json"));
    let without = ConfigPaths { app_data: None, ..moved };
    assert_eq!(Client::by_id("vscode").unwrap().user_file_on(System::Windows, &without), None);
}

#[test]
fn a_connection_takes_its_token_from_a_variable_where_the_client_can() {
    let spec = EntrySpec {
        reach: Reach::Connect("http://127.0.0.1:8930/mcp".to_owned()),
        variables: vec!["LLM_TOKEN".to_owned()],
    };
    let result = ALL.iter().map(|client| {
        let text = snippet(client, &spec).unwrap_or_else(|why| why);
        format!("{}: {}", client.id, text.split_whitespace().collect::<Vec<_>>().join(" "))
    });
    insta::assert_snapshot!(result.collect::<Vec<_>>().join("\n"), @r#"
    claude-code: { "mcpServers": { "parallel-llm": { "type": "http", "url": "http://127.0.0.1:8930/mcp", "headers": { "Authorization": "Bearer ${LLM_TOKEN}" }, "timeout": 1800000 } } }
    claude-desktop: Claude Desktop takes no addresses in its file, only programs that it starts
    cursor: { "mcpServers": { "parallel-llm": { "url": "http://127.0.0.1:8930/mcp", "headers": { "Authorization": "Bearer ${env:LLM_TOKEN}" } } } }
    vscode: { "inputs": [ { "type": "promptString", "id": "parallel-llm-llm-token", "description": "LLM_TOKEN", "password": true } ], "servers": { "parallel-llm": { "type": "http", "url": "http://127.0.0.1:8930/mcp", "headers": { "Authorization": "Bearer ${input:parallel-llm-llm-token}" } } } }
    codex: [mcp_servers.parallel-llm] url = "http://127.0.0.1:8930/mcp" bearer_token_env_var = "LLM_TOKEN" tool_timeout_sec = 1800
    zed: { "context_servers": { "parallel-llm": { "url": "http://127.0.0.1:8930/mcp", "timeout": 600 } } }
    goose: extensions: parallel-llm: enabled: true type: streamable_http name: parallel-llm description: Asks many language models at once uri: "http://127.0.0.1:8930/mcp" headers: Authorization: "Bearer ${LLM_TOKEN}" env_keys: - LLM_TOKEN timeout: 1800
    windsurf: { "mcpServers": { "parallel-llm": { "serverUrl": "http://127.0.0.1:8930/mcp", "headers": { "Authorization": "Bearer ${env:LLM_TOKEN}" } } } }
    gemini: { "mcpServers": { "parallel-llm": { "httpUrl": "http://127.0.0.1:8930/mcp", "headers": { "Authorization": "Bearer ${LLM_TOKEN}" }, "timeout": 1800000 } } }
    "#);
}

#[test]
fn the_example_has_a_blank_key() {
    insta::assert_snapshot!(example(), @r#"
    {
      "mcpServers": {
        "parallel-llm": {
          "command": "parallel-llm-mcp",
          "args": [],
          "env": {
            "OPENROUTER_API_KEY": ""
          }
        }
      }
    }
    "#);
}

#[test]
fn a_diff_shows_no_secret() {
    let before = "{\n  \"a\": 1,\n  \"api_key\": \"0000\", \"GH_TOKEN\":\"1111\",\n  \"Authorization\": \"Bearer 2222\"\n}\n";
    let after = "{\n  \"a\": 2,\n  \"api_key\": \"0000\", \"GH_TOKEN\":\"1111\",\n  \"Authorization\": \"Bearer ${X}\",\n  \"KEY\": \"${A_KEY}\"\n}\n";
    insta::assert_snapshot!(super::diff("f", before, after), @r#"
    --- f
    +++ f
    @@ -1,5 +1,6 @@
     {
    -  "a": 1,
    +  "a": 2,
       "api_key": "***", "GH_TOKEN":"***",
    -  "Authorization": "***"
    +  "Authorization": "Bearer ${X}",
    +  "KEY": "${A_KEY}"
     }
    "#);
    let toml = super::diff(
        "f",
        "secret = 'x y' # why\nenv = { A_KEY = \"1\", B = \"2\" }\n",
        "bearer_token_env_var = \"T\"\n",
    );
    insta::assert_snapshot!(toml, @r#"
    --- f
    +++ f
    @@ -1,2 +1,1 @@
    -secret = '***' # why
    -env = { A_KEY = "***", B = "2" }
    +bearer_token_env_var = "T"
    "#);
    let yaml = super::diff("f", "password: ab=cd ef:gh # why\nA_TOKEN: Bearer ${B} # c\n", "");
    insta::assert_snapshot!(yaml, @"
    --- f
    +++ f
    @@ -1,2 +1,0 @@
    -password: *** # why
    -A_TOKEN: Bearer ${B} # c
    ");
    let long = super::diff("f", "", &"x".repeat(1_000));
    assert!(long.lines().all(|line| line.len() < 250), "{long}");
    assert_eq!(super::diff("f", before, before), "");
}

/// A JSON file with many variations, as text.
fn json_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<i32>().prop_map(|number| number.to_string()),
        "[ -~é]{0,8}".prop_map(|text| serde_json::Value::from(text).to_string()),
    ];
    let gap = || {
        prop_oneof![Just(" "), Just(""), Just("\n  "), Just("\t"), Just(" /* a, { */ "), Just(" // b }\n")]
    };
    let value = leaf.prop_recursive(3, 24, 4, move |inner| {
        let part = (inner, gap(), gap());
        let parts = prop::collection::vec(part, 1..4);
        (parts, any::<bool>(), any::<bool>()).prop_map(|(parts, is_object, last)| {
            let (open, close) = if is_object { ('{', '}') } else { ('[', ']') };
            let written = parts.iter().enumerate().map(|(at, (value, before, after))| {
                let key = if is_object { format!("\"k{at}\":") } else { String::new() };
                format!("{before}{key}{after}{value}")
            });
            let comma = if last { "," } else { "" };
            format!("{open}{}{comma}{close}", written.collect::<Vec<_>>().join(","))
        })
    });
    let around = (prop::collection::vec((value, gap(), gap()), 1..4), 0..4_usize, any::<bool>());
    around.prop_map(|(parts, servers, last)| {
        let keys = ["a", "b", "c", "d"];
        let written =
            parts.iter().enumerate().map(|(at, (value, before, after))| match (at == servers, value) {
                (true, value) if value.starts_with('{') => format!("{before}\"mcpServers\":{after}{value}"),
                (_, value) => format!("{before}\"{}\":{value}{after}", keys[at]),
            });
        let comma = if last { "," } else { "" };
        format!("{{{}{comma}\n}}", written.collect::<Vec<_>>().join(","))
    })
}

/// How often each comment occurs that [`json_text`] writes.
fn comments(text: &str) -> [usize; 2] {
    ["/* a, { */", "// b }\n"].map(|comment| text.matches(comment).count())
}

/// A TOML file with many variations, as text.
fn toml_text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("# a note".to_owned()),
        Just(String::new()),
        any::<i32>().prop_map(|number| format!("n{number} = {number} # one").replace("n-", "m")),
        "[a-z]{1,6}".prop_map(|name| format!("s_{name} = '{name}'")),
    ];
    let unique = |lines: Vec<String>| {
        let mut seen = std::collections::BTreeSet::new();
        lines
            .into_iter()
            .filter(move |line| {
                line.is_empty()
                    || line.starts_with('#')
                    || seen.insert(line.split(' ').next().unwrap_or_default().to_owned())
            })
            .collect::<Vec<_>>()
    };
    let lines = move || prop::collection::vec(line.clone(), 0..5).prop_map(unique);
    let heads =
        prop::sample::subsequence(vec!["[x]", "[mcp_servers.x]", "[mcp_servers]", "[[list]]", "[y.z]"], 0..5)
            .prop_shuffle();
    (lines(), heads, prop::collection::vec(lines(), 5), any::<bool>(), any::<bool>()).prop_map(
        |(first, heads, bodies, is_crlf, ends)| {
            let mut text: Vec<String> = first;
            for (head, body) in heads.into_iter().zip(bodies) {
                text.push(head.to_owned());
                text.extend(body);
            }
            let end = if is_crlf { "\r\n" } else { "\n" };
            let joined = text.join(end);
            if ends && !joined.is_empty() { joined + end } else { joined }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    /// The lines of our entry's neighbours may move; no value and no comment is lost.
    #[test]
    fn any_json_survives_our_entry(text in json_text()) {
        let cursor = Client::by_id("cursor").unwrap();
        let with = installed(cursor, &text, &spec(&["OPENROUTER_API_KEY"]));
        prop_assert_eq!(comments(&with), comments(&text), "{}", with);
        let without = change(cursor, &with, None).unwrap().after;
        prop_assert_eq!(comments(&without), comments(&text), "{}", without);
        prop_assert_eq!(super::change::plain_json(&without), super::change::plain_json(&text));
    }

    #[test]
    fn any_toml_survives_our_entry(text in toml_text()) {
        check_round(Client::by_id("codex").unwrap(), &text);
    }

    #[test]
    fn no_text_makes_anything_fall_over(text in "[\\[\\]{}:,\"'=#/*a \\n\\t\\-é]{0,60}", known in any::<bool>()) {
        for client in &ALL {
            let text = if known { text.replace('a', client.servers) } else { text.clone() };
            let _ = client.format.read(&text, &path_of(client));
            for path in [&path_of(client)[..], &[client.servers, "parallel-llm", "env", "A"]] {
                if let Ok(changed) = client.format.set(&text, path, &Node::text("x")) {
                    let _ = client.format.take(&changed, &path_of(client));
                }
            }
            let _ = super::diff("f", &text, "x");
        }
    }

    #[test]
    fn no_bytes_make_anything_fall_over(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings");
        std::fs::write(&path, &bytes).unwrap();
        for client in &ALL {
            let _ = state_at(client, &path);
            let _ = Change::install(client, &path, &spec(&["A"]));
            let _ = Change::remove(client, &path, None);
        }
        prop_assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
}
