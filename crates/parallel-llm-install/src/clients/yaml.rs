//! YAML, as far as one entry of one table needs it. The text is cut at lines; nothing but our own lines is changed.
//!
//! No reader of YAML is among the dependencies, so this one knows few forms, and is in doubt about every other.

use std::borrow::Cow;

use super::node::Node;
use super::text::{Doubt, line_end};

/// How far an entry is indented where the file shows no habit of its own.
const INDENT: usize = 2;
/// The furthest that what is read may be indented. It also bounds how deep tables lie in each other.
const INDENT_MAX: usize = 64;
/// What a table is when nothing is in it, as it may be written beside its name.
const EMPTY: [&str; 3] = ["{}", "null", "~"];
/// Words that are no texts when they stand alone.
const NOT_TEXTS: [&str; 11] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n", "~", ""];

/// What is at a path of at least two names.
pub(super) fn read(text: &str, path: &[&str]) -> Result<Option<Node>, Doubt> {
    let [table, name, rest @ ..] = path else { return Err(short()) };
    let Some(entry) = Place::find(text, table, name)?.entry else { return Ok(None) };
    let lines: Vec<&str> = text.lines().skip(entry.start + 1).take(entry.len() - 1).collect();
    let node = Lines { lines: &lines, at: 0 }.table()?;
    let found = rest.iter().try_fold(&node, |node, key| node.get(key));
    Ok(found.cloned())
}

/// The text with a value at a path of at least two names.
pub(super) fn set(text: &str, path: &[&str], node: &Node) -> Result<String, Doubt> {
    let [table, name, rest @ ..] = path else { return Err(short()) };
    let place = Place::find(text, table, name)?;
    let mut whole = match (&place.entry, rest) {
        (Some(_), [_, ..]) => read(text, &path[..2])?.unwrap_or(Node::Table(Vec::new())),
        _ => Node::Table(Vec::new()),
    };
    whole.set(rest, node.clone());
    let mut block = Vec::new();
    if place.head.is_none() {
        block.push(format!("{table}:"));
    }
    block.push(format!("{:1$}{name}:", "", place.indent));
    write_table(whole.entries(), place.indent + INDENT, &mut block)?;
    Ok(place.with(text, &block))
}

/// The text without what is at a path of two names.
pub(super) fn take(text: &str, path: &[&str]) -> Result<String, Doubt> {
    let [table, name] = path else { return Err(short()) };
    let place = Place::find(text, table, name)?;
    match place.entry {
        Some(_) => Ok(place.with(text, &[])),
        None => Ok(text.to_owned()),
    }
}

/// What stands around the entry at a path of at least two names: the other lines, and of the table's line the comment.
pub(super) fn around<'t>(text: &'t str, path: &[&str]) -> Result<Vec<&'t str>, Doubt> {
    let [table, name, ..] = path else { return Err(short()) };
    let place = Place::find(text, table, name)?;
    let entry = place.entry.unwrap_or_default();
    let others = text.lines().enumerate().filter(|(at, _)| !entry.contains(at));
    let told = |(at, line)| if Some(at) == place.head { comment_of(line) } else { Some(line) };
    Ok(others.filter_map(told).collect())
}

fn short() -> Doubt {
    Doubt::new("only entries of a table are known here")
}

/// Where an entry stands or belongs, in lines counted from 0.
struct Place {
    /// The line that opens the table, `extensions:`, or `extensions: {}` where nothing is in it.
    head: Option<usize>,
    /// The entry's lines.
    entry: Option<std::ops::Range<usize>>,
    /// Where a new entry goes: before this line.
    end: usize,
    /// How far entries are indented.
    indent: usize,
    /// How many entries the table has.
    entries: usize,
}

impl Place {
    fn find(text: &str, table: &str, name: &str) -> Result<Self, Doubt> {
        let lines: Vec<&str> = text.lines().collect();
        check(&lines)?;
        let is_table = |line: &&str| key_of(line) == Some(table);
        let none = Self { head: None, entry: None, end: lines.len(), indent: INDENT, entries: 0 };
        let Some(start) = lines.iter().position(is_table) else { return Ok(none) };
        if lines[start + 1..].iter().any(is_table) {
            return Err(Doubt::new(format!("`{table}` stands there twice")));
        }
        match without_comment(&lines[start][table.len() + 1..]) {
            "" => {}
            value if EMPTY.contains(&value) => {
                return Ok(Self { head: Some(start), end: start + 1, ..none });
            }
            _ => return Err(Doubt::new(format!("`{table}` is not written line by line"))),
        }
        if lines[start + 1..].iter().find(|line| !is_blank(line)).is_some_and(|line| line.starts_with('-')) {
            return Err(Doubt::new(format!("`{table}` is a list")));
        }
        let is_outside = |line: &&str| !is_blank(line) && indent_of(line) == 0;
        let after = lines[start + 1..].iter().position(is_outside);
        let stop = after.map_or(lines.len(), |count| start + 1 + count);
        let inside = start + 1..stop;
        let first = lines[inside.clone()].iter().find(|line| !is_blank(line));
        let indent = first.map_or(INDENT, |line| indent_of(line));
        let heads: Vec<usize> =
            inside.clone().filter(|at| !is_blank(lines[*at]) && indent_of(lines[*at]) <= indent).collect();
        if heads.iter().any(|at| indent_of(lines[*at]) < indent || key_of(lines[*at].trim_start()).is_none())
        {
            return Err(Doubt::new(format!("the entries of `{table}` are not written line by line")));
        }
        if indent > INDENT_MAX {
            return Err(Doubt::new(format!(
                "the entries of `{table}` are indented by more than {INDENT_MAX} blanks"
            )));
        }
        let is_quoted = |key: &str| key != name && key.trim_matches(['"', '\'']) == name;
        if heads.iter().any(|at| key_of(lines[*at].trim_start()).is_some_and(is_quoted)) {
            return Err(Doubt::new(format!("`{name}` is written in quotes")));
        }
        // What follows the last line that says something belongs to nobody.
        let full = |range: std::ops::Range<usize>| {
            range.clone().rev().find(|at| !is_blank(lines[*at])).map_or(range.start, |at| at + 1)
        };
        let ours: Vec<usize> =
            heads.iter().copied().filter(|at| key_of(lines[*at].trim_start()) == Some(name)).collect();
        let entry = match ours[..] {
            [] => None,
            [at] => {
                if !without_comment(&lines[at].trim_start()[name.len() + 1..]).is_empty() {
                    return Err(Doubt::new(format!("`{name}` is not written line by line")));
                }
                let next = heads.iter().copied().find(|head| *head > at).unwrap_or(stop);
                Some(at..full(at..next))
            }
            _ => return Err(Doubt::new(format!("`{name}` stands there twice"))),
        };
        // What looks like a comment may be the end of an entry's text, where it is indented further than entries are.
        let is_inside = |at: &usize| !is_blank(lines[*at]) || indent_of(lines[*at]) > indent;
        let end = (start..stop).rev().find(is_inside).map_or(start + 1, |at| at + 1);
        Ok(Self { head: Some(start), entry, end, indent, entries: heads.len() })
    }

    /// The text with these lines in place of the entry, or where it belongs.
    fn with(&self, text: &str, block: &[String]) -> String {
        let line_end = line_end(text);
        let mut lines: Vec<Cow<'_, str>> = text.split_inclusive('\n').map(Cow::from).collect();
        if let Some(head) = self.head {
            let is_empty = block.is_empty() && self.entries == 1;
            lines[head] = opened(&lines[head], is_empty).into();
        }
        let cut = self.entry.clone().unwrap_or(self.end..self.end);
        let before = lines[..cut.start].concat();
        let after = lines[cut.end..].concat();
        let gap = if before.is_empty() || before.ends_with('\n') { "" } else { line_end };
        let block: Vec<&str> = block.iter().flat_map(|line| [line.as_str(), line_end]).collect();
        let block = block.concat();
        format!("{before}{gap}{block}{after}")
    }
}

/// The line that opens a table, with its comment. A table without entries would be none at all, were it not for `{}`.
fn opened(line: &str, is_empty: bool) -> String {
    let (table, rest) = line.split_once(':').expect("a table's line has a colon after the name");
    let value = EMPTY.iter().find_map(|empty| rest.trim_start().strip_prefix(empty));
    let rest = value.unwrap_or(rest);
    format!("{table}:{}{rest}", if is_empty { " {}" } else { "" })
}

/// Whether the text is one document of names and values at its edge, and nothing there is of another form.
fn check(lines: &[&str]) -> Result<(), Doubt> {
    let mut begun = false;
    for (at, line) in lines.iter().enumerate() {
        let doubt = |why: &str| Err(Doubt::new(format!("line {}: {why}", at + 1)));
        if line.trim_start_matches(' ').starts_with('\t') && !is_blank(line) {
            return doubt("it is indented with tabs");
        }
        if is_blank(line) || indent_of(line) > 0 {
            continue;
        }
        let is_start = *line == "---" && !begun;
        let is_name =
            key_of(line).is_some() && !line.starts_with(['"', '\'', '{', '[', '&', '*', '!', '?', '%']);
        let is_item = line.starts_with("- ") || *line == "-";
        if !(is_start || (is_name && !is_item) || (is_item && begun)) {
            return doubt("it is neither a name with a value nor a comment");
        }
        begun = true;
    }
    Ok(())
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The name at the beginning of a line that is not indented.
fn key_of(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let is_key = !key.is_empty() && !key.starts_with([' ', '#', '-']) && !key.ends_with(' ');
    (is_key && (rest.is_empty() || rest.starts_with([' ', '\r']))).then_some(key)
}

fn without_comment(text: &str) -> &str {
    let text = text.trim();
    if text.starts_with('#') {
        return "";
    }
    text.split(" #").next().unwrap_or_default().trim()
}

/// The comment behind a name, and behind what the name stands for.
fn comment_of(line: &str) -> Option<&str> {
    line.split_once(" #").map(|(_, comment)| comment)
}

/// The lines of an entry, read from the top.
struct Lines<'l> {
    lines: &'l [&'l str],
    at: usize,
}

impl<'l> Lines<'l> {
    fn table(&mut self) -> Result<Node, Doubt> {
        let Some(line) = self.next() else { return Ok(Node::Table(Vec::new())) };
        let indent = indent_of(line);
        if indent > INDENT_MAX {
            return Err(unread(line));
        }
        let mut entries = Vec::new();
        // Each turn takes one line, or ends it.
        while let Some(line) = self.next().filter(|line| indent_of(line) == indent) {
            let key = key_of(line.trim_start()).ok_or_else(|| unread(line))?;
            self.at += 1;
            let value = line.trim_start()[key.len() + 1..].trim();
            let node = if without_comment(value).is_empty() { self.below(indent)? } else { scalar(value)? };
            entries.push((key.to_owned(), node));
        }
        match self.next() {
            Some(line) if indent_of(line) > indent => Err(unread(line)),
            _ => Ok(Node::Table(entries)),
        }
    }

    /// What belongs to a name that has nothing beside it.
    fn below(&mut self, indent: usize) -> Result<Node, Doubt> {
        let Some(line) = self.next() else { return Ok(Node::Other("null".to_owned())) };
        let is_item = |line: &str| line.trim_start().starts_with("- ");
        let inner = indent_of(line);
        if is_item(line) && inner >= indent {
            let mut items = Vec::new();
            while let Some(line) = self.next().filter(|line| indent_of(line) == inner && is_item(line)) {
                items.push(scalar(line.trim_start()[1..].trim())?);
                self.at += 1;
            }
            return Ok(Node::List(items));
        }
        if inner > indent { self.table() } else { Ok(Node::Other("null".to_owned())) }
    }

    /// The next line that says something.
    fn next(&mut self) -> Option<&'l str> {
        while self.lines.get(self.at).is_some_and(|line| is_blank(line)) {
            self.at += 1;
        }
        self.lines.get(self.at).copied()
    }
}

fn unread(_: &str) -> Doubt {
    Doubt::new("its entry is written in a form that is not known here")
}

fn scalar(text: &str) -> Result<Node, Doubt> {
    if text.starts_with('"') {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let value = values.next().and_then(Result::ok).ok_or_else(|| unread(text))?;
        return Ok(Node::Text(value));
    }
    if let Some(rest) = text.strip_prefix('\'') {
        let end = rest.rfind('\'').ok_or_else(|| unread(text))?;
        return Ok(Node::Text(rest[..end].replace("''", "'")));
    }
    let text = without_comment(text);
    if let Some(inside) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        let items = inside.split(',').map(str::trim).filter(|item| !item.is_empty());
        return items.map(scalar).collect::<Result<_, _>>().map(Node::List);
    }
    if text == "{}" {
        return Ok(Node::Table(Vec::new()));
    }
    if text.starts_with(['{', '[', '|', '>', '&', '*', '!', '%', '@', '`'])
        || text.starts_with("- ")
        || text.contains(": ")
    {
        return Err(unread(text));
    }
    if let Ok(number) = text.parse() {
        return Ok(Node::Number(number));
    }
    Ok(match text {
        "true" => Node::Flag(true),
        "false" => Node::Flag(false),
        _ if NOT_TEXTS.contains(&text.to_lowercase().as_str()) => Node::Other(text.to_owned()),
        _ => Node::text(text),
    })
}

fn write_table(entries: &[(String, Node)], indent: usize, lines: &mut Vec<String>) -> Result<(), Doubt> {
    for (key, node) in entries {
        let begin = format!("{:indent$}{key}:", "");
        match node {
            Node::Table(inner) if !inner.is_empty() => {
                lines.push(begin);
                write_table(inner, indent + INDENT, lines)?;
            }
            Node::List(items) if !items.is_empty() => {
                lines.push(begin);
                for item in items {
                    lines.push(format!("{:indent$}- {}", "", written(item)?));
                }
            }
            _ => lines.push(format!("{begin} {}", written(node)?)),
        }
    }
    Ok(())
}

fn written(node: &Node) -> Result<String, Doubt> {
    Ok(match node {
        Node::Text(text) if is_plain(text) => text.clone(),
        Node::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
        Node::Number(number) => number.to_string(),
        Node::Flag(flag) => flag.to_string(),
        Node::Other(text) => text.clone(),
        Node::List(items) if items.is_empty() => "[]".to_owned(),
        Node::Table(entries) if entries.is_empty() => "{}".to_owned(),
        Node::List(_) | Node::Table(_) => return Err(unread("")),
    })
}

/// Whether a text means itself without quotes.
fn is_plain(text: &str) -> bool {
    let is_word = |one: char| one.is_ascii_alphanumeric() || matches!(one, '/' | '.' | '_' | '-' | ' ');
    let begins = text.starts_with(|one: char| one.is_ascii_alphabetic() || one == '/');
    begins
        && !text.ends_with(' ')
        && text.chars().all(is_word)
        && !NOT_TEXTS.contains(&text.to_lowercase().as_str())
}
