//! Tables with a column of secrets: as programs export them, and as pages and notes draw them.
//!
//! What always holds: a row counts only below a line of names that has as many cells, and only the last such line is kept.

use super::lines::allows;
use crate::attachment::secret::judgement::names::NameOfSecret;
use crate::attachment::secret::judgement::strength::{is_mixed, is_strong};
use crate::attachment::secret::judgement::value::is_literal;

/// Columns of an exported table that hold secrets.
const SECRET_COLUMNS: &[&str] = &[
    "secret access key",
    "password",
    "login_password",
    "passwort",
    "api key",
    "api_key",
    "apikey",
    "secret",
];
/// What separates the cells of a table.
const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];
/// The longest name of a column, and the most columns.
const NAME_BYTES_MAX: usize = 32;
const COLUMNS_MAX: usize = 64;
/// The longest line of a table, in bytes.
const LINE_BYTES_MAX: usize = 8 * 1024;

/// The names of the last table, as far as one of them is that of a secret.
#[derive(Default)]
pub(crate) struct Table {
    head: Option<Head>,
}

struct Head {
    separator: char,
    cells: usize,
    secrets: Vec<(usize, NameOfSecret)>,
}

impl Table {
    /// Whether the next line is a row with a secret.
    pub(crate) fn holds_secret(&mut self, line: &str) -> bool {
        if line.len() > LINE_BYTES_MAX {
            return false;
        }
        let line = line.trim_start_matches(['+', '-', ' ']).trim();
        if inserts_secret(line) {
            return true;
        }
        if let Some(head) = &self.head
            && line.matches(head.separator).count() + 1 >= head.cells
        {
            let row = cells(line, head.separator);
            return head
                .secrets
                .iter()
                .any(|(column, name)| row.get(*column).is_some_and(|value| is_secret(*name, value)));
        }
        self.head = Head::of(line);
        false
    }
}

fn is_secret(name: NameOfSecret, value: &str) -> bool {
    let value = value.trim_matches(['`', '*']);
    (name == NameOfSecret::Password && is_mixed(value)) || is_strong(name, value, true)
}

impl Head {
    /// The names of a table; `None` if this line has none, or none of a secret.
    fn of(line: &str) -> Option<Self> {
        let separator = SEPARATORS.into_iter().rev().find(|separator| line.contains(*separator))?;
        let names = cells(line, separator);
        let is_name = |name: &&str| {
            name.len() <= NAME_BYTES_MAX && name.chars().all(|it| it.is_alphanumeric() || " _-".contains(it))
        };
        // A list in code has a comma behind each of its names.
        let is_open = separator != '|' && names.iter().any(|name| name.is_empty());
        if is_open || names.len() < 2 || names.len() > COLUMNS_MAX || !names.iter().all(is_name) {
            return None;
        }
        let secrets: Vec<_> = names
            .iter()
            .enumerate()
            .filter_map(|(column, name)| Some((column, NameOfSecret::of(name)?)))
            .collect();
        (!secrets.is_empty()).then_some(Self { separator, cells: names.len(), secrets })
    }
}

/// `INSERT INTO users (name, password) VALUES ('ada', '...')`.
fn inserts_secret(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let Some((columns, values)) = lower.find("values").map(|at| (&line[..at], &line[at..])) else {
        return false;
    };
    let inner =
        |text: &str| text.split_once('(').and_then(|(_, rest)| Some(rest.split_once(')')?.0.to_owned()));
    let Some((columns, values)) = inner(columns).zip(inner(values)) else { return false };
    let values = cells(&values, ',');
    cells(&columns, ',').iter().take(COLUMNS_MAX).enumerate().any(|(column, name)| {
        let value = values.get(column).map(|value| value.trim_matches('\''));
        NameOfSecret::of(name.trim_matches('`'))
            .zip(value)
            .is_some_and(|(name, value)| is_secret(name, value))
    })
}

fn cells(line: &str, separator: char) -> Vec<&str> {
    line.split(separator).map(|cell| cell.trim().trim_matches('"')).collect()
}

/// A table as programs export it, as a whole text: a line of names, one of them that of a secret, and a value below it.
pub(super) fn is_exported(lines: &[&str]) -> bool {
    let Some((head, rows)) = lines.split_first() else { return false };
    let Some(separator) = SEPARATORS.into_iter().take(3).find(|separator| head.contains(*separator)) else {
        return false;
    };
    let names = cells(head, separator);
    let is_secret = |name: &str| SECRET_COLUMNS.contains(&name.to_lowercase().as_str());
    let columns: Vec<usize> = (0..names.len()).filter(|column| is_secret(names[*column])).collect();
    let is_row = |line: &&&str| line.matches(separator).count() + 1 >= names.len();
    let rows_that_fit = rows.iter().filter(is_row).count();
    allows(rows_that_fit, rows.len())
        && rows
            .iter()
            .map(|row| cells(row, separator))
            .any(|row| columns.iter().any(|column| row.get(*column).is_some_and(|value| is_literal(value))))
}
