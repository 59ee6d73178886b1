//! JSON with comments, edited in its text: a value is put in or taken out, and every other byte stays.

use std::borrow::Cow;
use std::ops::Range;

use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

use super::node::Node;
use super::text::{Doubt, line_end, splice};

/// How far an entry is indented where the file shows no habit of its own.
const INDENT: &str = "  ";
/// The longest indent that is taken for a habit.
const INDENT_CHARS_MAX: usize = 32;
/// What an empty file is taken for.
const NOTHING: &str = "{}\n";

/// JSON as editors write it: comments and last commas, and nothing else that is none.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// All that is in a text, without its comments; else the line that cannot be read, counted from 1. Nothing of it is shown.
pub(super) fn plain(text: &str) -> Result<serde_json::Value, usize> {
    let text = opened(text);
    let parsed = parse_to_ast(&text, &CollectOptions::default(), &OPTIONS);
    let parsed = parsed.map_err(|error| error.line_display())?;
    Ok(parsed.value.as_ref().map_or(serde_json::Value::Null, plain_of))
}

/// What is at a path.
pub(super) fn read(text: &str, path: &[&str]) -> Result<Option<Node>, Doubt> {
    let text = opened(text);
    let document = Document::parse(&text)?;
    let mut at = &document.root;
    for key in path {
        match property(at, key)? {
            Some(found) => at = &found.value,
            None => return Ok(None),
        }
    }
    Ok(Some(node_of(at)))
}

/// The text with a value at a path.
pub(super) fn set(text: &str, path: &[&str], node: &Node) -> Result<String, Doubt> {
    let text = opened(text);
    let document = Document::parse(&text)?;
    let mut at = &document.root;
    for (depth, key) in path.iter().enumerate() {
        let Some(found) = property(at, key)? else {
            let below = path[depth + 1..].iter().rev();
            let node = below.fold(node.clone(), |inner, key| Node::table([(*key, inner)]));
            return Ok(document.insert(at, Some(key), &node));
        };
        at = &found.value;
    }
    let look = Look { inline: !document.text.contains('\n'), ..document.look(at.start()) };
    Ok(splice(document.text, at.start()..at.end(), &look.render(node)))
}

/// The text with one more value in the list at a path.
pub(super) fn push(text: &str, path: &[&str], node: &Node) -> Result<String, Doubt> {
    let opened = opened(text);
    let document = Document::parse(&opened)?;
    let mut at = &document.root;
    for key in path {
        let Some(found) = property(at, key)? else {
            return set(text, path, &Node::List(vec![node.clone()]));
        };
        at = &found.value;
    }
    match at {
        Value::Array(_) => Ok(document.insert(at, None, node)),
        _ => Err(Doubt::new(format!("`{}` is not a list", path.join(".")))),
    }
}

/// The text without what is at a path, and without the tables and lists around it that held nothing else.
pub(super) fn take(text: &str, path: &[&str]) -> Result<String, Doubt> {
    let Some((key, above)) = path.split_last() else { return Ok(NOTHING.to_owned()) };
    let opened = opened(text);
    let document = Document::parse(&opened)?;
    let mut at = &document.root;
    for key in above {
        match property(at, key)? {
            Some(found) => at = &found.value,
            None => return Ok(text.to_owned()),
        }
    }
    let Value::Object(object) = at else { return Ok(text.to_owned()) };
    let Some(index) = object.properties.iter().position(|one| one.name.as_str() == *key) else {
        return Ok(text.to_owned());
    };
    if object.properties.len() == 1 && !above.is_empty() && !document.has_comments_in(at, index) {
        return take(text, above);
    }
    Ok(document.remove(at, index))
}

/// The text without the values of a list that are so, and without the list where nothing else is in it.
pub(super) fn pull(text: &str, path: &[&str], is_so: impl Fn(&Node) -> bool) -> Result<String, Doubt> {
    let mut text = text.to_owned();
    // Each turn takes one value away.
    while let Some(list) = read(&text, path)? {
        let Some(index) = list.items().iter().position(&is_so) else { break };
        if list.items().len() == 1 {
            return take(&text, path);
        }
        let document = Document::parse(&text)?;
        let mut at = &document.root;
        for key in path {
            at = &property(at, key)?.expect("it was just read").value;
        }
        text = document.remove(at, index);
    }
    Ok(text)
}

/// A value under its name, on one line.
pub(super) fn line(key: &str, node: &Node) -> String {
    let look = Look { indent: String::new(), unit: String::new(), line_end: "", inline: true };
    format!("{}: {}", quoted(key), look.render(node))
}

/// The text with an object in it: one that holds nothing but comments is given an empty one after them.
fn opened(text: &str) -> Cow<'_, str> {
    let mut rest = text.trim_start();
    // Each turn takes a comment away.
    loop {
        let after = match rest.get(..2) {
            Some("//") => Some(rest.split_once('\n').map_or("", |(_, after)| after)),
            Some("/*") => rest[2..].split_once("*/").map(|(_, after)| after),
            _ => None,
        };
        match after {
            Some(after) => rest = after.trim_start(),
            None if !rest.is_empty() => return Cow::from(text),
            None if text.trim().is_empty() => return Cow::from(NOTHING),
            None => {
                let line_end = line_end(text);
                let gap = if text.ends_with('\n') { "" } else { line_end };
                return Cow::from(format!("{text}{gap}{{}}{line_end}"));
            }
        }
    }
}

struct Document<'t> {
    text: &'t str,
    root: Value<'t>,
    tokens: Vec<TokenAndRange<'t>>,
}

impl<'t> Document<'t> {
    fn parse(text: &'t str) -> Result<Self, Doubt> {
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed = parse_to_ast(text, &collect, &OPTIONS)
            .map_err(|error| Doubt::new(format!("it is not JSON: {error}")))?;
        let root = parsed.value.ok_or_else(|| Doubt::new("it holds no JSON object"))?;
        match root {
            Value::Object(_) => Ok(Self { text, root, tokens: parsed.tokens.unwrap_or_default() }),
            _ => Err(Doubt::new("it holds no JSON object")),
        }
    }

    /// The text with one more value in an object or a list, after everything that is in it.
    fn insert(&self, into: &Value<'_>, key: Option<&str>, node: &Node) -> String {
        let inside = into.start() + 1..into.end() - 1;
        let parts = parts(into);
        let last = self.within(&inside).last();
        let end = last.map_or(inside.start, Ranged::end);
        let is_one_line = !self.text[inside.clone()].contains('\n');
        let (look, gap) = match parts.last() {
            Some(_) if is_one_line => (Look { inline: true, ..self.look(into.start()) }, " ".to_owned()),
            Some(part) => {
                let look = self.look(part.start);
                let gap = format!("{}{}", look.line_end, look.indent);
                (look, gap)
            }
            // All of it on one line, and something in it: it is not meant to be read by people.
            None if !self.text.contains('\n') && into.start() > 0 => {
                (Look { inline: true, ..self.look(into.start()) }, String::new())
            }
            None => {
                let outer = self.look(into.start());
                let look = Look { indent: format!("{}{}", outer.indent, outer.unit), ..outer };
                let gap = format!("{}{}", look.line_end, look.indent);
                (look, gap)
            }
        };
        let key = key.map(|key| format!("{}: ", quoted(key))).unwrap_or_default();
        let mut added = format!("{gap}{key}{}", look.render(node));
        let commas = self.within(&inside).filter(|token| token.token == Token::Comma);
        let has_last_comma =
            parts.last().is_some_and(|part| commas.last().is_some_and(|comma| comma.start() >= part.end));
        if has_last_comma {
            added.push(',');
        }
        if parts.is_empty() && !look.inline && !self.text[end..inside.end].contains('\n') {
            added += &format!("{}{}", look.line_end, self.look(into.start()).indent);
        }
        let text = splice(self.text, end..end, &added);
        match parts.last() {
            Some(part) if !has_last_comma => splice(&text, part.end..part.end, ","),
            _ => text,
        }
    }

    /// The text without the part of this number of an object or a list.
    fn remove(&self, from: &Value<'_>, index: usize) -> String {
        let inside = from.start() + 1..from.end() - 1;
        let parts = parts(from);
        let part = parts[index].clone();
        if parts.len() == 1 && !self.has_comments_in(from, index) {
            return splice(self.text, inside, "");
        }
        let tokens = || self.within(&inside);
        let before = tokens().take_while(|token| token.end() <= part.start).last();
        let after = tokens().find(|token| token.start() >= part.end && token.token == Token::Comma);
        let end = after.map_or(part.end, Ranged::end);
        let mut start = before.map_or(inside.start, Ranged::end);
        let rest_of_line = self.text[end..].split('\n').next().unwrap_or_default();
        let is_after_comment = before.is_some_and(|token| matches!(token.token, Token::CommentLine(_)));
        if is_after_comment && !rest_of_line.trim().is_empty() {
            // What follows on the line would become a part of the comment.
            start = part.start;
        }
        let text = splice(self.text, start..end, "");
        // Without a comma of its own the part owed its place to the one before it.
        let comma = tokens()
            .take_while(|token| token.end() <= part.start)
            .filter(|token| token.token == Token::Comma);
        match comma.last() {
            Some(comma) if after.is_none() => splice(&text, comma.start()..comma.end().min(text.len()), ""),
            _ => text,
        }
    }

    /// Whether there are comments beside the part of this number, which is alone.
    fn has_comments_in(&self, value: &Value<'_>, index: usize) -> bool {
        let part = &parts(value)[index];
        let is_outside = |token: &&TokenAndRange<'_>| token.end() <= part.start || token.start() >= part.end;
        let inside = value.start() + 1..value.end() - 1;
        self.within(&inside).filter(is_outside).any(|token| token.token != Token::Comma)
    }

    fn within(&self, range: &Range<usize>) -> impl Iterator<Item = &TokenAndRange<'t>> {
        let range = range.clone();
        self.tokens.iter().filter(move |token| token.start() >= range.start && token.end() <= range.end)
    }

    /// How what stands on the line of this place looks.
    fn look(&self, at: usize) -> Look {
        let line = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        // What is far to the right is no habit, and is not repeated before each line.
        let blank = |text: &str| {
            let rest = text.trim_start_matches([' ', '\t']);
            let indent = &text[..text.len() - rest.len()];
            if indent.len() > INDENT_CHARS_MAX { String::new() } else { indent.to_owned() }
        };
        let unit = self.text.lines().skip(1).map(blank).find(|indent| !indent.is_empty());
        let unit = unit.map_or_else(
            || INDENT.to_owned(),
            |indent| if indent.starts_with('\t') { "\t".to_owned() } else { indent },
        );
        Look { indent: blank(&self.text[line..at]), unit, line_end: line_end(self.text), inline: false }
    }
}

/// How values are written at a place.
struct Look {
    /// What goes before each line.
    indent: String,
    /// How much further the inside of a table is indented.
    unit: String,
    line_end: &'static str,
    /// Everything on one line.
    inline: bool,
}

impl Look {
    fn render(&self, node: &Node) -> String {
        let inner =
            Look { indent: format!("{}{}", self.indent, self.unit), unit: self.unit.clone(), ..*self };
        match node {
            Node::Text(text) => quoted(text),
            Node::Number(number) => number.to_string(),
            Node::Flag(flag) => flag.to_string(),
            Node::Other(text) => text.clone(),
            Node::List(items) if items.iter().all(|item| matches!(item, Node::Text(_))) => {
                let items: Vec<String> = items.iter().map(|item| inner.render(item)).collect();
                format!("[{}]", items.join(", "))
            }
            Node::List(items) => {
                inner.bracketed(items.iter().map(|item| inner.render(item)), ("[", "]"), self)
            }
            Node::Table(entries) => {
                let entries =
                    entries.iter().map(|(key, node)| format!("{}: {}", quoted(key), inner.render(node)));
                inner.bracketed(entries, ("{", "}"), self)
            }
        }
    }

    fn bracketed(
        &self,
        parts: impl Iterator<Item = String>,
        (open, close): (&str, &str),
        outer: &Self,
    ) -> String {
        let parts: Vec<String> = parts.collect();
        if parts.is_empty() || self.inline {
            return format!("{open}{}{close}", parts.join(", "));
        }
        let gap = format!("{}{}", self.line_end, self.indent);
        let inside = parts.join(&format!(",{gap}"));
        format!("{open}{gap}{inside}{}{}{close}", self.line_end, outer.indent)
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Where the parts of an object or a list stand.
fn parts(value: &Value<'_>) -> Vec<Range<usize>> {
    match value {
        Value::Object(object) => object.properties.iter().map(|one| one.start()..one.end()).collect(),
        Value::Array(array) => array.elements.iter().map(|one| one.start()..one.end()).collect(),
        _ => Vec::new(),
    }
}

/// The property of this name. One that is there twice is read by each program in its own way.
fn property<'v, 't>(value: &'v Value<'t>, key: &str) -> Result<Option<&'v ObjectProp<'t>>, Doubt> {
    let Value::Object(object) = value else {
        return Err(Doubt::new(format!("there is no table where `{key}` belongs")));
    };
    let mut found = object.properties.iter().filter(|one| one.name.as_str() == key);
    let first = found.next();
    match found.next() {
        Some(_) => Err(Doubt::new(format!("`{key}` stands there twice"))),
        None => Ok(first),
    }
}

fn node_of(value: &Value<'_>) -> Node {
    match value {
        Value::StringLit(text) => Node::text(text.value.as_ref()),
        Value::NumberLit(number) => {
            number.value.parse().map_or_else(|_| Node::Other(number.value.to_owned()), Node::Number)
        }
        Value::BooleanLit(flag) => Node::Flag(flag.value),
        Value::NullKeyword(_) => Node::Other("null".to_owned()),
        Value::Array(array) => Node::List(array.elements.iter().map(node_of).collect()),
        Value::Object(object) => {
            Node::table(object.properties.iter().map(|one| (one.name.as_str(), node_of(&one.value))))
        }
    }
}

fn plain_of(value: &Value<'_>) -> serde_json::Value {
    match value {
        Value::StringLit(text) => text.value.as_ref().into(),
        Value::NumberLit(number) => serde_json::from_str(number.value).unwrap_or_default(),
        Value::BooleanLit(flag) => flag.value.into(),
        Value::NullKeyword(_) => serde_json::Value::Null,
        Value::Array(array) => array.elements.iter().map(plain_of).collect(),
        Value::Object(object) => {
            object.properties.iter().map(|one| (one.name.as_str().to_owned(), plain_of(&one.value))).collect()
        }
    }
}
