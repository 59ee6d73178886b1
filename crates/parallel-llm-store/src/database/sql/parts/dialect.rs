//! The few words in which the databases differ.

use crate::row::ownership::LeaseRule;
use crate::row::text_row::WordMatching;

/// The words of a database.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// Ends a selection whose rows nobody else may change until the transaction has ended. It is as strong as an update of the
    /// rows, and no stronger: rows of other tables may refer to them meanwhile.
    pub(crate) lock: &'static str,
    /// The same, without the rows that another process has locked.
    pub(crate) lock_free: &'static str,
    /// The entries of a JSON list, with their positions, whose parameter stands between these.
    pub(crate) entries: (&'static str, &'static str),
    /// A sum of integers, which is zero without rows and has a bound, whose summand stands between these.
    pub(crate) total: (&'static str, &'static str),
    /// The day (UTC) of a request, and a second column without content.
    pub(crate) sent_day: &'static str,
    /// Grows with each run that is written.
    pub(crate) written: &'static str,
    /// Lets rows be inserted with the ids that they have.
    pub(crate) with_ids: &'static str,
    /// Selects the texts that the index of words finds, newest first: [`Passage`](crate::row::text_row::Passage), with the text
    /// itself if `$1`, and `$2` is what `words` gives.
    pub(crate) passages: &'static str,
    /// The words of these phrases in the language of the index; `None` if no text can have one.
    pub(crate) words: fn(&[Vec<String>], WordMatching) -> Option<String>,
    /// How it is known whether the owner of a run or a claim is still there.
    pub(crate) lease_rule: LeaseRule,
}

impl Dialect {
    /// The entries of a JSON list: a table with the columns `value` and `position`.
    pub(crate) fn entries(&self, parameter: &str) -> String {
        format!("{}{parameter}{}", self.entries.0, self.entries.1)
    }

    /// The sum of the most that these calls can have cost: [`i64::MAX`] if one of them has neither a cost nor a price.
    pub(crate) fn most(&self, calls: &str) -> String {
        self.total(&format!(
            "CASE WHEN {calls} THEN COALESCE(cost_pico_usd, worst_pico_usd, {}) END",
            i64::MAX
        ))
    }

    /// A sum of integers, at most [`i64::MAX`].
    pub(crate) fn total(&self, summand: &str) -> String {
        format!("{}{summand}{}", self.total.0, self.total.1)
    }
}
