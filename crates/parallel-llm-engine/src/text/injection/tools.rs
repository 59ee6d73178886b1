//! What looks like a call of a tool, and questions about such calls.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::phrases::{Pair, Verbs, has_marker, is_near, pair, search};

/// Calls of tools in the forms of models and of their programs, without underscores, which the normal form drops.
const TOOL_MARKS: &[&str] = &[
    "<toolcall",
    "</toolcall",
    "<|toolcall",
    "[toolcall",
    "\"toolcall",
    "'toolcall",
    "<functioncall",
    "\"functioncall",
    "<functionresult",
    "invoke name=\"",
    "<invoke tool=",
    "<invoke>",
    "<function=",
    "<tooluse",
    "<toolcode",
    "<toolresult",
    "<toolresponse",
    "[toolresult",
    "\"functionresponse",
    "finalanswer(",
    "<endcode>",
    "<usemcptool",
    "<executecommand",
    "\"tooluse",
    "\"toolresult",
    "\"type\": \"function\"",
    "\"type\":\"function\"",
    "toolcode\n",
    "to=functions",
    "<|python",
    "<|call|>",
    "<|tool",
    "\naction input:",
    "\"method\": \"tools/call\"",
    "\"method\":\"tools/call\"",
];

/// The keys of a call of a tool in JSON. A `name` with a list of `args` is how programs are configured.
const TOOL_KEYS: &[Pair] = &[
    pair(
        &["\"name\"", "\"tool\"", "\"function\"", "\"toolname\"", "\"recipientname\"", "\"action\""],
        &[
            "\"arguments\": {",
            "\"arguments\":{",
            "\"arguments\": \"",
            "\"arguments\":\"",
            "\"toolinput\"",
            "\"toolargs\"",
            "\"actioninput\"",
            "\"args\": {",
            "\"args\":{",
            "\"parameters\": {",
            "\"parameters\":{",
            "\"input\": {",
            "\"input\":{",
        ],
    ),
    pair(&["\"tool\"", "\"function\"", "\"toolname\""], &["\"args\""]),
    pair(&["\"jsonrpc\""], &["\"iserror\""]),
    pair(&["'name':", "'tool':", "'function':"], &["'arguments':", "'args': {", "'input': {"]),
];

/// Lines that begin a block of code with a call of a tool, without the fence, which the normal form drops.
const TOOL_LINES: &[&str] = &["toolcall", "toolcode", "tooluse", "tooloutputs", "functioncall"];

/// What questions about calls of tools name, without underscores.
const TOOL_QUESTIONS: &[&str] = &[
    "tool call",
    "tool-call",
    "toolcall",
    "calls a tool",
    "call a tool",
    "call tools",
    "tool use",
    "tooluse",
    "tools/call",
    "function call",
    "function-call",
    "functioncall",
    "mcp",
    "react prompt",
    "react agent",
    "chat template",
    "chat completion",
    "openai",
    " api",
];

/// Whether a text has what looks like a call of a tool.
pub(super) fn calls_a_tool(plain: &str) -> bool {
    static KEYS: LazyLock<Verbs> = LazyLock::new(|| Verbs::of(TOOL_KEYS));
    static MARKS: LazyLock<AhoCorasick> = LazyLock::new(|| search(TOOL_MARKS));
    MARKS.is_match(plain)
        || (plain.contains('{') && is_near(plain, &KEYS))
        || plain.lines().any(|line| TOOL_LINES.contains(&line))
}

/// Whether a question asks about calls of tools, so that an answer shows them.
pub(super) fn asks_about_tools(plain: &str) -> bool {
    static WORDS: LazyLock<AhoCorasick> = LazyLock::new(|| search(TOOL_QUESTIONS));
    WORDS.is_match(plain) || calls_a_tool(plain) || has_marker(plain)
}
