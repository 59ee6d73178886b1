//! `explain`, `config`, `generate`, `simulate` and `demo`, which need no key and no network.

use parallel_llm_testkit::{Call, Output, Sandbox};

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

/// Runs a command that needs no provider.
fn run(arguments: &[&str]) -> Output {
    let sandbox = sandbox();
    let output = sandbox.call(arguments).without("OPENROUTER_API_KEY").run();
    assert_eq!(sandbox.simulator().requests(), [], "no provider is asked");
    output
}

#[test]
fn every_code_has_a_page() {
    let all = run(&["explain"]);
    let codes: Vec<String> =
        all.text().lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    assert!(codes.len() >= 30, "{codes:?}");
    for code in &codes {
        let page = run(&["explain", code]);
        assert_eq!((page.code, page.stderr.as_str()), (Some(0), ""), "{code}");
        assert!(page.text().starts_with(code.as_str()) && page.text().contains("\nExit code: "), "{code}");
    }
    insta::assert_snapshot!(run(&["explain", "rate_limited"]).transcript(), @"
    exit 0
    --- stdout
    rate_limited

    The provider, or this program's server, asks for fewer requests.

    Worth trying again: yes, the same request may succeed later
    What to do: wait as long as the message says, or ask another model
    Exit code: 1
    --- stderr
    ");
    insta::assert_snapshot!(run(&["explain", "rate_limit"]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no error code `rate_limit`
      next: did you mean `rate_limited`?
    ");
}

#[test]
fn settings_are_shown_with_their_origin() {
    let sandbox = sandbox();
    sandbox.write(".config/parallel-llm-mcp/config.toml", "max_tokens = 500\nretries_max = 1\n");
    sandbox.write("work/.parallel-llm.toml", "max_tokens = 400\n");
    let call = sandbox.call(["config", "show", "--origin"]).settings([("files", "off")]);
    let output = call.folder("work").run();
    output.assert_no_key();
    let wanted = ["max_tokens", "retries_max", "files", "wait", "data_dir"];
    let is_wanted = |line: &&str| {
        line.starts_with("providers.") || wanted.contains(&line.split_whitespace().next().unwrap_or_default())
    };
    let lines: Vec<&str> = output.text().lines().filter(is_wanted).collect();
    insta::assert_snapshot!(output.masked(&lines.join("\n")), @"
    max_tokens                    = 400  # project file <home>/work/.parallel-llm.toml:1
    retries_max                   = 1  # user file <home>/.config/parallel-llm-mcp/config.toml:2
    wait                          = stragglers  # default
    files                         = off  # environment PARALLEL_LLM_FILES
    data_dir                      = <home>/.local/share/parallel-llm-mcp  # default
    providers.openrouter.key      = set  # environment OPENROUTER_API_KEY
    providers.openrouter.base_url = http://<simulator>/api/v1  # environment OPENROUTER_BASE_URL
    ");
    let plain = sandbox.call(["config", "show"]).run();
    plain.assert_no_key();
    assert!(plain.text().lines().all(|line| !line.contains('#')), "{}", plain.text());
}

#[test]
fn every_page_can_be_generated() {
    for page in ["cli", "configuration", "errors", "report-schema"] {
        let output = run(&["generate", page]);
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{page}");
        assert!(output.text().len() > 500, "{page}");
    }
}

#[test]
fn help_and_version_are_printed_to_stdout() {
    for arguments in [["--help"], ["--version"]] {
        let output = run(&arguments);
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
        assert!(output.text().contains("parallel-llm-mcp"));
    }
}

#[test]
fn simulate_serves_until_it_is_stopped() {
    let sandbox = sandbox();
    let running = sandbox.call(["simulate", "--time-scale", "0"]).start();
    let line = |name: &str| {
        let prefix = format!("{name}=");
        let printed = running.stdout_so_far();
        printed.lines().find_map(|line| line.strip_prefix(&prefix).map(str::to_owned))
    };
    sandbox.until("both variables are printed", || line("OPENROUTER_API_KEY").is_some());
    let (url, key) = (line("OPENROUTER_BASE_URL"), line("OPENROUTER_API_KEY"));
    let (url, key) = (url.unwrap_or_default(), key.unwrap_or_default());
    let ask = sandbox.call(["ask", "-q", "-m", "x-ai/grok-4.7", "Why?"]);
    let asked = ask.env("OPENROUTER_BASE_URL", &url).env("OPENROUTER_API_KEY", &key).run();
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    assert_eq!(sandbox.chats(), [], "the other simulator was asked");
    running.signal("TERM");
    let output = running.wait();
    assert_eq!((output.code, output.text().lines().count()), (Some(0), 2));
}

#[test]
fn simulate_serves_https_to_clients_that_trust_its_certificate() {
    let sandbox = sandbox();
    let file = sandbox.home().join("certificate.pem");
    let file = file.to_str().unwrap();
    let running = sandbox.call(["simulate", "--time-scale", "0", "--tls", "--certificate", file]).start();
    sandbox.until("all variables are printed", || running.stdout_so_far().contains("SSL_CERT_FILE="));
    let printed = running.stdout_so_far();
    let variables: Vec<(&str, &str)> = printed.lines().filter_map(|line| line.split_once('=')).collect();
    let [(_, url), _, (_, certificate)] = variables.as_slice() else { panic!("three variables: {printed}") };
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    assert_eq!(*certificate, file);
    let asked = |variables: &[(&str, &str)]| {
        let ask = sandbox.call(["ask", "-q", "-m", "x-ai/grok-4.7", "Why?"]);
        variables.iter().fold(ask, |ask, (name, value)| ask.env(name, value)).run()
    };
    let trusting = asked(&variables);
    assert_eq!(trusting.code, Some(0), "{}", trusting.stderr);
    assert_ne!(asked(&variables[..2]).code, Some(0), "an unknown certificate is not trusted");
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
}

#[test]
fn an_unwritable_certificate_file_is_reported() {
    let sandbox = sandbox();
    let file = sandbox.home().join("nowhere/certificate.pem");
    let call = sandbox.call(["simulate", "--tls", "--certificate", file.to_str().unwrap()]);
    let output = call.run();
    assert!(output.stderr.contains("the certificate cannot be written"), "{}", output.stderr);
    assert!(output.stderr.contains("--certificate"), "{}", output.stderr);
    assert_eq!(sandbox.call(["simulate", "--certificate", "x"]).run().code, Some(2));
}

/// Bad advice of single answers, which no fused text may hold.
const BAD_ADVICE: [&str; 3] = ["You do not need your own", "lock alone is enough", "exactly-once"];

/// The demo's command lines, as they are printed between backticks, without the program's name.
fn printed_commands(stderr: &str) -> Vec<Vec<&str>> {
    let quoted = stderr.split('`').skip(1).step_by(2);
    let commands = quoted.map(|command| command.strip_prefix("parallel-llm-mcp ").unwrap_or(command));
    commands.filter(|command| command.starts_with("runs ")).map(|one| one.split(' ').collect()).collect()
}

/// Text without its line breaks, as prose.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_demo_says_what_its_answers_say_and_what_they_cost() {
    let sandbox = sandbox();
    let demo: Call<'_> = sandbox.call(["demo"]).without("OPENROUTER_API_KEY").without("OPENROUTER_BASE_URL");
    let output = demo.run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stderr.contains("These models are simulated"), "{}", output.stderr);
    assert!(output.stderr.contains("chosen by vote: 4 of 5 answers say `124`"), "{}", output.stderr);
    assert!(output.text().len() > 300 && !BAD_ADVICE.iter().any(|bad| output.text().contains(bad)));
    assert_eq!(sandbox.simulator().requests(), [], "the demo has its own provider");
    assert_eq!(sandbox.call(["runs", "list"]).run().text(), "", "its runs are not among the user's");

    let page = sandbox.call(["runs", "show", "@", "--demo", "--agreement"]).run();
    let page = page.text();
    let section = |heading: &str| {
        let rest =
            page.split(&format!("\n{heading}:\n")).nth(1).unwrap_or_else(|| panic!("{heading}: {page}"));
        rest.split("\n\n").next().unwrap_or_default().to_owned()
    };
    let opinion =
        page.lines().find_map(|line| line.strip_suffix(" says of who supports what, its own opinion:"));
    let by =
        opinion.and_then(|line| line.strip_prefix("what ")).unwrap_or_else(|| panic!("{page}")).to_owned();
    let claims = section(&format!("what {by} says of who supports what, its own opinion"));
    assert!(claims.contains("idempotency key"), "{page}");
    assert_eq!(claims.matches("against: 4 ").count(), 2, "{page}");
    assert_eq!(claims.matches("against: 3 ").count(), 1, "{page}");
    assert!(
        section(&format!("what {by} did not follow, and why")).contains("You do not need your own"),
        "{page}"
    );

    let report = sandbox.call(["runs", "show", "@", "--demo", "--json"]).run().json();
    let whole = report["cost_usd"].as_f64().expect("the cost is known");
    let fusing = report["worth"]["extra_cost_usd"].as_f64().expect("the cost of fusing is known");
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = unwrapped(&std::fs::read_to_string(readme).expect("README is a file"));
    let cost = format!(
        "the demo's open question costs ${whole:.3} in all: ${:.3} for its five answers and ${fusing:.3} for fusing them",
        whole - fusing
    );
    assert!(readme.contains(&cost), "README does not say: {cost}");
    let deployment = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/README.md"));
    let money = format!("at ${whole:.3} a run, as the demo's open question");
    assert!(deployment.expect("it is a file").contains(&money), "deploy/README.md does not say: {money}");
    let shown =
        readme.split("```text").nth(1).and_then(|rest| rest.split("```").next()).expect("README shows it");
    for part in shown.split(" ... ") {
        assert!(unwrapped(page).contains(part.trim()), "not on the page: {part}");
    }
}

#[test]
fn the_demo_takes_no_question_of_ones_own() {
    insta::assert_snapshot!(run(&["demo", "what is", "rust?"]).transcript(), @r#"
    exit 2
    --- stdout
    --- stderr
    error[usage]: the demo answers only its own questions: to yours, simulated models have nothing to say
      next: type `parallel-llm-mcp ask "what is rust?"`
    "#);
    assert!(
        run(&["demo", "--kill", "cost: $5"]).stderr.contains("ask \"...\""),
        "nothing a shell would read is shown"
    );
}

#[test]
fn a_demo_run_can_be_shown_again_and_continued() {
    let sandbox = sandbox();
    let demo = sandbox.call(["demo", "--kill"]).run();
    assert!(demo.stderr.contains("\nPaid twice: nothing.\n"), "{}", demo.stderr);
    assert!(!BAD_ADVICE.iter().any(|bad| demo.text().contains(bad)), "{}", demo.text());
    let shown = sandbox.call(["runs", "show", "@", "--demo"]).run();
    assert_eq!((shown.code, shown.text().trim_end()), (Some(0), demo.text().trim_end()));
    let listed = |command: &[&str]| {
        let output = sandbox.call(command).arg("--demo").run();
        assert_eq!(output.code, Some(0), "{command:?}: {}", output.stderr);
        output.text().lines().count()
    };
    assert_eq!(listed(&["runs", "list"]), 1);
    assert_eq!(listed(&["runs", "list", "--json"]), 1);
    assert_eq!(listed(&["runs", "search", "charge"]), 1);
    assert_eq!(listed(&["runs", "export", "--jsonl", "--all"]), 1);
    assert!(listed(&["runs", "cost"]) > 5, "a line for each model");
    assert!(listed(&["runs", "insights"]) > 5, "a line for each model");
    let commands = printed_commands(&demo.stderr);
    assert!(commands.iter().any(|command| command.contains(&"resume")), "{}", demo.stderr);
    for command in commands {
        let output = sandbox.call(&command).run();
        assert_eq!(output.code, Some(0), "{command:?}: {}", output.stderr);
    }
    let fused = sandbox.call(["runs", "show", "@", "--demo", "--json"]).run().json();
    assert_eq!(fused["seats_answered"], 5, "the seats that were lost have been asked again: {fused}");
    assert_eq!(sandbox.call(["runs", "list"]).run().text(), "", "they are not among the user's");
}

#[test]
fn a_demo_begins_although_the_last_one_was_still_writing() {
    let sandbox = sandbox();
    let first = sandbox.call(["demo"]).start();
    sandbox.until("its run is stored", || sandbox.data_dir().join("demo/runs.db").is_file());
    // Its window is closed; the next begins while it ends.
    first.signal("HUP");
    let second = sandbox.call(["demo", "--kill"]).run();
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    first.wait();
    let third = sandbox.call(["demo", "--kill"]).run();
    assert_eq!(third.code, Some(0), "{}", third.stderr);
}
