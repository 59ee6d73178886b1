//! A line of a batch file: ours, or one of OpenAI's batch files.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use parallel_llm_engine::value::nearest;
use parallel_llm_engine::value::next::{Argument, Next};
use parallel_llm_engine::{Code, Failure, Message, Role, RunRequest};
use parallel_llm_openai_door::{BATCH_URL, BatchQuestion, batch_question};
use parallel_llm_service::{LINE_EXAMPLE, Line, Question, Services, form};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::lines::FileLine;

/// The longest name of a line, in bytes, as OpenAI has it for most of its ids.
const ID_BYTES_MAX: usize = 512;
/// The fields of our lines beside the options of a question, and those of OpenAI's.
const OURS: [&str; 4] = ["id", "prompt", "messages", "system"];
const OPENAIS: [&str; 4] = ["custom_id", "method", "url", "body"];
/// The options that a line has.
const OPTIONS: [&str; 9] = [
    "models",
    "synthesizer",
    "strategy",
    "preset",
    "max_tokens",
    "temperature",
    "effort",
    "budget_usd",
    "deadline_s",
];

/// The values for what lines leave open, from flags.
#[derive(Debug, Default)]
pub(super) struct LineDefaults {
    pub(super) models: Vec<String>,
    pub(super) preset: Option<String>,
    pub(super) synthesizer: Option<String>,
    pub(super) strategy: Option<String>,
    pub(super) max_tokens: Option<u32>,
    pub(super) files: bool,
    /// Whether texts that seem to hold keys or passwords are sent.
    pub(super) allows_secrets: bool,
}

impl LineDefaults {
    const fn has_panel(&self) -> bool {
        !self.models.is_empty() || self.preset.is_some()
    }
}

/// Our line.
#[derive(Debug, Deserialize)]
struct OurLine {
    id: Option<Id>,
    prompt: Option<String>,
    messages: Option<Vec<OurMessage>>,
    system: Option<String>,
    #[serde(flatten)]
    options: Options,
}

/// The options of a line, and its fields that are none.
#[derive(Debug)]
struct Options(BTreeMap<String, Value>);

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Options;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Options, A::Error> {
                let mut options = BTreeMap::new();
                while let Some((name, value)) = object.next_entry::<String, Value>()? {
                    if options.contains_key(&name) {
                        return Err(A::Error::custom(format!("duplicate field `{name}`")));
                    }
                    options.insert(name, value);
                }
                Ok(Options(options))
            }
        }
        source.deserialize_map(Reader)
    }
}

impl Options {
    /// Sets them. `null` counts as left out.
    fn set(self, question: &mut Question) -> Result<(), Failure> {
        for (name, value) in self.0.into_iter().filter(|(_, value)| !value.is_null()) {
            if !OPTIONS.contains(&&*name) {
                let known: Vec<&str> = OURS.into_iter().chain(OPTIONS).collect();
                return Err(unknown(&name, &known));
            }
            let option = form::option(&name);
            let given = option.field.read(&format!("its `{name}`"), &value)?;
            option.set(question, given)?;
        }
        Ok(())
    }
}

/// A message of our line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OurMessage {
    role: Role,
    content: String,
}

/// A name, which some programs write as a number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Id {
    Text(String),
    Number(u64),
}

/// A line of OpenAI.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenAiLine<'a> {
    custom_id: Option<String>,
    method: Option<String>,
    url: Option<String>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
}

/// Which of the two a line is.
#[derive(Debug, Deserialize)]
struct Form {
    body: Option<serde::de::IgnoredAny>,
    url: Option<serde::de::IgnoredAny>,
}

/// Reads a line.
pub(super) async fn read(services: &Services, line: FileLine, defaults: &LineDefaults) -> Line {
    let FileLine { number, text } = line;
    let (custom_id, question) = match text {
        Ok(text) => parse(services, &text, defaults).await,
        Err(failure) => (None, Err(failure)),
    };
    let question = question.and_then(|question| without_secrets(services, question, defaults));
    Line { number, custom_id, question }
}

async fn parse(
    services: &Services,
    text: &str,
    defaults: &LineDefaults,
) -> (Option<String>, Result<Question, Failure>) {
    if !text.trim_start().starts_with('{') {
        let example = Next::Example(LINE_EXAMPLE.into());
        return (None, Err(usage("it is not a JSON object").with_next(example)));
    }
    // A line that cannot be parsed is refused as one of ours.
    let form: Option<Form> = serde_json::from_str(text).ok();
    let is_openais = form.is_some_and(|form| form.body.is_some() || form.url.is_some());
    if !is_openais {
        return match json::<OurLine>(text) {
            Ok(line) => line.read(defaults),
            Err(failure) => (None, Err(failure)),
        };
    }
    match json::<OpenAiLine<'_>>(text) {
        Ok(line) => {
            let id = line.custom_id.clone();
            let question = line.read(services, defaults).await;
            named(id, question)
        }
        Err(failure) => (None, Err(failure)),
    }
}

impl OurLine {
    fn read(self, defaults: &LineDefaults) -> (Option<String>, Result<Question, Failure>) {
        let id = self.id.as_ref().map(|id| match id {
            Id::Text(text) => text.clone(),
            Id::Number(number) => number.to_string(),
        });
        named(id, self.question(defaults))
    }

    fn question(self, defaults: &LineDefaults) -> Result<Question, Failure> {
        let mut question = Question::default();
        self.options.set(&mut question)?;
        let given = match (self.prompt, self.messages) {
            (Some(prompt), None) => vec![Message::text(Role::User, prompt)],
            (None, Some(messages)) => {
                messages.into_iter().map(|message| Message::text(message.role, message.content)).collect()
            }
            (Some(_), Some(_)) => return Err(usage("it has both `prompt` and `messages`")),
            (None, None) => {
                return Err(
                    usage("it has neither `prompt` nor `messages`").with_next(Next::Give(Argument::Prompt))
                );
            }
        };
        if given.last().is_none_or(|message| message.role != Role::User) {
            return Err(usage("the last of its `messages` is not the user's"));
        }
        let system = self.system.map(|text| Message::text(Role::System, text));
        question.request.messages = system.into_iter().chain(given).collect();
        let names_models = question.request.models.is_some();
        Ok(filled(question, defaults, names_models))
    }
}

impl OpenAiLine<'_> {
    async fn read(self, services: &Services, defaults: &LineDefaults) -> Result<Question, Failure> {
        if let Some(method) = self.method.filter(|method| method != "POST") {
            return Err(usage(format!("its `method` is `{method}`, not `POST`")));
        }
        if self.url.as_deref() != Some(BATCH_URL) {
            let url = self.url.unwrap_or_default();
            return Err(usage(format!("its `url` is `{url}`; a batch has lines for `{BATCH_URL}` only")));
        }
        let body = self.body.ok_or_else(|| usage("it has no `body`"))?;
        let read = batch_question(services, body.get(), defaults.has_panel()).await;
        let BatchQuestion { mut question, names_panel } = read.map_err(|failure| {
            if failure.code != Code::ModelUnknown {
                return failure;
            }
            // The file is one for another service.
            let message =
                format!("{}, and neither `-m` nor `--preset` names a panel instead", failure.message);
            Failure { message, ..failure }.with_next([Next::NameWith("--preset".into())])
        })?;
        // A key of its own would make two lines one run, behind the back of the batch.
        if question.request.idempotency_key.take().is_some() {
            return Err(usage("a line of a batch has no `idempotency_key`: its `custom_id` is one"));
        }
        Ok(filled(question, defaults, names_panel))
    }
}

/// The question, unless a text of it seems to hold a key or a password: whoever made the file may not have looked at each line.
fn without_secrets(
    services: &Services,
    question: Question,
    defaults: &LineDefaults,
) -> Result<Question, Failure> {
    if !defaults.allows_secrets {
        let attachments = services.attachments();
        let texts = question.request.messages.iter().flat_map(Message::texts);
        let nameless = Path::new("");
        texts
            .into_iter()
            .try_for_each(|text| attachments.check_file("the line", nameless, text.as_bytes()))?;
    }
    Ok(question)
}

/// The question with the values of the flags for what its line leaves open.
fn filled(mut question: Question, defaults: &LineDefaults, names_models: bool) -> Question {
    let request = &mut question.request;
    // A preset names its models, and models named on the line are meant instead of a preset of the flags.
    if !names_models && question.preset.is_none() {
        question.preset.clone_from(&defaults.preset);
        request.models = (!defaults.models.is_empty()).then(|| defaults.models.clone());
    }
    request.synthesizer = request.synthesizer.take().or_else(|| defaults.synthesizer.clone());
    request.strategy = request.strategy.take().or_else(|| defaults.strategy.clone());
    request.max_tokens = request.max_tokens.or(defaults.max_tokens);
    request.files = Some(defaults.files);
    question
}

/// Fails if the flags name what no line could be asked with: then the file is not the mistake.
pub(super) async fn check(services: &Services, defaults: &LineDefaults) -> Result<(), Failure> {
    let question = Question::of(RunRequest::prompt("?"));
    services.ask.sketch(filled(question, defaults, false)).await.map(drop)
}

/// A line with its name, which makes it unusable if it cannot be stored or shown.
fn named(
    id: Option<String>,
    question: Result<Question, Failure>,
) -> (Option<String>, Result<Question, Failure>) {
    let is_name = |id: &String| (1..=ID_BYTES_MAX).contains(&id.len()) && !id.chars().any(char::is_control);
    match id {
        Some(id) if !is_name(&id) => {
            let message =
                format!("its id is not a text of 1 to {ID_BYTES_MAX} bytes without control characters");
            (None, Err(usage(message)))
        }
        id => (id, question),
    }
}

/// Parses a line.
fn json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Failure> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let field = error.path().to_string();
        (field, error.into_inner())
    });
    let read = read.and_then(|read| reader.end().map(|()| read).map_err(|error| (String::new(), error)));
    read.map_err(|(field, error)| {
        let reason = error.to_string();
        if let Some(failure) = mistyped(&field, &reason) {
            return failure;
        }
        if error.is_eof() {
            let failure =
                usage("a JSON object begins there and does not end: each question is a line of its own");
            return failure.with_next(Next::Example(LINE_EXAMPLE.into()));
        }
        let reason = reason.replace(" at line 1 column ", " at character ");
        let reason = reason.split(", expected").next().unwrap_or_default();
        let strange = reason.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
        match strange {
            Some(name) => unknown(name, &OPENAIS),
            None => usage(format!("it is not a JSON object of a question: {reason}")),
        }
    })
}

fn unknown(name: &str, known: &[&str]) -> Failure {
    nearest::suggest_or_list(usage(format!("there is no field `{name}`")), name, known)
}

/// The failure if a field has a value of another type.
fn mistyped(field: &str, reason: &str) -> Option<Failure> {
    if reason.starts_with("data did not match any variant of untagged enum Id") {
        return Some(usage("its `id` is neither a string nor a whole number"));
    }
    if let Some(twice) = reason.strip_prefix("duplicate field `").and_then(|rest| rest.split('`').next()) {
        return Some(usage(format!("it has `{twice}` twice")));
    }
    let reason = reason.strip_prefix("invalid type: ").or_else(|| reason.strip_prefix("invalid value: "))?;
    let (found, wanted) = reason.split_once(", expected ")?;
    let wanted = match wanted.split(" at line ").next()? {
        "a sequence" => "a list",
        other => other,
    };
    let found = match found.split_once(' ') {
        Some(("string", text)) => format!("the text {text}"),
        Some(("integer" | "boolean", value)) => value.to_owned(),
        Some(("floating", rest)) => rest.trim_start_matches("point ").to_owned(),
        _ if found == "map" => "an object".to_owned(),
        _ if found == "sequence" => "a list".to_owned(),
        _ => found.to_owned(),
    };
    (field != ".").then(|| usage(format!("its `{field}` is {wanted}, not {found}")))
}

fn usage(message: impl AsRef<str>) -> Failure {
    Failure::new(Code::Usage, message)
}
