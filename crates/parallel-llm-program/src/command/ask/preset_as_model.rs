//! The name of a preset behind `-m`, which takes models.

use std::ffi::OsString;

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};

use crate::command::context::CommandContext;
use crate::command::line::typed_line;

/// Refuses a value of `-m` that is the name of a preset or flow and of no model.
pub(super) async fn check(context: &CommandContext<'_>, models: &[String]) -> Result<(), Failure> {
    for name in models {
        if context.service.settings.named(name).is_err() || context.service.models.is_name(name).await? {
            continue;
        }
        let arguments: Vec<OsString> = std::env::args_os().collect();
        let text = |at: usize| arguments.get(at).and_then(|word| word.to_str()).unwrap_or_default();
        let line = typed_line::again(&arguments, |at, word| match word {
            "-m" | "--model" if text(at + 1) == name => Some(vec!["--preset".to_owned()]),
            _ => None,
        });
        let message = format!("`{name}` is a preset, and `-m` takes a model");
        return Err(Failure::new(Code::ModelUnknown, message).with_next(Next::Type(line.into())));
    }
    Ok(())
}
