//! Words of other programs, and what they are called here: whoever types `runs delete` is told `runs purge`, not a list.

use parallel_llm_engine::Effort;
use parallel_llm_settings::keys;

use crate::command::line::{amount, typed_line};

/// A command above, the words that people type below it, and what to type instead. In the last, `{}` stands for what
/// follows the word, and so does `{this}` unless nothing follows, or nothing of its kind: a number, a name or a text.
type Row = (&'static str, &'static [&'static str], &'static str);

/// Commands. The first column is empty for the first word.
const COMMANDS: &[Row] = &[
    ("", &["history", "log", "logs", "ls"], "runs list"),
    ("", &["last", "result", "answer"], "runs show"),
    ("", &["version"], "--version"),
    ("", &["uninstall", "deinstall"], "install {claude-code} --remove"),
    ("", &["continue", "reply", "followup"], "ask -c {\"QUESTION\"}"),
    ("", &["chat", "query", "prompt", "question"], "ask {\"QUESTION\"}"),
    ("", &["init", "setup", "login", "auth"], "keys set openrouter"),
    ("", &["start", "listen", "daemon", "mcp"], "serve"),
    ("", &["web", "ui", "page", "gui"], "serve --http 127.0.0.1:8930"),
    ("", &["health", "diagnose", "selftest"], "doctor"),
    ("", &["delete", "rm", "clean", "prune"], "runs purge --older-than 90d"),
    ("", &["usage", "spend", "price", "billing"], "runs cost"),
    ("", &["settings", "configure"], "config show"),
    ("", &["token", "tokens"], "keys create NAME"),
    ("", &["autocomplete"], "completions bash"),
    ("", &["pull"], "models {WORD}"),
    ("runs", &["delete", "rm", "remove", "clear", "clean", "prune"], "runs purge {--older-than 90d}"),
    ("runs", &["get", "view", "open", "cat", "print", "last", "info"], "runs show {}"),
    ("runs", &["ls", "log", "history", "all"], "runs list"),
    ("runs", &["retry", "continue", "restart", "rerun"], "runs resume {}"),
    ("runs", &["find", "grep"], "runs search {}"),
    ("runs", &["fuse", "merge", "summarize"], "runs synthesize {}"),
    ("runs", &["watch", "follow", "tail", "attach"], "runs wait {}"),
    ("runs", &["spend", "usage", "costs", "price"], "runs cost"),
    ("runs", &["stats", "statistics", "report"], "runs insights"),
    ("runs", &["diff", "compare", "agreement"], "runs show --agreement"),
    ("runs", &["ask"], "ask {\"QUESTION\"}"),
    ("batch", &["run", "start", "ask", "new", "add", "create", "process"], "batch submit {}"),
    ("batch", &["ls", "all"], "batch list"),
    ("batch", &["stop", "kill", "abort", "end"], "batch cancel {}"),
    ("batch", &["delete", "rm"], "batch remove {} --yes"),
    ("batch", &["continue", "restart"], "batch resume {}"),
    ("batch", &["retry", "rerun"], "batch retry-failed {}"),
    ("batch", &["output", "answers", "download", "export", "fetch"], "batch results {}"),
    ("batch", &["show", "get", "info", "progress"], "batch status {}"),
    ("keys", &["add", "new", "put", "store", "save", "update"], "keys set {}"),
    ("keys", &["show", "get", "ls", "print"], "keys list"),
    ("keys", &["delete", "rm", "unset", "forget"], "keys remove {}"),
    ("keys", &["generate", "token", "issue"], "keys create NAME"),
    ("store", &["dump", "export", "save"], "store backup FILE"),
    ("store", &["import", "load"], "store restore FILE"),
    ("store", &["vacuum", "clean", "purge", "delete", "shrink"], "runs purge --older-than 90d"),
    ("store", &["verify", "doctor", "fsck", "status"], "store check"),
    ("store", &["migrate", "move", "sync"], "store copy --help"),
    ("config", &["list", "get", "print", "path", "ls"], "config show"),
    ("flow", &["run", "start", "ask"], "ask --preset {} \"QUESTION\""),
    ("flow", &["ls", "all"], "flow list"),
    ("flow", &["draw", "view", "print", "get"], "flow show {}"),
    ("flow", &["validate", "lint", "test"], "flow check {}"),
];

/// A panel of several models.
const MODELS: &str = "-m MODEL -m MODEL";

/// Flags, with the command that they stand at; an empty one is any.
const FLAGS: &[Row] = &[
    ("ask", &["--timeout", "--time-limit", "--max-time"], "--deadline {90s}"),
    ("ask", &["--file", "-f", "--input", "--image", "--attachment", "--include", "-i"], "--attach {FILE}"),
    ("ask", &["--output-format", "--format"], "--json"),
    ("ask", &["-n", "--count", "--samples", "--times"], "-m 'MODEL*{3}'"),
    ("ask", &["--verbose", "-v", "--debug"], "--progress plain"),
    ("ask", &["--stream"], "--jsonl --deltas"),
    ("ask", &["--models", "--panel", "--llm", "--engine"], MODELS),
    ("ask", &["--judge", "--fuser", "--aggregator", "--merger", "--synth"], "--synthesizer {MODEL}"),
    ("ask", &["-s"], "--strategy vote"),
    ("ask", &["--api-key", "--key", "--token"], "keys set openrouter"),
    ("ask", &["--no-synthesis", "--no-fusion", "--raw", "--all"], "--strategy panel"),
    ("ask", &["--vote", "--majority"], "--strategy vote"),
    ("ask", &["--max-cost", "--cost", "--limit", "--max-usd", "--spend"], "--budget {2.50}"),
    ("ask", &["--no-cache", "--force", "--refresh"], "--fresh"),
    ("ask", &["--silent"], "--quiet"),
    ("ask", &["--think", "--thinking", "--reasoning", "--reasoning-effort"], "--effort {high}"),
    ("ask", &["--instructions", "--role", "--system-prompt"], "--system {TEXT}"),
    ("ask", &["--resume", "--session", "--conversation", "--follow-up"], "--continue {RUN}"),
    ("ask", &["--estimate", "--price", "--preview"], "--dry-run"),
    ("ask", &["--provider"], "-m {PROVIDER}:MODEL"),
    ("ask", &["--save", "--out"], "--output {FILE}"),
    ("ask", &["--max-output-tokens", "--tokens", "--length"], "--max-tokens {4000}"),
    ("ask", &["--temp"], "--temperature {0.7}"),
    ("ask", &["--profile"], "--preset {NAME}"),
    ("ask", &["--no-store", "--private", "--incognito"], "--store none --no-files"),
    ("serve", &["--port", "-p", "--host", "--listen", "--bind", "--address"], "--http 127.0.0.1:{}"),
    ("serve", &["--cert", "--certificate"], "--tls-cert {FILE}"),
    ("serve", &["--key"], "--tls-key {FILE}"),
    ("serve", &["--insecure", "--no-token"], "--no-auth"),
    ("runs", &["--all", "--count", "--last", "--max"], "--limit {100}"),
    ("runs", &["--format"], "--json"),
    ("batch", &["--input", "--file", "-f"], "batch submit {FILE}"),
    ("batch", &["--workers", "--threads", "--parallel"], "--concurrency {4}"),
    ("models", &["--search", "--filter", "--query"], "models {}"),
    ("models", &["--cheap", "--cheapest"], "models --sort price"),
    ("models", &["--free"], "models --max-price 0"),
    ("doctor", &["--fix", "--repair"], "doctor"),
    ("demo", &["--json"], "runs show @ --demo --json"),
    ("worker", &["--workers", "--threads", "--parallel"], "--concurrency {8}"),
    ("", &["-v"], "--version"),
];

/// Flags that do nothing without another, and that one with a value.
const COMPANIONS: &[(&str, &str)] = &[
    ("--deltas", "--jsonl"),
    ("--no-auth", "--http 127.0.0.1:8930"),
    ("--tls-cert", "--http 127.0.0.1:8930"),
    ("--tls-key", "--http 127.0.0.1:8930"),
    ("--behind-proxy", "--http 127.0.0.1:8930"),
    ("--batch", "--http 127.0.0.1:8930"),
];

/// The first of these flags that lacks its companion `missing`, and the companion with a value.
pub(super) fn companion<'a>(
    given: impl IntoIterator<Item = &'a str>,
    missing: &str,
) -> Option<(&'a str, &'static str)> {
    given.into_iter().find_map(|flag| {
        let name = flag.split('=').next().unwrap_or(flag);
        let (_, other) = COMPANIONS.iter().find(|(one, other)| *one == name && other.starts_with(missing))?;
        Some((name, *other))
    })
}

/// What stands for a value that is missing.
pub(super) fn sample(value_name: &str) -> Option<&'static str> {
    Some(match value_name {
        "RUN" => "@",
        "PROVIDER" => "openrouter",
        "FILE" | "FLOW" => "FILE",
        "NAME" => "NAME",
        "WORDS" => "WORD",
        "BATCH" => "BATCH",
        _ => return None,
    })
}

/// Commands that take no further argument, and the flag that takes what people type there.
const FLAGS_OF_VALUES: [(&str, &str); 3] =
    [("runs synthesize", "--synthesizer"), ("runs add", "-m"), ("runs replay", "--strategy")];

/// The flag that takes what people type behind the arguments of a command.
pub(super) fn flag_of_value(path: &str) -> Option<&'static str> {
    FLAGS_OF_VALUES.iter().find(|(command, _)| *command == path).map(|(_, flag)| *flag)
}

/// The port that stands for one that is not named.
const PORT: &str = "8930";

/// What to type instead of a word below a command, with the words that follow it.
pub(super) fn command(above: &str, word: &str, after: &[&str]) -> Option<String> {
    let typed =
        filled(COMMANDS, |(at, words, _)| *at == above && words.contains(&word), after.first().copied())?;
    // What is no provider's name is a token's.
    let token = typed.strip_prefix("keys remove ").filter(|name| !keys::is_known_provider(name));
    let line = token.map_or(typed.clone(), |name| format!("keys revoke {name}"));
    // What is typed counts instead of a flag that only stands for one.
    let own =
        after.iter().find_map(|word| line.find(&format!(" {word} ")).filter(|_| word.starts_with("--")));
    Some(format!("{}{}", &line[..own.unwrap_or(line.len())], typed_line::flags(after)))
}

/// What to type instead of a flag of a command, with the word that follows it.
pub(super) fn flag(command: &str, flag: &str, after: Option<&str>) -> Option<String> {
    let (name, value) = match flag.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (flag, after),
    };
    // `-s` of other programs takes a text for the model.
    if let Some(text) = value.filter(|text| name == "-s" && text.contains(char::is_whitespace)) {
        return Some(format!("--system {}", typed_line::quoted(text)));
    }
    let typed = filled(FLAGS, |(at, words, _)| *at == command && words.contains(&name), value)?;
    let Some(list) = value.filter(|value| typed == MODELS && is_of_kind("MODEL", value)) else {
        return Some(typed);
    };
    let each = list.split(',').map(|model| format!("-m {}", typed_line::quoted(model)));
    Some(each.collect::<Vec<_>>().join(" "))
}

fn filled(rows: &[Row], fits: impl Fn(&&Row) -> bool, value: Option<&str>) -> Option<String> {
    let (above, _, typed) = rows.iter().find(fits)?;
    let Some((before, rest)) = typed.split_once('{') else { return Some((*typed).to_owned()) };
    let (default, behind) = rest.split_once('}').unwrap_or((rest, ""));
    let kind = if *above == "serve" && default.is_empty() { PORT } else { default };
    let value = value.filter(|value| !value.starts_with('-') && is_of_kind(kind, value));
    let value = value.map_or_else(
        || {
            match *above {
                _ if !default.is_empty() => default,
                "runs" => "@",
                "keys" => "openrouter",
                "flow" => "NAME",
                "models" => "WORD",
                "serve" => PORT,
                "batch" if typed.contains("remove") => "BATCH",
                "batch" if !typed.contains("submit") => "",
                _ => "FILE",
            }
            .to_owned()
        },
        |value| {
            // A time of other programs is a number of seconds.
            let in_seconds = || amount::plain(before.trim(), &format!("{value}s"));
            amount::plain(before.trim(), value)
                .or_else(in_seconds)
                .unwrap_or_else(|| typed_line::quoted(value))
        },
    );
    Some(format!("{before}{value}{behind}").replace("  ", " ").trim_end().to_owned())
}

/// Whether a value is of the kind that a default shows: a number, a word of its own, a name, or any text.
fn is_of_kind(default: &str, value: &str) -> bool {
    let is_digit = |one: char| one.is_ascii_digit();
    match default {
        PORT => value.parse::<u16>().is_ok(),
        "high" => Effort::by_word(value).is_some(),
        "TEXT" => true,
        _ if default.starts_with(is_digit) => value.trim_start_matches('$').starts_with(is_digit),
        _ if default.starts_with(|one: char| one.is_ascii_uppercase()) => {
            !value.contains(|one: char| one.is_whitespace() || one == '?')
        }
        _ => true,
    }
}
