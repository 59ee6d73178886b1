//! The files of a form: those that were chosen now, joined with those that came with it before, and how the page shows them.

use std::path::Path;

use parallel_llm_engine::value::invisible;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_service::attachment::Attachments;
use tokio::time::Instant;

use super::fields::Fields;
use super::file_set::{FileSet, GONE};
use crate::text::figures;
use crate::visit::Visit;

/// The attachments as the page shows them.
#[derive(Default)]
pub(super) struct AttachedView {
    /// The token that the form brings back; empty if nothing was attached.
    pub(super) token: String,
    /// Whether they have to be chosen again.
    pub(super) is_gone: bool,
    pub(super) items: Vec<AttachedItem>,
}

/// A file or a folder that can be taken out.
pub(super) struct AttachedItem {
    pub(super) number: usize,
    pub(super) name: String,
    pub(super) size: String,
    pub(super) is_wanted: bool,
}

/// Joins the files of a form with those that came with it before. Fails if these are gone, unless they were chosen again.
pub(super) fn join(visit: &Visit, fields: &mut Fields) -> Result<(), Failure> {
    if fields.kept.is_empty() {
        return Ok(());
    }
    let has_new = !fields.attached.is_empty();
    match visit.web.kept_files.find(&visit.session(), &fields.kept, Instant::now()) {
        Some(kept) => {
            let before = kept.chosen(&fields.wanted);
            if has_new {
                // Together they are a new set.
                fields.kept.clear();
            }
            fields.attached = before.with(std::mem::take(&mut fields.attached));
            Ok(())
        }
        None if has_new || fields.without_files => {
            fields.kept.clear();
            Ok(())
        }
        None => {
            GONE.clone_into(&mut fields.kept);
            let message = "this server does not have the attachments of this question any more";
            Err(Failure::new(Code::AttachmentInvalid, message))
        }
    }
}

impl AttachedView {
    /// Keeps the files of a form for its next try, and shows them.
    pub(super) fn of(visit: &Visit, fields: &Fields) -> Self {
        let (kept, session, now) = (&visit.web.kept_files, visit.session(), Instant::now());
        let is_new = fields.kept.is_empty();
        if is_new && fields.attached.is_empty() {
            return Self::default();
        }
        let token =
            if is_new { kept.keep(&session, fields.attached.clone(), now) } else { fields.kept.clone() };
        let Some(set) = kept.find(&session, &token, now) else {
            return Self { token: GONE.to_owned(), is_gone: true, items: Vec::new() };
        };
        let item = |(number, (name, part)): (usize, (&str, FileSet))| AttachedItem {
            number,
            name: invisible::seen(name).into_owned(),
            size: size(visit.services.attachments(), &part),
            is_wanted: is_new || fields.wanted.contains(&number),
        };
        Self { items: set.parts().into_iter().enumerate().map(item).collect(), token, is_gone: false }
    }
}

/// How much a part of the attachments is, as a model reads it.
fn size(empty: Attachments, part: &FileSet) -> String {
    let mut attachments = empty.with_secrets();
    // What is wrong with a file is told when the question is asked or priced.
    for file in &part.files {
        let _ = attachments.add(Path::new(&file.name), &file.bytes);
    }
    let _ = attachments.add_folder(part.found.iter().map(|file| (Path::new(&file.name), &*file.bytes)));
    let tally = attachments.tally();
    let files = if part.files.is_empty() { format!("{} files, ", tally.files) } else { String::new() };
    let (bytes, tokens) = (figures::count(tally.bytes), figures::count(tally.tokens));
    format!("{files}{bytes} bytes, about {tokens} tokens for each model")
}
