//! What was attached, counted: for a person before it is sent, and for the price.

use crate::report::counted::counted;
use std::fmt;

use parallel_llm_engine::Code;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::value::usage::tokens_in;
use parallel_llm_engine::value::warning::Warning;
use serde::Serialize;

/// The attachments of a question in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AttachmentTally {
    /// The files and texts.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// An upper estimate of the tokens that each model reads of them.
    pub tokens: u64,
    /// What a folder or a pattern had besides.
    pub skipped: Skipped,
}

/// Files of a folder that were not attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Files that are neither text nor a picture nor a PDF.
    pub binary: usize,
    /// Files without bytes.
    pub empty: usize,
    /// Links, pipes and devices.
    pub links: usize,
    /// Files and folders that cannot be read.
    pub unreadable: usize,
    /// Folders whose `.gitignore` cannot be read, so that nobody knows what to leave out.
    pub folders: usize,
}

impl AttachmentTally {
    /// Adds a file of so many bytes, which a model reads like so many bytes of text.
    pub(super) const fn add(&mut self, bytes: u64, weight_bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
        self.tokens += tokens_in(weight_bytes);
    }

    /// Whether nothing is attached, and nothing was left out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a caller must know who has not seen the folder: files that were left out.
    pub fn note(&self) -> Option<Warning> {
        let message = format!("attached: {self}");
        let note = || Warning {
            code: Code::AttachmentInvalid,
            message,
            next: vec![Next::Do(Advice::AttachReadableKind)],
        };
        (!self.skipped.is_none()).then(note)
    }
}

impl Skipped {
    /// Whether nothing was left out.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for AttachmentTally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, tokens, skipped, .. } = self;
        write!(out, "{}, {bytes} bytes, about {tokens} tokens for each model", counted(self.files, "file"))?;
        if skipped.is_none() { Ok(()) } else { write!(out, "; left out: {skipped}") }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.binary, "binary file", ""),
            (self.empty, "empty file", ""),
            (self.links, "link", ""),
            (self.unreadable, "unreadable file", ""),
            (self.folders, "folder", " with an unreadable `.gitignore`"),
        ];
        let parts = parts.into_iter().filter(|(count, ..)| *count > 0);
        let parts = parts.map(|(count, what, which)| counted(count, what) + which);
        out.write_str(&parts.collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_attached_is_told_in_a_line() {
        let mut tally = AttachmentTally::default();
        assert!(tally.is_empty());
        tally.add(10, 10);
        assert_eq!(tally.to_string(), "1 file, 10 bytes, about 4 tokens for each model");
        tally.add(2, 6_000);
        tally.skipped = Skipped { binary: 2, links: 1, folders: 2, ..Skipped::default() };
        assert_eq!(
            tally.to_string(),
            "2 files, 12 bytes, about 2004 tokens for each model; left out: 2 binary files, 1 link, \
             2 folders with an unreadable `.gitignore`"
        );
    }
}
