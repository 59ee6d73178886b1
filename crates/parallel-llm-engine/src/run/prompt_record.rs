//! What prompts are made of.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::prompt::{Candidate, Exhibits, PeerRank, Task};
use crate::request::Message;
use crate::request::panel::SeatNumber;
use crate::run::outcome::Reading;

/// What a model is sent.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    pub(crate) messages: Arc<[Message]>,
    /// What it was made of, if it shows answers.
    pub(crate) record: Option<Box<PromptRecord>>,
}

/// What a prompt that shows answers was made of, besides the question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptRecord {
    /// The folder of its templates.
    pub task: String,
    /// The code of its markers.
    pub code: String,
    /// The answers of others, in the order of their labels `A`, `B`, ….
    pub answers: Vec<ShownAnswer>,
    /// The model's own earlier answer, which it was to revise. Only stored runs have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<ShownAnswer>,
    /// The reply whose analysis of the answers it shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<Reading>,
    /// The replies whose objections to the answers it shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<Reading>,
    /// BLAKE3 of its texts, in hexadecimal.
    pub hash: String,
}

/// An answer in a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownAnswer {
    /// The seat that gave it.
    pub seat: SeatNumber,
    /// BLAKE3 of its text, in hexadecimal, because a seat may answer several times.
    pub text_hash: String,
    /// How many of its bytes were shown; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    /// Whether the answer itself was cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stops_early: bool,
    /// The rank that was shown with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_rank: Option<PeerRank>,
    /// The votes that were shown with it. Only stored runs have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub votes: Option<Votes>,
}

/// How many of the other answers agreed with one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Votes {
    /// The number of those that agreed.
    pub same: usize,
    /// The number of others.
    pub of: usize,
}

impl PromptRecord {
    /// The record of these messages, which show these texts.
    pub(crate) fn new(
        task: Task,
        code: &str,
        Exhibits { candidates, .. }: Exhibits<'_>,
        (analysis, reviews): (Option<&Reading>, &[Reading]),
        messages: &[Message],
    ) -> Self {
        Self {
            task: task.name().to_owned(),
            code: code.to_owned(),
            answers: candidates.iter().map(ShownAnswer::of).collect(),
            own: None,
            analysis: analysis.cloned(),
            reviews: reviews.to_vec(),
            hash: hash(messages),
        }
    }
}

impl ShownAnswer {
    fn of(candidate: &Candidate) -> Self {
        Self {
            seat: candidate.seat,
            text_hash: candidate.answer_hash.clone(),
            bytes: candidate.shown_bytes,
            stops_early: candidate.stops_early,
            peer_rank: candidate.peer_rank,
            votes: None,
        }
    }
}

/// BLAKE3 of the texts of messages, each with its length, in hexadecimal.
pub(crate) fn hash(messages: &[Message]) -> String {
    let mut hasher = blake3::Hasher::new();
    for text in messages.iter().flat_map(Message::texts) {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}
