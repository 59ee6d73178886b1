//! Shortens the answers in a prompt until it fits the context window of its model.

use crate::request::Message;
use crate::request::panel::SeatNumber;
use crate::value::usage::{BYTES_PER_TOKEN, tokens_in};

use super::{CODE_SAMPLE, Candidate, LINE_PREFIX, Task, asked, block, instructions, is_line_end};

/// Tokens kept free for remarks on candidates and for tokenizers that count more than the estimate.
const MARGIN_TOKENS: u64 = 1_000;
/// The least size of a shortened candidate in bytes; less would be no useful answer.
const CANDIDATE_BYTES_MIN: usize = 500;
/// The mark at the end of a shortened candidate.
pub(super) const CUT_MARK: &str = "\n[shortened here to fit]";

/// The context window of a model, and what part of it is used.
#[derive(Clone, Copy, Debug)]
pub struct ContextWindow {
    /// Tokens of prompt and output together.
    pub context_tokens: u64,
    /// Tokens of the output at its cap.
    pub output_tokens: u32,
    /// The most tokens of each candidate; `None` means all.
    pub candidate_tokens: Option<u32>,
}

/// Shortens each candidate to `candidate_tokens`, and then the longest ones until the prompt fits, markers and line prefixes
/// included. Returns the seats whose candidates were shortened, with their earlier lengths in characters.
pub fn fit(
    task: Task,
    candidates: &mut [Candidate],
    request: &[Message],
    window: ContextWindow,
) -> Vec<(SeatNumber, usize)> {
    let in_bytes =
        |tokens: u64| usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX);
    let most = window.candidate_tokens.map_or(usize::MAX, |tokens| in_bytes(tokens.into()));
    // As if the request were repeated: whether it is depends on the length of the candidates.
    let (request_block, again) = asked(task, request, CODE_SAMPLE, usize::MAX);
    let files = if task.answers() { request.iter().map(Message::files_weight_bytes).sum() } else { 0 };
    let markers = candidates.len() * block("candidate AA", CODE_SAMPLE, "").len();
    let system = instructions(task, CODE_SAMPLE).len();
    let ours = system + task.user().len() + request_block.len() + again.len() + markers;
    let fixed = tokens_in(ours as u64 + files);
    let free = window.context_tokens.saturating_sub(fixed + u64::from(window.output_tokens) + MARGIN_TOKENS);
    let lengths = candidates.iter().map(|one| prefixed_bytes(&one.text).min(most));
    let cap = level(lengths, in_bytes(free)).min(most);
    let mut shortened = Vec::new();
    for candidate in candidates.iter_mut() {
        // `most` bounds the text, `cap` the text with its line prefixes.
        let is_long = candidate.text.len() > most || prefixed_bytes(&candidate.text) > cap && cap < most;
        let keep = match (is_long, cap < most) {
            (false, _) => continue,
            (true, true) => {
                let keep =
                    prefixed_to(&candidate.text, cap.saturating_sub(CUT_MARK.len() + LINE_PREFIX.len()));
                keep.min(most.saturating_sub(CUT_MARK.len()))
            }
            (true, false) => most.saturating_sub(CUT_MARK.len()),
        };
        let keep = candidate.text.floor_char_boundary(keep.max(CANDIDATE_BYTES_MIN));
        if keep < candidate.text.len() {
            let chars = candidate.text.chars().count();
            candidate.text = cut(&candidate.text[..keep]);
            candidate.shown_bytes = Some(keep);
            shortened.push((candidate.seat, chars));
        }
    }
    shortened
}

/// The beginning of a text, with a mark that it goes on.
pub(crate) fn cut(beginning: &str) -> String {
    format!("{beginning}{CUT_MARK}")
}

/// The most bytes a text takes in its block, without the markers.
fn prefixed_bytes(text: &str) -> usize {
    text.len() + text.chars().filter(|one| is_line_end(*one)).count() * LINE_PREFIX.len()
}

/// The length of the beginning of a text that takes `bytes` bytes in its block.
fn prefixed_to(text: &str, bytes: usize) -> usize {
    let mut used = 0;
    let mut ends = text.char_indices().map(|(at, one)| {
        used += one.len_utf8() + if is_line_end(one) { LINE_PREFIX.len() } else { 0 };
        (at, used)
    });
    ends.find(|(_, used)| *used > bytes).map_or(text.len(), |(at, _)| at)
}

/// The cap on every text with which all fit the allowance together; the longest are shortened first.
fn level(lengths: impl Iterator<Item = usize>, allowance: usize) -> usize {
    let mut sorted: Vec<usize> = lengths.collect();
    sorted.sort_unstable();
    let mut left = allowance;
    for (index, length) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - index);
        if *length > share {
            return share;
        }
        left -= length;
    }
    usize::MAX
}
