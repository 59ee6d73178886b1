//! Runs every command that the documentation shows, page by page and in order, against the simulator. Commands that
//! cannot run here are listed with a reason.

use std::path::{Path, PathBuf};

use parallel_llm_testkit::simulator::{Fault, Script};
use parallel_llm_testkit::{Call, Sandbox, each};

const ONE: &str = "openai/gpt-6.1-sol";
/// A model that never answers, so that `runs resume` has something to do.
const MISSING: &str = "x-ai/grok-4.7";
/// The panel of the preset `budget`.
const REVIEWERS: [&str; 5] = [
    "openai/gpt-6.1-terra",
    "anthropic/claude-sonnet-5.5",
    "google/gemini-3.8-flash",
    "z-ai/glm-5.3",
    "deepseek/deepseek-v4.1-flash-1017",
];
/// The answer of each reviewer; the cookbook's gate reads its verdict.
const REVIEW: &str = "Nothing in this change breaks production.\n\nVERDICT: pass";

/// The beginnings of commands that are not run, with the reason.
const NOT_RUN: &[(&str, &str)] = &[
    ("cargo install", "it builds the program, which is what these tests run"),
    ("cargo xtask", "it runs these tests"),
    (
        "cargo run -p parallel-llm-mcp -- demo",
        "`tests/manual.rs` and the stage `readme` run the demo, in real time",
    ),
    ("read -rs", "it waits for a key to be typed"),
    ("parallel-llm-mcp serve", "it serves until it is stopped; `tests/http` starts it with these flags"),
    ("PARALLEL_LLM_HTTP_HOSTS=", "it serves until it is stopped; `tests/http` starts it with these flags"),
    ("parallel-llm-mcp simulate", "it serves until it is stopped; `tests/manual.rs` starts it"),
    ("parallel-llm-mcp ask --open", "its page is served until it is stopped; `tests/http` opens one"),
    ("parallel-llm-mcp runs show @ --open", "its page is served until it is stopped; `tests/http` opens one"),
];

/// A line that a page shows in a shell block.
struct ShellLine {
    line: String,
    at: String,
}

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages: Vec<PathBuf> = std::fs::read_dir(root.join("docs"))
        .expect("the pages are there")
        .map(|entry| entry.expect("a folder can be read").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .chain([root.join("README.md")])
        .collect();
    pages.sort();
    pages
}

/// The lines that a page shows in shell blocks.
fn shell_lines(page: &Path) -> Vec<ShellLine> {
    let text = std::fs::read_to_string(page).expect("a page is text");
    let mut lines = Vec::new();
    let mut is_shell = None;
    for (line, number) in text.lines().zip(1..) {
        match (line.trim().strip_prefix("```"), is_shell) {
            (Some(language), None) => is_shell = Some(language == "sh"),
            (Some(_), Some(_)) => is_shell = None,
            (None, Some(true)) if !line.trim().is_empty() => lines.push(ShellLine {
                line: line.trim().to_owned(),
                at: format!("{}:{number}", page.file_name().unwrap_or_default().to_string_lossy()),
            }),
            _ => {}
        }
    }
    lines
}

/// A home with the files that the pages name, a run with one seat missing, and the program on the path.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
        .scripted(MISSING, Script::fault(Fault::KeyLimit));
    let sandbox = REVIEWERS
        .into_iter()
        .fold(sandbox, |sandbox, model| sandbox.scripted(model, Script::answering(REVIEW)));
    sandbox.write("question.md", "Which of these two designs is safer?\n");
    sandbox.write(".config/parallel-llm-mcp/templates/review.md", "Review this diff.\n");
    sandbox.write("design.md", "Each charge carries a key, and a key is charged once.\n");
    sandbox.write("src/main.rs", "fn main() {}\n");
    let flow = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/flows/two-labs.toml");
    let flow = std::fs::read(flow).expect("an example is a file");
    sandbox.write(".config/parallel-llm-mcp/flows/two-labs.toml", flow);
    sandbox.write("plan.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    sandbox.write("contract.pdf", b"%PDF-1.7\n\xff");
    let check = sandbox.write("passes.sh", "#!/bin/sh\ngrep -q .\n");
    let link = sandbox.home().join("bin/parallel-llm-mcp");
    std::fs::create_dir(sandbox.home().join("bin")).expect("a folder can be made");
    std::os::unix::fs::symlink(sandbox.binary(), link).expect("a link can be made");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(check, mode).expect("a mode can be set");
    ask_with_one_missing(&sandbox);
    sandbox
}

fn ask_with_one_missing(sandbox: &Sandbox) {
    let models = ["ask", "-q", "-m", ONE, "-m", MISSING, "-m", "z-ai/glm-5.3", "An online migration?"];
    assert_eq!(sandbox.call(models).run().code, Some(0));
}

/// Runs this line in a shell that finds the program and the simulated providers.
fn in_shell<'a>(sandbox: &'a Sandbox, line: &str) -> Call<'a> {
    let home = sandbox.home().display();
    let base = sandbox.simulator().base_url();
    let root = base.trim_end_matches("/api/v1");
    sandbox
        .call([] as [&str; 0])
        .under(&format!("{line}\nexit"))
        .env("PATH", &format!("{home}/bin:/usr/local/bin:/usr/bin:/bin"))
        .env("MISTRAL_BASE_URL", &format!("{root}/mistral/v1"))
        .env("MISTRAL_API_KEY", sandbox.simulator().api_key())
        .env("OLLAMA_BASE_URL", &format!("{root}/ollama/v1"))
        .env("LMSTUDIO_BASE_URL", &format!("{root}/lmstudio/v1"))
}

/// Runs a line in a shell. Returns a description of what went wrong, if anything did.
fn run(sandbox: &Sandbox, command: &ShellLine) -> Option<String> {
    let mut call = in_shell(sandbox, &command.line);
    if command.line.contains("runs resume @") {
        ask_with_one_missing(sandbox);
    }
    if command.line.contains("keys set") {
        call = call.stdin("0000-1111-2222");
    }
    let output = call.run();
    let is_whole = !command.line.contains("tools/list") || output.text().contains("process_prompt");
    (output.code != Some(0) || !is_whole)
        .then(|| format!("{}: {}\n{}", command.at, command.line, output.transcript()))
}

#[test]
fn every_documented_command_works() {
    let wrong = each(&pages(), |page| {
        let lines = shell_lines(page);
        let is_run =
            |command: &&ShellLine| !NOT_RUN.iter().any(|(beginning, _)| command.line.starts_with(beginning));
        let lines: Vec<&ShellLine> = lines.iter().filter(is_run).collect();
        if lines.is_empty() {
            return Vec::new();
        }
        let sandbox = sandbox();
        lines.into_iter().filter_map(|command| run(&sandbox, command)).collect::<Vec<_>>()
    });
    let wrong = wrong.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_command_that_is_not_run_is_still_documented() {
    let lines: Vec<ShellLine> = pages().iter().flat_map(|page| shell_lines(page)).collect();
    assert!(lines.len() > 40, "the pages show commands");
    for (beginning, _) in NOT_RUN {
        assert!(
            lines.iter().any(|command| command.line.starts_with(beginning)),
            "`{beginning}` is shown nowhere"
        );
    }
}

/// Commands with an error or a warning, and the part of the message that the page on troubleshooting quotes.
const QUOTED: [(&str, &str); 9] = [
    ("parallel-llm-mcp ask -m groq:llama Why?", "no API key is set for"),
    ("parallel-llm-mcp ask -m openai/gpt-9 Why?", "is unknown"),
    ("parallel-llm-mcp ask Why? @.env", "is not sent: by its name it holds"),
    ("sleep 6 | parallel-llm-mcp ask -q Why?", "nothing came on stdin within 5 s"),
    ("parallel-llm-mcp ask --check 'grep x | wc' Why?", "is run without a shell"),
    ("parallel-llm-mcp ask --budget 0.001 Why?", "the run may cost up to"),
    (
        "OPENROUTER_BASE_URL=http://127.0.0.1:1/api/v1 parallel-llm-mcp ask -m lab/newest Why?",
        "no price is known for",
    ),
    ("parallel-llm-mcp ask --output-dir design.md/below Why?", "cannot be written"),
    ("PARALLEL_LLM_DATA_DIR=broken parallel-llm-mcp ask Why?", "the run database"),
];

#[test]
fn troubleshooting_quotes_messages_of_the_program() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/troubleshooting.md");
    let page = std::fs::read_to_string(page).expect("a page is text");
    let table = page.split("\n## A question is refused\n").nth(1).and_then(|rest| rest.split("\n## ").next());
    let rows = table.expect("the page has the table").lines();
    let quotes: Vec<&str> = rows.filter_map(|row| row.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(quotes, QUOTED.map(|(_, quote)| quote));
    let sandbox = sandbox();
    sandbox.write(".env", "PASSWORD=hunter2\n");
    sandbox.write("broken/runs.db", "no database\n");
    let wrong = each(&QUOTED, |(line, quote)| {
        let output = in_shell(&sandbox, line).run();
        (!output.stderr.contains(quote)).then(|| format!("{line}\n{}", output.transcript()))
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_page_on_flows_shows_the_example_as_it_is_drawn() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/flows.md")).unwrap();
    let example = std::fs::read_to_string(root.join("examples/flows/two-labs.toml")).unwrap();
    let (_comment, flow) = example.split_once('\n').unwrap();
    assert!(page.contains(&format!("```toml\n{flow}```")), "{flow}");
    let sandbox = sandbox();
    let drawn = in_shell(&sandbox, "parallel-llm-mcp flow show two-labs").run();
    let drawn = drawn.text().replace(sandbox.home().to_str().unwrap(), "/home/you");
    assert!(page.contains(&format!("```text\n{drawn}```")), "{drawn}");
}

#[test]
fn the_example_configuration_is_in_the_readme_and_starts_the_server() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let example = std::fs::read_to_string(root.join("examples/mcp_config.json")).unwrap();
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    assert!(readme.contains(example.trim()), "README.md shows the example as it is");
    let config: serde_json::Value = serde_json::from_str(&example).unwrap();
    let server = &config["mcpServers"]["parallel-llm"];
    assert_eq!(
        (server["command"].as_str(), server["args"].as_array().map(Vec::len)),
        (Some("parallel-llm-mcp"), Some(0))
    );
    let sandbox = sandbox();
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"shell","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"process_prompt","arguments":{"prompt":"Why?","models":["openai/gpt-6.1-sol"]}}}"#,
    ];
    let mut call = sandbox.call([] as [&str; 0]).stdin(lines.join("\n") + "\n");
    for (name, value) in server["env"].as_object().unwrap() {
        // The example leaves the key for the user to fill in.
        assert_eq!((name.as_str(), value.as_str()), ("OPENROUTER_API_KEY", Some("")));
        call = call.env(name, sandbox.simulator().api_key());
    }
    let output = call.run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(output.json_lines().len(), 2, "{}", output.text());
    assert_eq!(sandbox.asked(ONE), 2, "once for the earlier run, once for this one");
}

/// Sentences of hand-written pages that name a default: the page, the words before it, what follows it, and the setting.
/// A default that is not written as it is set has the factor between the two.
const DEFAULTS: [(&str, &str, &str, &str, f64); 16] = [
    ("README.md", "exceeds the budget ($", ".00 unless you set another)", "budget_usd", 1.0),
    ("docs/batch.md", "the setting `budget_usd` ($", ".00 unless you set another)", "budget_usd", 1.0),
    ("docs/flows.md", "The budget is $", ".00.", "budget_usd", 1.0),
    ("docs/library.md", "a sixth call, at most ", " USD a run", "budget_usd", 1.0),
    ("docs/operations.md", "| worst case of a run | ", " USD |", "budget_usd", 1.0),
    ("docs/tutorial.md", "A run that could cost more than ", " USD is refused", "budget_usd", 1.0),
    ("docs/operations.md", "8 MiB; ", ",000 tokens", "max_tokens", 1000.0),
    ("docs/usage.md", "(`max_tokens`, ", ",000)", "max_tokens", 1000.0),
    ("docs/operations.md", "| prompt | ", ",000 characters |", "prompt_chars_max", 1000.0),
    ("docs/usage.md", "| first text or reasoning | ", " s |", "first_text_timeout_ms", 1000.0),
    ("docs/usage.md", "| no byte, once begun or kept alive | ", " s |", "idle_timeout_ms", 1000.0),
    ("docs/usage.md", "| one call | ", " min |", "call_timeout_ms", 60_000.0),
    ("docs/usage.md", "| the whole run | ", " min |", "run_timeout_ms", 60_000.0),
    ("docs/usage.md", "when ", " % of the seats that can still answer", "straggler_share", 0.01),
    ("docs/mcp.md", "runs get `drain_ms` (", " s) to end", "drain_ms", 1000.0),
    ("docs/operations.md", "for up to `drain_ms` (", " s)", "drain_ms", 1000.0),
];

#[test]
fn hand_written_pages_name_the_defaults_as_they_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = |name: &str| std::fs::read_to_string(root.join(name)).expect("a page is text");
    let output = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp")).call(["config", "show"]).run();
    let shown = output.text();
    let default = |setting: &str| {
        let found =
            shown.lines().find_map(|line| line.split_once('=').filter(|(name, _)| name.trim() == setting));
        found.unwrap_or_else(|| panic!("{setting}: {shown}")).1.trim().parse::<f64>().expect("it is a number")
    };
    let wrong = |(name, before, after, setting, factor): &&(&str, &str, &str, &str, f64)| {
        !page(name).contains(&format!("{before}{}{after}", (default(setting) / factor).round()))
    };
    let wrong: Vec<_> = DEFAULTS.iter().filter(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn pages_name_the_toolchain_that_the_manifest_asks_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = |name: &str| std::fs::read_to_string(root.join(name)).expect("a page is text");
    let manifest = page("Cargo.toml");
    let rust = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \"")?.strip_suffix('"'));
    let rust = rust.expect("the manifest names the toolchain");
    for name in ["README.md", "docs/tutorial.md", "CONTRIBUTING.md"] {
        assert!(page(name).contains(&format!("Rust {rust} or newer")), "{name}: {rust}");
    }
    assert!(page("deploy/Dockerfile").contains(&format!("=rust:{rust}-")), "{rust}");
}
