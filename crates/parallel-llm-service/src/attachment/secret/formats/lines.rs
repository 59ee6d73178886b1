//! How many lines of a text fit a format.

/// Of each five lines with content, at most one may deviate from the format.
const FORMAT_LINES: usize = 5;

/// Whether the line is neither blank nor a comment.
pub(crate) fn has_content(line: &str) -> bool {
    !line.is_empty() && !line.starts_with(['#', ';']) && !line.starts_with("//=")
}

/// Whether enough of all lines fit a format.
pub(crate) const fn allows(fitting: usize, all: usize) -> bool {
    fitting > 0 && all - fitting <= all / FORMAT_LINES
}

/// Whether enough of the lines fit.
pub(crate) fn mostly(lines: &[&str], fits: impl Fn(&str) -> bool) -> bool {
    allows(lines.iter().filter(|line| fits(line)).count(), lines.len())
}
