//! Completions for the arguments of prompts and addresses.
//!
//! What always holds: only cached data is used, the settings and lists on this machine and the principal's runs, so
//! that a menu opens at once and no provider is asked.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use parallel_llm_engine::Failure;
use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompletionInfo, Reference};

use crate::results::address;
use crate::{prompts, resources};
use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_service::{RunFilter, Services};

/// The longest value completed, in bytes: longer than any panel of 64 models.
const VALUE_BYTES_MAX: usize = 8_000;
/// The most runs offered, the newest: as many as a menu may hold.
const RUNS_MAX: usize = 500;
/// The parts of a run, without the answers of seats.
const PARTS: [&str; 5] = ["answer", "prompt", "plan", "events", "report"];

/// The completions of an argument, the best first.
pub(super) async fn complete(
    service: &Services,
    request: &CompleteRequestParams,
) -> Result<CompletionInfo, ErrorData> {
    let (argument, value) = (request.argument.name.as_str(), request.argument.value.as_str());
    let found = match &request.r#ref {
        Reference::Prompt(prompt) => {
            prompts::check(&prompt.name, argument)?;
            if argument == prompts::MODELS { models(service, value).await } else { Ok(Vec::new()) }
        }
        Reference::Resource(template) => {
            let has_part = template.uri == address::PART_TEMPLATE;
            match argument {
                "run_id" if has_part || template.uri == address::RUN_TEMPLATE => runs(service, value).await,
                "part" if has_part => {
                    let run_id = request.context.as_ref().and_then(|context| context.get_argument("run_id"));
                    Ok(parts(service, run_id.map(String::as_str), value).await)
                }
                _ => return Err(unknown(&template.uri, argument)),
            }
        }
        _ => return Err(ErrorData::invalid_params("`ref` is neither a prompt nor a resource", None)),
    };
    found.map(described).map_err(|failure| resources::error_of(&service.principal, failure))
}

fn unknown(template: &str, argument: &str) -> ErrorData {
    let (template, argument) = (excerpt(template, 80), excerpt(argument, 80));
    let message = format!(
        "there is no template `{template}` with an argument `{argument}`: there are `{}` and `{}`",
        address::RUN_TEMPLATE,
        address::PART_TEMPLATE
    );
    ErrorData::invalid_params(message, None)
}

fn described(mut found: Vec<String>) -> CompletionInfo {
    let total = u32::try_from(found.len()).ok();
    let has_more = found.len() > CompletionInfo::MAX_VALUES;
    found.truncate(CompletionInfo::MAX_VALUES);
    CompletionInfo::with_pagination(found, total, has_more).expect("the list was just cut to its bound")
}

/// The whole list with its last name completed, because the client replaces everything typed.
async fn models(service: &Services, value: &str) -> Result<Vec<String>, Failure> {
    if value.len() > VALUE_BYTES_MAX {
        return Ok(Vec::new());
    }
    let names = service.models.cached_names().await?;
    Ok(completed(value, &names))
}

fn completed(value: &str, names: &[String]) -> Vec<String> {
    let begins = value.rfind([',', ' ', '\t', '\n']).map_or(0, |at| at + 1);
    let (head, word) = value.split_at(begins);
    let word = plain(word);
    let named: BTreeSet<String> = head.split([',', ' ', '\t', '\n']).map(plain).collect();
    let fit = |name: &String| {
        let plain = plain(name);
        if named.contains(&plain) { None } else { closeness(&plain, &word) }
    };
    let mut found: Vec<(usize, &String)> = names.iter().filter_map(|name| Some((fit(name)?, name))).collect();
    // The sort is stable: equals keep the order of the names.
    found.sort_by_key(|(closeness, _)| Reverse(*closeness));
    found.into_iter().map(|(_, name)| format!("{head}{name}")).collect()
}

/// How well a name matches a word: by its start, the start of a part, or anywhere.
fn closeness(name: &str, word: &str) -> Option<usize> {
    if name.starts_with(word) {
        Some(2)
    } else if name.match_indices(['/', ':', '-']).any(|(at, _)| name[at + 1..].starts_with(word)) {
        Some(1)
    } else {
        name.contains(word).then_some(0)
    }
}

/// A name for comparison: without case and without the leading `~`.
fn plain(name: &str) -> String {
    name.trim_start_matches('~').to_lowercase()
}

async fn runs(service: &Services, value: &str) -> Result<Vec<String>, Failure> {
    let value = value.to_uppercase();
    let runs = service.runs.list(RunFilter { limit: RUNS_MAX, ..RunFilter::default() }).await?;
    let ids = runs.into_iter().map(|run| run.run_id.to_string());
    Ok(ids.filter(|run_id| run_id.starts_with(&value)).collect())
}

/// The parts of this run, or of any run if it is unknown.
async fn parts(service: &Services, run_id: Option<&str>, value: &str) -> Vec<String> {
    let run = match run_id {
        Some(run_id) => service.runs.watch(run_id).await.ok(),
        None => None,
    };
    let seats = run.map_or(1, |run| run.with_run(|run| run.seats.len()));
    let of_seats = (1..=seats).map(|seat| format!("answer:{seat}"));
    let parts = PARTS.into_iter().map(str::to_owned).chain(of_seats);
    parts.filter(|part| part.starts_with(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] =
        ["~openai/gpt-latest", "google/gemini-4", "openai/gpt-6", "ollama:gpt-oss", "x-ai/chatgpt-like"];

    #[track_caller]
    fn check(value: &str, expected: &[&str]) {
        assert_eq!(completed(value, &NAMES.map(str::to_owned)), expected, "{value}");
    }

    #[test]
    fn the_last_name_of_a_list_is_completed_the_best_first() {
        check("open", &["~openai/gpt-latest", "openai/gpt-6"]);
        check("GPT", &["~openai/gpt-latest", "openai/gpt-6", "ollama:gpt-oss", "x-ai/chatgpt-like"]);
        check("google/gemini-4, x", &["google/gemini-4, x-ai/chatgpt-like"]);
        check(
            "openai/gpt-6,google/gemini-4,gpt-",
            &[
                "openai/gpt-6,google/gemini-4,~openai/gpt-latest",
                "openai/gpt-6,google/gemini-4,ollama:gpt-oss",
                "openai/gpt-6,google/gemini-4,x-ai/chatgpt-like",
            ],
        );
        check("", &NAMES);
        check("zzz", &[]);
    }

    #[test]
    fn a_long_list_is_cut_and_counted() {
        let described = described((0..250).map(|number| number.to_string()).collect());
        assert_eq!(
            (described.values.len(), described.total, described.has_more),
            (100, Some(250), Some(true))
        );
    }
}
