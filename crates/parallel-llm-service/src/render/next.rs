//! The next step of a failure for whoever has no command line: a model that calls tools, a program that asks over HTTP.
//! The parts below name it once, as a person at a prompt takes it.
//!
//! What always holds: no flag and no command of the command line is told here, known to the table or not.

use std::borrow::Cow;

use serde_json::Value;

/// What the command line says, and what is said here instead. A phrase stands before those that are in it.
const WORDS: &[(&str, &str)] = &[
    // A model that calls a tool changes no setting.
    ("raise the setting", "ask the user to raise the setting"),
    (
        "raise `--budget`, lower `--max-tokens`, or ask fewer models",
        "ask fewer or cheaper models, lower `max_tokens`, or have the user raise their setting `budget_usd`",
    ),
    (
        "set `OPENROUTER_API_KEY`, or keep it with `keys set openrouter`, or try `parallel-llm-mcp demo`, which needs no key",
        "ask the user to give this server a key, for example as `OPENROUTER_API_KEY`",
    ),
    (
        "make a token with the scope that the message names, with `keys create NAME --scope ...`",
        "ask the server's owner for a token with the scope that the message names",
    ),
    (
        "set `check_command`, or name one with `--check`, and try it by hand",
        "name another strategy, or ask the user to set `check_command`",
    ),
    ("give a prompt as an argument, on stdin or as `@file`", "give the question in the argument `prompt`"),
    ("see `parallel-llm-mcp help`", "see the tool's arguments"),
    (
        "make a token with `parallel-llm-mcp keys create NAME` and send it",
        "ask the server's owner for a token, and send it",
    ),
    ("name one with `--synthesizer`", "name one as `synthesizer`"),
    ("with `--synthesizer`", "as `synthesizer`"),
    (", or try `parallel-llm-mcp demo`, which needs no key", ""),
    ("see `runs list`", "give the `run_id` that process_prompt gave"),
    ("`runs wait` or `runs show`", "get_run"),
    ("`runs show`", "get_run"),
    ("`runs wait`", "get_run"),
    (
        "ask more models with `runs add`, or have the answers fused with `runs replay`",
        "or call resume_run: to ask more models, or with `\"strategy\":\"synthesize\"` to have the answers fused",
    ),
    ("`runs add`", "resume_run and `models`"),
    ("`runs synthesize`", "resume_run and `synthesizer`"),
    (
        "go on with `runs resume`; with `--resend` it also asks again what may have been paid already",
        "call resume_run; with `\"resend\":true` it also asks again what may have been paid already",
    ),
    ("`runs resume --resend`", "resume_run with `\"resend\":true`"),
    ("`runs resume`", "resume_run"),
    ("`models` (over MCP `list_models`)", "list_models"),
    ("`models --attachments`", "list_models"),
    ("`--fresh`", "process_prompt with `\"fresh\":true`"),
    ("`--store full`", "`\"store\":\"full\"`"),
    ("`--store metadata`", "`\"store\":\"metadata\"`"),
    ("`--budget`", "`budget_usd`"),
    ("`--max-tokens`", "`max_tokens`"),
    ("`--deadline`", "`deadline_s`"),
    ("`--output-dir`", "the setting `output_dir`"),
];

/// The flags that are arguments of tools, under the same name.
const ARGUMENTS: [&str; 10] = [
    "models",
    "synthesizer",
    "strategy",
    "preset",
    "temperature",
    "max_tokens",
    "effort",
    "store",
    "resend",
    "budget_usd",
];

/// Commands, as their names begin what stands in backquotes, with what a caller does instead.
const COMMANDS: [(&str, &str); 14] = [
    ("runs resume", "resume_run"),
    ("runs add", "resume_run and `models`"),
    ("runs synthesize", "resume_run and `synthesizer`"),
    ("runs replay", "resume_run and `strategy`"),
    ("runs", "get_run"),
    ("models --", "list_models"),
    ("keys", KEEPER),
    ("doctor", KEEPER),
    ("config", KEEPER),
    ("install", KEEPER),
    ("serve", KEEPER),
    ("store", KEEPER),
    ("ask", "process_prompt"),
    ("parallel-llm-mcp", KEEPER),
];

/// Who can do what no caller can.
const KEEPER: &str = "the server's own command line";

/// Says it without the command line.
pub fn for_callers(next: &str) -> String {
    let said = WORDS.iter().fold(Cow::Borrowed(next), |said, (theirs, ours)| {
        if said.contains(theirs) { Cow::Owned(said.replace(theirs, ours)) } else { said }
    });
    // What the table does not know is told less well, and still without the command line.
    let mut pieces = said.split('`');
    let mut told = pieces.next().unwrap_or_default().to_owned();
    while let Some(quoted) = pieces.next() {
        let rest = pieces.next();
        if let Some(ours) = elsewhere(quoted).filter(|_| rest.is_some()) {
            told.push_str(&ours);
        } else {
            told.push('`');
            told.push_str(quoted);
            told.push_str(if rest.is_some() { "`" } else { "" });
        }
        told.push_str(rest.unwrap_or_default());
    }
    told
}

/// The same for every next step in a value that is told as it is stored.
pub fn for_callers_in(value: &mut Value) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(for_callers_in),
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(next) if name == "next" => *next = for_callers(next),
                    member => for_callers_in(member),
                }
            }
        }
        _ => {}
    }
}

/// What a flag or a command in backquotes is here; nothing where it is neither.
fn elsewhere(quoted: &str) -> Option<String> {
    if let Some(flag) = quoted.strip_prefix("--") {
        let (name, value) = flag.split_once([' ', '=']).unzip();
        let name = name.unwrap_or(flag).replace('-', "_");
        let is_argument = ARGUMENTS.contains(&name.as_str());
        return Some(match value {
            Some(value) if is_argument => format!("`\"{name}\":\"{value}\"`"),
            None if is_argument => format!("`{name}`"),
            Some(value) => format!("the setting `{name}` as `{value}`"),
            None => format!("the setting `{name}`"),
        });
    }
    let begins = |command: &str| {
        quoted.strip_prefix(command).is_some_and(|rest| {
            rest.starts_with(' ')
                || command.ends_with("--")
                || (rest.is_empty() && command != "ask" && command != "store")
        })
    };
    COMMANDS.iter().find(|(command, _)| begins(command)).map(|(_, ours)| (*ours).to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use parallel_llm_engine::Code;
    use serde_json::json;

    use super::*;

    /// Folders of the program that only the command line reads aloud, the start of a server included.
    const OF_THE_COMMAND_LINE: [&str; 8] =
        ["command", "settings", "keys", "clients", "doctor", "terminal", "exposure.rs", "export.rs"];

    /// The first word of the command line in a text.
    fn command(text: &str) -> Option<&str> {
        let in_flag = text.split([' ', '`', '(', '"']).find(|word| {
            word.strip_prefix("--")
                .is_some_and(|flag| flag.starts_with(|first: char| first.is_ascii_lowercase()))
        });
        let commands = ["runs", "keys", "doctor", "config", "install", "serve", "parallel-llm-mcp"];
        let mut quoted = text.split('`').skip(1).step_by(2);
        in_flag.or_else(|| {
            quoted.find(|quoted| {
                let first = quoted.split(' ').next().unwrap_or_default();
                commands.contains(&first) && (quoted.contains(' ') || first == "doctor")
            })
        })
    }

    #[track_caller]
    fn check(next: &str, expected: &str) {
        assert_eq!(for_callers(next), expected);
        assert_eq!(command(&for_callers(next)), None, "{next}");
    }

    #[test]
    fn a_step_is_told_without_the_command_line() {
        check("name one with `--synthesizer`", "name one as `synthesizer`");
        check("name another judge with `--synthesizer`", "name another judge as `synthesizer`");
        check(
            "use `--wait quorum:2` or less, or `--wait all`",
            "use the setting `wait` as `quorum:2` or less, or the setting `wait` as `all`",
        );
        check(
            "go on: `runs resume 01JD --resend` (which may pay a second time)",
            "go on: resume_run (which may pay a second time)",
        );
        check("`runs no-such-thing 7`", "get_run");
        check("keep it with `keys set openai`", "keep it with the server's own command line");
        check("set `max_tokens` or `panel`", "set `max_tokens` or `panel`");
        check("an odd ` alone", "an odd ` alone");
        check("", "");
    }

    #[test]
    fn no_code_names_a_flag_or_a_command() {
        for code in Code::ALL {
            let said = for_callers(code.next());
            assert_eq!(command(&said), None, "{code}: {said}");
        }
    }

    #[test]
    fn a_longer_phrase_goes_first() {
        for (index, (theirs, _)) in WORDS.iter().enumerate() {
            assert!(WORDS[..index].iter().all(|(before, _)| !theirs.contains(before)), "{theirs}");
        }
    }

    #[test]
    fn every_next_step_of_a_stored_value_is_told_so() {
        let mut event = json!({"failure": {"next": "raise `--max-tokens`"}, "warnings": [{"next": "`runs show`"}], "text": "`--x`"});
        for_callers_in(&mut event);
        assert_eq!(
            event,
            json!({"failure": {"next": "raise `max_tokens`"}, "warnings": [{"next": "get_run"}], "text": "`--x`"})
        );
    }

    /// Every text that the parts below can make a next step or a warning of, read from their sources: whatever is written
    /// there next year is checked as well.
    #[test]
    fn no_text_of_the_parts_below_reaches_a_caller_with_a_flag_or_a_command() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut found = 0;
        for part in
            ["engine", "store", "provider", "settings", "install", "service", "http", "mcp-door", "mcp"]
        {
            for file in files(&crates.join(format!("parallel-llm-{part}")).join("src")) {
                let source = std::fs::read_to_string(&file).unwrap();
                let source = source.split("#[cfg(test)]").next().unwrap();
                for text in literals(source).filter(|text| command(text).is_some()) {
                    found += 1;
                    // What the door to callers writes itself is told as it stands.
                    let is_told = part == "mcp-door";
                    let said = if is_told { text.clone() } else { for_callers(&text) };
                    assert_eq!(command(&said), None, "{}: {text} becomes {said}", file.display());
                }
            }
        }
        assert!(found > 30, "only {found} texts were found");
    }

    fn files(folder: &Path) -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let is_ours = |path: &std::path::PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy();
            name != "tests.rs" && !OF_THE_COMMAND_LINE.contains(&name.as_ref())
        };
        let mut found = Vec::new();
        for path in entries.filter(is_ours) {
            if path.is_dir() {
                found.extend(files(&path));
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                found.push(path);
            }
        }
        found
    }

    /// The texts in quotes of a source, comments left out.
    fn literals(source: &str) -> impl Iterator<Item = String> {
        let code: String = source
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .flat_map(|line| [line, "\n"])
            .collect();
        let (mut texts, mut text, mut is_in, mut escaped) = (Vec::new(), String::new(), false, false);
        for character in code.replace("'\"'", "").replace("b'\\\"'", "").chars() {
            match character {
                '"' if !escaped => {
                    if is_in {
                        texts.push(std::mem::take(&mut text));
                    }
                    is_in = !is_in;
                }
                _ if is_in => text.push(character),
                _ => {}
            }
            escaped = character == '\\' && !escaped;
        }
        texts.into_iter()
    }
}
