//! The fields of the form as a browser sends them: text as it was typed, and attached files.

use axum::body::Bytes;
use axum::extract::Multipart;
use axum::extract::multipart::MultipartError;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};

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
    pub(super) files: Vec<File>,
    /// The files of folders, by their paths in these.
    pub(super) found: Vec<File>,
}

/// The value of `panel` for models named in the form. No preset's name begins like this.
pub(super) const OWN_PANEL: &str = "-own";

/// A seat of the user's own panel.
#[derive(Clone, Default)]
pub(super) struct SeatFields {
    pub(super) model: String,
    pub(super) persona: String,
}

/// An attached file.
#[derive(Clone)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) bytes: Bytes,
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
                "file" => Some(&mut fields.files),
                "folder" => Some(&mut fields.found),
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
            _ => return,
        };
        text.trim().clone_into(slot);
    }
}

fn broken(error: &MultipartError) -> Failure {
    Failure::new(Code::Usage, format!("the form cannot be read: {}", error.body_text()))
        .with_next(Advice::ReloadPage)
}
