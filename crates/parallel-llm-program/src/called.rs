//! The name by which the program was called, for help pages and hints that a user types again.

use std::ffi::OsStr;
use std::path::Path;

use parallel_llm_settings::PROGRAM;

/// The short name, under which `src/bin/pllm.rs` starts the program.
pub(crate) const SHORT: &str = "pllm";

/// The commands.
pub(crate) const COMMANDS: [&str; 18] = [
    "ask",
    "batch",
    "completions",
    "config",
    "demo",
    "doctor",
    "explain",
    "flow",
    "install",
    "keys",
    "models",
    "presets",
    "runs",
    "serve",
    "simulate",
    "store",
    "strategies",
    "worker",
];

/// A sentence in which each command in backticks has the name of the program, ready to be pasted. A word alone may be a
/// setting of the same name, and stays as it is.
pub(crate) fn spelled(sentence: String) -> String {
    if !sentence.contains('`') {
        return sentence;
    }
    let mut spelled = String::with_capacity(sentence.len());
    for (place, part) in sentence.split('`').enumerate() {
        if place > 0 {
            spelled.push('`');
        }
        let is_quoted = place % 2 == 1;
        if is_quoted && part.split_once(' ').is_some_and(|(first, _)| COMMANDS.contains(&first)) {
            spelled += name();
            spelled.push(' ');
        }
        spelled += part;
    }
    spelled
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
