//! Pieces of source text between two tokens, on one line and without comments.

use proc_macro2::LineColumn;

/// The text from one place of a file to another.
pub(super) fn between(source: &str, from: LineColumn, to: LineColumn) -> String {
    let lines = source.lines().enumerate().skip(from.line - 1).take(to.line + 1 - from.line);
    let cut = lines.map(|(index, line)| {
        let letters: Vec<char> = line.chars().collect();
        let begin = if index + 1 == from.line { from.column } else { 0 };
        let end = if index + 1 == to.line { to.column } else { letters.len() };
        letters[begin.min(end)..end].iter().collect::<String>()
    });
    one_line(&cut.map(|line| without_comment(&line)).collect::<Vec<_>>().join("\n"))
}

/// A line without its comment or attribute. A signature holds no `//` in a string.
fn without_comment(line: &str) -> String {
    let line = line.split("//").next().unwrap_or_default();
    if line.trim_start().starts_with("#[") { String::new() } else { line.to_owned() }
}

/// The text with the spaces that the formatter's line breaks stand for.
fn one_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.replace("( ", "(")
        .replace(", )", ")")
        .replace(" )", ")")
        .replace(",)", ")")
        .replace("< ", "<")
        .replace(", >", ">")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_on_one_line() {
        let source = "fn a(\n    x: u8, // the x\n    /// Not this.\n    y: Vec<u8>,\n) -> u8 {";
        let place = |line, column| LineColumn { line, column };
        assert_eq!(between(source, place(1, 3), place(5, 8)), "a(x: u8, y: Vec<u8>) -> u8");
        assert_eq!(between(source, place(1, 0), place(1, 4)), "fn a");
    }
}
