//! Reveals a streaming reply without the part that is not for the user.

use std::borrow::Cow;

use super::body::{Body, EMPHASIS_BYTES_MAX};
use super::parts::{fence_is_open, opening};
use crate::text::short_answer::line;

/// After this many bytes it is decided whether a reply follows the form.
const FORM_BYTES: usize = 80;

/// What part of a reply is shown.
#[derive(Clone, Debug)]
pub struct Reveal(Showing);

#[derive(Clone, Debug)]
enum Showing {
    All,
    Nothing,
    /// Everything but the answer line at the end, of which this much is held back.
    WithoutLine {
        reply: String,
        shown: usize,
    },
    /// Nothing yet, because the answer has not begun.
    Waiting {
        codes: Vec<String>,
        held: String,
        seen: usize,
        is_near: bool,
    },
    Answer(Box<Body>),
}

impl Reveal {
    /// Shows everything.
    pub const fn all() -> Self {
        Self(Showing::All)
    }

    /// Shows nothing, because the reply is not meant for the user.
    pub const fn nothing() -> Self {
        Self(Showing::Nothing)
    }

    /// Shows everything but the answer line.
    pub const fn without_line() -> Self {
        Self(Showing::WithoutLine { reply: String::new(), shown: 0 })
    }

    /// The text of a reply as it is recorded, and its answer line, if it was asked for one. The line of a reply that is not whole
    /// may be cut, too, and does not count.
    pub fn split<'a>(&self, reply: &'a str, is_whole: bool) -> (Cow<'a, str>, Option<&'a str>) {
        match self.0 {
            Showing::WithoutLine { .. } if is_whole => line::split(reply),
            Showing::WithoutLine { .. } => match &reply[..line::held_from(reply)] {
                "" => (Cow::Borrowed(reply), None),
                shown => (Cow::Borrowed(shown), None),
            },
            _ => (Cow::Borrowed(reply), None),
        }
    }

    /// The part of a reply on its way that has been shown.
    pub fn shown<'a>(&self, reply: &'a str) -> &'a str {
        match self.0 {
            Showing::WithoutLine { shown, .. } => &reply[..shown],
            _ => reply,
        }
    }

    /// Shows the text after the answer marker, or everything if the reply does not follow the form.
    pub fn answer(code: &str) -> Self {
        Self(Showing::Waiting { codes: vec![code.to_owned()], held: String::new(), seen: 0, is_near: false })
    }

    /// Shows a reply that was to be only a text.
    pub fn text(code: &str) -> Self {
        Self(Showing::Answer(Box::new(Body::new(&[code.to_owned()], false))))
    }

    /// Takes the next piece and returns the text that can be shown now.
    pub fn push<'a>(&mut self, piece: &'a str) -> Cow<'a, str> {
        let (codes, held, seen, is_near) = match &mut self.0 {
            Showing::All => return piece.into(),
            Showing::Nothing => return "".into(),
            Showing::WithoutLine { reply, shown } => {
                reply.push_str(piece);
                let until = line::held_from(reply).max(*shown);
                return reply[std::mem::replace(shown, until)..until].to_owned().into();
            }
            Showing::Answer(body) => return body.push(piece).into(),
            Showing::Waiting { codes, held, seen, is_near } => (codes, held, seen, is_near),
        };
        held.push_str(piece);
        let may_be_marked = *is_near || piece.contains(['>', '\n']);
        let begun = may_be_marked.then(|| opening(held, *seen, codes)).flatten();
        *is_near = begun.is_some();
        *seen = held.rfind('\n').map_or(0, |end| end + 1);
        // Wait for emphasis that may follow the marker.
        let begun =
            begun.filter(|from| held[*from..].contains('\n') || held.len() >= from + EMPHASIS_BYTES_MAX);
        let (mut body, from) = match begun {
            Some(from) => (Body::new(codes, fence_is_open(&held[..from])), from),
            None if held.len() - piece.len() < FORM_BYTES && is_no_form(held, codes) => {
                (Body::new(codes, false), 0)
            }
            None => return "".into(),
        };
        let shown = body.push(&held[from..]);
        self.0 = Showing::Answer(Box::new(body));
        shown.into()
    }

    /// Returns the rest of the text after the end of the reply.
    pub fn finish(&mut self) -> String {
        match &mut self.0 {
            Showing::All | Showing::Nothing => String::new(),
            Showing::WithoutLine { reply, shown } => {
                line::split(reply).0.get(*shown..).unwrap_or_default().to_owned()
            }
            Showing::Answer(body) => body.finish(),
            Showing::Waiting { codes, held, .. } => {
                // Read as a whole, like the stored reply: the marker may be in the last line.
                let reply = std::mem::take(held);
                let text = super::fusion(&reply, codes, &[]).text;
                self.0 = Showing::Nothing;
                text
            }
        }
    }
}

/// Whether the beginning of a reply shows that it does not follow the form. A reply with the code does, even after a few
/// other words.
fn is_no_form(held: &str, codes: &[String]) -> bool {
    let start = held.trim_start();
    let follows =
        start.starts_with(['{', '<', '`', '*', '#']) || codes.iter().any(|code| held.contains(code));
    held.len() >= FORM_BYTES && !follows
}
