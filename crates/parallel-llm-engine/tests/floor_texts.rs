//! The floor under a written text, measured: failing texts are caught, sound ones stand.
//!
//! The failing texts are written by hand (`fixtures/unusable_texts.jsonl`) or made from sound ones by rules. The sound ones are
//! answers to the same question, each judged beside another one.

use std::collections::BTreeMap;

use parallel_llm_engine::prompt::floor::{FloorBasis, FloorVerdict, Reason};
use parallel_llm_engine::prompt::label;
use serde_json::Value;

const CODE: &str = "5eed5eed";

/// A question, its answers and a text that was written from them.
#[derive(Clone, serde::Deserialize)]
struct Case {
    kind: String,
    request: String,
    candidates: Vec<String>,
    text: String,
}

impl Case {
    fn verdict(&self) -> FloorVerdict {
        let labels: Vec<String> = (0..self.candidates.len()).map(label).collect();
        let texts = self.candidates.iter().map(String::as_str);
        let candidates: Vec<(&str, &str)> = labels.iter().map(String::as_str).zip(texts).collect();
        let codes = [CODE.to_owned()];
        let basis =
            FloorBasis { request: &self.request, candidates: &candidates, codes: &codes, is_cut: false };
        basis.judge(&self.text)
    }

    fn stands(&self) -> bool {
        self.verdict() == FloorVerdict::Sound(self.text.trim().to_owned())
    }
}

/// The objects of a fixture.
fn lines(fixture: &str) -> impl Iterator<Item = Value> + '_ {
    let lines = fixture.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| serde_json::from_str(line).expect("a line of JSON"))
}

fn string(value: &Value) -> String {
    value.as_str().expect("a string").to_owned()
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().expect("a list").iter().map(string).collect()
}

/// The texts that were written by hand.
fn written_by_hand() -> Vec<Case> {
    let fixture = include_str!("fixtures/unusable_texts.jsonl");
    let sets: BTreeMap<String, (String, Vec<String>)> = lines(fixture)
        .filter(|line| line.get("set").is_some())
        .map(|line| (string(&line["set"]), (string(&line["question"]), strings(&line["answers"]))))
        .collect();
    let texts = lines(fixture).filter(|line| line.get("of").is_some());
    let case = |line: Value| {
        let (request, candidates) = sets[&string(&line["of"])].clone();
        Case { kind: string(&line["class"]), request, candidates, text: string(&line["text"]) }
    };
    texts.map(case).collect()
}

/// Questions in prose with two answers each.
fn prose() -> Vec<(String, Vec<String>)> {
    let pairs = lines(include_str!("fixtures/contradicting_prose.jsonl"));
    let mut pairs: Vec<(String, Vec<String>)> =
        pairs.map(|line| (string(&line["question"]), strings(&line["answers"]))).collect();
    pairs.dedup_by(|one, other| one.0 == other.0);
    pairs.into_iter().filter(|(_, answers)| answers.iter().all(|one| one.split(' ').count() > 9)).collect()
}

/// Failing texts made of sound ones.
fn corrupted() -> Vec<Case> {
    let all = prose();
    let mut cases = Vec::new();
    let templates = ["synthesize", "council", "moa", "synthesize/analyse", "synthesize/write"].map(template);
    for (index, (request, candidates)) in all.iter().enumerate() {
        let text = &candidates[index % 2];
        let words: Vec<&str> = text.split(' ').collect();
        let start = words[..words.len().min(4 + index % 6)].join(" ");
        let label = if index % 2 == 0 { "A" } else { "B" };
        let mut add = |kind: &str, text: String| {
            let (request, candidates) = (request.clone(), candidates.clone());
            cases.push(Case { kind: kind.to_owned(), request, candidates, text });
        };
        add("echo", request.clone());
        add("echo", format!("The request:\n\n| {request}\n\nThe candidates, in random order:\n\n{text}"));
        add("loop", format!("{text}\n").repeat(5 + index % 40));
        add("loop", format!("{text} {}", format!("{start}. ").repeat(12 + words.len())));
        let label_forms =
            ["{}", "**{}**", "Candidate {}", "Answer {}.", "Candidate {} is the best.", "I choose {}."];
        add("label", label_forms[index % label_forms.len()].replace("{}", label));
        let talk_forms = [
            "Candidates A and B agree that {}",
            "Both answers say that {}",
            "Candidate B is more precise: {}",
            "All the responses state the same. {}",
            "The first answer is better than the second. {}",
        ];
        add("talk", talk_forms[index % talk_forms.len()].replace("{}", text));
        let code = format!("{:08x}", index * 2_654_435_761 % 0xffff_ffff);
        add("form", format!("<<candidate {label} {code}>>\n| {text}\n<<end candidate {label} {code}>>"));
        add("form", format!("{{\"base\": \"{label}\", \"claims\": [{{\"text\": \"{start}\"}}]}}"));
        let template: Vec<&str> = templates[index % templates.len()].split_whitespace().collect();
        let at = index * 37 % (template.len() - 12);
        add("prompt", template[at..at + 12].join(" "));
        add("topic", all[(index + all.len() / 2) % all.len()].1[0].clone());
    }
    cases
}

/// A prompt template without its markers and JSON, whose words are too few in a row.
fn template(folder: &str) -> String {
    let read = |file: &str| {
        let path = format!("{}/prompts/{file}.md", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).expect("a template")
    };
    let text = read(&format!("{folder}/system")).replace("{{rules}}", &read("shared/rules"));
    let plain = text.lines().filter(|line| !line.contains(['{', '<']));
    plain.collect::<Vec<_>>().join("\n")
}

/// Sound texts: an answer beside another one, and both answers together.
fn sound() -> Vec<Case> {
    let fixtures = [
        include_str!("fixtures/different_answers.jsonl"),
        include_str!("fixtures/equal_answers.jsonl"),
        include_str!("fixtures/contradicting_prose.jsonl"),
    ];
    let mut cases = Vec::new();
    for line in fixtures.into_iter().flat_map(lines) {
        let (request, answers) = (string(&line["question"]), strings(&line["answers"]));
        let [one, other] = &answers[..] else { panic!("two answers") };
        let mut add = |candidates: &[&String], text: String| {
            let candidates = candidates.iter().map(|one| (*one).clone()).collect();
            let kind = string(&line["class"]);
            cases.push(Case { kind, request: request.clone(), candidates, text });
        };
        add(&[other, other], one.clone());
        add(&[one, one], other.clone());
        add(&[one, other], format!("{one}\n\n{other}"));
    }
    cases.retain(|case| !case.text.trim().is_empty());
    cases
}

#[test]
fn failing_texts_are_caught() {
    let cases = [written_by_hand(), corrupted()].concat();
    assert!(cases.len() >= 300, "{}", cases.len());
    let mut tally: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for case in &cases {
        let (caught, of) = tally.entry(&case.kind).or_default();
        *caught += usize::from(!matches!(case.verdict(), FloorVerdict::Sound(_)));
        *of += 1;
    }
    let caught: usize = tally.values().map(|(caught, _)| caught).sum();
    assert!(caught * 100 >= cases.len() * 90, "{caught} of {}: {tally:#?}", cases.len());
    insta::assert_debug_snapshot!(tally, @r#"
    {
        "any": (
            66,
            69,
        ),
        "echo": (
            49,
            49,
        ),
        "form": (
            50,
            50,
        ),
        "label": (
            63,
            63,
        ),
        "loop": (
            48,
            48,
        ),
        "placeholder": (
            15,
            15,
        ),
        "prompt": (
            29,
            29,
        ),
        "talk": (
            48,
            48,
        ),
        "topic": (
            23,
            29,
        ),
    }
    "#);
}

/// Texts that were written without knowledge of the rules: how many of those that answer nothing are caught, and which sound ones are
/// refused.
#[test]
fn texts_by_others_are_judged_rightly() {
    let cases = lines(include_str!("fixtures/written_texts.jsonl")).map(|line| {
        let is_usable = line["usable"].as_bool().expect("a truth value");
        let (request, candidates) = (string(&line["question"]), strings(&line["candidates"]));
        (is_usable, Case { kind: string(&line["why"]), request, candidates, text: string(&line["text"]) })
    });
    let (sound, failing): (Vec<_>, Vec<_>) = cases.partition(|(is_usable, _)| *is_usable);
    let stands = |(_, case): &&(bool, Case)| matches!(case.verdict(), FloorVerdict::Sound(_));
    let kinds = |cases: Vec<&(bool, Case)>| -> Vec<String> {
        cases.into_iter().map(|(_, case)| case.kind.clone()).collect()
    };
    let refused = kinds(sound.iter().filter(|one| !stands(one)).collect());
    let caught = failing.iter().filter(|one| !stands(one)).count();
    insta::assert_snapshot!(
        format!("{caught} of {} caught, {} of {} refused: {refused:?}", failing.len(), refused.len(), sound.len()),
        @r#"366 of 420 caught, 2 of 700 refused: ["humour", "creative"]"#
    );
}

#[test]
fn sound_texts_stand() {
    let cases = sound();
    assert!(cases.len() >= 3_000, "{}", cases.len());
    let refused: Vec<&Case> = cases.iter().filter(|case| !case.stands()).collect();
    let shown: Vec<String> = refused
        .iter()
        .map(|case| format!("{:?}: {} -> {}", case.verdict(), case.request, case.text))
        .collect();
    assert!(refused.len() * 1_000 <= cases.len() * 3, "{} of {}: {shown:#?}", refused.len(), cases.len());
    insta::assert_snapshot!(format!("{} of {}", refused.len(), cases.len()), @"18 of 11184");
}

/// Judges a text beside two answers about the tides.
fn judged(request: &str, candidates: [&str; 2], text: &str) -> FloorVerdict {
    let candidates = candidates.map(str::to_owned).to_vec();
    Case { kind: String::new(), request: request.to_owned(), candidates, text: text.to_owned() }.verdict()
}

#[test]
fn what_the_candidates_do_a_text_may_do() {
    let stands = |request: &str, candidates: [&str; 2], text: &str| {
        assert_eq!(judged(request, candidates, text), FloorVerdict::Sound(text.to_owned()), "{text}");
    };
    stands("Which is right?\nA) iron\nB) gold", ["B", "The answer is (B)."], "B");
    stands("Which is right?\nA) iron\nB) gold", ["A", "B"], "**B**");
    stands(
        "Who won?",
        ["Candidate B won.", "Candidate A lost to candidate B."],
        "Candidate B won by a mile.",
    );
    stands("Say it a hundred times.", ["no ".repeat(100).trim(), "No."], "no ".repeat(90).trim());
    stands(
        "Translate into German: The cat sleeps on the warm stone.",
        ["Die Katze schläft.", "Die Katze ruht auf Stein."],
        "Die Katze schläft auf dem warmen Stein.",
    );
    stands("Give me JSON with the base.", ["{\"base\": 10}", "{\"base\": 2}"], "{\"base\": 16}");
    stands(
        "How does <answer> work?",
        ["The tag <answer> ends a turn.", "Write <answer>."],
        "Put it on a line:\n<answer>\nand close it.",
    );
    stands(
        "Is the bridge safe? Answer yes or no.",
        ["The answer is yes.", "**Answer:** Yes"],
        "The answer is no.",
    );
    stands("Which room?", ["Answer: 123457", "123458"], "Answer: 123456");
    stands("Which is prime, (a) 1 or (b) 2?", ["(a)", "not (a)"], "(b)");
    stands("Which note?", ["Bb", "C"], "B");
    stands("Which sign?", ["<", ">"], "<");
    stands("Fix: he go home", ["He goes home.", "he goes home"], "He goes home!");
}

/// Texts that are no answer to a question about the tides, by how they fail.
const NO_ANSWERS: &[(&str, &[&str])] = &[
    (
        "nothing",
        &[
            "Sure!",
            "Of course.",
            "Okay, got it.",
            "Understood. I will do that.",
            "Thank you for your question!",
            "Let me work through this carefully.",
            "I'll start by reading the request.",
            "Sure! Let me explain.",
            "First, I need to check each of them.",
            "Here is my response:",
            "Certainly! Below is the explanation of the tides:",
            "To answer this question, here are the steps:",
            "Hello! How may I assist you today?",
            "I am an AI language model created to help people.",
            "Could you please provide more context?",
            "I'm sorry, but I don't see a question in your message.",
            "[insert final answer here]",
            "<your answer>",
            "No response.",
            "none",
            "NaN",
            "<|endoftext|>",
            "<|im_end|>",
            "[EOS]",
            "1)\n2)\n3)\n4)",
            "我的答案如下：",
        ],
    ),
    (
        "label",
        &[
            "$$\\boxed{\\text{B}}$$",
            "(B)",
            "[[B]]",
            "B: it is the clearest.",
            "B – most complete and accurate.",
            "I'd pick B because it explains both bulges.",
            "The best candidate is B, since it is more detailed.",
            "Candidate B\n\nReasoning: it covers the sun as well as the moon, and it is concise.",
            "{\"choice\": \"B\", \"reason\": \"most complete\"}",
            "B > A",
            "My ranking: A > B",
            "Candidates A and B agree.",
            "I would go with the second answer.",
            "候选答案B最好。",
        ],
    ),
    (
        "talk",
        &[
            "Both drafts describe the moon's gravity, but only the second mentions the sun.",
            "Each response explains the bulges, so the tides come twice a day.",
            "Neither answer includes the spring tides.",
            "Having compared the two replies, I find that gravity is the cause.",
            "Based on the provided answers, the moon causes tides.",
            "Draft A offers a better explanation of the bulges than draft B.",
            "The reply above is the most accurate.",
            "The strongest response is the one that names the sun.",
            "I merged the points on the sun from B into the text of A.",
            "There are two responses to this question. The first says that the moon pulls, the other adds the sun.",
            "They both say that the moon pulls on the sea.",
            "The user wants to know how tides work, so a short explanation would do.",
            "Die beiden Antworten erklären die Gezeiten durch den Mond.",
            "两个回答都提到月球的引力。",
        ],
    ),
    (
        "form",
        &[
            "<<end answer",
            "<<answer 1234abce",
            "- base: A\n- claims: none\n- dissent: none",
            "[INST] Explain the tides to me, briefly. [/INST]\n[INST] Once more. [/INST]",
            "The moon.<|im_end|>\n<|im_start|>user\nAnd the sun?",
        ],
    ),
    (
        "topic",
        &[
            "Bread needs flour, yeast and salt, and an hour of rest.",
            "The parliament of Norway has a hundred and sixty-nine seats.",
        ],
    ),
    (
        "language",
        &[
            "Le pain et la table de la maison qui que dont où les fleurs sont bleues, et ni le chat ni moi ne vois la gare.",
            "Der Mond zieht das Meer an, und weil es ihm auf der ihm nahen Seite am meisten folgt, ist da ein Berg, so wie ein \
             Tal im Osten.",
        ],
    ),
    (
        "question",
        &[
            "Which sea do you mean?",
            "Could you tell me which sea you have in mind and how deep it is? Then I can say what its tides do.",
        ],
    ),
];

#[test]
fn what_answers_nothing_is_caught_by_its_class() {
    let answers = [
        "The moon pulls on the sea by its gravity, and the Earth turns through two bulges of water.",
        "Gravity of the moon and the sun raises two bulges of water, and the Earth turns below them.",
    ];
    let request = "How do tides work? Answer in a few sentences.";
    let mut missed = Vec::new();
    for (class, texts) in NO_ANSWERS {
        for text in *texts {
            let verdict = judged(request, answers, text);
            let is_caught = if *class == "label" && !text.contains('A') && !text.contains("second") {
                verdict == FloorVerdict::Picks(1)
            } else {
                !matches!(verdict, FloorVerdict::Sound(_))
            };
            if !is_caught {
                missed.push(format!("{class}: {text} -> {verdict:?}"));
            }
        }
    }
    assert_eq!(missed, Vec::<String>::new());
}

#[test]
fn what_only_looks_like_no_answer_stands() {
    let stands = |request: &str, candidates: [&str; 2], text: &str| {
        assert_eq!(judged(request, candidates, text), FloorVerdict::Sound(text.to_owned()), "{text}");
    };
    let long =
        "By Ohm's law the current is the voltage divided by the resistance, which is two amperes here, so";
    let worked = [format!("{long} the answer is (C)."), format!("{long} the choice must be (D).")];
    let choice = "What is the current?\nOptions:\nA. 1\nB. 2\nC. 3\nD. 4\nI. 5";
    for text in ["The answer is (A).", "The answer is (I).", "B"] {
        stands(choice, [&worked[0], &worked[1]], text);
    }
    let survey = ["Make the options exclusive.", "Each option should be short and unambiguous."];
    let asked = "How do I write good survey answer options?";
    stands(
        asked,
        survey,
        "The answers must not overlap. The first answer is chosen more often, so rotate them.",
    );
    stands(asked, survey, "Most answers are better if they are worded alike.");
    stands("Which answer is right, 4 or 5?", ["4", "4 is right."], "The first answer, 4, is right.");
    stands(
        "How do elections choose among candidates?",
        ["The voters rank them.", "By the most votes."],
        "Each ballot ranks candidates A, B and C. Suppose candidate C is last: C is eliminated.",
    );
    stands(
        "How should a judge compare two answers?",
        ["In random order, with reasons.", "By a rubric, twice."],
        "Both answers are shown in random order. If the first answer wins both times, it is better.",
    );
    stands("Is 7 prime?", ["Yes.", "Yes, it is."], "Certainly.");
    stands("Say only OK.", ["OK", "ok"], "OK.");
    stands("What does the call return?", ["undefined", "It returns undefined."], "null");
    stands("Which list?", ["[1, 4, 1]", "[1, 2]"], "[]");
    stands("Hi!", ["Hello! How can I help?", "Hi there."], "Hello! What can I do for you today?");
    stands("How long?", ["Two hours.", "120 minutes"], "2 h");
    stands(
        "When was it built?",
        ["In 1889, for the world's fair.", "1889"],
        "Fue construida en 1889 para la exposición universal de París.",
    );
    stands(
        "How old is the Earth?",
        ["The Earth is about 4.5 billion years old.", "About 4.54 billion years."],
        "Etwa 4,5 Milliarden Jahre; das Alter ist durch radiometrische Messungen von Meteoriten bekannt.",
    );
    stands(
        "Write a polite request for the report.",
        ["Could you please send me the report?", "Would you mind sending me the report?"],
        "Could you please send me the report as soon as possible?",
    );
    stands(
        "Why is C fast?",
        ["C is compiled to machine code.", "Because C has no runtime."],
        "C, because it is compiled, has no runtime to wait for.",
    );
    stands(
        "How do I strike text out?",
        ["Use the s element.", "With <s>text</s>."],
        "Write it so: <s>old</s>",
    );
}

#[test]
fn what_leaked_of_the_form_is_cut_off() {
    let answers = ["The moon pulls the sea.", "Moon and sun pull the sea."];
    let check = |text: &str| {
        let sound = FloorVerdict::Sound("Both pull the sea.".to_owned());
        assert_eq!(judged("How do tides work?", answers, text), sound, "{text}");
    };
    check(
        "Here is my analysis.\n<<analysis 1234abce>>\n{\"base\": \"A\"}\n<<answer 1234abce>>\nBoth pull the sea.\n<<end answer 1234abce>>",
    );
    check("<answer>\nBoth pull the sea.\n</answer>");
    check("Both pull the sea.\n\n```json\n{\"base\": \"A\", \"claims\": []}\n```");
    check("Analysis: {\"base\": \"A\", \"claims\": []}\n\nBoth pull the sea.");
    check("Both pull the sea.\n<<end answr 1234abce>>\n<<end answer 1234abce>>");
    check("Both pull the sea.</s></s></s>");
    check("<|im_start|>assistant\nBoth pull the sea.<|im_end|>");
}

#[test]
fn a_huge_text_takes_little_time() {
    let words = (0..90_000_u32).map(|word| format!("w{}", word.wrapping_mul(2_654_435_761)));
    let huge = words.collect::<Vec<_>>().join(" ");
    let looped = "The moon pulls. ".repeat(50_000);
    let began = tokio::time::Instant::now();
    assert_eq!(
        judged("Why?", [&huge, "The moon."], &format!("{huge}.")),
        FloorVerdict::Sound(format!("{huge}."))
    );
    assert_eq!(judged("Why?", [&huge, "The moon."], &looped), FloorVerdict::Unusable(Reason::Loop));
    // Seconds in an unoptimised build; a square in the length would take an hour.
    assert!(began.elapsed().as_secs() < 120, "{:?}", began.elapsed());
}

/// Judges every `*.jsonl` of the folder in `FLOOR_TEXTS`, and prints the result by kind. Each line has `kind`, `request`,
/// `candidates` and `text`.
#[test]
#[expect(clippy::disallowed_methods, reason = "who measures names a folder; nothing else reads it")]
#[ignore = "reads recorded answers of real models from a folder outside the repository"]
fn recorded_texts() {
    let folder = std::env::var("FLOOR_TEXTS").expect("`FLOOR_TEXTS` names a folder");
    let mut tally: BTreeMap<(String, String), usize> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("a file of text");
        for line in text.lines() {
            let case: Case = serde_json::from_str(line).expect("a case");
            let verdict = match case.verdict() {
                FloorVerdict::Sound(text) if text == case.text.trim() => "stands".to_owned(),
                FloorVerdict::Sound(_) => "stands without what leaked".to_owned(),
                other => format!("{other:?}"),
            };
            *tally.entry((case.kind, verdict)).or_default() += 1;
        }
    }
    insta::assert_debug_snapshot!(tally);
}

#[test]
fn what_only_looks_damaged_or_empty_stands() {
    let stands = |request: &str, candidates: [&str; 2], text: &str| {
        assert_eq!(judged(request, candidates, text), FloorVerdict::Sound(text.to_owned()), "{text}");
    };
    let hours = "Le «\u{a0}café\u{a0}» ferme à 18\u{202f}h. Où\u{202f}? C’est fermé\u{202f}! Là…";
    stands("Quand ferme le café ?", ["Le café ferme à 18 h.", "Il ferme à 18 h, le café."], hours);
    let nested = "Write this:\n````markdown\n```python\nprint(1)\n```\n````";
    stands(
        "How do I show a block of Python in Markdown?",
        ["Nest it: print(1)", "Use a longer fence."],
        nested,
    );
    let address = "https://doc.rust-lang.org";
    stands(
        "What is the URL of the documentation?",
        ["It is at https://doc.rust-lang.org.", "docs.rs"],
        address,
    );
    let primes = [11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97];
    let lines: Vec<String> = primes.iter().map(ToString::to_string).collect();
    let row = lines.join(", ");
    stands("Which primes have two digits?", [&row, &row], &lines.join("\n"));
    let code = "if (c<0x80) { return one_byte(c); }";
    stands("Which test finds one byte of UTF-8?", ["Test c < 0x80.", "c is below 0x80"], code);
    stands("Show the load of the day.", ["It rose.", "It rose at noon."], "It rose at noon: ▁▂▃▅▇");
}

#[test]
fn a_text_without_an_end_of_its_places_is_judged_in_linear_time() {
    let text = "a {".repeat(1 << 20);
    let verdict = judged("What is it?", ["It is a brace.", "A brace."], &text);
    assert!(!matches!(verdict, FloorVerdict::Sound(_)), "it repeats itself");
}

#[test]
fn what_a_small_model_says_of_the_form_is_no_answer() {
    let candidates =
        ["Cats sleep for hours, as many animals do.", "They have a way to conserve energy: a nap."];
    let verdict = judged("Why do cats sleep so much?", candidates, "The answer, the last line, is a JSON.");
    assert_eq!(verdict, FloorVerdict::Unusable(Reason::Placeholder));
}
