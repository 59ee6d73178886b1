//! Answers to any question: the question's own words in one of several turns of speech, one for each lab.
//!
//! The turns agree on a core and differ in what they stress. One of them disagrees, so that there is something to fuse.

use crate::catalogue::Model;
use crate::seed::Draw;

use super::words::carries_meaning;

/// Words of the question that are named at once, at most.
const PHRASE_WORDS_MAX: usize = 4;

/// What nobody else says: one sentence for each place in the catalogue. `{a}` is the subject.
const ANGLES: &[&str] = &[
    "Whatever you choose for {a}, name one person who may say no.",
    "A cheap rehearsal of {a} on last month's numbers will tell you more than a meeting.",
    "Look at what breaks at ten times the size: for {a}, that is usually where the first plan fails.",
    "Ask who is woken up at night when {a} goes wrong, and let them review the plan.",
    "Separate what {a} must never do from what it should do well, and test the first part harder.",
    "Put a date on the decision about {a}, since an open question costs more than a fair answer.",
    "Record why the alternatives to {a} were rejected, because someone will propose them again.",
    "Keep the first design of {a} boring, and spend the novelty elsewhere.",
    "Prefer for {a} the option that a new colleague understands in an afternoon.",
    "Let {a} fail on purpose once, in daylight, before it fails by itself.",
    "The numbers that matter for {a} are the slowest tenth, not the average.",
    "Test {a} with the worst input you have seen instead of the example from the manual.",
    "Set aside the time to delete the old way once {a} works.",
    "Beware of a tool that makes {a} easy to start and hard to leave.",
    "A one-page sketch of {a} that everyone can redraw is a good sign.",
    "Agree on the failure case with every team that {a} depends on.",
    "Whoever pays for {a} should see its cost every week.",
    "Two reports of people who gave up on {a} teach more than ten success stories.",
    "Treat every estimate about {a} as a range and plan for its upper half.",
    "Give {a} one owner and one place where its state can be read.",
    "Things that nobody would miss for a week come after {a}, however loud they are.",
];

/// Turns of speech. `{a}` is the subject, `{b}` what else is named, `{own}` the model's own sentence.
const STEPS: &str = "Treat this as a sequence of small decisions.\n\n\
    1. Write down what success looks like for {b} before changing anything.\n\
    2. Start with the smallest version of {a} that can be measured.\n\
    3. Compare the two most likely options on cost, risk and time.\n\
    4. Keep a way back, so that each change to {a} is easy to undo.\n\n\
    {own} If the measurements disagree with the plan, believe the measurements.";

const CAVEATS: &str = "The honest answer depends on something the question leaves open: how much it costs to be wrong \
    about {a}.\n\n\
    If a mistake is cheap, start with the smallest version of {a} that can be measured and learn from it. If a mistake \
    is expensive, write down what success looks like for {b} first, and keep a way back for each change.\n\n\
    {own} I would also check the assumption that {b} is the bottleneck; in my experience the trouble often sits one \
    step earlier.";

const DEFINITION: &str = "When people speak of {a}, they usually mean a balance between effort, quality and speed. It \
    is important to write down what success looks like for {b}. It helps to start with a small version of {a} and to \
    monitor it closely. {own} There are several tools that support this, and the right choice depends on the situation.";

const CONTRARIAN: &str = "Most advice about {a} is too timid.\n\n\
    Do not start with the smallest version of {a} that can be measured; a toy only proves that toys work. Take the real \
    case, cut the scope of {b} instead, and ship it within a week. Keep a way back, so that each change is easy to \
    undo.\n\n{own}";

const TRADE_OFFS: &str = "There are two forces here, and they pull in different directions.\n\n\
    Speed: start with the smallest version of {a} that can be measured, because feedback beats argument.\n\
    Safety: write down what success looks like for {b}, and keep a way back for each change to {a}.\n\n\
    The point where they meet is a trial with a fixed end. {own} When the trial ends, compare the result with what was \
    written down, not with what was hoped for.";

const TERSE: &str = "Start with the smallest version of {a} that can be measured, and keep a way back. {own}";

const TERSE_FIRST_OWN: &str =
    "{own} Beyond that: write down what success looks like for {b}, and start small with {a}.";

/// The answer of this model to any question.
pub(crate) fn answer(seed: u64, model: &Model, question: &str) -> String {
    let phrases = phrases(question);
    let subject = phrases.iter().max_by_key(|phrase| phrase.len()).map_or("this", String::as_str);
    let other = phrases.iter().find(|phrase| *phrase != subject).map_or(subject, String::as_str);
    let own = ANGLES[model.place % ANGLES.len()];
    let text = turn(seed, model, question).replace("{own}", own);
    text.replace("{a}", subject).replace("{b}", other)
}

fn turn(seed: u64, model: &Model, question: &str) -> &'static str {
    match model.lab() {
        "openai" => STEPS,
        "anthropic" => CAVEATS,
        "google" => DEFINITION,
        "x-ai" => CONTRARIAN,
        "deepseek" => TRADE_OFFS,
        lab => match Draw::new(seed, &[lab, question]).below(2) {
            0 => TERSE,
            _ => TERSE_FIRST_OWN,
        },
    }
}

/// What the question names: its longest runs of words that carry meaning, in order.
fn phrases(question: &str) -> Vec<String> {
    let mut phrases = Vec::new();
    let mut run: Vec<&str> = Vec::new();
    for word in question.split_whitespace() {
        let bare = word.trim_matches(|sign: char| !sign.is_alphanumeric());
        if carries_meaning(bare) && run.len() < PHRASE_WORDS_MAX {
            run.push(bare);
        } else {
            end_run(&mut run, &mut phrases);
        }
        if word.ends_with([',', '.', ';', ':', '?', '!']) {
            end_run(&mut run, &mut phrases);
        }
    }
    end_run(&mut run, &mut phrases);
    phrases
}

fn end_run(run: &mut Vec<&str>, phrases: &mut Vec<String>) {
    if !run.is_empty() {
        phrases.push(run.join(" "));
        run.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_names_its_subjects() {
        let question = "Should we use Postgres or SQLite for a small internal tool?";
        assert_eq!(phrases(question), ["Postgres", "SQLite", "small internal tool"]);
        assert!(phrases("Why?").is_empty());
    }
}
