//! Compresses a reply that is sent whole. Streams are left alone: compressed events would arrive late.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::header::CONTENT_TYPE;

use crate::reply::{Head, Reply, Step};

/// The reply in gzip, if it is a whole body.
pub(crate) fn compress(mut reply: Reply) -> Reply {
    if is_stream(&reply) {
        return reply;
    }
    let [Step::Send { bytes, .. }] = reply.steps.as_mut_slice() else { return reply };
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("writing to memory cannot fail");
    *bytes = encoder.finish().expect("writing to memory cannot fail");
    reply.header("content-encoding", "gzip")
}

fn is_stream(reply: &Reply) -> bool {
    let Head::Status(_, headers) = &reply.head else { return false };
    headers.iter().any(|(name, value)| *name == CONTENT_TYPE && value == "text/event-stream")
}
