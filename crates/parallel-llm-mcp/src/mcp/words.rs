//! The next step of a failure in this door's words. The parts below name it once, as a person at a prompt takes it; a
//! model that calls tools takes it otherwise.
//!
//! What always holds: no flag and no command of the command line is told here.

use std::borrow::Cow;

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
        "ask the user to set `OPENROUTER_API_KEY`, or to keep a key with `parallel-llm-mcp keys set openrouter`",
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
    ("`--store full`", "`\"store\":\"full\"`"),
    ("`--store metadata`", "`\"store\":\"metadata\"`"),
    ("`--budget`", "`budget_usd`"),
    ("`--max-tokens`", "`max_tokens`"),
    ("`--deadline`", "`deadline_s`"),
    ("`--output-dir`", "the setting `output_dir`"),
];

/// Says it in this door's words.
pub(super) fn here(next: &str) -> String {
    let said = WORDS.iter().fold(Cow::Borrowed(next), |said, (theirs, ours)| {
        if said.contains(theirs) { Cow::Owned(said.replace(theirs, ours)) } else { said }
    });
    said.into_owned()
}

#[cfg(test)]
mod tests {
    use parallel_llm_engine::Code;

    use super::*;

    #[test]
    fn no_code_names_a_flag_or_a_command_that_cannot_be_called_here() {
        for code in Code::ALL {
            let said = here(code.next());
            assert!(
                !said.contains("`--") && !said.contains("`runs ") && !said.contains("`models"),
                "{code}: {said}"
            );
        }
    }

    #[test]
    fn a_longer_phrase_goes_first() {
        for (index, (theirs, _)) in WORDS.iter().enumerate() {
            assert!(WORDS[..index].iter().all(|(before, _)| !theirs.contains(before)), "{theirs}");
        }
    }
}
