//! JSON with comments, changed by a library that keeps them: every other value, comment and trailing comma stays, and
//! so does every line without our values. Our values are written on lines of their own.

use jsonc_parser::ast::Value;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::errors::ParseError;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

use super::node::Node;
use super::text::EditRefusal;

/// The deepest indent of a line: the editor repeats an indent before each line it writes.
const INDENT_MAX: usize = 1_000;

/// The most values, comments and blank lines in an object that is changed: the editor's time grows with their square.
const PARTS_MAX: usize = 4_000;

/// JSON as editors write it: comments and trailing commas, and no other extension.
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

/// Parses a text with comments; the error is the line number, counted from 1. Nothing of the text is shown.
pub(super) fn plain(text: &str) -> Result<serde_json::Value, usize> {
    jsonc_parser::parse_to_serde_value(text, &OPTIONS).map_err(|error| error.line_display())
}

/// The value at a path.
pub(super) fn read(text: &str, path: &[&str]) -> Result<Option<Node>, EditRefusal> {
    let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };
    let parsed = parse_to_ast(text, &collect, &OPTIONS).map_err(|error| unread(&error))?;
    // An empty text, or one with only comments, counts as an object.
    let Some(root) = parsed.value else { return Ok(path.is_empty().then(|| Node::Table(Vec::new()))) };
    if !matches!(root, Value::Object(_)) {
        return Err(no_object());
    }
    let mut at = &root;
    for key in path {
        let Value::Object(object) = at else { return Err(no_table(key)) };
        let mut found = object.properties.iter().filter(|one| one.name.as_str() == *key);
        let Some(first) = found.next() else { return Ok(None) };
        // Programs differ in which of two equal names they read.
        if found.next().is_some() {
            return Err(EditRefusal::new(format!("`{key}` occurs twice")));
        }
        at = &first.value;
    }
    Ok(Some(node_of(at)))
}

/// The text with a value at a path.
pub(super) fn set(text: &str, path: &[&str], node: &Node) -> Result<String, EditRefusal> {
    // This finds what the editor does not check, such as a name that occurs twice.
    read(text, path)?;
    let (root, object) = editable(text, path)?;
    let Some((key, above)) = path.split_last() else {
        root.set_value(value_of(node));
        return Ok(root.to_string());
    };
    let mut object = object;
    for key in above {
        object = object.object_value_or_create(key).ok_or_else(|| no_table(key))?;
    }
    match object.get(key) {
        Some(found) => found.set_value(value_of(node)),
        None => drop(object.append(key, value_of(node))),
    }
    Ok(root.to_string())
}

/// The text with another value in the list at a path.
pub(super) fn push(text: &str, path: &[&str], node: &Node) -> Result<String, EditRefusal> {
    if read(text, path)?.is_none() {
        return set(text, path, &Node::List(vec![node.clone()]));
    }
    let (root, object) = editable(text, path)?;
    let list = list_at(object, path)
        .ok_or_else(|| EditRefusal::new(format!("`{}` is not a list", path.join("."))))?;
    list.append(value_of(node));
    Ok(root.to_string())
}

/// The text without the value at a path, and without the objects around it that are then empty.
pub(super) fn take(text: &str, path: &[&str]) -> Result<String, EditRefusal> {
    let (root, object) = editable(text, path)?;
    let mut properties = Vec::new();
    let mut inside = Some(object);
    for key in path {
        let Some(property) = inside.and_then(|object| object.get(key)) else { return Ok(text.to_owned()) };
        inside = property.object_value();
        properties.push(property);
    }
    while let Some(property) = properties.pop() {
        let is_last =
            properties.last().and_then(CstObjectProp::object_value).is_some_and(|object| holds_one(&object));
        if !is_last {
            property.remove();
            break;
        }
    }
    Ok(root.to_string())
}

/// The text without the matching values of a list, and without the list if it is then empty.
pub(super) fn pull(text: &str, path: &[&str], is_so: impl Fn(&Node) -> bool) -> Result<String, EditRefusal> {
    let Some(list) = read(text, path)? else { return Ok(text.to_owned()) };
    if list.items().iter().all(&is_so) {
        return take(text, path);
    }
    let (root, object) = editable(text, path)?;
    let elements = list_at(object, path).map(|list| list.elements()).unwrap_or_default();
    for (element, _) in elements.into_iter().zip(list.items()).filter(|(_, item)| is_so(item)) {
        element.remove();
    }
    Ok(root.to_string())
}

/// The text as a lossless tree, and its object, if the objects on the path are small enough to edit.
fn editable(text: &str, path: &[&str]) -> Result<(CstRootNode, CstObject), EditRefusal> {
    let is_wide = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len() > INDENT_MAX;
    if let Some(at) = text.lines().position(is_wide) {
        return Err(EditRefusal::new(format!(
            "line {} is indented by more than {INDENT_MAX} blanks",
            at + 1
        )));
    }
    let root = CstRootNode::parse(text, &OPTIONS).map_err(|error| unread(&error))?;
    let object = root.object_value_or_create().ok_or_else(no_object)?;
    let mut inside = Some(object.clone());
    for key in path {
        let Some(object) = inside else { break };
        if object.children().len() > PARTS_MAX {
            return Err(EditRefusal::new(format!("an object in it has more than {PARTS_MAX} parts")));
        }
        inside = object.object_value(key);
    }
    Ok((root, object))
}

/// Whether an object contains one property and no comment.
fn holds_one(object: &CstObject) -> bool {
    object.properties().len() == 1 && !object.children().iter().any(CstNode::is_comment)
}

fn list_at(object: CstObject, path: &[&str]) -> Option<CstArray> {
    let (key, above) = path.split_last()?;
    above.iter().try_fold(object, |object, key| object.object_value(key))?.array_value(key)
}

fn unread(error: &ParseError) -> EditRefusal {
    EditRefusal::new(format!("it is not JSON: {error}"))
}

fn no_object() -> EditRefusal {
    EditRefusal::new("it holds no JSON object")
}

fn no_table(key: &str) -> EditRefusal {
    EditRefusal::new(format!("there is no table where `{key}` belongs"))
}

fn value_of(node: &Node) -> CstInputValue {
    match node {
        Node::Text(text) => text.as_str().into(),
        Node::Number(number) => (*number).into(),
        Node::Flag(flag) => (*flag).into(),
        // A number is written as it is, and so is `null`.
        Node::Other(text) => CstInputValue::Number(text.clone()),
        Node::List(items) => CstInputValue::Array(items.iter().map(value_of).collect()),
        Node::Table(entries) => {
            CstInputValue::Object(entries.iter().map(|(key, node)| (key.clone(), value_of(node))).collect())
        }
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
