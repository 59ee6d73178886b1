//! The mark of long results.

use rmcp::model::MetaObject;
use serde_json::json;

/// The longest result that a client may keep in its context, in characters; one client moves more than 50,000 into a
/// file unless told otherwise. An answer is cut at 100,000, and is in a result twice.
const RESULT_CHARS_MAX: u64 = 250_000;

/// The mark that tells clients that a result may be long.
pub(super) fn long_results() -> MetaObject {
    let mut meta = MetaObject::default();
    meta.0.insert("anthropic/maxResultSizeChars".to_owned(), json!(RESULT_CHARS_MAX));
    meta
}
