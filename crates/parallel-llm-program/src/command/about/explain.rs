//! `explain`: the meaning of an error code and its next steps.

use parallel_llm_engine::value::nearest::nearest;
use parallel_llm_engine::value::next::{Next, Operation};
use parallel_llm_engine::{Code, Failure};

use crate::exit;
use crate::terminal::console::Console;
use crate::terminal::vocabulary;

/// The code that a status of a provider most often becomes.
const STATUSES: &[(&str, Code)] = &[
    ("400", Code::BadRequest),
    ("401", Code::Auth),
    ("402", Code::Credits),
    ("403", Code::Forbidden),
    ("404", Code::ModelUnknown),
    ("408", Code::Timeout),
    ("413", Code::TooLarge),
    ("429", Code::RateLimited),
    ("500", Code::Upstream),
    ("502", Code::Upstream),
    ("503", Code::Upstream),
    ("504", Code::Upstream),
    ("529", Code::Upstream),
];

/// Prints the page of one code, or the list of all.
pub(in crate::command) fn run(console: &Console, code: Option<&str>) -> Result<u8, Failure> {
    let Some(name) = code else {
        let lines: Vec<String> =
            Code::ALL.iter().map(|code| format!("{:<18} {}", code.as_str(), code.about())).collect();
        console.page(&lines.join("\n"));
        return Ok(exit::ANSWER);
    };
    let Some(code) = Code::parse(name) else {
        let meant = STATUSES.iter().find(|(status, _)| *status == name).map(|(_, code)| code.as_str());
        let meant = meant.or_else(|| nearest(name, Code::ALL.iter().map(|code| code.as_str())));
        return Err(Failure::new(Code::Usage, format!("there is no error code `{name}`"))
            .with_next(meant.map_or(Next::Use(Operation::ListCodes), |code| Next::Meant(code.into()))));
    };
    console.page(&page(code));
    Ok(exit::ANSWER)
}

/// The page of a code.
pub(super) fn page(code: Code) -> String {
    let again =
        if code.retryable() { "yes, the same request may succeed later" } else { "no, not unchanged" };
    format!(
        "{code}\n\n{}\n\nWorth trying again: {again}\nWhat to do: {}\nExit code: {}",
        code.about(),
        vocabulary::describe(code.next()),
        exit::of(code)
    )
}
