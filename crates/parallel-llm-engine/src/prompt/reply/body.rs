//! Extracts the text for the user from a reply, piece by piece.
//!
//! The same state machine makes the stored and the streamed text, so both are equal. It removes markers with the code of the
//! prompt, text between the end of one answer and the next, the code fence of a fenced form, and `| ` before lines that are
//! neither a table nor code, and the JSON of the form ([`super::form`]). The text neither begins nor ends with white space, at whatever byte the reply is cut.

use super::form::WithoutForm;
use super::marker::{EMPHASIS, MARKER_BYTES_MAX, Marker, MarkerKind, is_decoration, markers, may_begin};

/// The prefix of the lines of a block in the prompt.
const PREFIX: char = '|';
/// The most bytes of emphasis after a marker.
pub(super) const EMPHASIS_BYTES_MAX: usize = 4;

/// The state of a text that is read piece by piece.
#[derive(Clone, Debug, Default)]
pub(super) struct Body {
    codes: Vec<String>,
    /// The undecided rest of a line.
    pending: String,
    /// Whether the beginning of that line has been returned already.
    is_within_line: bool,
    /// Lines with the prefix of a block, until a line without it comes.
    prefixed: Vec<String>,
    /// White space and a possible end of the form, until text follows.
    held: String,
    /// Whether a code fence was open where the answer began.
    is_fenced: bool,
    is_in_code: bool,
    has_begun: bool,
    /// Whether the answer has ended and no other has begun.
    is_over: bool,
    shown: String,
    without_form: WithoutForm,
}

impl Body {
    /// An empty text of a reply to a prompt with one of these codes.
    pub(super) fn new(codes: &[String], is_fenced: bool) -> Self {
        Self { codes: codes.to_vec(), is_fenced, ..Self::default() }
    }

    /// Reads a whole text.
    pub(super) fn of(text: &str, codes: &[String], is_fenced: bool) -> String {
        let mut body = Self::new(codes, is_fenced);
        let mut shown = body.push(text);
        shown.push_str(&body.finish());
        shown
    }

    /// Takes the next piece and returns the text that is decided now.
    pub(super) fn push(&mut self, piece: &str) -> String {
        for part in piece.split_inclusive('\n') {
            self.pending.push_str(part);
            if part.ends_with('\n') {
                let line = std::mem::take(&mut self.pending);
                self.line(&line);
                self.is_within_line = false;
            } else {
                self.begin_line();
            }
        }
        self.without_form.push(&std::mem::take(&mut self.shown))
    }

    /// Returns the rest after the last piece, without white space and the end of the form.
    pub(super) fn finish(&mut self) -> String {
        let line = std::mem::take(&mut self.pending);
        self.line(&line);
        self.release_prefixed();
        self.held.clear();
        let shown = self.without_form.push(&std::mem::take(&mut self.shown));
        shown + &self.without_form.finish()
    }

    /// Takes the rest of a line.
    fn line(&mut self, line: &str) {
        let Some(marker) = self.marker(line) else { return self.text(line) };
        let before = &line[..marker.start];
        // A single `<` was held because it might have become a marker; it was text.
        if self.is_within_line || !may_begin(before) || !is_decoration(before) {
            self.text(before);
        }
        match marker.kind {
            MarkerKind::End | MarkerKind::Analysis => self.is_over = true,
            MarkerKind::Answer => {
                // A later answer should replace an earlier one, but shown text cannot be taken back: it is appended.
                self.release_prefixed();
                self.held.push_str("\n\n");
                (self.is_over, self.is_within_line) = (false, false);
                self.text(line[marker.end..].trim_start());
            }
            MarkerKind::Other => {}
        }
    }

    /// The marker of a line that only the reader of the prompt can have written.
    fn marker(&self, line: &str) -> Option<Marker> {
        let is_ours = |marker: &Marker| {
            let is_first = marker.is_first && !self.is_within_line;
            marker.is_coded && (is_first || marker.kind == MarkerKind::End)
        };
        markers(line, &self.codes).find(is_ours)
    }

    /// Takes text of a line without a marker: its beginning or a continuation.
    fn text(&mut self, line: &str) {
        if self.is_over {
            return;
        }
        if self.is_within_line {
            return self.show(line);
        }
        let is_prefixed = line.trim_end() == "|" || line.starts_with("| ");
        if is_prefixed && !self.is_in_code {
            self.prefixed.push(line.to_owned());
            return;
        }
        self.release_prefixed();
        let plain = line.trim();
        let is_end = |marker: Marker| marker.is_first && marker.kind == MarkerKind::End;
        if plain.is_empty() || markers(line, &self.codes).any(is_end) {
            self.held.push_str(line);
        } else if plain.starts_with("```") {
            self.fence(line);
        } else {
            self.show(line);
        }
    }

    fn fence(&mut self, line: &str) {
        let is_bare = line.trim() == "```";
        if is_bare && self.is_fenced && !self.has_begun {
            // This ends the code fence around the form.
            self.is_fenced = false;
            return;
        }
        let is_closing = is_bare && self.is_fenced && !self.is_in_code;
        if is_closing {
            let held = std::mem::take(&mut self.held);
            if held.trim().is_empty() {
                self.held = held;
            } else if self.has_begun {
                // Of two possible ends, the first was text.
                self.show(&held);
            }
            self.held.push_str(line);
            return;
        }
        self.is_in_code = !self.is_in_code;
        self.show(line);
    }

    /// Shows a text, but for white space at its beginning and end, which is dropped or held.
    fn show(&mut self, text: &str) {
        let text = if self.has_begun { text } else { text.trim_start() };
        let (text, space) = text.split_at(text.trim_end().len());
        if !text.is_empty() {
            self.release_held();
            self.has_begun = true;
            self.shown.push_str(text);
        }
        self.held.push_str(space);
    }

    fn release_held(&mut self) {
        if self.has_begun {
            self.shown.push_str(&self.held);
        }
        self.held.clear();
    }

    /// Returns the lines with the prefix of a block, without the prefix if it was copied from the prompt.
    fn release_prefixed(&mut self) {
        let lines = std::mem::take(&mut self.prefixed);
        let is_kept = is_table(&lines);
        for line in &lines {
            let bare = line.strip_prefix("| ").or_else(|| line.strip_prefix(PREFIX)).unwrap_or(line);
            self.show(if is_kept { line } else { bare });
        }
    }

    /// Returns the part of an unfinished line that is decided.
    fn begin_line(&mut self) {
        if self.is_over {
            // The rest of the line that ended the answer is dropped; another line may still hold a marker.
            if self.is_within_line {
                self.pending.clear();
            }
            return;
        }
        if let Some(marker) = self.marker(&self.pending) {
            // Emphasis around the marker may still follow.
            if self.pending.len() >= marker.end + EMPHASIS_BYTES_MAX {
                let line = std::mem::take(&mut self.pending);
                self.line(&line);
                self.is_within_line = true;
            }
            return;
        }
        let is_undecided = !self.is_within_line
            && (self.pending.starts_with(PREFIX)
                || self.pending.trim_start().starts_with('`')
                || may_begin(&self.pending));
        if is_undecided {
            return;
        }
        let from = self.pending.len().saturating_sub(MARKER_BYTES_MAX);
        let from = self.pending.ceil_char_boundary(from);
        let marked = self.pending[from..].find("<<").map(|at| from + at);
        let sure = marked.unwrap_or(self.pending.trim_end_matches('<').len());
        let sure = self.pending[..sure].trim_end_matches(EMPHASIS).len();
        let rest = self.pending.split_off(sure);
        let sure = std::mem::replace(&mut self.pending, rest);
        if !sure.is_empty() {
            self.text(&sure);
            self.is_within_line = true;
        }
    }
}

/// Whether lines that all begin with `| ` are a table, whose lines do not have the prefix twice.
fn is_table(lines: &[String]) -> bool {
    let bars = |line: &str| line.matches(PREFIX).count();
    let is_rule = |line: &String| {
        let cells = line[1..].trim();
        cells.starts_with(['-', ':']) && bars(line) > 1 && cells.chars().all(|one| "|-: ".contains(one))
    };
    let is_twice = lines.iter().all(|line| line.starts_with("| |"));
    !is_twice && (lines.iter().any(is_rule) || lines.iter().all(|line| bars(line) > 1))
}
