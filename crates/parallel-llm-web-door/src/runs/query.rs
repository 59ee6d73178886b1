//! What a visitor looks for: words, facets and the place in the list, as the page's address holds it.

use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure, RunStatus};
use parallel_llm_service::{Day, FacetFilter, PRESET_MARK, RunsQuery};
use serde::{Deserialize, Serialize};

/// The longest quoted value, in characters.
const QUOTED_CHARS: usize = 40;

/// The query of the page's address.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Search {
    /// Words that every run must contain.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) q: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) status: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) model: String,
    /// A preset or flow. Runs are found by one model or by one of these.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) preset: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) strategy: String,
    /// A day in UTC, `2026-11-23`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) day: String,
    /// The run before which this page begins.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) before: String,
}

impl Search {
    /// As the service takes it.
    pub(super) fn query(&self) -> Result<RunsQuery, Failure> {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let misread = |name: &str, text: &str, example: &'static str| {
            let message = format!("`{name}` cannot have `{}`", excerpt(text, QUOTED_CHARS));
            Failure::new(Code::Usage, message).with_next(Next::WriteAs(example.into()))
        };
        let status = given(&self.status)
            .map(|word| RunStatus::by_word(&word).ok_or_else(|| misread("status", &word, "complete")));
        let day =
            given(&self.day).map(|day| day.parse::<Day>().map_err(|_| misread("day", &day, "2026-11-23")));
        let before = given(&self.before)
            .map(|run| run.parse().map_err(|_| misread("before", &run, "01KAV3Q5W3V0W1W6T8V2N1J5ZC")));
        let filter = FacetFilter {
            status: status.transpose()?,
            model: given(&self.preset)
                .map(|name| format!("{PRESET_MARK}{name}"))
                .or_else(|| given(&self.model)),
            strategy: given(&self.strategy),
            day: day.transpose()?,
        };
        Ok(RunsQuery { words: given(&self.q), filter, before: before.transpose()?, ..RunsQuery::default() })
    }

    /// Whether it leaves nothing out.
    pub(super) fn is_empty(&self) -> bool {
        [&self.q, &self.status, &self.model, &self.preset, &self.strategy, &self.day]
            .into_iter()
            .all(|text| text.trim().is_empty())
    }

    /// The address of the page with this change, from the first run on.
    pub(super) fn address(&self, change: impl FnOnce(&mut Self)) -> String {
        let mut search = Self { before: String::new(), ..self.clone() };
        change(&mut search);
        let pairs = [
            ("q", &search.q),
            ("status", &search.status),
            ("model", &search.model),
            ("preset", &search.preset),
            ("strategy", &search.strategy),
            ("day", &search.day),
            ("before", &search.before),
        ];
        let given = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        let written: Vec<String> = given.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        if written.is_empty() { "/runs".to_owned() } else { format!("/runs?{}", written.join("&")) }
    }
}

/// A value in an address.
fn encoded(value: &str) -> String {
    percent_encoding::utf8_percent_encode(value, percent_encoding::NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_what_was_chosen_and_begins_anew() {
        let search = Search {
            q: "a b&c".to_owned(),
            status: "failed".to_owned(),
            before: "X".to_owned(),
            ..Search::default()
        };
        assert_eq!(search.address(|_| ()), "/runs?q=a%20b%26c&status=failed");
        assert_eq!(search.address(|search| search.status.clear()), "/runs?q=a%20b%26c");
        assert_eq!(Search::default().address(|_| ()), "/runs");
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let refused = |search: Search| search.query().unwrap_err().message;
        assert_eq!(
            refused(Search { status: "done".to_owned(), ..Search::default() }),
            "`status` cannot have `done`"
        );
        assert_eq!(
            refused(Search { day: "today".to_owned(), ..Search::default() }),
            "`day` cannot have `today`"
        );
        assert_eq!(
            refused(Search { before: "x".to_owned(), ..Search::default() }),
            "`before` cannot have `x`"
        );
    }
}
