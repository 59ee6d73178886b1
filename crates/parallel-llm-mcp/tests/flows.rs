//! Flows: files that compose stages, asked by name through the command line.

use parallel_llm_testkit::Sandbox;

use crate::ask::{ONE, THREE, TWO, sandbox};

/// The user's flow `two-sides`.
const PATH: &str = ".config/parallel-llm-mcp/flows/two-sides.toml";

/// A sandbox with a flow: two models judged, one beside them, and a text of both.
fn with_a_flow() -> Sandbox {
    let sandbox = sandbox();
    let flow = format!(
        "about = \"Two sides, merged\"\n[stages.a]\npanel = [\"{ONE}\", \"{TWO}\"]\nstrategy = \"best-of-n\"\n\
         [stages.b]\npanel = \"{THREE}\"\n[stages.merge]\nfrom = [\"a\", \"b\"]\n"
    );
    sandbox.write(PATH, flow);
    sandbox
}

#[test]
fn a_flow_is_asked_like_a_preset() {
    let sandbox = with_a_flow();
    let output =
        sandbox.call(["ask", "--preset", "two-sides", "--json", "Which design is safer, and why?"]).run();
    assert_eq!(output.code, Some(0), "{}", output.transcript());
    let report = output.json();
    assert_eq!(report["status"], "complete");
    assert_eq!(report["synthesis"]["kind"], "fused", "{report:#}");
    assert_eq!(report["answers"].as_array().map(Vec::len), Some(3));
    // Three answers, a judge in two orders, and the text.
    assert_eq!(sandbox.chats().len(), 6);
    let events = sandbox.call(["runs", "show", "@", "--events"]).run();
    let events = String::from_utf8_lossy(&events.stdout);
    let mut stages: Vec<&str> = events.lines().filter_map(|line| line.split("] stage ").nth(1)).collect();
    stages.sort_unstable();
    assert_eq!(
        stages,
        [
            "a: the judge `~google/gemini-pro-latest` put it first in both orders",
            "b: only one answer came, so there was nothing to fuse",
        ]
    );
}

#[test]
fn a_mistake_in_a_flow_names_its_place_and_breaks_nothing_else() {
    let sandbox = with_a_flow();
    sandbox.write(PATH, "[stages.a]\npannel = \"a/b\"\n");
    insta::assert_snapshot!(sandbox.call(["ask", "--preset", "two-sides", "Why?"]).run().transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: <home>/.config/parallel-llm-mcp/flows/two-sides.toml:2:1: there is no key `pannel`
      next: did you mean `panel`?
    ");
    assert_eq!(sandbox.call(["ask", "-q", "-m", ONE, "Why?"]).run().code, Some(0));
}

#[test]
fn what_a_flow_decides_cannot_be_named_beside_it() {
    let sandbox = with_a_flow();
    let ask =
        |flag: &[&str]| sandbox.call(["ask", "--preset", "two-sides", "Why?"]).args(flag).run().transcript();
    insta::assert_snapshot!(ask(&["-m", ONE]), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: the stages of the flow `two-sides` name their models themselves
      next: leave `models` out
    ");
    insta::assert_snapshot!(ask(&["--strategy", "vote"]), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: the stages of the flow `two-sides` name their strategy themselves
      next: leave `strategy` out
    ");
    assert_eq!(sandbox.chats().len(), 0);
}
