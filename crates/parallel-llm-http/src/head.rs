//! The limit on the head of a request.
//!
//! The connection below reads in blocks and refuses only what exceeds its buffer, which is somewhat larger than the
//! limit. Here the limit is exact.

use axum::extract::Request;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

use crate::answer::failure;
use crate::answer::refusal::Refusal;
use crate::answer::status::Fault;

/// The bytes of a head beside its method, target, names and values: the version, the separators and the line ends.
const FRAME_BYTES: usize = "  HTTP/1.1\r\n\r\n".len();
const LINE_BYTES: usize = ": \r\n".len();

/// Admits a request with a head of at most this many bytes.
pub(super) fn check(request: &Request, bytes_max: usize) -> Result<(), Refusal> {
    if bytes(request) <= bytes_max {
        return Ok(());
    }
    let message = format!("the head of a request has at most {bytes_max} bytes");
    let failure = Failure::new(Code::Usage, message).with_next(Advice::SendFewerHeaders);
    Err(failure::refusal(Fault::HeadTooLarge, &failure).into())
}

/// The length of the head in its usual spelling.
fn bytes(request: &Request) -> usize {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let lines = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + LINE_BYTES);
    FRAME_BYTES + request.method().as_str().len() + target + lines.sum::<usize>()
}
