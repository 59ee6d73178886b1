//! An entry as YAML, to be inserted by hand. It is only written: one client uses this format, and a YAML editor that
//! keeps comments would cost more than a paste does.

use super::node::Node;

/// The indent of a nested table, in spaces.
const INDENT: usize = 2;

/// A value at a path, as a separate text.
pub(super) fn written(path: &[&str], node: &Node) -> String {
    let whole = path.iter().rev().fold(node.clone(), |inner, key| Node::table([(*key, inner)]));
    let mut text = String::new();
    write_table(whole.entries(), 0, &mut text);
    text
}

fn write_table(entries: &[(String, Node)], indent: usize, text: &mut String) {
    for (key, node) in entries {
        let begin = format!("{:indent$}{key}:", "");
        match node {
            Node::Table(inner) if !inner.is_empty() => {
                *text += &format!("{begin}\n");
                write_table(inner, indent + INDENT, text);
            }
            Node::List(items) if !items.is_empty() => {
                *text += &format!("{begin}\n");
                for item in items {
                    *text += &format!("{:indent$}- {}\n", "", scalar(item));
                }
            }
            _ => *text += &format!("{begin} {}\n", scalar(node)),
        }
    }
}

fn scalar(node: &Node) -> String {
    match node {
        Node::Text(text) if is_plain(text) => text.clone(),
        // A JSON string is a valid YAML string.
        Node::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
        Node::Number(number) => number.to_string(),
        Node::Flag(flag) => flag.to_string(),
        Node::Other(text) => text.clone(),
        Node::List(_) => "[]".to_owned(),
        Node::Table(_) => "{}".to_owned(),
    }
}

/// Whether a text needs no quotes: words and paths that YAML reads as nothing else.
fn is_plain(text: &str) -> bool {
    let is_word = |one: char| one.is_ascii_alphanumeric() || matches!(one, '/' | '.' | '_' | '-' | ' ');
    let is_keyword =
        ["true", "false", "yes", "no", "on", "off", "null", "y", "n"].contains(&text.to_lowercase().as_str());
    text.starts_with(|one: char| one.is_ascii_alphabetic() || one == '/')
        && !text.ends_with(' ')
        && text.chars().all(is_word)
        && !is_keyword
}
