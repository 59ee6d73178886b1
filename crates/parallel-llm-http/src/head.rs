//! How long the head of a request may be.
//!
//! The connection below reads in blocks and refuses what no longer fits into its buffer, which is somewhat above the
//! bound. Here the bound is kept to the byte, whatever came with it in a block.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

use super::status::Fault;
use crate::failure;

/// What stands in the head of a request besides its method, target, names and values: the version and the line ends of
/// the first line and of the last, and what is between a name and its value and behind that.
const FRAME_BYTES: usize = "  HTTP/1.1\r\n\r\n".len();
const LINE_BYTES: usize = ": \r\n".len();

/// Lets a request pass whose head has at most so many bytes.
pub(super) async fn check(State(bytes_max): State<usize>, request: Request, next: Next) -> Response {
    if bytes(&request) <= bytes_max {
        return next.run(request).await;
    }
    let message = format!("the head of a request has at most {bytes_max} bytes");
    let failure = Failure::new(Code::Usage, message).with_next(Advice::SendFewerHeaders);
    failure::refusal(Fault::HeadTooLarge, &failure)
}

/// The length of the head as it is usually written.
fn bytes(request: &Request) -> usize {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let lines = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + LINE_BYTES);
    FRAME_BYTES + request.method().as_str().len() + target + lines.sum::<usize>()
}
