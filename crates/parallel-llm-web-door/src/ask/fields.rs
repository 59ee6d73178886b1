//! The fields of the form as a browser sends them: text as it was typed, and attached files.

use axum::extract::Multipart;
use axum::extract::multipart::MultipartError;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};

use super::file_set::{File, FileSet, GONE};

/// The most fields of one form: its own, a panel of 64 seats with their personas, and the files of a folder.
const FIELDS_MAX: usize = 1_024;

/// A form as it was typed.
#[derive(Clone, Default)]
pub(super) struct Fields {
    pub(super) form_token: String,
    pub(super) question: String,
    pub(super) system: String,
    /// The chosen panel: empty for that of the settings, a preset's name, or [`OWN_PANEL`].
    pub(super) panel: String,
    pub(super) seats: Vec<SeatFields>,
    pub(super) strategy: String,
    pub(super) synthesizer: String,
    pub(super) effort: String,
    pub(super) temperature: String,
    pub(super) max_tokens: String,
    pub(super) budget: String,
    pub(super) deadline: String,
    pub(super) store: String,
    pub(super) fresh: bool,
    /// Whether files are sent although they seem to hold secrets.
    pub(super) with_secrets: bool,
    /// The run whose conversation goes on.
    pub(super) continued: String,
    /// What is attached.
    pub(super) attached: FileSet,
    /// The token of files that came with this form before; see [`KeptFiles`](super::kept::KeptFiles).
    pub(super) kept: String,
    /// Which of those are attached, by their numbers on the page.
    pub(super) wanted: Vec<usize>,
    /// A token or a link to sign in with, which a form brings whose session has ended.
    pub(super) credential: String,
    /// Whether the question is asked although those are gone.
    pub(super) without_files: bool,
}

/// The value of `panel` for models named in the form. No preset's name begins like this.
pub(super) const OWN_PANEL: &str = "-own";

/// A seat of the user's own panel.
#[derive(Clone, Default)]
pub(super) struct SeatFields {
    pub(super) model: String,
    pub(super) persona: String,
}

impl Fields {
    /// Whether the strategy has options, so that it is none of the list.
    pub(super) fn has_own_strategy(&self) -> bool {
        self.strategy.contains('@')
    }

    /// Reads a form. Its length is bounded by the listener.
    pub(super) async fn read(mut form: Multipart) -> Result<Self, Failure> {
        let mut fields = Self::default();
        for _ in 0..FIELDS_MAX {
            let Some(field) = form.next_field().await.map_err(|error| broken(&error))? else {
                return Ok(fields);
            };
            let name = field.name().unwrap_or_default().to_owned();
            let files = match name.as_str() {
                "file" => Some(&mut fields.attached.files),
                "folder" => Some(&mut fields.attached.found),
                _ => None,
            };
            if let Some(files) = files {
                let file = field.file_name().unwrap_or_default().to_owned();
                let bytes = field.bytes().await.map_err(|error| broken(&error))?;
                // A browser sends an empty part where no file was chosen.
                if !file.is_empty() {
                    files.push(File { name: file, bytes });
                }
                continue;
            }
            let text = field.text().await.map_err(|error| broken(&error))?;
            fields.take(&name, text);
        }
        let message = format!("a form has at most {FIELDS_MAX} fields");
        Err(Failure::new(Code::Usage, message)
            .with_next([Advice::AttachFewerFiles, Advice::AskFewerModels].map(Next::Do)))
    }

    /// The fields as a form brings them back, without files: those have to be chosen again, and their form misses them.
    pub(super) fn typed(&self) -> Vec<(&'static str, String)> {
        let mut typed: Vec<(&'static str, String)> = [
            ("question", &self.question),
            ("system", &self.system),
            ("panel", &self.panel),
            ("strategy", &self.strategy),
            ("synthesizer", &self.synthesizer),
            ("effort", &self.effort),
            ("temperature", &self.temperature),
            ("max_tokens", &self.max_tokens),
            ("budget", &self.budget),
            ("deadline", &self.deadline),
            ("store", &self.store),
            ("continue", &self.continued),
        ]
        .into_iter()
        .map(|(name, text)| (name, text.clone()))
        .collect();
        for seat in &self.seats {
            typed.extend([("model", seat.model.clone()), ("persona", seat.persona.clone())]);
        }
        let had_files = !self.attached.is_empty() || !self.kept.is_empty();
        let ticked = [
            ("kept", had_files, GONE),
            ("fresh", self.fresh, "yes"),
            ("with_secrets", self.with_secrets, "yes"),
        ];
        typed.extend(ticked.into_iter().filter(|tick| tick.1).map(|(name, _, text)| (name, text.to_owned())));
        typed.retain(|(name, text)| !text.is_empty() || matches!(*name, "model" | "persona"));
        typed
    }

    fn take(&mut self, name: &str, text: String) {
        let slot = match name {
            "form_token" => &mut self.form_token,
            // Browsers end lines with two characters.
            "question" => return self.question = text.replace("\r\n", "\n"),
            "system" => return self.system = text.replace("\r\n", "\n"),
            "panel" => &mut self.panel,
            "model" => return self.seats.push(SeatFields { model: text, persona: String::new() }),
            "persona" => {
                if let Some(seat) = self.seats.last_mut() {
                    seat.persona = text;
                }
                return;
            }
            "strategy" => &mut self.strategy,
            "synthesizer" => &mut self.synthesizer,
            "effort" => &mut self.effort,
            "temperature" => &mut self.temperature,
            "max_tokens" => &mut self.max_tokens,
            "budget" => &mut self.budget,
            "deadline" => &mut self.deadline,
            "store" => &mut self.store,
            "fresh" => return self.fresh = true,
            "with_secrets" => return self.with_secrets = true,
            "continue" => &mut self.continued,
            "kept" => &mut self.kept,
            "credential" => &mut self.credential,
            "keep" => return self.wanted.extend(text.trim().parse::<usize>()),
            "without_files" => return self.without_files = true,
            _ => return,
        };
        text.trim().clone_into(slot);
    }
}

fn broken(error: &MultipartError) -> Failure {
    Failure::new(Code::Usage, format!("the form cannot be read: {}", error.body_text()))
        .with_next(Advice::ReloadPage)
}
