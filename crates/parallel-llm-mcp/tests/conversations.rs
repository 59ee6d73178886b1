//! Conversations: `ask -c` and `ask --continue` send the earlier questions and answers along.

use crate::ask::{ONE, TWO, sandbox};

#[test]
fn continue_sends_the_earlier_questions_and_answers() {
    let sandbox = sandbox();
    let none = sandbox.call(["ask", "-c", "-m", ONE, "And now?"]).run();
    insta::assert_snapshot!(none.transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[run_not_found]: there are no runs yet
      next: ask something first
    ");
    sandbox.call(["ask", "-q", "-m", ONE, "--system", "Be brief.", "Which design?"]).run();
    let output = sandbox.call(["ask", "-c", "-m", TWO, "Why that one?"]).run();
    insta::assert_snapshot!(output.transcript(), @"
    exit 0
    --- stdout
    Take the second design.
    --- stderr
    going on with the conversation of run <run>
    [ +<time>] run <run> started: 1 model, at most $0.096
    [ +<time>] seat 1 x-ai/grok-4.7: asked
    [ +<time>] seat 1 x-ai/grok-4.7: answered, 23 bytes, 6 tokens, $0.000066
    [ +<time>] decided: only one answer came, so there was nothing to fuse


    Answer by 1 x-ai/grok-4.7: only one answer came, so there was nothing to fuse.
    Cost $0.000066, <time>.
    Kept as run <run>: `runs show @`; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
    let sent = sandbox.chats().last().expect("the model was asked").body["messages"].clone();
    insta::assert_snapshot!(sent.to_string(), @r#"[{"content":"Be brief.","role":"system"},{"content":"Which design?","role":"user"},{"content":"Take the first design.","role":"assistant"},{"content":"Why that one?","role":"user"}]"#);
    // By the id of the run.
    let first =
        sandbox.call(["runs", "list", "--json"]).run().json_lines().last().expect("two runs")["run_id"]
            .clone();
    let named = format!("--continue={}", first.as_str().expect("an id"));
    assert_eq!(sandbox.call(["ask", &named, "-m", ONE, "Sure?"]).run().code, Some(0));
    assert_eq!(
        sandbox.chats().last().expect("the model was asked").body["messages"].as_array().map(Vec::len),
        Some(4)
    );
    sandbox.call(["ask", "-q", "-m", ONE, "--store", "metadata", "Secret?"]).run();
    insta::assert_snapshot!(sandbox.call(["ask", "-c", "-m", ONE, "And?"]).run().transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: the texts of run <run> were not kept, so its conversation cannot go on
      next: ask again and have texts kept with `--store full`
    ");
}
