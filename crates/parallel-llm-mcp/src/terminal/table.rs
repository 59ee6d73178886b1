//! Plain-text tables: columns as wide as their widest cell, numbers right-aligned.

use unicode_width::UnicodeWidthStr;

use parallel_llm_engine::text::safe;

/// The space between columns.
const GAP: &str = "  ";

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The title.
    pub title: &'static str,
    /// Whether its cells are right-aligned numbers.
    pub is_number: bool,
    /// The most characters a cell shows; longer ones are cut.
    pub chars_max: usize,
}

impl Column {
    /// A column of text.
    pub const fn words(title: &'static str, chars_max: usize) -> Self {
        Self { title, is_number: false, chars_max }
    }

    /// A column of numbers.
    pub const fn numbers(title: &'static str) -> Self {
        Self { title, is_number: true, chars_max: 20 }
    }
}

/// The titles and the rows, a line each. Cells may hold untrusted text.
pub fn lines(columns: &[Column], rows: &[Vec<String>]) -> Vec<String> {
    let titles: Vec<String> = columns.iter().map(|column| column.title.to_owned()).collect();
    let shown: Vec<Vec<String>> = std::iter::once(&titles)
        .chain(rows)
        .map(|row| {
            let cells = row.iter().zip(columns);
            cells.map(|(cell, column)| safe::excerpt(cell, column.chars_max)).collect()
        })
        .collect();
    let widest = |index: usize| shown.iter().map(|row| row[index].width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(widest).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(columns).zip(&widths).map(|((cell, column), width)| {
            let room = " ".repeat(width.saturating_sub(cell.width()));
            if column.is_number { room + cell } else { cell.clone() + &room }
        });
        cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    };
    shown.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let columns = [Column::words("NAME", 6), Column::numbers("TOKENS"), Column::words("NOTE", 9)];
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [row(["日本", "1", ""]), row(["much too long", "1000000", "x\u{1b}[2J"])];
        assert_eq!(
            lines(&columns, &rows),
            ["NAME    TOKENS  NOTE", "日本         1", "much…  1000000  x[2J"]
        );
    }
}
