//! The name by which the program was called, for help pages and hints that a user types again.

use std::ffi::OsStr;
use std::path::Path;

use parallel_llm_settings::PROGRAM;

/// The short name, under which `src/bin/pllm.rs` starts the program.
pub(crate) const SHORT: &str = "pllm";

/// The commands, each with those below it.
pub(crate) const COMMANDS: [(&str, &[&str]); 18] = [
    ("ask", &[]),
    (
        "batch",
        &[
            "cancel",
            "list",
            "pause",
            "remove",
            "results",
            "resume",
            "retry-failed",
            "status",
            "submit",
            "watch",
        ],
    ),
    ("completions", &[]),
    ("config", &["show"]),
    ("demo", &[]),
    ("doctor", &[]),
    ("explain", &[]),
    ("flow", &["check", "list", "show"]),
    ("install", &[]),
    ("keys", &["create", "list", "remove", "revoke", "set"]),
    ("models", &[]),
    ("presets", &[]),
    (
        "runs",
        &[
            "add",
            "cost",
            "export",
            "insights",
            "list",
            "purge",
            "replay",
            "resume",
            "search",
            "show",
            "synthesize",
            "wait",
        ],
    ),
    ("serve", &[]),
    ("simulate", &[]),
    ("store", &["backup", "check", "copy", "restore"]),
    ("strategies", &[]),
    ("worker", &[]),
];

/// A sentence in which each command in backticks has the name of the program, ready to be pasted. A word alone may be a
/// setting of the same name, and what others wrote may begin with one, so a command below, a flag or a place for a value has to
/// follow.
pub(crate) fn spelled(sentence: String) -> String {
    if !sentence.contains('`') {
        return sentence;
    }
    let mut spelled = String::with_capacity(sentence.len());
    for (place, part) in sentence.split('`').enumerate() {
        if place > 0 {
            spelled.push('`');
        }
        if place % 2 == 1 && is_command(part) {
            spelled += name();
            spelled.push(' ');
        }
        spelled += part;
    }
    spelled
}

fn is_command(line: &str) -> bool {
    let mut words = line.split(' ');
    let (Some(first), Some(second)) = (words.next(), words.next()) else { return false };
    let is_value =
        second.starts_with(['-', '@', '"']) || second.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_it = |(name, below): &(&str, &[&str])| *name == first && (is_value || below.contains(&second));
    COMMANDS.iter().any(is_it)
}

/// The name to type: `pllm` if the program was called by it, else `parallel-llm-mcp`.
pub fn name() -> &'static str {
    choose(PROGRAM, SHORT)
}

/// The first text, or the second if the command is about runs of the demo, which only a command with `--demo` finds.
pub(crate) fn of_demo(own: &'static str, demo: &'static str) -> &'static str {
    let mut arguments = std::env::args_os().skip(1);
    let is_demo = match arguments.next() {
        Some(command) if command == "runs" => arguments.any(|argument| argument == "--demo"),
        command => command.is_some_and(|command| command == "demo"),
    };
    if is_demo { demo } else { own }
}

/// What a command about a run needs besides: ` --demo`, or nothing.
pub(crate) fn demo_flag() -> &'static str {
    of_demo("", " --demo")
}

/// The first text, or the second if the program was called by its short name.
pub(crate) fn choose(full: &'static str, short: &'static str) -> &'static str {
    let first = std::env::args_os().next();
    let word = first.as_deref().map(Path::new).and_then(Path::file_stem);
    if word == Some(OsStr::new(SHORT)) { short } else { full }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_of_this_program_get_its_name() {
        let program = name();
        for (said, shown) in [
            ("see `runs list`", format!("see `{program} runs list`")),
            (
                "`models --refresh`, or `presets NAME`",
                format!("`{program} models --refresh`, or `{program} presets NAME`"),
            ),
            ("a `keys *` b `explain analyze` c", "a `keys *` b `explain analyze` c".to_owned()),
            ("set `store`", "set `store`".to_owned()),
            ("`parallel-llm-mcp runs list`", "`parallel-llm-mcp runs list`".to_owned()),
            ("one ` alone, runs list", "one ` alone, runs list".to_owned()),
        ] {
            assert_eq!(spelled(said.to_owned()), shown);
            assert_eq!(spelled(shown.clone()), shown, "twice is once");
        }
    }
}
