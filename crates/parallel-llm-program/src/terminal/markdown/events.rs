//! The events of a text's Markdown, with its maths as it is written.

use std::collections::VecDeque;
use std::ops::Range;

use parallel_llm_engine::text::maths::{Piece, SHIELD, Shielded};
use pulldown_cmark::{CowStr, Event, OffsetIter, Options, Parser, Tag, TagEnd};

/// The events of a text.
pub(super) struct Events<'t> {
    shielded: &'t Shielded<'t>,
    parser: OffsetIter<'t>,
    /// Events that stand for one with maths in it.
    ready: VecDeque<Event<'t>>,
    is_code: bool,
}

impl<'t> Events<'t> {
    pub(super) fn of(shielded: &'t Shielded<'t>, options: Options) -> Self {
        let parser = Parser::new_ext(shielded.text(), options).into_offset_iter();
        Self { shielded, parser, ready: VecDeque::new(), is_code: false }
    }

    /// What is written at this place, as words. Lines of maths stay lines.
    fn written(&mut self, range: Range<usize>) {
        let text: String = self.shielded.pieces(range).into_iter().map(Piece::into_text).collect();
        if self.is_code {
            return self.ready.push_back(Event::Text(text.into()));
        }
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.ready.push_back(Event::HardBreak);
            }
            self.ready.push_back(Event::Text(CowStr::from(line.to_owned())));
        }
    }
}

impl<'t> Iterator for Events<'t> {
    type Item = Event<'t>;

    fn next(&mut self) -> Option<Event<'t>> {
        if let Some(event) = self.ready.pop_front() {
            return Some(event);
        }
        let (event, range) = self.parser.next()?;
        match &event {
            Event::Start(Tag::CodeBlock(_)) => self.is_code = true,
            Event::End(TagEnd::CodeBlock) => self.is_code = false,
            Event::Text(_) | Event::Html(_) | Event::InlineHtml(_) | Event::Code(_)
                if self.shielded.has_maths(&range) =>
            {
                self.written(range);
                return self.ready.pop_front();
            }
            _ => {}
        }
        Some(match event {
            Event::Start(Tag::Link { link_type, dest_url, title, id }) if dest_url.contains(SHIELD) => {
                let written: String = self.shielded.pieces(range).into_iter().map(Piece::into_text).collect();
                Event::Start(Tag::Link { link_type, dest_url: written.into(), title, id })
            }
            event => event,
        })
    }
}
