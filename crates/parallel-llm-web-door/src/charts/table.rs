//! The table of a figure, for the page and as CSV.

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    /// The names of the columns; the first is that of the rows.
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// The characters with which a spreadsheet begins a formula.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

impl Table {
    /// Comma-separated values (RFC 4180), which a spreadsheet reads as text and numbers only.
    pub(crate) fn csv(&self) -> String {
        let columns = self.columns.iter().map(|name| field(name));
        let rows = self.rows.iter().map(|row| row.iter().map(|cell| field(cell)).collect());
        let lines: Vec<Vec<String>> = std::iter::once(columns.collect()).chain(rows).collect();
        lines.iter().map(|line| line.join(",") + "\r\n").collect()
    }
}

fn field(text: &str) -> String {
    let text = if text.starts_with(FORMULA) { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\r', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// A number that may be unknown, as a cell.
pub(super) fn cell(number: Option<impl ToString>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

/// An amount of money in USD, as a cell.
pub(super) fn usd(amount: Option<f64>) -> String {
    cell(amount.map(|amount| format!("{amount:.6}")))
}

/// A share as a cell: four digits, which is what a thousand runs tell.
pub(super) fn share(share: Option<f64>) -> String {
    cell(share.map(|share| format!("{share:.4}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_no_formula_and_stays_in_its_field() {
        let names = ["=1+1", "+1", "-1", "@a", "\tb", "\rc", "a,b", "say \"hi\"", "two\nlines", "plain"];
        let rows = names.map(|name| vec![name.to_owned(), "1".to_owned()]).into();
        let table = Table { columns: vec!["Model", "Calls"], rows };
        assert_eq!(
            table.csv(),
            "Model,Calls\r\n'=1+1,1\r\n'+1,1\r\n'-1,1\r\n'@a,1\r\n'\tb,1\r\n\"'\rc\",1\r\n\"a,b\",1\r\n\
             \"say \"\"hi\"\"\",1\r\n\"two\nlines\",1\r\nplain,1\r\n"
        );
    }
}
