//! Finds JSON in foreign text, and repairs what models usually write wrong.
//!
//! Valid JSON is returned unchanged and borrowed, with every digit of its numbers. Only these errors, which would
//! stop a strict parser, are repaired:
//!
//! - A raw control character in a string, such as a line break or tab, becomes its escape.
//! - A comma before a closing bracket is dropped.
//! - A backslash that begins no JSON escape is a literal backslash (`\(`, `\sqrt`, `C:\dir`), and `\'` is an apostrophe.
//! - Six JSON escapes are also beginnings of TeX commands, and the text after them decides. `\b` and `\f` before a letter are
//!   literal backslashes, because no one writes a backspace before a word. So are `\u` without four hexadecimal digits and half
//!   of a surrogate pair. `\n`, `\r` and `\t` are line breaks and tabs, unless they begin a command whose other letters begin no
//!   word (`\neq`, `\rho`, `\times`), or any known command (`\nu`, `\tan`) in a string with another literal backslash. `\\` is
//!   always one backslash.
//!
//! Invariants: no value is invented. A string, list or object without its end is not returned, and neither is anything inside
//! it. The time is linear in the length of the text, and the depth is bounded.

use std::borrow::Cow;
use std::ops::Range;

/// The deepest nesting. `serde_json`, which reads the result, stops at 128.
const DEPTH_MAX: usize = 100;
/// How often, in lengths of the text, bytes may be read again because an unterminated string has swallowed an object.
const RESCANS_MAX: usize = 4;
/// TeX commands that begin like a line break or tab, and whose other letters begin no word.
const COMMANDS: &[&str] = &[
    "nabla",
    "natural",
    "nearrow",
    "neq",
    "newline",
    "ngeq",
    "nleq",
    "nmid",
    "nolimits",
    "nonumber",
    "notin",
    "nwarrow",
    "rangle",
    "rbrace",
    "rceil",
    "rfloor",
    "rho",
    "right",
    "rightarrow",
    "rvert",
    "rVert",
    "tbinom",
    "text",
    "textbf",
    "textit",
    "textrm",
    "textstyle",
    "texttt",
    "tfrac",
    "therefore",
    "theta",
    "tilde",
    "times",
    "triangle",
    "triangleq",
];
/// TeX commands whose other letters may begin a word: `\tan` may be a tab before `an`.
const SHORT_COMMANDS: &[&str] = &["ne", "neg", "not", "nu", "rm", "tan", "tanh", "tau", "to", "top"];

/// JSON found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document<'a> {
    /// Valid JSON: borrowed from the text, or owned if it was repaired.
    pub(crate) json: Cow<'a, str>,
    /// Its byte range in the text.
    pub(crate) range: Range<usize>,
}

/// The complete outermost objects of a text, in order. The last is often the one that counts.
pub(crate) fn objects(text: &str) -> impl Iterator<Item = Document<'_>> {
    let (mut at, mut rescans) = (0, text.len().saturating_mul(RESCANS_MAX));
    std::iter::from_fn(move || {
        while let Some(start) = text[at..].find('{').map(|offset| at + offset) {
            let mut scan = Scan::new(text, start);
            if scan.value(DEPTH_MAX).is_some() {
                at = scan.at;
                return Some(scan.document());
            }
            // An object that breaks off at the end of the text is incomplete, with everything inside. One that breaks off
            // earlier may be no JSON at all; then a string across lines may have swallowed the beginning of another object.
            let stopped = scan.at.max(start + 1);
            let again = scan.line_break.filter(|_| stopped < text.len()).unwrap_or(stopped);
            let affordable = stopped.saturating_sub(again) <= rescans;
            at = if affordable { again } else { stopped };
            rescans -= stopped - at;
        }
        None
    })
}

/// The object that a text begins with.
pub(crate) fn leading(text: &str) -> Option<Document<'_>> {
    let start = text.len() - text.trim_start().len();
    text[start..].starts_with('{').then_some(())?;
    let mut scan = Scan::new(text, start);
    scan.value(DEPTH_MAX)?;
    Some(scan.document())
}

/// The value of any type that is the whole text.
pub(crate) fn whole(text: &str) -> Option<Document<'_>> {
    let mut scan = Scan::new(text, text.len() - text.trim_start().len());
    scan.value(DEPTH_MAX)?;
    let document = scan.document();
    text[document.range.end..].trim().is_empty().then_some(document)
}

/// One scan from the beginning of a value to its end, or to the point where it is not JSON.
struct Scan<'a> {
    text: &'a str,
    start: usize,
    at: usize,
    /// The repaired text from `start` to `copied`; empty as long as nothing was repaired.
    repaired: String,
    copied: usize,
    /// The first raw line break in a string.
    line_break: Option<usize>,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str, start: usize) -> Self {
        Self { text, start, at: start, repaired: String::new(), copied: start, line_break: None }
    }

    fn document(mut self) -> Document<'a> {
        let range = self.start..self.at;
        if self.copied == self.start {
            return Document { json: self.text[range.clone()].into(), range };
        }
        self.repaired.push_str(&self.text[self.copied..self.at]);
        Document { json: self.repaired.into(), range }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn replace(&mut self, range: Range<usize>, by: &str) {
        self.repaired.push_str(&self.text[self.copied..range.start]);
        self.repaired.push_str(by);
        self.copied = range.end;
    }

    /// Scans a value. `None` leaves `at` at the point where it stops being JSON.
    fn value(&mut self, depth: usize) -> Option<()> {
        match self.peek()? {
            b'{' | b'[' if depth == 0 => None,
            b'{' => self.items(b'}', depth),
            b'[' => self.items(b']', depth),
            b'"' => self.string(),
            _ => self.plain(),
        }
    }

    /// Scans the members of an object or the items of a list, with their brackets.
    fn items(&mut self, end: u8, depth: usize) -> Option<()> {
        let is_object = end == b'}';
        self.at += 1;
        self.skip_blanks();
        let mut comma = None;
        while self.peek()? != end {
            if is_object {
                self.string()?;
                self.skip_blanks();
                (self.peek()? == b':').then_some(())?;
                self.at += 1;
                self.skip_blanks();
            }
            self.value(depth - 1)?;
            self.skip_blanks();
            comma = (self.peek()? == b',').then_some(self.at);
            match comma {
                Some(_) => self.at += 1,
                None if self.peek()? == end => break,
                None => return None,
            }
            self.skip_blanks();
        }
        if let Some(comma) = comma {
            self.replace(comma..comma + 1, "");
        }
        self.at += 1;
        Some(())
    }

    /// A number, `true`, `false` or `null`.
    fn plain(&mut self) -> Option<()> {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let length = self.text.as_bytes()[self.at..].iter().take_while(|byte| is_part(byte)).count();
        let plain = &self.text[self.at..self.at + length];
        serde_json::from_str::<&serde_json::value::RawValue>(plain).ok()?;
        self.at += length;
        Some(())
    }

    fn string(&mut self) -> Option<()> {
        (self.peek()? == b'"').then_some(())?;
        let start = self.at + 1;
        let Some(length) = length_of_string(&self.text.as_bytes()[start..]) else {
            self.at = self.text.len();
            return None;
        };
        let inside = &self.text[start..start + length];
        self.at = start + length + 1;
        let is_loose = escapes(inside).any(|(_, behind)| meaning(behind, false) == Meaning::Backslash);
        let mut from = 0;
        while let Some(offset) = inside[from..].find(|character: char| character == '\\' || character < ' ') {
            let (at, behind) = (from + offset, &inside[from + offset + 1..]);
            let length = match inside.as_bytes()[at] {
                b'\\' => self.escape(start + at, behind, is_loose),
                control => {
                    if matches!(control, b'\n' | b'\r') {
                        self.line_break.get_or_insert(start + at);
                    }
                    self.replace(start + at..start + at + 1, &format!("\\u{control:04x}"));
                    1
                }
            };
            from = at + length;
        }
        Some(())
    }

    /// Repairs the escape at `at`. Returns its length in bytes.
    fn escape(&mut self, at: usize, behind: &str, is_loose: bool) -> usize {
        match meaning(behind, is_loose) {
            Meaning::Escape(length) => length,
            Meaning::Apostrophe => {
                self.replace(at..at + 1, "");
                2
            }
            Meaning::Backslash => {
                self.replace(at..at + 1, r"\\");
                1
            }
        }
    }
}

/// The length of a string up to its closing quotation mark.
fn length_of_string(behind: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match behind.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The unescaped backslashes of a string, each with the text after it.
fn escapes(inside: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + inside[from..].find('\\')?;
        let behind = &inside[at + 1..];
        from = at + 1 + behind.chars().next().map_or(0, char::len_utf8);
        Some((at, behind))
    })
}

/// The meaning of a backslash in a string.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// A JSON escape of this many bytes.
    Escape(usize),
    /// An escaped apostrophe, which JSON does not have.
    Apostrophe,
    /// A literal backslash.
    Backslash,
}

/// The meaning of a backslash before `behind`. A loose string has another backslash that is certainly literal.
fn meaning(behind: &str, is_loose: bool) -> Meaning {
    let letters = &behind[..behind.bytes().take_while(u8::is_ascii_alphabetic).count()];
    let is_tex = match behind.bytes().next() {
        Some(b'"' | b'\\' | b'/') => false,
        Some(b'\'') => return Meaning::Apostrophe,
        Some(b'b' | b'f') => letters.len() > 1,
        Some(b'n' | b'r' | b't') => {
            COMMANDS.contains(&letters) || is_loose && SHORT_COMMANDS.contains(&letters)
        }
        Some(b'u') => return code_point(behind).map_or(Meaning::Backslash, Meaning::Escape),
        _ => true,
    };
    if is_tex { Meaning::Backslash } else { Meaning::Escape(2) }
}

/// The length of a `\u` escape with its backslash; a surrogate pair counts as one.
fn code_point(behind: &str) -> Option<usize> {
    let unit = |text: &str| {
        let digits = text.strip_prefix('u')?.get(..4)?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
    };
    match unit(behind)? {
        0xd800..=0xdbff => {
            let second = unit(behind.get(5..)?.strip_prefix('\\')?)?;
            (0xdc00..=0xdfff).contains(&second).then_some(12)
        }
        0xdc00..=0xdfff => None,
        _ => Some(6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Compares every object found, as strict JSON on a line of its own; `~` marks repaired ones.
    fn check(text: &str, expected: &str) {
        let rendered: Vec<String> = objects(text)
            .map(|found| {
                serde_json::from_str::<serde_json::Value>(&found.json).expect("what comes out is JSON");
                let mark = if matches!(found.json, Cow::Owned(_)) { "~" } else { "" };
                format!("{mark}{}", found.json)
            })
            .collect();
        assert_eq!(rendered.join("\n"), expected, "{text}");
    }

    /// Checks the repaired form of a string.
    fn check_string(written: &str, expected: &str) {
        let text = format!(r#"{{"it": "{written}"}}"#);
        let found = leading(&text).unwrap_or_else(|| panic!("no object: {text}"));
        let value: serde_json::Value = serde_json::from_str(&found.json).unwrap();
        assert_eq!(value["it"], expected, "{written}");
    }

    #[test]
    fn valid_json_is_unchanged() {
        for json in [
            "{}",
            r#"{"a": [1.50, -0, 1e400, 123456789012345678901234567890, true, false, null, {}, []]}"#,
            r#"{"a": "\"\\\/\b\f\n\r\t\u00e4\ud83d\ude00 x", "": "{[,"}"#,
            "{\n\t\"a\" : 1 ,\r\n \"b\":[ ] }",
            r#"{"line": "one\nTwo\tthree\nnull\nnothing\ttotal"}"#,
        ] {
            assert!(
                matches!(leading(json), Some(Document { json: Cow::Borrowed(text), .. }) if text == json),
                "{json}"
            );
        }
    }

    #[test]
    fn a_backslash_is_read_by_what_follows_it() {
        for (written, read) in [
            (r"\(x\)", r"\(x\)"),
            (r"\[\sqrt{2}\] \{1\} \, \% \$5", r"\[\sqrt{2}\] \{1\} \, \% \$5"),
            (r"\frac{1}{2}", r"\frac{1}{2}"),
            (r"\\frac{1}{2}", r"\frac{1}{2}"),
            (r"\beta\begin{a}\bar x", r"\beta\begin{a}\bar x"),
            (r"3 \times 10^5, \theta, \text{cm}", r"3 \times 10^5, \theta, \text{cm}"),
            (r"x \neq 3, \nabla, \rho_1, \right)", r"x \neq 3, \nabla, \rho_1, \right)"),
            (r"\underline{x} \u12 \ud800 \udc00", r"\underline{x} \u12 \ud800 \udc00"),
            (r"\u00e4\ud83d\ude00", "ä😀"),
            (r"so \(x\) is\nNow \tan x\t5 of \nu", "so \\(x\\) is\nNow \\tan x\t5 of \\nu"),
            (r"so\nu and\tan apple", "so\nu and\tan apple"),
            (r"gold\nneqx\nrest\timesheet", "gold\nneqx\nrest\timesheet"),
            (r"it\'s", "it's"),
            (r"C:\files\bin\Games", r"C:\files\bin\Games"),
            (r#"\"quoted\" \/ \\"#, r#""quoted" / \"#),
            ("one\ntwo\tthree\r\nfour\u{1}", "one\ntwo\tthree\r\nfour\u{1}"),
            ("\\\nx \\ä \\😀", "\\\nx \\ä \\😀"),
        ] {
            check_string(written, read);
        }
    }

    #[test]
    fn objects_are_found_anywhere() {
        check("It is {easy}: {\"a\": 1}. See {b}.", r#"{"a": 1}"#);
        check("```json\n{\"a\": 1}\n```\nor\n```\n{\"a\": 2}\n```", "{\"a\": 1}\n{\"a\": 2}");
        check(r#"[{"a": 1}, {"a": {"a": 2}}]"#, "{\"a\": 1}\n{\"a\": {\"a\": 2}}");
        check(&format!("{}{{\"a\": 1}}", r"\frac{1}{2} ".repeat(500)), r#"{"a": 1}"#);
        check("{\"a\": [1, 2, ], \"b\": {\"c\": 3,\n},}", "~{\"a\": [1, 2 ], \"b\": {\"c\": 3\n}}");
        check("{\"a\": \"x\ny\"}", r#"~{"a": "x\u000ay"}"#);
        check(r#"{"a": "\(x\)", "b": 1,} {"a": 2}"#, "~{\"a\": \"\\\\(x\\\\)\", \"b\": 1}\n{\"a\": 2}");
    }

    #[test]
    fn an_incomplete_object_is_none() {
        for none in [
            "",
            "{",
            "}",
            "{]",
            "{a: 1}",
            "{'a': 1}",
            "{\"a\"}",
            "{\"a\": }",
            "{\"a\": 1",
            "{\"a\": [1, 2}",
            "{\"a\": \"x}",
            "{\"a\": 1,, \"b\": 2}",
            "{,}",
            "{\"a\": [,]}",
            "{\"a\": 1 \"b\": 2}",
            "{\"a\": +1}",
            "{\"a\": 01}",
            "{\"a\": .5}",
            "{\"a\": tru}",
            "{\"a\": NaN}",
            "{\"a\": \"x\\\"}",
            "{\"a\": \"so \"good\" it is\"}",
            // The missing end of an object could contradict an object inside it.
            "{\"ranking\": [\"B\"], \"example\": {\"ranking\": [\"A\"]}",
            "{\"why\": \"two\nlines\", \"example\": {\"ranking\": [\"A\"]}, \"and\": \"so",
        ] {
            check(none, "");
        }
        // A missing end does not affect objects that begin on a later line.
        check("{\"a\": \"unfinished\n\n{\"a\": 5} then", r#"{"a": 5}"#);
        check("{\"a\": 5, \"b\": oops} {\"a\": 6}", r#"{"a": 6}"#);
        check(&"[{\"a\":".repeat(200), "");
        assert_eq!(leading("x {}"), None);
        assert_eq!(whole("{} x"), None);
        assert_eq!(whole(" [1, 2,]\n").map(|found| found.json.into_owned()).as_deref(), Some("[1, 2]"));
        assert_eq!(whole("\"x\"").map(|found| found.range), Some(0..3));
    }

    #[test]
    fn a_hostile_text_is_read_in_linear_time() {
        for piece in
            ["{", "{\"a\":", "{\"a\":\"\n", "{\"a\":\"\\q\",\"b\":", "{\"a\":\"\n\",\"b\":", "{}", "\\"]
        {
            assert!(objects(&piece.repeat((1 << 18) / piece.len())).count() <= 1 << 17);
        }
    }

    proptest! {
        #[test]
        fn found_objects_are_json_from_the_text(text in r#"[{}\[\]"\\,:a-c1ntu\n \u{e4}]{0,60}"#) {
            let mut end = 0;
            for found in objects(&text) {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&found.json).is_ok(), "{}", found.json);
                let is_object = text[found.range.clone()].starts_with('{');
                prop_assert!(found.range.start >= end && is_object);
                end = found.range.end;
            }
        }

        #[test]
        fn every_value_is_read_back(text in any::<String>(), other in "[ -~\n\t]{0,40}") {
            // A backspace or form feed before a letter counts as TeX, because no one writes one there.
            let plain = |text: &str| text.replace(['\u{8}', '\u{c}', '\n', '\r', '\t'], "\n ");
            let value = serde_json::json!({"a": plain(&text), "b": [plain(&other), {"c": null}]});
            let json = value.to_string();
            let found = leading(&json).unwrap();
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&found.json).unwrap(), value);
        }
    }
}
