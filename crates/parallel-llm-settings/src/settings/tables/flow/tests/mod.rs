//! Flow files: good ones, every kind of mistake with its line and column, and hundreds of generated bad ones.

use std::collections::BTreeSet;
use std::fs;

use parallel_llm_engine::request::flow::{Flow, FlowError, FlowPlace, StageKey};

use super::named_flow::{ERRORS_MAX, FlowMistake};
use super::*;
use mistakes::{Mistake, mistakes, whole_files};

mod mistakes;

/// Good files, which the generated mistakes are made of.
const GOOD: [&str; 6] = [
    "about = \"Three of A and two of B, each judged, then merged\"\n\n[stages.a]\npanel = \"openai/gpt-6.1-terra*3\"\n\
     strategy = \"best-of-n\"\n\n[stages.b]\npanel = [\"anthropic/claude-sonnet-5.5*2\"]\nstrategy = \"best-of-n\"\n\n\
     [stages.merge]\nfrom = [\"a\", \"b\"]\n",
    "budget_usd = 1.5\n[stages.cheap]\npanel = [\"google/gemini-3.8-flash\", \"z-ai/glm-5.3\"]\n\
     synthesizer = \"google/gemini-3.8-flash\"\n[stages.strong]\npanel = [\"~openai/gpt-sol-latest\"]\n\
     strategy = \"synthesize@analysis=separate\"\ntemperature = 0.7\nmax_tokens = 9000\n[stages.answer]\n\
     from = [\"cheap\", \"strong\"]\nsynthesizer = [\"~google/gemini-pro-latest\", \"a/b\"]\n",
    "[stages.answer]\r\nfrom = [\"best\", \"others\"]\r\nstrategy = \"best-of-n\"\r\n[stages.best]\r\npanel = \"qwen/max*5\"\r\n\
     strategy = \"best-of-n@by=pairs\"\r\n[stages.others]\r\npanel = [\"~x-ai/grok-latest\", \"é/x\"]\r\n",
    "[stages]\na = { panel = \"a/x*2\" }\nb = { panel = \"b/x\" }\nc = { from = [\"a\", \"b\"], strategy = \"vote\" }\n\
     d = { from = [\"c\", \"a\"] }\n",
    "[stages.layers]\npanel = [\"a/x\", \"b/y\", \"c/z\"]\nstrategy = \"moa@layers=3\"\n[stages.\"two-1\"]\n\
     panel = '''d/w'''\n[stages.end]\nfrom = [\n  \"layers\",\n  \"two-1\",\n]\nstrategy = \"best-of-n@by=consistency\"\n",
    "[stages.answer]\npanel = [\"a/x\", \"b/y\", \"c/z\"]\nstrategy = \"vote@first=2\"\n",
];

/// The flow in a text, or all errors, one a line.
fn read(text: &str) -> Result<Flow, String> {
    let source = Source { path: "it.toml".into(), text: text.to_owned() };
    read::flow(&source, "it").map(|named| named.flow).map_err(|errors| {
        assert!(!errors.errors.is_empty() && errors.errors.len() <= ERRORS_MAX);
        let lines = errors
            .errors
            .iter()
            .map(|FlowMistake { failure, .. }| format!("{} | {}", failure.message, failure.next_step()));
        let more = (errors.more > 0).then(|| format!("and {} more", errors.more));
        lines.chain(more).collect::<Vec<_>>().join("\n")
    })
}

/// The line and column of an error.
fn place_of(line: &str) -> Option<(usize, usize)> {
    let mut parts = line.strip_prefix("it.toml:")?.splitn(3, ':');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The line and column of a byte.
fn place_at(text: &str, byte: usize) -> (usize, usize) {
    let before = &text[..byte];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

#[test]
fn good_files_are_read() {
    for text in GOOD.iter().filter(|text| !text.contains('é')) {
        read(text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    }
    let flow = read(GOOD[1]).unwrap();
    assert_eq!(
        flow.stages.iter().map(|stage| stage.name.as_str()).collect::<Vec<_>>(),
        ["cheap", "strong", "answer"]
    );
    assert_eq!(flow.stages[1].temperature, Some(0.7));
    assert_eq!(flow.stages[1].max_tokens, Some(9_000));
    assert_eq!(flow.stages[2].synthesizer.as_ref().unwrap().len(), 2);
    assert_eq!(flow.stages[0].panel, ["google/gemini-3.8-flash", "z-ai/glm-5.3"]);
}

/// A whole file and all its errors.
fn check(text: &str, expected: &[&str]) {
    assert_eq!(read(text).err().unwrap_or_default(), expected.join("\n"), "{text}");
}

#[test]
fn every_mistake_names_its_place() {
    check("", &["it.toml:1:1: a flow has no stage | write it like `[stages.NAME]`"]);
    check("about = \"x\"\n[stages]\n", &["it.toml:2:2: a flow has no stage | write it like `[stages.NAME]`"]);
    check(
        "[[stages]]\npanel = \"a/x\"\n",
        &["it.toml:1:1: `stages` is a table, not a list | write it like `[stages.NAME]`"],
    );
    check("[steps.a]\npanel = \"a/x\"\n", &["it.toml:1:2: there is no key `steps` | did you mean `stages`?"]);
    check(
        "[stagse.a]\npanel = \"a/x\"\n",
        &["it.toml:1:2: there is no key `stagse` | did you mean `stages`?"],
    );
    check(
        "panel = \"a/x\"\n[stages.a]\npanel = \"a/x\"\n",
        &["it.toml:1:1: `panel` is a key of a stage | write it like `[stages.NAME]`"],
    );
    check(
        "stages.a = 7\n",
        &["it.toml:1:12: a stage is a table, not a whole number | write it like `[stages.NAME]`"],
    );
    check(
        "[stages.a]\npannel = \"a/x\"\n",
        &["it.toml:2:1: there is no key `pannel` | did you mean `panel`?"],
    );
    check(
        "[stages.a]\npanel = \"a/x\"\nwait = \"all\"\n",
        &[
            "it.toml:3:1: `wait` is a setting of the whole run, not of a stage | take it out, or write it into your own file",
        ],
    );
    check(
        "[stages.a]\npanel = 3\n",
        &[
            "it.toml:2:9: `panel` is a list of models, not a whole number | correct the value at the place the message names",
        ],
    );
    check(
        "[stages.a]\npanel = [\"a/x\", true]\n",
        &[
            "it.toml:2:17: `panel` is a list of models, not one that holds a boolean | correct the value at the place the message names",
        ],
    );
    check(
        "[stages.a]\npanel = []\n",
        &["it.toml:2:9: `panel` names none of the models | name at least one, or take it out"],
    );
    check(
        "[stages.a]\npanel = \"a/x\"\nfrom = \" \"\n",
        &["it.toml:3:8: `from` names none of the stages | name at least one, or take it out"],
    );
}

#[test]
fn every_wrong_value_names_its_place() {
    check(
        "[stages.a]\npanel = \"a/x\"\nmax_tokens = 0\n",
        &[
            "it.toml:3:14: `max_tokens` is a whole number from 1 to 1000000, not `0` | correct the value, or leave it out to use the default",
        ],
    );
    check(
        "budget_usd = -1\n[stages.a]\npanel = \"a/x\"\n",
        &[
            "it.toml:1:14: `budget_usd` is an amount in US dollars such as `3` or `0.50`, not `-1` | correct the value, or leave it out to use the default",
        ],
    );
    check(
        "about = \"a\\nb\"\n[stages.a]\npanel = \"a/x\"\n",
        &["it.toml:1:9: `about` is one line of 1 to 200 visible characters | shorten it"],
    );
    check(
        "[stages.a]\npanel = \"a/x\"\n[stages.a]\n",
        &["it.toml:3:9: duplicate key | correct the value at the place the message names"],
    );
    check(
        "[stages.\"a b\"]\npanel = \"a/x\"\n",
        &[
            "it.toml:1:9: the name of a stage has 1 to 40 letters, digits, `-` or `_`, not `a b` | rename the stage",
        ],
    );
    // All mistakes are found at once, in the order of the file.
    check(
        "[stages.a]\npanel = \"a/x*0\"\ntemperature = 3\n[stages.b]\npanel = \"b/x\"\n[stages.c]\nfrom = [\"a\", \"q\"]\nstrategy = \"moa@layers=9\"\n",
        &[
            "it.toml:2:9: cannot read the model `a/x*0`: the number after `*` is between 1 and 64 | write it like `a/x*3`",
            "it.toml:3:15: `temperature` is a number from 0 to 2, not `3` | correct the value, or leave it out to use the default",
            "it.toml:4:9: the stage `b` is read by no other, and neither is `c`: a flow ends in one stage | name it in the `from` of another stage, or take it out",
            "it.toml:7:14: there is no stage `q` | choose one of: a, b, c",
            "it.toml:8:12: the option `layers` cannot be `9` | give a whole number from 2 to 3",
        ],
    );
}

#[test]
fn damaged_files_are_refused_with_their_place() {
    let mut refused = 0;
    let mut check = |text: String| {
        let Err(errors) = read(&text) else { return };
        refused += 1;
        let last = place_at(&text, text.len());
        for error in errors.lines().filter(|line| !line.starts_with("and ")) {
            let place = place_of(error).unwrap_or_else(|| panic!("{error}\n{text}"));
            assert!(place.0 >= 1 && place.1 >= 1 && place <= (last.0, usize::MAX), "{error}\n{text}");
        }
    };
    for good in GOOD {
        for (at, odd) in good.char_indices() {
            check(good[..at].to_owned());
            for other in ["", "\0", "\"", "]", "=", "é", "\r\n", "1"] {
                check(format!("{}{other}{}", &good[..at], &good[at + odd.len_utf8()..]));
            }
        }
    }
    assert!(refused > 5_000, "{refused} files were refused");
}

#[test]
fn every_aimed_mistake_is_found_at_its_line_and_column() {
    let aimed: Vec<Mistake> = GOOD.iter().flat_map(|good| mistakes(good)).chain(whole_files()).collect();
    let different: BTreeSet<&str> = aimed.iter().map(|mistake| mistake.text.as_str()).collect();
    assert!(different.len() >= 500, "{} different bad files", different.len());
    for Mistake { text, place, says } in &aimed {
        let errors = read(text).expect_err(text);
        let is_it = |line: &str| place_of(line) == Some(*place) && line.contains(says.as_str());
        assert!(errors.lines().any(is_it), "{place:?} {says}\n{errors}\n---\n{text}");
    }
}

#[test]
fn a_byte_order_mark_takes_no_column() {
    check(
        "\u{feff}budget = 1\n[stages.a]\npanel = \"a/x\"\n",
        &["it.toml:1:1: there is no key `budget` | did you mean `budget_usd`?"],
    );
}

#[test]
fn an_error_that_only_the_settings_show_has_the_place_of_its_entry() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it.toml");
    fs::write(&path, "# a/x\n[stages.a]\npanel = [\"a/x\", \"a/x@persona=nobody\"]\nsynthesizer = \"a/x\"\n")
        .unwrap();
    let flow = FlowFile::read(&path).flow.unwrap();
    let place = |place: FlowPlace| {
        let error = FlowError { place, failure: invalid("it does not fit") };
        let FlowMistake { place, .. } = &flow.refused(vec![error]).errors[0];
        (place.line, place.column)
    };
    let entry = |key: StageKey, index: usize| place(FlowPlace::Entry { stage: 0, key, index });
    assert_eq!(entry(StageKey::Panel, 1), (3, 17));
    assert_eq!(entry(StageKey::Synthesizer, 0), (4, 15));
    assert_eq!(place(FlowPlace::Key { stage: 0, key: StageKey::Panel }), (3, 9));
    assert_eq!(place(FlowPlace::Key { stage: 0, key: StageKey::Strategy }), (2, 9));
    assert_eq!(place(FlowPlace::Flow), (1, 1));
}

#[test]
fn a_synthesizer_is_one_model_asked_once_and_a_text_is_one_model() {
    check(
        "[stages.a]\npanel = \"gpt 5 pro\"\nsynthesizer = [\"a/x*3\", \"b/y\", \"b/y\", \"c/z@stance=for\"]\n",
        &[
            "it.toml:2:9: cannot read the model `gpt 5 pro`: a model name has 1 to 200 visible ASCII characters and no \
             quotes or commas | write it as `vendor/model`, for example `~openai/gpt-sol-latest`",
            "it.toml:3:16: `a/x*3` is a synthesizer, which is asked once; `*` is for a `panel` | write it like `a/x`",
            "it.toml:3:32: `synthesizer` names `b/y` twice | take it out",
            "it.toml:3:39: `c/z` is a synthesizer, which has neither a persona nor a stance: it fuses | name the persona \
             at a seat of the panel",
        ],
    );
}

#[test]
fn no_more_errors_are_listed_than_anyone_corrects() {
    let keys: Vec<String> = (0..30).map(|nth| format!("x{nth} = 1")).collect();
    let text = format!("[stages.a]\npanel = \"a/x\"\n{}\n", keys.join("\n"));
    let errors = read(&text).unwrap_err();
    assert_eq!(errors.lines().count(), ERRORS_MAX + 1);
    assert!(errors.ends_with("and 10 more"), "{errors}");
}

#[test]
fn a_file_that_is_no_text_is_refused_at_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, bytes: &[u8], expected: &str| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let refused = FlowFile::read(&path).flow.unwrap_err();
        let message = refused.first().message.replace(&format!("{}/", folder.path().display()), "");
        assert_eq!(message, expected);
    };
    check("it.toml", b"about = \"x\"\n# \xff\n", "it.toml:2:3: it is not valid UTF-8 from byte 14");
    check("it.toml", &vec![b'#'; 70_000], "it.toml:1:1: cannot read the flow: it is larger than 65536 bytes");
    check(
        "a b.toml",
        b"[stages.a]\npanel = \"a/x\"\n",
        "a b.toml:1:1: the name of a flow has 1 to 40 letters, digits, `-` or `_`, not `a b`",
    );
    let missing = FlowFile::read(&folder.path().join("none.toml")).flow.unwrap_err();
    assert!(missing.first().message.ends_with("none.toml:1:1: cannot read the flow: there is no such file"));
    let nested = FlowFile::read(folder.path()).flow.unwrap_err();
    assert!(nested.first().message.ends_with(":1:1: cannot read the flow: it is not a file"));
}
