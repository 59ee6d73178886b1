//! Plain-text tables: columns as wide as their widest cell, numbers right-aligned. On a terminal a table is no wider than
//! that: columns that may be missing are dropped, then words are cut.

use unicode_width::UnicodeWidthStr;

use super::columns::shortened;
use parallel_llm_engine::text::safe;

/// The space between columns.
const GAP: &str = "  ";
/// The title that stands for dropped columns.
const DROPPED: &str = "…";

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The title.
    pub title: &'static str,
    /// Whether its cells are right-aligned numbers.
    pub is_number: bool,
    /// The most characters a cell shows; longer ones are cut.
    pub chars_max: usize,
    /// The width to which its cells are cut if there is no room; `None` if they stay whole.
    pub width_min: Option<usize>,
    /// The width that it has even if its cells are shorter, so that the next column stays where it is as they grow.
    pub width: usize,
    /// When it is dropped if there is no room: the lowest first; `None` if never.
    pub dropped: Option<u8>,
}

impl Column {
    /// A column of text.
    pub const fn words(title: &'static str, chars_max: usize) -> Self {
        Self { title, is_number: false, chars_max, width_min: None, width: 0, dropped: None }
    }

    /// A column of numbers.
    pub const fn numbers(title: &'static str) -> Self {
        Self { is_number: true, ..Self::words(title, 20) }
    }

    /// The column with cells that may be cut to this width.
    #[must_use]
    pub const fn cut_to(self, width_min: usize) -> Self {
        Self { width_min: Some(width_min), ..self }
    }

    /// The column with this width, or that of its widest cell.
    #[must_use]
    pub const fn of_width(self, width: usize) -> Self {
        Self { width, ..self }
    }

    /// The column as one that may be dropped, those of lower order before it.
    #[must_use]
    pub const fn dropped(self, order: u8) -> Self {
        Self { dropped: Some(order), ..self }
    }
}

/// A table within a width.
pub struct Fitted {
    /// The titles and the rows, a line each.
    pub lines: Vec<String>,
    /// The titles of the columns that were dropped.
    pub dropped: Vec<&'static str>,
}

/// A column and its cells, the title first.
struct Cells {
    column: Column,
    texts: Vec<String>,
    width: usize,
}

impl Cells {
    fn least(&self) -> usize {
        self.column.width_min.map_or(self.width, |least| least.min(self.width))
    }
}

/// The titles and the rows, a line each, of any width.
pub fn lines(columns: &[Column], rows: &[Vec<String>]) -> Vec<String> {
    fitted(columns, rows, None).lines
}

/// The titles and the rows in lines of this width at most; `None` for any width. Cells may hold untrusted text.
pub fn fitted(columns: &[Column], rows: &[Vec<String>], width: Option<usize>) -> Fitted {
    let cells = columns.iter().enumerate().map(|(index, column)| {
        let cells = rows.iter().map(|row| safe::excerpt(&row[index], column.chars_max));
        let texts: Vec<String> = std::iter::once(column.title.to_owned()).chain(cells).collect();
        let width = texts.iter().map(|cell| cell.width()).fold(column.width, usize::max);
        Cells { column: *column, texts, width }
    });
    let mut cells: Vec<Cells> = cells.collect();
    let dropped = width.map(|width| fit(&mut cells, width)).unwrap_or_default();
    let line = |row: usize| {
        let cells = cells.iter().map(|Cells { column, texts, width }| {
            let cell = shortened(&texts[row], *width);
            let room = " ".repeat(width.saturating_sub(cell.width()));
            if column.is_number { room + &cell } else { cell + &room }
        });
        let mark = (row == 0 && !dropped.is_empty()).then(|| DROPPED.to_owned());
        cells.chain(mark).collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    };
    Fitted { lines: (0..=rows.len()).map(line).collect(), dropped }
}

/// Drops columns until the others fit when cut, then cuts the widest. Returns the titles of the dropped ones.
fn fit(cells: &mut Vec<Cells>, width: usize) -> Vec<&'static str> {
    let mut dropped: Vec<&'static str> = Vec::new();
    let room = |dropped: &[&str], count: usize| {
        let mark = if dropped.is_empty() { 0 } else { GAP.len() + DROPPED.width() };
        width.saturating_sub(mark + count.saturating_sub(1) * GAP.len())
    };
    while cells.iter().map(Cells::least).sum::<usize>() > room(&dropped, cells.len()) {
        let first =
            cells.iter().enumerate().filter_map(|(index, one)| Some((one.column.dropped?, index))).min();
        let Some((_, index)) = first else { break };
        dropped.push(cells.remove(index).column.title);
    }
    let room = room(&dropped, cells.len());
    loop {
        let excess = cells.iter().map(|one| one.width).sum::<usize>().saturating_sub(room);
        let widest = cells.iter_mut().filter(|one| one.width > one.least()).max_by_key(|one| one.width);
        let Some(widest) = widest.filter(|_| excess > 0) else { return dropped };
        widest.width -= 1;
    }
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
            fitted(&columns, &rows, None).lines,
            ["NAME    TOKENS  NOTE", "日本         1", "much…  1000000  x[2J"]
        );
    }

    #[test]
    fn a_narrow_terminal_has_fewer_and_shorter_columns() {
        let columns = [
            Column::words("NAME", 40).cut_to(6),
            Column::numbers("TOKENS").dropped(2),
            Column::words("NOTE", 40).cut_to(4).dropped(1),
            Column::numbers("COST"),
        ];
        let row = ["anthropic/claude", "1000", "it is a long one", "$1.20"];
        let rows = [row.map(str::to_owned).to_vec()];
        let check = |width: usize, expected: [&str; 2], dropped: &[&str]| {
            let fitted = fitted(&columns, &rows, Some(width));
            assert_eq!(fitted.lines, expected, "{width}");
            assert_eq!(fitted.dropped, dropped, "{width}");
            assert!(fitted.lines.iter().all(|line| line.width() <= width), "{width}: {:?}", fitted.lines);
        };
        check(
            49,
            [
                "NAME              TOKENS  NOTE               COST",
                "anthropic/claude    1000  it is a long one  $1.20",
            ],
            &[],
        );
        check(34, ["NAME       TOKENS  NOTE       COST", "anthropi…    1000  it is a…  $1.20"], &[]);
        check(24, ["NAME    TOKENS   COST  …", "anthr…    1000  $1.20"], &["NOTE"]);
        check(18, ["NAME       COST  …", "anthrop…  $1.20"], &["NOTE", "TOKENS"]);
    }
}
