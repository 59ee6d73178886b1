//! A model behind the value of `-m`, without its own `-m`: it would be sent as a word of the question.

use std::ffi::OsString;

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_service::Models;

use super::typed_line;

/// Refuses a word behind the value of `-m` that is the name of another model: `-m` takes one.
pub(super) async fn check(words: &[String], models: &Models) -> Result<(), Failure> {
    let mut named = Vec::new();
    for word in words {
        if models.is_name(word).await? {
            named.push(word.as_str());
        }
    }
    if named.is_empty() {
        return Ok(());
    }
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let line = typed_line::again(&arguments, |_, word| {
        named.contains(&word).then(|| vec!["-m".to_owned(), typed_line::quoted(word)])
    });
    let shown = named.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let message = format!("`-m` takes one model, and {shown} behind it would be sent as text");
    Err(Failure::new(Code::Usage, message).with_next(Next::Type(line.into())))
}
