//! Names that people type: runs by their age or by a part of their id.

use crate::mcp::client::{Client, told};
use parallel_llm_testkit::Sandbox;
use serde_json::json;

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

#[test]
fn a_run_is_named_by_its_age_or_by_the_beginning_of_its_id() {
    let sandbox = sandbox();
    let ids: Vec<String> = ["First?", "Second?", "Third?"]
        .map(|question| {
            let report = sandbox.call(["ask", "--json", "-m", "x-ai/grok-4.7", question]).run().json();
            report["run_id"].as_str().expect("a run has an id").to_owned()
        })
        .into();
    let runs = |arguments: &[&str]| sandbox.call(["runs"]).args(arguments).run();
    let found = |name: &str| runs(&["show", name, "--json"]).json()["run_id"].clone();
    for (name, index) in [("@", 2), ("@~", 1), ("@~1", 1), ("@~2", 0)] {
        assert_eq!(found(name), ids[index], "{name}");
    }
    assert_eq!(found(&ids[0].to_lowercase()), ids[0]);
    assert_eq!(found(&ids[1][..25]), ids[1]);
    insta::assert_snapshot!(runs(&["show", "@~3"]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[run_not_found]: there is no run `@~3`: fewer runs are kept
      next: look for the run with `runs list`
    ");
    insta::assert_snapshot!(runs(&["show", "@~x"]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `@~x` is no name of a run: `@` is the newest, `@~1` the one before it
      next: look for the run with `runs list`
    ");
    let ambiguous = runs(&["wait", "01"]).transcript();
    let ambiguous = (0..60).fold(ambiguous, |text, age| text.replace(&format!("({age} s ago"), "(<age> ago"));
    insta::assert_snapshot!(ambiguous, @r#"
    exit 2
    --- stdout
    --- stderr
    error[usage]: more than one run has an id that begins with `01`: <run> (<age> ago, "Third?"), <run> (<age> ago, "Second?"), <run> (<age> ago, "First?")
      next: give more of the id, or look for the run with `runs list`
    "#);
    let older = runs(&["list", "--before", "@~1", "--json"]).json_lines();
    assert_eq!(older.iter().map(|run| &run["run_id"]).collect::<Vec<_>>(), [&json!(ids[0])]);
    let again = runs(&["synthesize", "@~2", "--json"]).json();
    assert_eq!(again["run_id"], ids[0]);
    assert_eq!(runs(&["purge", "@~2", "--yes"]).code, Some(0));
    insta::assert_snapshot!(runs(&["show", &ids[0]]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[run_not_found]: no run has an id that begins with `<run>`
      next: look for the run with `runs list`
    ");
    let mut client = Client::new(&sandbox, &[]);
    let told_of =
        |client: &mut Client, name: &str| told(&client.call("get_run", json!({"run_id": name}))).clone();
    assert_eq!(told_of(&mut client, "@~1")["run_id"], ids[1]);
    assert_eq!(told_of(&mut client, &ids[2][..25])["run_id"], ids[2]);
    let ambiguous = told_of(&mut client, "01");
    assert_eq!(ambiguous["code"], "usage", "{ambiguous}");
    assert!(
        ids[1..].iter().all(|id| ambiguous["message"].as_str().unwrap_or_default().contains(id)),
        "{ambiguous}"
    );
}
