//! TOML: a new entry becomes a table at the end of the text and is removed line by line; inside a table, `toml_edit`
//! changes values and keeps everything else.

use std::ops::Range;

use toml_edit::{Array, Document, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::node::Node;
use super::text::{EditRefusal, line_end, splice};

/// The value at a path.
pub(super) fn read(text: &str, path: &[&str]) -> Result<Option<Node>, EditRefusal> {
    let document = parse(text)?;
    Ok(find(document.as_item(), path).map(node_of))
}

/// The text with a value at a path. The entry of a server is written as its own table.
pub(super) fn set(text: &str, path: &[&str], node: &Node) -> Result<String, EditRefusal> {
    let document = parse(text)?;
    let is_there = find(document.as_item(), path).is_some();
    let parent = find(document.as_item(), &path[..path.len() - 1]);
    if let (Node::Table(entries), false, None | Some(Item::Table(_)), 2) =
        (node, is_there, parent, path.len())
    {
        return Ok(append(text, path, entries));
    }
    let mut document = editable(text)?;
    let (key, above) = path.split_last().expect("a path has a name at its end");
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for key in above {
        let item = table.entry(key).or_insert(Item::Table(Table::new()));
        table = item.as_table_like_mut().ok_or_else(|| no_table(key))?;
    }
    let mut value = value_of(node);
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        _ => drop(table.insert(key, Item::Value(value))),
    }
    Ok(document.to_string())
}

/// The text without the table at a path.
pub(super) fn take(text: &str, path: &[&str]) -> Result<String, EditRefusal> {
    let document = parse(text)?;
    match find(document.as_item(), path) {
        Some(Item::Table(table)) if !table.is_dotted() && !table.is_implicit() => {
            let mut regions = Vec::new();
            collect(table, &mut regions);
            Ok(without(text, regions))
        }
        None => Ok(text.to_owned()),
        Some(_) => {
            let mut document = editable(text)?;
            take_from(document.as_table_mut(), path)?;
            Ok(document.to_string())
        }
    }
}

fn take_from(table: &mut dyn TableLike, path: &[&str]) -> Result<(), EditRefusal> {
    let Some((key, rest)) = path.split_first() else { return Ok(()) };
    if !rest.is_empty() {
        let Some(item) = table.get_mut(key) else { return Ok(()) };
        let inner = item.as_table_like_mut().ok_or_else(|| no_table(key))?;
        take_from(inner, rest)?;
        if !inner.is_empty() {
            return Ok(());
        }
    }
    table.remove(key);
    Ok(())
}

/// The text with a new table at the end, after a blank line.
fn append(text: &str, path: &[&str], entries: &[(String, Node)]) -> String {
    let line_end = line_end(text);
    let header = path.iter().map(|key| toml_edit::Key::new(*key).to_string()).collect::<Vec<_>>().join(".");
    let mut block = format!("[{header}]");
    for (key, node) in entries {
        let key = toml_edit::Key::new(key).to_string();
        block += &format!("{line_end}{key} = {}", value_of(node));
    }
    match text {
        "" => block + line_end,
        // If the last line has no line end, that is kept, so that removing the table restores the file.
        text if text.ends_with('\n') => format!("{text}{line_end}{block}{line_end}"),
        text => format!("{text}{line_end}{line_end}{block}"),
    }
}

/// The line ranges of a table and of the tables in it.
fn collect(table: &Table, regions: &mut Vec<Range<usize>>) {
    if let Some(span) = table.span() {
        let ends = table.iter().filter_map(|(_, item)| match item {
            Item::Value(_) => item.span().map(|span| span.end),
            _ => None,
        });
        regions.push(span.start..ends.fold(span.end, usize::max));
    }
    for (_, item) in table {
        match item {
            Item::Table(inner) => collect(inner, regions),
            Item::ArrayOfTables(tables) => tables.iter().for_each(|inner| collect(inner, regions)),
            _ => {}
        }
    }
}

/// The text without these regions, up to the ends of their lines, and without the blank line before the first.
fn without(text: &str, mut regions: Vec<Range<usize>>) -> String {
    regions.sort_by_key(|region| region.start);
    let first = regions.first().map(|region| region.start);
    let mut text = text.to_owned();
    for region in regions.into_iter().rev() {
        let mut start = text[..region.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[region.end..].find('\n').map(|at| region.end + at + 1);
        if Some(region.start) == first {
            start -= line_end_before(&text[..start], true);
        }
        if end.is_none() {
            start -= line_end_before(&text[..start], false);
        }
        text = splice(&text, start..end.unwrap_or(text.len()), "");
    }
    text
}

/// The length of the line end before a position; of a blank line's only, if wanted.
fn line_end_before(text: &str, blank: bool) -> usize {
    let length = if text.ends_with("\r\n") { 2 } else { usize::from(text.ends_with('\n')) };
    let before = &text[..text.len() - length];
    if blank && !(before.is_empty() || before.ends_with('\n')) { 0 } else { length }
}

fn parse(text: &str) -> Result<Document<&str>, EditRefusal> {
    Document::parse(text).map_err(|error| {
        // The library's message shows the line, which may contain a key; only the position is reported.
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let before = String::from_utf8_lossy(&text.as_bytes()[..at]);
        let line = before.matches('\n').count() + 1;
        EditRefusal::new(format!("it is not TOML: line {line} cannot be read"))
    })
}

/// A lossless document.
fn editable(text: &str) -> Result<DocumentMut, EditRefusal> {
    let document = parse(text)?.into_mut();
    if document.to_string() == text {
        return Ok(document);
    }
    Err(EditRefusal::new("it cannot be changed without touching other lines"))
}

fn no_table(key: &str) -> EditRefusal {
    EditRefusal::new(format!("`{key}` is not a table"))
}

fn find<'i>(item: &'i Item, path: &[&str]) -> Option<&'i Item> {
    path.iter().try_fold(item, |item, key| item.as_table_like()?.get(key))
}

fn value_of(node: &Node) -> Value {
    match node {
        Node::Text(text) | Node::Other(text) => text.as_str().into(),
        Node::Number(number) => (*number).into(),
        Node::Flag(flag) => (*flag).into(),
        Node::List(items) => Value::Array(items.iter().map(value_of).collect::<Array>()),
        Node::Table(entries) => {
            let entries = entries.iter().map(|(key, node)| (key.as_str(), value_of(node)));
            Value::InlineTable(entries.collect::<InlineTable>())
        }
    }
}

fn node_of(item: &Item) -> Node {
    if let Some(table) = item.as_table_like() {
        return Node::table(table.iter().map(|(key, item)| (key, node_of(item))));
    }
    match item {
        Item::Value(value) => node_of_value(value),
        Item::ArrayOfTables(tables) => Node::List(
            tables
                .iter()
                .map(|table| Node::table(table.iter().map(|(key, item)| (key, node_of(item)))))
                .collect(),
        ),
        Item::None | Item::Table(_) => Node::Table(Vec::new()),
    }
}

fn node_of_value(value: &Value) -> Node {
    match value {
        Value::String(text) => Node::text(text.value()),
        Value::Integer(number) => Node::Number(*number.value()),
        Value::Boolean(flag) => Node::Flag(*flag.value()),
        Value::Float(number) => Node::Other(number.value().to_string()),
        Value::Datetime(date) => Node::Other(date.value().to_string()),
        Value::Array(items) => Node::List(items.iter().map(node_of_value).collect()),
        Value::InlineTable(table) => {
            Node::table(table.iter().map(|(key, value)| (key, node_of_value(value))))
        }
    }
}
