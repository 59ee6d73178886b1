//! Templates: prompts that the user keeps as files, for `ask --template`.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use parallel_llm_engine::value::nearest;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_settings::settings::Settings;

use super::bounded_text;
use super::outgoing::{Outgoing, Source};
use crate::command::line::amount;

/// The folder beside the user's settings.
const FOLDER: &str = "templates";
/// The ending of a template's file.
const ENDING: &str = "md";
/// The place of the input in a template.
const INPUT: &str = "{{input}}";
/// The same without its braces.
const INPUT_NAME: &str = "input";
/// The largest template in bytes.
const BYTES_MAX: u64 = 1 << 20;

/// A template.
pub(super) struct Template {
    name: String,
    text: String,
}

impl Template {
    /// Reads the template of this name. Fails with the names that exist.
    pub(super) fn read(settings: &Settings, name: &str) -> Result<Self, Failure> {
        let folder = folder(settings)?;
        let is_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
        if name.is_empty() || !name.chars().all(is_name) {
            let message =
                format!("`{name}` cannot be the name of a template, which has letters, digits, `-` and `_`");
            let next = names(&folder);
            let failure = Failure::new(Code::Usage, message);
            // Elsewhere `-t` is the temperature.
            if let Some(plain) = amount::plain("--temperature", name) {
                return Err(failure.with_next(Next::WriteAs(format!("--temperature {plain}").into())));
            }
            return Err(if next.is_empty() { failure } else { failure.with_next(Next::choose_one(next)) });
        }
        let path = folder.join(name).with_extension(ENDING);
        let named = format!("the template `{name}`");
        // A pipe would be waited for without end.
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let message = format!("{named} is no file: `{}` is a folder, a pipe or a device", path.display());
            return Err(Failure::new(Code::Usage, message).with_next(Advice::WriteThatFile));
        }
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(missing(name, &path)),
            Err(error) => return Err(Failure::new(Code::Usage, format!("{named} cannot be read: {error}"))),
        };
        let text = bounded_text::text(bounded_text::bytes(file, BYTES_MAX, &named)?, &named)?;
        check_places(name, &text)?;
        Ok(Self { name: name.to_owned(), text: text.trim_end().to_owned() })
    }

    /// The template as a part of what is sent.
    pub(super) fn outgoing(&self) -> Outgoing {
        Outgoing::named(Source::Template, self.name.clone(), self.text.len() as u64)
    }

    /// The prompt: the template with the input in its place, or below it. Fails if the template needs an input.
    pub(super) fn prompt(&self, input: &str) -> Result<String, Failure> {
        let has_place = self.text.contains(INPUT);
        match (input.trim().is_empty(), has_place) {
            (true, true) => {
                let message = format!("the template `{}` needs an input", self.name);
                Err(Failure::new(Code::PromptEmpty, message))
            }
            (true, false) => Ok(self.text.clone()),
            (false, true) => Ok(self.text.replace(INPUT, input)),
            (false, false) => Ok(format!("{}\n\n{input}", self.text)),
        }
    }
}

/// Refuses a place that nothing fills: a misspelt `{{input}}`, or any other in a template without that. Beside a right
/// place, double braces may belong to the text.
fn check_places(name: &str, text: &str) -> Result<(), Failure> {
    let places = text.split("{{").skip(1).filter_map(|rest| Some(rest.split_once("}}")?.0));
    let is_name = |place: &&str| {
        let word = place.trim();
        !word.is_empty() && word.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
    };
    let has_input = text.contains(INPUT);
    let is_unfilled = |place: &&str| {
        *place != INPUT_NAME && (!has_input || nearest::nearest(place.trim(), [INPUT_NAME]).is_some())
    };
    let unfilled = places.filter(is_name).find(is_unfilled).map(|place| format!("{{{{{place}}}}}"));
    let is_open = |rest: &&str| rest.trim_start().starts_with(INPUT_NAME) && !rest.contains("}}");
    let unclosed = text.split("{{").skip(1).find(is_open).map(|_| "{{input".to_owned());
    // Other programs have places in single braces.
    let single = (!has_input && text.contains("{input}")).then(|| "{input}".to_owned());
    let Some(place) = unfilled.or(unclosed).or(single) else { return Ok(()) };
    let message = format!("the template `{name}` has the place `{place}`, which nothing fills");
    Err(Failure::new(Code::Usage, message).with_next(Next::WriteAs(INPUT.into())))
}

/// The names of all templates, for completion.
pub(in crate::command) fn all(settings: &Settings) -> Vec<String> {
    folder(settings).map(|folder| names(&folder)).unwrap_or_default()
}

fn folder(settings: &Settings) -> Result<PathBuf, Failure> {
    let paths = settings.config_paths.as_ref();
    let folder = paths.and_then(|paths| Some(paths.user_file.parent()?.join(FOLDER)));
    folder.ok_or_else(|| Failure::new(Code::Usage, "there is no home folder to find templates in"))
}

fn missing(name: &str, path: &Path) -> Failure {
    let there = path.parent().map(names).unwrap_or_default();
    if there.is_empty() {
        let message = format!("there is no template `{name}`: `{}` is missing", path.display());
        return Failure::new(Code::Usage, message).with_next(Advice::WriteThatFile);
    }
    let there: Vec<&str> = there.iter().map(String::as_str).collect();
    let failure = Failure::new(Code::Usage, format!("there is no template `{name}`"));
    nearest::suggest_or_list(failure, name, &there)
}

/// The names of the templates, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_template = |path: &PathBuf| path.extension().is_some_and(|ending| ending == ENDING);
    let mut names: Vec<String> =
        paths.filter(is_template).filter_map(|path| path.file_stem()?.to_str().map(str::to_owned)).collect();
    names.sort();
    names
}
