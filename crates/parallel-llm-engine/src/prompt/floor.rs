//! The floor under a text that a model wrote from answers: whether it answers the request at all.
//!
//! It does not judge how good a text is, only what cannot be an answer: a lone label, our own prompt, talk about the
//! candidates, a loop, another topic. The verdict depends on recorded things alone (the request, the candidates, the reply,
//! the codes), so a run that is resumed or replayed comes to the same. Its time is linear in the texts. In doubt a text
//! stands: whatever the candidates do themselves, a text may do, too.

mod blank;
mod echo;
mod garbled;
mod hollow;
mod leaks;
mod loops;
mod pick;
mod support;
mod talk;
mod template;
mod topic;
mod turns;
mod unfinished;
mod usage;
mod vocabulary;
mod words;

use std::fmt;

/// What a text is judged by.
#[derive(Clone, Copy, Debug)]
pub struct FloorBasis<'a> {
    /// The request, all its messages.
    pub request: &'a str,
    /// The candidates with their labels, as the model was shown them.
    pub candidates: &'a [(&'a str, &'a str)],
    /// The codes the prompt can have had.
    pub codes: &'a [String],
    /// Whether the text stopped at the output cap although another text can be had.
    pub is_cut: bool,
}

/// What a text comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FloorVerdict {
    /// The text, without what leaked into it of the form.
    Sound(String),
    /// It only names the candidate at this index.
    Picks(usize),
    /// It is no answer.
    Unusable(Reason),
}

/// Why a text is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// There is no text.
    Empty,
    /// It stops before its end: at the output cap, or where more must follow.
    Cut,
    /// It has markers or JSON of the form.
    Form,
    /// It quotes our prompt.
    Prompt,
    /// It is about the candidates.
    Talk,
    /// It repeats itself.
    Loop,
    /// It is damaged.
    Garbled,
    /// It only announces an answer, or is a placeholder.
    Placeholder,
    /// It repeats the request.
    Echo,
    /// It shares nothing with the request or the candidates.
    Topic,
    /// It is in another language than the request and the candidates.
    Language,
}

impl fmt::Display for Reason {
    /// A clause about the text: `it repeats itself`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Empty => "it is empty",
            Self::Cut => "it stops before its end",
            Self::Form => "it contains markers or JSON of the requested form",
            Self::Prompt => "it repeats the instructions",
            Self::Talk => "it talks about the candidates instead of answering",
            Self::Loop => "it repeats the same words again and again",
            Self::Garbled => "it is garbled",
            Self::Placeholder => "it announces an answer and gives none",
            Self::Echo => "it repeats the request",
            Self::Topic => "it has nothing in common with the request or the answers",
            Self::Language => "it is in another language than the request and the answers",
        })
    }
}

/// Whether a text fails in one way.
type Check = fn(&str, &FloorBasis<'_>) -> bool;

impl FloorBasis<'_> {
    /// Judges a text that was read from a reply.
    pub fn judge(&self, text: &str) -> FloorVerdict {
        let text = text.trim();
        if self.is_cut {
            return FloorVerdict::Unusable(Reason::Cut);
        }
        // Word for word one of the candidates is never worse than what stands if the text is refused.
        if !text.is_empty() && self.candidates.iter().any(|(_, candidate)| candidate.trim() == text) {
            return FloorVerdict::Sound(text.to_owned());
        }
        let cleaned = leaks::without(text, self);
        let text = cleaned.trim();
        match self.reason(text) {
            Ok(None) => FloorVerdict::Sound(text.to_owned()),
            Ok(Some(candidate)) => FloorVerdict::Picks(candidate),
            Err(reason) => FloorVerdict::Unusable(reason),
        }
    }

    /// The candidate that a text without leaks only names, if it does so, or why it is no answer.
    fn reason(&self, text: &str) -> Result<Option<usize>, Reason> {
        if text.is_empty() {
            return Err(Reason::Empty);
        }
        if leaks::remain(text, self) {
            return Err(Reason::Form);
        }
        if let Some(picked) = pick::read(text, self)? {
            return Ok(Some(picked));
        }
        let checks: [(Check, Reason); 13] = [
            (blank::is_all, Reason::Placeholder),
            (hollow::is_all, Reason::Placeholder),
            (template::is_quoted, Reason::Prompt),
            (talk::is_about_candidates, Reason::Talk),
            (loops::dominate, Reason::Loop),
            (garbled::is_so, Reason::Garbled),
            (echo::is_request, Reason::Echo),
            (support::is_of_task, Reason::Talk),
            (support::is_question, Reason::Echo),
            (topic::is_other, Reason::Topic),
            (support::is_missing, Reason::Topic),
            (topic::is_in_other_language, Reason::Language),
            (unfinished::is_open, Reason::Cut),
        ];
        checks.into_iter().find(|(fails, _)| fails(text, self)).map_or(Ok(None), |(_, reason)| Err(reason))
    }

    /// The request and the texts of the candidates.
    fn material(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.request).chain(self.candidates.iter().map(|(_, text)| *text))
    }
}
