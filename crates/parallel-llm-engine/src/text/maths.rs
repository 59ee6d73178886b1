//! Maths in Markdown: `\(…\)`, `\[…\]`, `$…$`, `$$…$$` and `\begin{…}…\end{…}`, shown as they are written until someone draws them.
//!
//! Markdown drops the backslash before punctuation, and reads `_` and `*` as emphasis and `- b` as a list. So whoever reads
//! Markdown reads [`Shielded::text`], in which each byte of maths is [`SHIELD`], and shows what [`Shielded::pieces`] returns for the
//! same place. Invariants: the shielded text is as long as the source, so every place in one is a place in the other; reading
//! takes time in proportion to the text, whatever it holds; code is not maths, and neither is money.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// What stands for a byte of maths: no mark of Markdown, no blank, and nothing that may be in the target of a link.
pub const SHIELD: char = '\u{1}';

/// The longest maths inside a line, in bytes. Two signs that are further apart do not belong together.
const INLINE_BYTES_MAX: usize = 2_000;
/// The longest maths on lines of its own, in bytes: a page of a derivation.
const DISPLAY_BYTES_MAX: usize = 16_000;
/// The shortest fence of code.
const FENCE_MIN: usize = 3;
/// How an environment begins.
const BEGIN: &str = "\\begin{";
/// The longest target of a link before a `\(` of its own, in bytes. A longer one is shown as it is written.
const TARGET_BYTES_MAX: usize = 500;

/// A text whose maths is hidden from a reader of Markdown.
#[derive(Debug)]
pub struct Shielded<'a> {
    source: &'a str,
    text: Cow<'a, str>,
    /// Where maths is, in order.
    maths: Vec<Range<usize>>,
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Words like any other.
    Words(&'a str),
    /// Maths with its delimiters, without the marks of the quotes that it stands in.
    Maths(Cow<'a, str>),
}

impl<'a> Piece<'a> {
    /// Its text.
    pub fn into_text(self) -> Cow<'a, str> {
        match self {
            Self::Words(words) => words.into(),
            Self::Maths(maths) => maths,
        }
    }
}

impl<'a> Shielded<'a> {
    /// Finds the maths of a text.
    pub fn new(source: &'a str) -> Self {
        Self::of(source, Scanner::of(source))
    }

    /// Finds the maths of a text that is still written: what is open at its end may be maths.
    pub fn growing(source: &'a str) -> Self {
        Self::of(source, Scanner::of(source).map(|scanner| Scanner { is_growing: true, ..scanner }))
    }

    fn of(source: &'a str, scanner: Option<Scanner<'a>>) -> Self {
        let maths = scanner.map(Scanner::maths).unwrap_or_default();
        let mut text = Cow::Borrowed(source);
        if !maths.is_empty() {
            let mut shielded = String::with_capacity(source.len());
            let mut at = 0;
            for range in &maths {
                shielded.push_str(&source[at..range.start]);
                shielded.extend(std::iter::repeat_n(SHIELD, range.len()));
                at = range.end;
            }
            shielded.push_str(&source[at..]);
            text = Cow::Owned(shielded);
        }
        Self { source, text, maths }
    }

    /// The text to read as Markdown. It is as long as the source.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether there is maths at this place.
    pub fn has_maths(&self, range: &Range<usize>) -> bool {
        self.maths[self.first(range)..].first().is_some_and(|maths| maths.start < range.end)
    }

    /// What stands at this place of the source.
    pub fn pieces(&self, range: Range<usize>) -> Vec<Piece<'a>> {
        let mut pieces = Vec::new();
        let mut at = range.start;
        let words = |range: Range<usize>, pieces: &mut Vec<_>| {
            if !range.is_empty() {
                pieces.push(Piece::Words(&self.source[range]));
            }
        };
        for maths in self.maths[self.first(&range)..].iter().take_while(|maths| maths.start < range.end) {
            let shown = maths.start.max(at)..maths.end.min(range.end);
            words(at..shown.start, &mut pieces);
            at = shown.end;
            pieces.push(Piece::Maths(self.unquoted(shown)));
        }
        words(at..range.end, &mut pieces);
        pieces
    }

    /// The index of the first maths that ends behind the start of a range.
    fn first(&self, range: &Range<usize>) -> usize {
        self.maths.partition_point(|maths| maths.end <= range.start)
    }

    /// Maths without the marks of the quotes around it, which stand at the start of each further line.
    fn unquoted(&self, range: Range<usize>) -> Cow<'a, str> {
        let maths = &self.source[range.clone()];
        if !maths.contains('\n') {
            return maths.into();
        }
        let start = self.source[..range.start].rfind('\n').map_or(0, |end| end + 1);
        let marks = self.source[start..range.start].chars().take_while(|mark| matches!(mark, '>' | ' '));
        let depth = marks.filter(|mark| *mark == '>').count();
        let unquoted = |line: &'a str| {
            (0..depth).fold(line, |line, _| {
                let bare = line.trim_start_matches(' ').strip_prefix('>');
                bare.map_or(line, |bare| bare.strip_prefix(' ').unwrap_or(bare))
            })
        };
        let lines: Vec<&str> = maths.split('\n').map(unquoted).collect();
        lines.join("\n").into()
    }
}

/// The marks of a text that begin and end maths and code, each list in order.
struct Scanner<'a> {
    text: &'a str,
    /// Whether more will follow.
    is_growing: bool,
    /// `\)`, `\]`, `$` and `$$`, by what they end.
    inline_ends: Vec<usize>,
    display_ends: Vec<usize>,
    dollars: Vec<usize>,
    double_dollars: Vec<usize>,
    /// The end of each outermost `\begin{…}`, by its start.
    environments: BTreeMap<usize, usize>,
    /// The runs of backticks by their length.
    backticks: BTreeMap<usize, Vec<usize>>,
    /// Where lines begin.
    lines: Vec<usize>,
    /// Line ends that an empty line follows.
    empty_lines: Vec<usize>,
}

impl<'a> Scanner<'a> {
    /// Reads the marks; `None` if nothing can be maths.
    fn of(text: &'a str) -> Option<Self> {
        if !text.contains(['$', '\\']) {
            return None;
        }
        let mut scanner = Self {
            text,
            is_growing: false,
            inline_ends: Vec::new(),
            display_ends: Vec::new(),
            dollars: Vec::new(),
            double_dollars: Vec::new(),
            environments: BTreeMap::new(),
            backticks: BTreeMap::new(),
            lines: vec![0],
            empty_lines: Vec::new(),
        };
        let mut begun = Vec::new();
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            let rest = &text.as_bytes()[at..];
            let length = match byte {
                b'\\' => scanner.backslash(at, &mut begun),
                b'$' if rest.starts_with(b"$$") => {
                    scanner.double_dollars.push(at);
                    2
                }
                b'$' => {
                    scanner.dollars.push(at);
                    1
                }
                b'`' => {
                    let length = run(rest, b'`');
                    scanner.backticks.entry(length).or_default().push(at);
                    length
                }
                b'\n' => {
                    scanner.lines.push(at + 1);
                    let blanks =
                        rest[1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'>'));
                    if matches!(rest.get(1 + blanks.count()), None | Some(b'\n')) {
                        scanner.empty_lines.push(at);
                    }
                    1
                }
                _ => 1,
            };
            at += length;
        }
        Some(scanner)
    }

    /// Takes a backslash with what it escapes. Returns how many bytes that is.
    fn backslash(&mut self, at: usize, begun: &mut Vec<usize>) -> usize {
        let rest = &self.text[at..];
        match rest.as_bytes().get(1) {
            Some(b')') => self.inline_ends.push(at),
            Some(b']') => self.display_ends.push(at),
            Some(b'b') if rest.starts_with(BEGIN) => begun.push(at),
            Some(b'e') if rest.starts_with("\\end{") => {
                if let (Some(start), Some(length)) = (begun.pop(), rest.find('}'))
                    && length <= INLINE_BYTES_MAX
                {
                    self.environments.insert(start, at + length + 1);
                }
            }
            _ => {}
        }
        // The character behind it may have several bytes, none of which is a mark.
        rest.len().min(2)
    }

    /// The maths of the text, in order.
    fn maths(self) -> Vec<Range<usize>> {
        let mut maths = Vec::new();
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            let end = match byte {
                b'\\' => self.after_backslash(at),
                b'$' => self.after_dollar(at),
                b'`' | b'~' => {
                    at = self.behind_code(at);
                    continue;
                }
                _ => None,
            };
            if let Some(end) = end {
                maths.push(at..end);
                at = end;
            } else {
                at += if *byte == b'\\' { 2 } else { 1 };
            }
        }
        maths
    }

    /// The end of the maths that this backslash begins.
    fn after_backslash(&self, at: usize) -> Option<usize> {
        let rest = self.text.as_bytes().get(at + 1)?;
        match rest {
            b'(' => self.inline(at, self.end(&self.inline_ends, at)?).filter(|_| !self.is_in_target(at)),
            b'[' => self.display(at, self.end(&self.display_ends, at)?),
            b'b' if self.text[at..].starts_with(BEGIN) => {
                let open = self.is_growing.then_some(self.text.len());
                self.display(at, self.environments.get(&at).copied().or(open)?)
            }
            _ => None,
        }
    }

    /// The end of what begins with the two bytes at this place: behind the first of these ends.
    fn end(&self, ends: &[usize], at: usize) -> Option<usize> {
        next(ends, at + 2).map(|end| end + 2).or_else(|| self.is_growing.then_some(self.text.len()))
    }

    /// Whether a place is in the target of a link, where a parenthesis may be escaped.
    fn is_in_target(&self, at: usize) -> bool {
        let before = &self.text.as_bytes()[at.saturating_sub(TARGET_BYTES_MAX)..at];
        let word = before.rsplit(u8::is_ascii_whitespace).next().unwrap_or_default();
        word.windows(2).any(|pair| pair == b"](")
    }

    /// The end of the maths that this dollar sign begins. An amount of money begins none: `$5 and $6`.
    fn after_dollar(&self, at: usize) -> Option<usize> {
        let rest = &self.text[at..];
        if rest.starts_with("$$") {
            return self.display(at, self.end(&self.double_dollars, at)?);
        }
        let touches =
            |character: Option<char>| character.is_some_and(|near| near.is_alphanumeric() || near == '$');
        let end = next(&self.dollars, at + 1)?;
        if touches(self.text[..at].chars().next_back()) || touches(self.text[end + 1..].chars().next()) {
            return None;
        }
        let content = &self.text[at + 1..end];
        let is_sum = content.starts_with(|first: char| first.is_ascii_digit())
            && !content.contains(['\\', '^', '_', '{', '=']);
        // With a command in it, it may stand apart from its signs on both sides.
        let blanks = [content.starts_with(char::is_whitespace), content.ends_with(char::is_whitespace)];
        let is_apart = blanks == [true, true] && content.contains('\\') && !content.contains('\n');
        if is_sum || !is_apart && blanks != [false, false] {
            return None;
        }
        self.inline(at, end + 1)
    }

    /// The end of maths in a line, if it is that.
    fn inline(&self, start: usize, end: usize) -> Option<usize> {
        let is_whole = next(&self.empty_lines, start).is_none_or(|line| line >= end);
        (is_whole && end - start <= INLINE_BYTES_MAX).then_some(end)
    }

    /// The end of maths that may have lines of its own. Only there may it have empty ones.
    fn display(&self, start: usize, end: usize) -> Option<usize> {
        let before = self.line_before(start);
        let has_lines = before.chars().all(|mark| matches!(mark, ' ' | '\t'));
        let is_whole = has_lines || next(&self.empty_lines, start).is_none_or(|line| line >= end);
        (is_whole && end - start <= DISPLAY_BYTES_MAX).then_some(end)
    }

    /// The line up to a place.
    fn line_before(&self, at: usize) -> &'a str {
        let line = self.lines.partition_point(|line| *line <= at).saturating_sub(1);
        &self.text[self.lines[line]..at]
    }

    /// The place behind a piece of code, or behind its marks if it is none.
    fn behind_code(&self, at: usize) -> usize {
        let bytes = self.text.as_bytes();
        let length = run(&bytes[at..], bytes[at]);
        let before = self.line_before(at);
        let begins_line =
            before.chars().all(|mark| matches!(mark, ' ' | '\t' | '>' | '-' | '*' | '+' | '.' | '0'..='9'));
        if begins_line && length >= FENCE_MIN {
            return self.behind_fence(at, length);
        }
        let ends = self.backticks.get(&length).filter(|_| bytes[at] == b'`');
        let end = ends.and_then(|ends| next(ends, at + length));
        let is_whole = |end: &usize| next(&self.empty_lines, at).is_none_or(|line| line >= *end);
        end.filter(is_whole).unwrap_or(at) + length
    }

    fn behind_fence(&self, at: usize, length: usize) -> usize {
        let mark = self.text.as_bytes()[at];
        let mut place = at;
        for line in self.text[at..].split_inclusive('\n') {
            let bare = line.trim_start_matches([' ', '\t', '>']);
            let ends = run(bare.as_bytes(), mark) >= length && bare.trim().bytes().all(|byte| byte == mark);
            if ends && place > at {
                return place + line.len();
            }
            place += line.len();
        }
        place
    }
}

/// The first of these places that is not before `at`.
fn next(places: &[usize], at: usize) -> Option<usize> {
    places.get(places.partition_point(|place| *place < at)).copied()
}

/// How often a byte is repeated at the start.
fn run(bytes: &[u8], byte: u8) -> usize {
    bytes.iter().take_while(|next| **next == byte).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let shielded = Shielded::new(text);
        assert_eq!(shielded.text().len(), text.len(), "{text}");
        let pieces = shielded.pieces(0..text.len());
        let maths = pieces.iter().filter_map(|piece| match piece {
            Piece::Maths(maths) => Some(maths.as_ref()),
            Piece::Words(_) => None,
        });
        assert_eq!(maths.collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn maths_is_found_in_each_of_its_forms() {
        check(r"So \(a_1 \le b\) holds, \[x\,y \\ z\] too.", &[r"\(a_1 \le b\)", r"\[x\,y \\ z\]"]);
        check(r"Both $x^2$ and $$\frac{a}{b}$$.", &["$x^2$", r"$$\frac{a}{b}$$"]);
        check("\\[\na\n\n= b\n\\]", &["\\[\na\n\n= b\n\\]"]);
        check(r"\begin{a}\begin{b}x\end{b}\end{a}!", &[r"\begin{a}\begin{b}x\end{b}\end{a}"]);
        check(r"$5x = 10$, $n$, ($\{1, 2\}$)", &["$5x = 10$", "$n$", r"$\{1, 2\}$"]);
        check(r"So $ \alpha\,b $ holds.", &[r"$ \alpha\,b $"]);
        check("> \\[\n> x\n> \\]", &["\\[\nx\n\\]"]);
        check(r"\(a \text{ for \$5 } \\) b\)", &[r"\(a \text{ for \$5 } \\) b\)"]);
    }

    #[test]
    fn money_code_and_open_ends_are_not_maths() {
        for text in [
            "It costs $5 and $6.",
            "From $5 to 10$, or US$5 and $6",
            "|$5|$6|",
            "$HOME/$PATH, $HOME and $PATH",
            r"Escaped \$a_1\$ and \\(a\\)",
            r"In code `\(a\)` and ``$a_1$ ` $b$``",
            "```\n\\[a\\]\n$$b$$\n```",
            "- ~~~tex\n  \\(a\\)\n  ~~~",
            r"Open \(a and \[b and \begin{c} and $$d",
            r"[a](https://example.com/b_\(c\))",
            "Apart \\(a\n\nb\\) and $a\n\nb$",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn what_never_closes_is_read_in_time() {
        for mark in ["\\(", "\\[", "$$", "$a ", "\\begin{", "`", "``` ", "\n", "> \\[\n", "\\end{"] {
            let text = mark.repeat(200_000 / mark.len());
            assert!(Shielded::new(&text).maths.len() <= text.len());
        }
    }
}
