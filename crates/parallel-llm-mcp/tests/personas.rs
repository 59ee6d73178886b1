//! Personas and stances of seats: system prompts, reports, summaries and stored runs.

use parallel_llm_testkit::Sandbox;
use parallel_llm_testkit::simulator::{Fault, Script};
use serde_json::Value;

use crate::ask::{FIRST, ONE, THREE, TWO, rendered, sandbox};

/// Two personas, and a preset that gives them to two seats of one model and leaves the third seat plain.
const PERSONAS: &str = "\
[personas.critic]
system = \"Find the flaw.\"
temperature = 0.3

[personas.rail]
stance = \"trains beat planes\"
max_tokens = 700

[presets.review]
panel = [
  \"openai/gpt-6.1-sol@persona=critic,stance=against\",
  \"openai/gpt-6.1-sol@persona=rail\",
  \"x-ai/grok-4.7\",
]
";

/// The requests that were sent: model, temperature, output cap and messages, sorted.
fn sent_requests(sandbox: &Sandbox) -> String {
    let request_text = |body: &Value| {
        let message_text = |message: &Value| {
            let [role, content] = ["role", "content"].map(|name| message[name].as_str().unwrap_or("?"));
            format!("\n  {role}: {}", content.replace('\n', "/"))
        };
        let messages: Vec<String> =
            body["messages"].as_array().into_iter().flatten().map(message_text).collect();
        format!(
            "{} {} {}{}",
            body["model"],
            body["temperature"],
            body["max_completion_tokens"],
            messages.concat()
        )
    };
    let mut lines: Vec<String> = sandbox.chats().iter().map(|chat| request_text(&chat.body)).collect();
    lines.sort();
    lines.join("\n")
}

#[test]
fn personas_and_stances_become_system_prompts() {
    let sandbox = sandbox();
    sandbox.write(".config/parallel-llm-mcp/config.toml", PERSONAS);
    let flags = ["--preset", "review", "--system", "Be brief.", "--temperature", "0.9", "--strategy", "vote"];
    let asking = |more: &[&str]| {
        let output = sandbox.call(["ask", "--json", "Which design?"]).args(flags).args(more).run();
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        output.json()
    };
    let report = asking(&[]);
    insta::assert_snapshot!(sent_requests(&sandbox), @r#"
    "openai/gpt-6.1-sol" 0.3 16000
      system: Find the flaw.//Argue from this stance: you are against what the question proposes./Make the strongest honest case for it. Invent no facts, and where the stance does not hold, say so in a sentence.//Be brief.
      user: Which design?//If this request has one short right answer, end your reply with the line/ANSWER: <only the short answer>/Otherwise end it with the line/ANSWER: none
    "openai/gpt-6.1-sol" 0.9 700
      system: Argue from this stance: trains beat planes/Make the strongest honest case for it. Invent no facts, and where the stance does not hold, say so in a sentence.//Be brief.
      user: Which design?//If this request has one short right answer, end your reply with the line/ANSWER: <only the short answer>/Otherwise end it with the line/ANSWER: none
    "x-ai/grok-4.7" 0.9 16000
      system: Be brief.
      user: Which design?//If this request has one short right answer, end your reply with the line/ANSWER: <only the short answer>/Otherwise end it with the line/ANSWER: none
    "#);
    let personas = |report: &Value| {
        let line = |seat: &Value| format!("{} {} {}", seat["seat"], seat["persona"], seat["stance"]);
        report["answers"].as_array().unwrap().iter().map(line).collect::<Vec<_>>().join(", ")
    };
    insta::assert_snapshot!(personas(&report), @r#"1 "critic" "against", 2 "rail" null, 3 null null"#);
    let run_id = report["run_id"].as_str().unwrap();
    let kept = sandbox.call(["runs", "show", run_id, "--json"]).run().json();
    assert_eq!(personas(&kept), personas(&report));
    // Without stored texts, a run still names its personas; their prompts are nowhere but in the settings.
    let metadata = asking(&["--store", "metadata"]);
    let kept = sandbox.call(["runs", "show", metadata["run_id"].as_str().unwrap(), "--json"]).run().json();
    assert_eq!(personas(&kept), personas(&report));
    assert!(sandbox.call(["runs", "purge", run_id, "--yes"]).run().code == Some(0));
    std::fs::remove_file(sandbox.home().join(".config/parallel-llm-mcp/config.toml")).unwrap();
    sandbox.assert_nowhere(b"Find the flaw");
    sandbox.assert_nowhere(b"trains beat planes");
}

#[test]
fn personas_are_named_in_the_summary_but_not_to_the_synthesizer() {
    let sandbox = sandbox().scripted(TWO, Script::fault(Fault::KeyLimit));
    sandbox.write(".config/parallel-llm-mcp/config.toml", PERSONAS);
    let chain = [("synthesizer", FIRST)];
    let models = [&*format!("{ONE}@persona=critic"), THREE, &*format!("{TWO}@persona=rail,stance=for")];
    let call = sandbox.call(["ask", "Which design?"]).args(models.iter().flat_map(|model| ["-m", model]));
    let output = call.settings(chain).run();
    insta::assert_snapshot!(rendered(&output), @"
    exit 0
    Take the first design, and test it.
    ---
    Fused by google/gemini-4-argon from 2 answers, starting from 2 mistralai/mistral-large-4-0 (0 % changed).
    Missing: 3 x-ai/grok-4.7 (rail, for) failed: openrouter answered 403: Key limit exceeded (daily limit). Manage it using https://openrouter.ai/workspaces/default/keys/*** (next: raise the key's limit at the provider, wait until the limit is renewed, or ask a model of another provider)
    Cost $0.0016 (fusing $0.0015), <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
    let fusing = sandbox.chats().into_iter().find(|chat| chat.model.as_deref() == Some(FIRST)).unwrap();
    let prompt = fusing.body.to_string();
    for word in ["critic", "flaw", "rail", "trains", "stance"] {
        assert!(!prompt.contains(word), "{word}: {prompt}");
    }
    let refusal = |model: &str| sandbox.call(["ask", "-m", model, "Why?"]).settings(chain).run().transcript();
    let before = sandbox.chats().len();
    insta::assert_snapshot!(refusal("x-ai/grok-4.7@persona=critc"), @"
    exit 2
    --- stdout
    --- stderr
    error[model_invalid]: there is no persona `critc`
      next: did you mean `critic`?
    ");
    insta::assert_snapshot!(refusal("x-ai/grok-4.7@stance=maybe"), @"
    exit 2
    --- stdout
    --- stderr
    error[model_invalid]: cannot read the model `x-ai/grok-4.7@stance=maybe`: `stance` is `for` or `against`; a persona may have one in words of its own
      next: write it like `x-ai/grok-4.7@stance=for`
    ");
    insta::assert_snapshot!(sandbox.call(["ask", "--synthesizer", "x-ai/grok-4.7@persona=critic", "Why?"]).run().transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[model_invalid]: `x-ai/grok-4.7` is a synthesizer, which has neither a persona nor a stance: it fuses
      next: name the persona at a seat of the panel
    ");
    assert_eq!(sandbox.chats().len(), before, "nothing is paid");
}
