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
    sandbox.write(&format!("{folder}/long.md"), "x".repeat((1 << 20) + 1));
    sandbox.write(&format!("{folder}/latin.md"), b"caf\xe9");
    let wrong = [
        &["-t", "review"][..],
        &["-t", "revew", "x"],
        &["-t", "../joke", "x"],
        &["-t", "long", "x"],
        &["-t", "latin", "x"],
    ];
    let refusals: Vec<String> = wrong.iter().map(|words| ask(words).transcript()).collect();
    insta::assert_snapshot!(format!("{no_templates}\n{}", refusals.join("\n")), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no template `review`: `<home>/.config/parallel-llm-mcp/templates/review.md` is missing
      next: write the file

    exit 2
    --- stdout
    --- stderr
    error[prompt_empty]: the template `review` needs an input
      next: give a prompt as an argument, as `@file` or on stdin

    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no template `revew`
      next: did you mean `review`?

    exit 2
    --- stdout
    --- stderr
    error[usage]: `../joke` cannot be the name of a template, which has letters, digits, `-` and `_`
      next: choose one of: joke, latin, long, review

    exit 2
    --- stdout
    --- stderr
    error[prompt_too_long]: the template `long` holds more than 1048576 bytes
      next: shorten the prompt, or raise the setting `prompt_chars_max`

    exit 2
    --- stdout
    --- stderr
    error[prompt_not_utf8]: the template `latin` is not UTF-8: the byte at offset 3 is wrong
      next: convert it, such as with `iconv -f latin1 -t utf-8 OLD > NEW`
    ");
    assert_eq!(sandbox.chats().len(), 3);
}

#[test]
fn a_place_that_nothing_fills_is_refused() {
    let sandbox = sandbox();
    for (text, place) in [("Review {{ input now.", "{{input"), ("Review: {input}", "{input}")] {
        sandbox.write(".config/parallel-llm-mcp/templates/review.md", text);
        let refused = sandbox.call(["ask", "-m", ONE, "-t", "review", "x = 1"]).run().summary();
        let expected = format!(
            "error[usage]: the template `review` has the place `{place}`, which nothing fills\n  next: write it like `{{{{input}}}}`"
        );
        assert_eq!(refused.trim(), expected);
    }
    assert!(sandbox.chats().is_empty());
}
