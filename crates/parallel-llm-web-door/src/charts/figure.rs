//! A figure: a heading, a sentence, a picture, and its table.

use askama::Template;

use super::table::Table;
use crate::respond::rendered;
use crate::text::figures::count;

/// A figure on the page.
#[derive(Template)]
#[template(path = "models/figure.html")]
struct Section<'a> {
    figure: &'a Figure,
    days: u32,
}

/// A figure.
pub(crate) struct Figure {
    /// Its id on the page, and the name of its CSV.
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// What it shows, and of how many cases.
    pub(crate) sentence: String,
    /// How its marks are read.
    pub(crate) reading: &'static str,
    /// The picture; `None` if there is nothing to draw.
    pub(crate) svg: Option<String>,
    pub(crate) table: Table,
    /// The table of the CSV if it has more rows than a page shows.
    pub(crate) details: Option<Table>,
}

impl Figure {
    /// The section of the page for the period of so many days.
    pub(crate) fn section(&self, days: u32) -> String {
        rendered(&Section { figure: self, days })
    }

    /// Comma-separated values.
    pub(crate) fn csv(&self) -> String {
        self.details.as_ref().unwrap_or(&self.table).csv()
    }
}

/// `1 call of 1 model`, `1,234 calls of 5 models`.
pub(super) fn calls_described(calls: u64, models: usize) -> String {
    format!("{} of {}", counted(calls, "call"), counted(models as u64, "model"))
}

/// A number with its noun.
pub(super) fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// An amount in USD; `unknown` if it is.
pub(super) fn money(usd: Option<f64>) -> String {
    let amount = usd.and_then(parallel_llm_engine::PicoUsd::from_f64);
    amount.map_or_else(|| "unknown".to_owned(), |amount| amount.to_string())
}

/// A share in percent without digits.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
