//! Templates of prompts: `ask -t NAME`.

use parallel_llm_testkit::Sandbox;

use crate::ask::{ONE, sandbox};

#[test]
fn a_template_becomes_part_of_the_prompt() {
    let sandbox = sandbox();
    let ask = |arguments: &[&str]| sandbox.call(["ask", "-q", "-m", ONE]).args(arguments).run();
    let last_prompt = |sandbox: &Sandbox| {
        sandbox.chats().last().expect("the model was asked").body["messages"][0]["content"].clone()
    };
    let no_templates = ask(&["-t", "review", "x"]).transcript();
    let folder = ".config/parallel-llm-mcp/templates";
    sandbox.write(&format!("{folder}/review.md"), "Review this:\n{{input}}\nBe brief.\n");
    sandbox.write(&format!("{folder}/joke.md"), "Tell a joke.\n");
    assert_eq!(ask(&["-t", "review", "x = 1"]).code, Some(0));
    assert_eq!(last_prompt(&sandbox), "Review this:\nx = 1\nBe brief.");
    assert_eq!(ask(&["--template", "joke", "About cats."]).code, Some(0));
    assert_eq!(last_prompt(&sandbox), "Tell a joke.\n\nAbout cats.");
    assert_eq!(ask(&["-t", "joke"]).code, Some(0));
    assert_eq!(last_prompt(&sandbox), "Tell a joke.");
    let wrong = [&["-t", "review"][..], &["-t", "revew", "x"], &["-t", "../joke", "x"]];
    let refusals: Vec<String> = wrong.iter().map(|words| ask(words).transcript()).collect();
    insta::assert_snapshot!(format!("{no_templates}\n{}", refusals.join("\n")), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there are no templates; a text in `<home>/.config/parallel-llm-mcp/templates/review.md` would be the template `review`
      next: see `parallel-llm-mcp help`

    exit 2
    --- stdout
    --- stderr
    error[prompt_empty]: the template `review` needs an input
      next: give a prompt as an argument, as `@file` or on stdin

    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no template `revew`
      next: choose one of: joke, review

    exit 2
    --- stdout
    --- stderr
    error[usage]: `../joke` is no name of a template: letters, digits, `-` and `_` are
      next: see `parallel-llm-mcp help`
    ");
    assert_eq!(sandbox.chats().len(), 3);
}
