//! `install`: what it writes to the user's files, what it leaves unchanged, and what it prints; every
//! configuration in the manual starts the real server.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use parallel_llm_testkit::{Call, Output, Sandbox};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_parallel-llm-mcp");
/// The first messages of a client.
const HELLO: [&str; 3] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
];

fn sandbox() -> Sandbox {
    Sandbox::new(BINARY)
}

fn run(call: Call<'_>) -> Output {
    let output = call.run();
    output.assert_no_key();
    output
}

/// `install` with a command that is the same on every machine.
fn install<'a>(sandbox: &'a Sandbox, arguments: &[&str]) -> Call<'a> {
    sandbox.call(["install"]).args(arguments).args(["--command", "parallel-llm-mcp"])
}

fn content(sandbox: &Sandbox, name: &str) -> String {
    fs::read_to_string(sandbox.home().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The names of the files below the home.
fn names(sandbox: &Sandbox) -> Vec<String> {
    sandbox.files().into_iter().map(|(path, _)| path.display().to_string()).collect()
}

#[test]
fn an_entry_is_shown_first_and_written_with_consent() {
    let sandbox = sandbox();
    let before = "{\n  // mine\n  \"theme\": \"One\", // light\n  \"assistant\": { \"api_key\": \"0000-not-yours\" }\n}\n";
    sandbox.write(".config/zed/settings.json", before);
    insta::assert_snapshot!(run(install(&sandbox, &["zed"])).transcript(), @r#"
    exit 0
    --- stdout
    --- <home>/.config/zed/settings.json
    +++ <home>/.config/zed/settings.json
    @@ -1,5 +1,15 @@
     {
       // mine
       "theme": "One", // light
    -  "assistant": { "api_key": "***" }
    +  "assistant": { "api_key": "***" },
    +  "context_servers": {
    +    "parallel-llm": {
    +      "command": "parallel-llm-mcp",
    +      "args": [],
    +      "env": {
    +        "PARALLEL_LLM_CLIENT_WALL_MS": "600000"
    +      },
    +      "timeout": 600
    +    }
    +  }
     }
    --- stderr
    nothing is written; `--yes` writes it to <home>/.config/zed/settings.json
    "#);
    assert_eq!(content(&sandbox, ".config/zed/settings.json"), before);
    let written = run(install(&sandbox, &["zed", "--yes"]));
    insta::assert_snapshot!(written.summary(), @"
    Zed knows this program: <home>/.config/zed/settings.json is written
    what was there is kept in <home>/.config/zed/settings.json.bak-1
    note: a client may start the program without the variables of your shell: keep a key once with `parallel-llm-mcp keys set openrouter`
    next: look at the server in Zed's agent settings
    ");
    insta::assert_snapshot!(content(&sandbox, ".config/zed/settings.json"), @r#"
    {
      // mine
      "theme": "One", // light
      "assistant": { "api_key": "0000-not-yours" },
      "context_servers": {
        "parallel-llm": {
          "command": "parallel-llm-mcp",
          "args": [],
          "env": {
            "PARALLEL_LLM_CLIENT_WALL_MS": "600000"
          },
          "timeout": 600
        }
      }
    }
    "#);
    assert_eq!(content(&sandbox, ".config/zed/settings.json.bak-1"), before);
    insta::assert_snapshot!(run(install(&sandbox, &["zed", "--yes"])).transcript(), @"
    exit 0
    --- stdout
    --- stderr
    nothing to do: <home>/.config/zed/settings.json has the entry
    note: a client may start the program without the variables of your shell: keep a key once with `parallel-llm-mcp keys set openrouter`
    ");
    insta::assert_snapshot!(run(install(&sandbox, &["zed", "--remove", "--yes"])).summary(), @"
    Zed no longer knows this program: <home>/.config/zed/settings.json is written
    what was there is kept in <home>/.config/zed/settings.json.bak-2
    ");
    assert_eq!(content(&sandbox, ".config/zed/settings.json"), before);
    assert_eq!(
        names(&sandbox),
        [".config/zed/settings.json", ".config/zed/settings.json.bak-1", ".config/zed/settings.json.bak-2"]
    );
}

#[test]
fn install_asks_for_consent_on_a_terminal() {
    for (reply, is_written) in [("y\n", true), ("n\n", false), ("", false)] {
        let sandbox = sandbox();
        let Some(call) = install(&sandbox, &["cursor"]).on_terminal() else { return };
        let output = call.stdin(reply).run();
        assert!(output.text().contains("[y/N]"), "{}", output.text());
        assert_eq!(
            sandbox.home().join(".cursor/mcp.json").exists(),
            is_written,
            "{reply:?}: {}",
            output.text()
        );
    }
}

#[test]
fn the_list_shows_the_state_of_each_client() {
    let sandbox = sandbox();
    sandbox.write(
        ".codex/config.toml",
        "[mcp_servers.parallel-llm]\ncommand = '/opt/parallel-llm-mcp'\ntool_timeout_sec = 900\n",
    );
    sandbox.write(".cursor/mcp.json", "{ \"mcpServers\": { \"parallel-llm\": { \"command\": \"npx\" } } }");
    sandbox.write(".gemini/settings.json", "{");
    sandbox.write(".codeium/windsurf/other", "");
    insta::assert_snapshot!(run(sandbox.call(["install"])).transcript(), @"
    exit 0
    --- stdout
    CLIENT          NAME            HERE  INSTALLED                                                        FILE
    claude-code     Claude Code     no    no                                                               <home>/.claude.json
    claude-desktop  Claude Desktop  no    no                                                               <home>/.config/Claude/claude_desktop_config.json
    cursor          Cursor          yes   another: npx                                                     <home>/.cursor/mcp.json
    vscode          VS Code         no    no                                                               <home>/.config/Code/User/mcp.json
    codex           Codex           yes   yes: /opt/parallel-llm-mcp                                       <home>/.codex/config.toml
    zed             Zed             no    no                                                               <home>/.config/zed/settings.json
    goose           goose           no    no                                                               <home>/.config/goose/config.yaml
    windsurf        Windsurf        yes   no                                                               <home>/.codeium/windsurf/mcp_config.json
    gemini          Gemini CLI      yes   unknown: it is not JSON: Unterminated object on line 1 column 1  <home>/.gemini/settings.json
    --- stderr
    ");
    let listed = run(sandbox.call(["install", "--json"])).json();
    let codex = listed["clients"].as_array().unwrap().iter().find(|one| one["client"] == "codex").unwrap();
    let expected = json!({
        "client": "codex", "name": "Codex", "here": true, "path": sandbox.home().join(".codex/config.toml"),
        "entry": "present", "ours": true, "command": "/opt/parallel-llm-mcp", "url": null,
        "timeout_ms": 900_000, "wall_ms": null, "message": null,
    });
    assert_eq!(*codex, expected);
}

#[test]
fn links_permissions_and_earlier_backups_are_preserved() {
    let sandbox = sandbox();
    let real = sandbox.write("dotfiles/mcp.json", "{}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(sandbox.home().join(".cursor")).unwrap();
    symlink(&real, sandbox.home().join(".cursor/mcp.json")).unwrap();
    sandbox.write("dotfiles/mcp.json.bak-1", "somebody's");
    assert_eq!(run(install(&sandbox, &["cursor", "--yes"])).code, Some(0));
    assert!(sandbox.home().join(".cursor/mcp.json").is_symlink());
    assert!(content(&sandbox, "dotfiles/mcp.json").contains("parallel-llm-mcp"));
    let mode = |name| fs::metadata(sandbox.home().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("dotfiles/mcp.json"), mode("dotfiles/mcp.json.bak-2")), (0o640, 0o640));
    assert_eq!(
        (content(&sandbox, "dotfiles/mcp.json.bak-1"), content(&sandbox, "dotfiles/mcp.json.bak-2")),
        ("somebody's".to_owned(), "{}\n".to_owned())
    );
    assert_eq!(run(install(&sandbox, &["vscode", "--yes"])).code, Some(0));
    assert_eq!(mode(".config/Code/User/mcp.json"), 0o600);
}

#[test]
fn an_entry_in_yaml_is_shown_to_be_added_by_hand() {
    let sandbox = sandbox();
    let file = ".config/goose/config.yaml";
    sandbox.write(file, "extensions: {} # none yet\n");
    insta::assert_snapshot!(run(install(&sandbox, &["goose", "--yes"])).transcript(), @r#"
    exit 0
    --- stdout
    extensions:
      parallel-llm:
        enabled: true
        type: stdio
        name: parallel-llm
        description: Asks many language models at once
        cmd: parallel-llm-mcp
        args: []
        envs:
          PARALLEL_LLM_CLIENT_WALL_MS: "1800000"
        timeout: 1800
    --- stderr
    put this into <home>/.config/goose/config.yaml by hand; YAML is not edited here
    next: start a new session of goose
    "#);
    insta::assert_snapshot!(run(install(&sandbox, &["goose", "--remove", "--yes"])).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `<home>/.config/goose/config.yaml` is YAML, which is not edited here
      next: take the entry `parallel-llm` out by hand
    ");
    let shown = run(install(&sandbox, &["goose", "--json"])).json();
    assert_eq!((&shown["act"], &shown["written"]), (&json!("by_hand"), &json!(false)));
    assert_eq!(content(&sandbox, file), "extensions: {} # none yet\n");
}

#[test]
fn a_file_that_cannot_be_edited_is_an_error_and_stays_unchanged() {
    let sandbox = sandbox();
    let home = sandbox.home().to_owned();
    fs::create_dir_all(home.join(".cursor/mcp.json")).unwrap();
    fs::create_dir_all(home.join(".gemini")).unwrap();
    symlink("settings.json", home.join(".gemini/settings.json")).unwrap();
    fs::create_dir_all(home.join(".codeium/windsurf")).unwrap();
    symlink("nowhere", home.join(".codeium/windsurf/mcp_config.json")).unwrap();
    let protected = sandbox.write(".config/Code/User/mcp.json", "{}");
    fs::set_permissions(&protected, fs::Permissions::from_mode(0o444)).unwrap();
    sandbox.write(".config/zed/settings.json", "{ \"a\": ");
    sandbox.write(
        ".claude.json",
        "{ \"mcpServers\": { \"parallel-llm\": { \"command\": \"docker\", \"args\": [\"run\"] } } }",
    );
    sandbox.write(".codex/config.toml", "key = \"0000-0000\" \"\n");
    fs::create_dir_all(home.join(".config/Claude")).unwrap();
    let huge = fs::File::create(home.join(".config/Claude/claude_desktop_config.json")).unwrap();
    huge.set_len((16 << 20) + 1).unwrap();
    let before = sandbox.files();
    let clients = ["cursor", "gemini", "windsurf", "vscode", "zed", "claude-code", "codex", "claude-desktop"];
    let errors: Vec<String> = clients
        .iter()
        .map(|client| {
            let output = run(install(&sandbox, &[client, "--yes", "--json"]));
            let error = output.json()["error"].clone();
            output.masked(&format!("{:?} {client} {}: {}", output.code, error["code"], error["message"]))
        })
        .collect();
    insta::assert_snapshot!(errors.join("\n"), @r#"
    Some(2) cursor "settings_invalid": "`<home>/.cursor/mcp.json` cannot be read: it is not a file"
    Some(2) gemini "settings_invalid": "`<home>/.gemini/settings.json` cannot be read: Too many levels of symbolic links (os error 40)"
    Some(2) windsurf "settings_invalid": "`<home>/.codeium/windsurf/mcp_config.json` cannot be read: it is a link to a file that is not there"
    Some(7) vscode "output_unwritable": "`<home>/.config/Code/User/mcp.json` cannot be written: it is read-only"
    Some(2) zed "settings_invalid": "`<home>/.config/zed/settings.json` is left as it is: it is not JSON: Expected value after colon in object property on line 1 column 8"
    Some(2) claude-code "usage": "`<home>/.claude.json` has an entry `parallel-llm` that leads to `docker`, not to this program"
    Some(2) codex "settings_invalid": "`<home>/.codex/config.toml` is left as it is: it is not TOML: line 1 cannot be read"
    Some(2) claude-desktop "settings_invalid": "`<home>/.config/Claude/claude_desktop_config.json` cannot be read: it is larger than 16 MiB"
    "#);
    insta::assert_snapshot!(run(install(&sandbox, &["zed", "--yes"])).transcript(), @r#"
    exit 2
    --- stdout
    --- stderr
    by hand it is:

    {
      "context_servers": {
        "parallel-llm": {
          "command": "parallel-llm-mcp",
          "args": [],
          "env": {
            "PARALLEL_LLM_CLIENT_WALL_MS": "600000"
          },
          "timeout": 600
        }
      }
    }

    error[settings_invalid]: `<home>/.config/zed/settings.json` is left as it is: it is not JSON: Expected value after colon in object property on line 1 column 8
      next: repair the file, or add the entry by hand
    "#);
    assert_eq!(sandbox.files(), before);
}

#[test]
fn invalid_flags_are_refused() {
    let sandbox = sandbox();
    let rows: [&[&str]; 10] = [
        &["claude-desktop", "--project"],
        &["claude-desktop", "--http", "http://127.0.0.1:8930/mcp"],
        &["cursor", "--http", "http://192.0.2.1/mcp"],
        &["cursor", "--http", "https://me:0000@example.com/mcp"],
        &["cursor", "--http", "/mcp"],
        &["cursor", "--http", "http://127.0.0.1:8930/sse"],
        &["cursor", "--env", "OPENROUTER_API_KEY=0000"],
        &["cursor", "--http", "https://example.com/mcp", "--env", "A", "--env", "B"],
        &["cursor", "--env", "OPENROUTER_KEY"],
        &["emacs"],
    ];
    let errors: Vec<String> = rows
        .iter()
        .map(|arguments| {
            let output = run(sandbox.call(["install", "--yes"]).args(*arguments));
            format!("{:?} {}", output.code, output.stderr.lines().next().unwrap_or_default())
        })
        .collect();
    insta::assert_snapshot!(errors.join("\n"), @"
    Some(2) error[usage]: Claude Desktop has no file for a project
    Some(2) error[usage]: Claude Desktop takes no addresses in its file, only programs that it starts
    Some(2) error[insecure_url]: the address given with `--http` would show the token to the network
    Some(2) error[usage]: the address given with `--http` may hold no user, password or query: a secret would be stored in the client's file
    Some(2) error[usage]: the address given with `--http` has no scheme
    Some(2) error[usage]: the address given with `--http` leads to `/sse`, and this program answers at `/mcp`
    Some(2) error[usage]: what `--env` was given at place 1 is no name of a variable
    Some(2) error[usage]: one variable holds the token of a connection
    Some(2) error[usage]: no provider reads the variable `OPENROUTER_KEY`
    Some(2) error[usage]: `CLIENT` cannot be `emacs`
    ");
    assert_eq!(names(&sandbox), [""; 0]);
}

#[test]
fn an_address_gets_the_path_mcp_and_is_recognized_later() {
    let sandbox = sandbox();
    let http = |arguments: &[&str]| run(sandbox.call(["install", "cursor", "--yes"]).args(arguments));
    let written = http(&["--http", "http://127.0.0.1:8930"]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    assert!(content(&sandbox, ".cursor/mcp.json").contains("\"url\": \"http://127.0.0.1:8930/mcp\""));
    let again = http(&["--http", "http://127.0.0.1:8930/mcp/"]);
    assert!(again.stderr.starts_with("nothing to do: "), "{}", again.stderr);
    let proxied = http(&["--http", "https://llm.example.com/of/us/mcp"]);
    assert_eq!(proxied.code, Some(0), "{}", proxied.stderr);
    let listed = run(sandbox.call(["install"]));
    assert!(listed.text().contains("yes: https://llm.example.com/of/us/mcp"), "{}", listed.text());
    assert_eq!(http(&["--remove"]).code, Some(0));
    assert_eq!(content(&sandbox, ".cursor/mcp.json"), "{}\n");
}

/// What a client starts, with resolved variables: a reference becomes a value from the user's environment.
struct Entry {
    command: String,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
}

impl Entry {
    /// Reads the entry of a client's file as that client does.
    fn read(kind: &str, text: &str) -> Self {
        let parsed: Value = match kind {
            "json" => serde_json::from_str(text).expect("the configuration is valid"),
            "toml" => {
                serde_json::to_value(toml::from_str::<toml::Table>(text).expect("the configuration is valid"))
                    .expect("the configuration is valid")
            }
            _ => yaml(text),
        };
        let servers = ["mcpServers", "servers", "mcp_servers", "context_servers", "extensions"];
        let entry = servers
            .iter()
            .find_map(|key| parsed.get(key)?.get("parallel-llm"))
            .expect("the configuration is valid");
        let text_at = |key: &str| entry[key].as_str().map(str::to_owned);
        let passed = entry["env_vars"].as_array().or(entry["env_keys"].as_array()).into_iter().flatten();
        let passed = passed
            .map(|name| (name.as_str().expect("the configuration is valid").to_owned(), "0000".to_owned()));
        let set = entry["env"].as_object().or(entry["envs"].as_object()).into_iter().flatten();
        let set = set.map(|(name, value)| {
            (name.clone(), value.as_str().expect("the configuration is valid").to_owned())
        });
        let resolved = |(name, value): (String, String)| {
            (name, if value.starts_with("${") { "0000".to_owned() } else { value })
        };
        Self {
            command: text_at("command").or_else(|| text_at("cmd")).expect("the configuration is valid"),
            arguments: entry["args"]
                .as_array()
                .expect("the configuration is valid")
                .iter()
                .map(|one| one.as_str().expect("the configuration is valid").to_owned())
                .collect(),
            variables: passed.chain(set.map(resolved)).collect(),
        }
    }

    /// Starts the server, performs the handshake and lists the tools.
    fn check(&self, sandbox: &Sandbox) {
        assert!(["parallel-llm-mcp", BINARY].contains(&self.command.as_str()), "{}", self.command);
        let mut call =
            sandbox.call(&self.arguments).without("OPENROUTER_API_KEY").stdin(HELLO.join("\n") + "\n");
        for (name, value) in &self.variables {
            call = call.env(name, value);
        }
        let output = call.run();
        let tools =
            output.json_lines().into_iter().find(|line| line["id"] == 2).expect("the configuration is valid");
        let tools = tools["result"]["tools"].as_array().expect("the configuration is valid");
        assert!(tools.iter().any(|tool| tool["name"] == "process_prompt"), "{tools:?}");
    }
}

/// Parses the YAML that our entry uses: tables by indentation, lists of words, and words.
fn yaml(text: &str) -> Value {
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut parsed = json!({});
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let at = |path: &[(usize, String)]| path.iter().flat_map(|(_, key)| ["/", key]).collect::<String>();
        if let Some(item) = line.trim_start().strip_prefix("- ") {
            let list = parsed.pointer_mut(&at(&path)).expect("the configuration is valid");
            match list.as_array_mut() {
                Some(list) => list.push(json!(item)),
                None => *list = json!([item]),
            }
            continue;
        }
        path.retain(|(outer, _)| *outer < indent);
        let (key, value) = line.trim_start().split_once(':').expect("the configuration is valid");
        let value = match value.trim() {
            "" => json!({}),
            value => serde_json::from_str(value).unwrap_or_else(|_| json!(value)),
        };
        parsed.pointer_mut(&at(&path)).expect("the configuration is valid")[key] = value;
        path.push((indent, key.to_owned()));
    }
    parsed
}

/// The code blocks of a page, each with its language.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(kind) = line.strip_prefix("```") {
            let inside: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
            blocks.push((kind.to_owned(), inside.join("\n") + "\n"));
        }
    }
    blocks
}

fn repository(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(name)).expect("the repository has this file")
}

#[test]
fn every_configuration_in_the_manual_starts_the_server() {
    let sandbox = sandbox();
    let page = repository("docs/mcp.md");
    let (_, part) =
        page.split_once("<!-- Generated from the program, up to the end of clients. -->").unwrap();
    let (part, _) = part.split_once("<!-- The end of clients. -->").unwrap();
    let mut configurations = blocks(part);
    assert_eq!(configurations.len(), 9);
    configurations.push(("json".to_owned(), repository("examples/mcp_config.json")));
    configurations.extend(blocks(&repository("README.md")).into_iter().find(|(kind, _)| kind == "json"));
    assert_eq!(configurations.len(), 11);
    for (kind, configuration) in configurations {
        Entry::read(&kind, &configuration).check(&sandbox);
    }
}

#[test]
fn every_client_starts_the_program_that_install_entered() {
    let sandbox = sandbox();
    let listed = run(sandbox.call(["install", "--json"])).json();
    for client in listed["clients"].as_array().unwrap() {
        let id = client["client"].as_str().unwrap();
        let done =
            run(sandbox.call(["install", id, "--yes", "--json", "--env", "OPENROUTER_API_KEY"])).json();
        let path = Path::new(done["path"].as_str().unwrap());
        if done["act"] == "by_hand" {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, done["entry"].as_str().unwrap()).unwrap();
        } else {
            assert_eq!((&done["act"], &done["written"]), (&json!("add"), &json!(true)), "{id}");
        }
        let kind = path.extension().unwrap().to_str().unwrap();
        let entry = Entry::read(kind, &fs::read_to_string(path).unwrap());
        assert_eq!(entry.command, BINARY, "{id}");
        entry.check(&sandbox);
    }
    let listed = run(sandbox.call(["install", "--json"])).json();
    let edited = listed["clients"].as_array().unwrap().iter().filter(|one| one["client"] != "goose");
    for client in edited {
        assert!(client["entry"] == "present" && client["ours"] == true, "{listed}");
        let id = client["client"].as_str().unwrap();
        assert_eq!(run(sandbox.call(["install", id, "--remove", "--yes"])).code, Some(0), "{id}");
    }
}

#[test]
fn install_writes_the_file_of_a_project_and_keeps_a_linked_path() {
    let sandbox = sandbox();
    fs::create_dir(sandbox.home().join("bin")).unwrap();
    symlink(BINARY, sandbox.home().join("bin/parallel-llm-mcp")).unwrap();
    fs::create_dir(sandbox.home().join("work")).unwrap();
    let arguments = ["install", "claude-code", "--project", "--yes"];
    let command = format!("exec ../bin/../bin/parallel-llm-mcp {}", arguments.join(" "));
    let linked = format!("exec \"$HOME/bin/parallel-llm-mcp\" {}", arguments.join(" "));
    for (line, expected) in [(linked, sandbox.home().join("bin/parallel-llm-mcp")), (command, BINARY.into())]
    {
        assert_eq!(sandbox.call([""; 0]).folder("work").under(&line).run().code, Some(0));
        let entry = Entry::read("json", &content(&sandbox, "work/.mcp.json"));
        assert_eq!(Path::new(&entry.command), expected);
    }
}
