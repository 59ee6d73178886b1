//! Conversations: a further question sends the earlier questions and answers along, to the same panel.

use parallel_llm_testkit::Sandbox;
use parallel_llm_testkit::simulator::{Behaviour, Fault, Latency, Script};
use serde_json::{Value, json};

use crate::ask::{ONE, THREE, TWO, sandbox};
use crate::mcp::client::{Client, structured};

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
    [ +<time>] run <run> started: 1 model, about $0.0090, at most $0.096 if no call fails
    [ +<time>] seat 1 x-ai/grok-4.7: asked
    [ +<time>] seat 1 x-ai/grok-4.7: answered, 23 bytes, 6 tokens, $0.000066
    [ +<time>] decided: one model was asked, so there was nothing to fuse


    Answer by 1 x-ai/grok-4.7: one model was asked, so there was nothing to fuse.
    Cost $0.000066, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
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

/// The models that these chats were sent to, without the first `skipped`.
fn models_asked(sandbox: &Sandbox, skipped: usize) -> Vec<String> {
    let chats = sandbox.chats();
    chats[skipped..].iter().filter_map(|chat| chat.model.clone()).collect()
}

/// The contents of the messages that were sent last.
fn contents(sandbox: &Sandbox) -> Vec<Value> {
    let chats = sandbox.chats();
    let messages = chats.last().and_then(|chat| chat.body["messages"].as_array().cloned());
    messages.expect("a model was asked").into_iter().map(|message| message["content"].clone()).collect()
}

#[test]
fn a_follow_up_has_the_panel_of_the_earlier_run_unless_it_names_another() {
    let sandbox = sandbox();
    let wide = format!("{ONE}@temperature=0.5,effort=high");
    let first = ["ask", "-q", "--strategy", "panel", "-m", &wide, "-m", TWO, "Which design?"];
    assert_eq!(sandbox.call(first).run().code, Some(0));
    let mut asked = sandbox.chats().len();
    let mut ask = |flags: &[&str]| {
        let output = sandbox.call(["ask", "-c", "--json", "Why?"]).args(flags).run();
        assert_eq!(output.code, Some(0), "{}", output.transcript());
        let mut models = models_asked(&sandbox, asked);
        asked = sandbox.chats().len();
        models.sort();
        (models, output.json()["strategy"].as_str().unwrap_or_default().to_owned())
    };
    let expected = |models: &[&str], strategy: &str| {
        (models.iter().map(|model| (*model).to_owned()).collect::<Vec<_>>(), strategy.to_owned())
    };
    assert_eq!(ask(&[]), expected(&[ONE, TWO], "panel"));
    let bodies: Vec<Value> = sandbox.chats().into_iter().map(|chat| chat.body).collect();
    let of_one = bodies.iter().rfind(|body| body["model"] == ONE).expect("it was asked");
    assert_eq!((&of_one["temperature"], &of_one["reasoning"]["effort"]), (&json!(0.5), &json!("high")));
    assert_eq!(ask(&["--temperature", "0.1"]), expected(&[ONE, TWO], "panel"));
    let bodies: Vec<Value> = sandbox.chats().into_iter().map(|chat| chat.body).collect();
    let of_one = bodies.iter().rfind(|body| body["model"] == ONE).expect("it was asked");
    assert_eq!(of_one["temperature"], json!(0.1));
    assert_eq!(ask(&["-m", THREE]), expected(&[THREE], "panel"));
    assert_eq!(ask(&["--strategy", "race", "--system", "Be brief."]), expected(&[THREE], "race"));
    assert_eq!(contents(&sandbox)[0], "Be brief.");
    // A preset stands for itself: the settings fill what it leaves open.
    sandbox.write(".config/parallel-llm-mcp/config.toml", format!("[presets.mine]\npanel = [\"{TWO}\"]\n"));
    assert_eq!(ask(&["--preset", "mine"]), expected(&[TWO], "synthesize"));
    assert_eq!(contents(&sandbox).len(), 12, "instructions, five questions with their answers, and one more");
}

#[test]
fn a_follow_up_keeps_the_files_and_names_its_run() {
    let sandbox = sandbox();
    sandbox.write("house.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    sandbox.call(["ask", "-q", "-m", ONE, "What is it?", "-a", "house.png"]).run();
    let dry = sandbox.call(["ask", "-c", "--dry-run", "How high?"]).run();
    insta::assert_snapshot!(dry.transcript(), @"
    exit 0
    --- stdout
    Nothing was asked. The question would go to:
      1 openai/gpt-6.1-sol
    Strategy: one answer, as it is.
    It would send:
      the text of the question, 9 bytes
      the conversation of run <run>, 49 bytes
    Cost: about $0.020 with 1500 tokens for each reply, at most $0.17 if no call fails. The budget is $3.00.
    --- stderr
    going on with the conversation of run <run>
    ");
    let report = sandbox.call(["ask", "-c", "--json", "How high?"]).run().json();
    let file = contents(&sandbox)[0][1].clone();
    assert_eq!(file["type"], "image_url", "{file}");
    let listed = sandbox.call(["runs", "list", "--json"]).run().json_lines();
    assert_eq!(report["continues"], listed.last().expect("two runs")["run_id"]);
    let shown = sandbox.call(["runs", "show", "@"]).run();
    insta::assert_snapshot!(shown.transcript(), @"
    exit 0
    --- stdout
    Take the first design.
    --- stderr

    Answer by 1 openai/gpt-6.1-sol: one model was asked, so there was nothing to fuse.
    Cost $0.000082, <time>.
    Kept as run <run>; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    Goes on with the conversation of run <run>.
      ✓ 1 openai/gpt-6.1-sol  answered  <time>      6 tokens  $0.000082
          Take the first design.
    ");
}

/// Over MCP as on the command line. Nothing is paid for what cannot go on.
#[test]
fn a_tool_call_goes_on_with_a_run() {
    let sandbox = sandbox();
    let mut client = Client::new(&sandbox, &[]);
    let mut ask = |arguments: Value| client.call("process_prompt", arguments);
    let refused = |result: &Value| {
        let failure = structured(result);
        format!("{}: {} ({})", failure["code"], failure["message"], failure["next"])
    };
    let none = ask(json!({"prompt": "Why?", "continue_run": "@"}));
    insta::assert_snapshot!(refused(&none), @r#""run_not_found": "there are no runs yet" ("ask something first")"#);
    let first = ask(json!({"prompt": "Which design?", "models": [ONE], "store": "full"}));
    let id = structured(&first)["run_id"].clone();
    let unknown = ask(json!({"prompt": "Why?", "continue_run": "01JD0M3Z8K5Q2W7V9X4B6N1C0A"}));
    insta::assert_snapshot!(refused(&unknown), @r#""run_not_found": "no run has an id that begins with `01JD0M3Z8K5Q2W7V9X4B6N1C0A`" ("look for the run with the `run_id` that process_prompt gave")"#);
    assert_eq!(sandbox.chats().len(), 1);
    let second = ask(json!({"prompt": "Why that one?", "continue_run": id}));
    assert_eq!(structured(&second)["status"], "complete", "{second}");
    assert_eq!(contents(&sandbox), ["Which design?", "Take the first design.", "Why that one?"]);
    assert_eq!(models_asked(&sandbox, 1), [ONE]);
    // The newest run is the one before, and another model takes over.
    let third = ask(json!({"prompt": "Sure?", "continue_run": "@", "models": [TWO], "store": "metadata"}));
    assert_eq!(contents(&sandbox).len(), 5);
    assert_eq!(models_asked(&sandbox, 2), [TWO]);
    let kept = ask(json!({"prompt": "And?", "continue_run": structured(&third)["run_id"]}));
    insta::assert_snapshot!(refused(&kept).replace(structured(&third)["run_id"].as_str().unwrap(), "<run>"), @r#""usage": "the texts of run <run> were not kept, so its conversation cannot go on" ("ask again and have texts kept with `\"store\":\"full\"`")"#);
    let report = client.report(&second);
    assert_eq!(report["continues"], id);
}

#[test]
fn a_conversation_needs_an_answer() {
    let slow = Script::behaving(Behaviour { ttft_ms: Latency::of(3_600_000), ..Behaviour::instant() });
    let sandbox = sandbox().scripted(ONE, slow).scripted(TWO, Script::fault(Fault::Refusal));
    assert_eq!(sandbox.call(["ask", "-q", "-m", TWO, "Which?"]).run().code, Some(1));
    insta::assert_snapshot!(sandbox.call(["ask", "-c", "Why?"]).run().transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: the run <run> has no answer to go on from
      next: continue the run with `parallel-llm-mcp runs resume`
    ");
    let mut client = Client::new(&sandbox, &[("PARALLEL_LLM_CLIENT_WALL_MS", "1500")]);
    let early = client.call("process_prompt", json!({"prompt": "Which?", "models": [ONE]}));
    let id = structured(&early)["run_id"].as_str().expect("a run").to_owned();
    let failure = client.call("process_prompt", json!({"prompt": "Why?", "continue_run": id}));
    let failure = structured(&failure).to_string().replace(&id, "<run>");
    insta::assert_snapshot!(failure, @r#"{"code":"busy","message":"the run <run> has no answer yet","next":"wait for the run with get_run","retryable":true,"run_id":"<run>"}"#);
}

/// `@` is the follow-up itself once that has begun, and whoever sends it again does not mean that.
#[test]
fn a_follow_up_that_is_sent_again_is_the_same_run() {
    let sandbox = sandbox().scripted(TWO, Script::fault(Fault::Refusal));
    let ask = |arguments: &[&str]| {
        let output = sandbox.call(["ask", "--json"]).args(arguments).run();
        (output.code, output.json())
    };
    let first = ask(&["-m", ONE, "Which design?"]).1;
    let follow_up = ["-c", "--idempotency-key", "k1", "Why that one?"];
    let second = ask(&follow_up).1;
    assert_eq!(second["continues"], first["run_id"]);
    let (code, again) = ask(&follow_up);
    assert_eq!((code, &again["run_id"]), (Some(0), &second["run_id"]), "{again:#}");
    let mut client = Client::new(&sandbox, &[]);
    let call = || json!({"prompt": "Sure?", "continue_run": "@", "idempotency_key": "k2"});
    let [third, again] = [client.call("process_prompt", call()), client.call("process_prompt", call())];
    assert_eq!(structured(&third)["run_id"], structured(&again)["run_id"], "{again}");
    assert_eq!(sandbox.chats().len(), 3);

    // Without a key, one that failed is asked again of the same conversation.
    let third = structured(&third)["run_id"].clone();
    let (code, failed) = ask(&["-c", "-m", TWO, "And if not?"]);
    assert_eq!((code, &failed["continues"]), (Some(1), &third));
    let (code, retried) = ask(&["-c", "-m", ONE, "And if not?"]);
    assert_eq!((code, &retried["continues"]), (Some(0), &third), "{retried:#}");
}
