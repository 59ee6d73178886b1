//! What a page that follows a run has of it: its sections by hash, its texts block by block.
//!
//! Bytes are for texts: a long section that changes with each event is sent again only as often as the texts pay for it, and at each
//! turn of the run.

use std::collections::BTreeMap;

use parallel_llm_engine::CallerSlot;
use parallel_llm_engine::run::{SeatStatus, SeatView};

use crate::run::sections::moment::Sections;
use crate::run::sections::{answer, seat};
use crate::run::view::shown::{Shown, element};
use crate::run::view::written::{TextPiece, TextPosition, Written};

/// A section of more bytes than a card's head has waits for its turn.
const SECTION_BYTES: usize = 2 * 1024;
/// The bytes of such sections that are sent again in any case, for a run of a few seats; and for how many bytes of text one more is.
const REPEATED_BYTES: usize = 64 * 1024;
const TEXT_BYTES_PER_REPEATED: usize = 4;
/// The most positions a page may name: more than a run has calls.
const POSITIONS_MAX: usize = 256;

/// What a page has.
pub(super) struct PageCopy {
    /// The sections as the page has them, by hash.
    sent: BTreeMap<String, blake3::Hash>,
    /// The seats whose final text the page has, with their status.
    ended: BTreeMap<String, SeatStatus>,
    /// The texts in progress as the page had them when it connected.
    positions: BTreeMap<String, TextPosition>,
    /// The texts in progress as the page has them.
    written: BTreeMap<String, Written>,
    /// The bytes of texts sent so far, and those of sections sent again.
    text_bytes: usize,
    repeated_bytes: usize,
}

impl PageCopy {
    /// The copy of a page that has these texts in progress, and those that have ended.
    pub(super) fn new(
        positions: BTreeMap<String, TextPosition>,
        ended: BTreeMap<String, SeatStatus>,
    ) -> Self {
        let (sent, written) = (BTreeMap::new(), BTreeMap::new());
        Self { sent, ended, positions, written, text_bytes: 0, repeated_bytes: 0 }
    }

    /// The bytes that the page has of a text in progress.
    pub(super) fn text_bytes_of(&self, slot: &str) -> usize {
        let known = self.written.get(slot).map(Written::bytes);
        known.or_else(|| Some(self.positions.get(slot)?.bytes)).unwrap_or_default()
    }

    /// Counts pieces that are sent.
    pub(super) fn count(&mut self, pieces: &[TextPiece]) {
        self.text_bytes += pieces.iter().map(TextPiece::html_bytes).sum::<usize>();
    }

    /// Notes the sections that a page has. It may have older versions of long ones.
    pub(super) fn know(&mut self, sections: &Sections) {
        let short = sections.iter().filter(|(_, html)| html.len() <= SECTION_BYTES);
        self.sent.extend(short.map(|(id, html)| (id.clone(), blake3::hash(html.as_bytes()))));
    }

    /// Whether the page has another version of a section, and gets this one now.
    pub(super) fn is_due(&mut self, id: &str, html: &str, must_be: bool) -> bool {
        let hash = blake3::hash(html.as_bytes());
        if self.sent.get(id) == Some(&hash) {
            return false;
        }
        let is_long = html.len() > SECTION_BYTES && !must_be;
        let most = REPEATED_BYTES + self.text_bytes / TEXT_BYTES_PER_REPEATED;
        if is_long && self.repeated_bytes + html.len() > most {
            return false;
        }
        self.repeated_bytes += if is_long { html.len() } else { 0 };
        self.sent.insert(id.to_owned(), hash);
        // The text in it begins anew.
        if let Some(slot) = draft_in(html) {
            self.positions.remove(&slot);
            self.written.remove(&slot);
        }
        true
    }

    /// The rests of the texts that have ended. A text that the page has differently becomes a section.
    pub(super) fn end_texts(&mut self, shown: Shown<'_>, sections: &mut Sections) -> Vec<TextPiece> {
        let mut rests = Vec::new();
        for view in shown.run.seats.iter().filter(|view| view.status.is_final()) {
            let slot = element(view.slot);
            if self.ended.insert(slot.clone(), view.status) == Some(view.status) {
                continue;
            }
            let text = view.text().unwrap_or_default();
            let rest = self.written(view, text).end(text);
            self.written.remove(&slot);
            self.positions.remove(&slot);
            match rest {
                Some(rest) => rests.push(rest.of(slot)),
                None => drop(sections.insert(seat::text_id(view), seat::text(shown, view))),
            }
        }
        // A seat that is asked again writes anew.
        self.ended.retain(|slot, _| {
            shown.run.seats.iter().any(|view| view.status.is_final() && element(view.slot) == *slot)
        });
        rests
    }

    /// The text of a call as the page has it.
    pub(super) fn written(&mut self, view: &SeatView, text: &str) -> &mut Written {
        let slot = element(view.slot);
        let heading = if matches!(view.slot, CallerSlot::Seat(_)) { seat::HEADING } else { answer::HEADING };
        let position = self.positions.get(&slot);
        let resumed = || match position {
            Some(position) => Written::resumed(text, *position, heading),
            None => Written::none(heading),
        };
        self.written.entry(slot).or_insert_with(resumed)
    }
}

/// The slot whose text is on its way in a section.
fn draft_in(html: &str) -> Option<String> {
    let (_, rest) = html.split_once("<div id=\"synthesizer-")?;
    let (number, _) = rest.split_once("-text\" class=\"text writing\"")?;
    number.bytes().all(|digit| digit.is_ascii_digit()).then(|| format!("synthesizer-{number}"))
}

/// The texts in progress that a page names.
pub(super) fn positions(text: &str) -> BTreeMap<String, TextPosition> {
    let position = |entry: &str| {
        let fields: Vec<&str> = entry.split(':').collect();
        let [slot, at, bytes, finished, chain] = fields.try_into().ok()?;
        let [at, bytes, finished] = [at, bytes, finished].map(|number| number.parse().ok());
        let position =
            TextPosition { at: at?, bytes: bytes?, finished: finished?, chain: chain.parse().ok()? };
        Some((slot.to_owned(), position))
    };
    text.split(',').take(POSITIONS_MAX).filter_map(position).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_a_page_are_read_and_nothing_else() {
        let read = |text: &str| format!("{:?}", positions(text));
        assert_eq!(
            read("seat-1:12:20:1:ff,synthesizer-1:0:0:0:0").replace("TextPosition ", ""),
            r#"{"seat-1": { at: 12, bytes: 20, finished: 1, chain: Chain(255) }, "synthesizer-1": { at: 0, bytes: 0, finished: 0, chain: Chain(0) }}"#
        );
        assert_eq!(read(""), "{}");
        assert_eq!(
            read("seat-1,seat-2:x,:,seat-3:-1:0:0:0,seat-4:1:2:3,seat-5:1:2:3:x,seat-6:1:2:3:4:5"),
            "{}"
        );
    }
}
