//! A value in a client's file, independent of its format.

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// A text.
    Text(String),
    /// A whole number.
    Number(i64),
    /// A boolean.
    Flag(bool),
    /// A list of values.
    List(Vec<Node>),
    /// Named values in the order of the file.
    Table(Vec<(String, Node)>),
    /// Anything else, as written. It is only compared, never created here.
    Other(String),
}

impl Node {
    /// A text.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A table with these entries.
    pub(super) fn table<K: Into<String>>(entries: impl IntoIterator<Item = (K, Node)>) -> Self {
        Self::Table(entries.into_iter().map(|(key, node)| (key.into(), node)).collect())
    }

    /// A list of texts.
    pub(super) fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::List(texts.into_iter().map(Self::text).collect())
    }

    /// The value with this name, if this is a table that has it.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The entries, if this is a table.
    pub(super) fn entries(&self) -> &[(String, Self)] {
        match self {
            Self::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The text, if this is one.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if this is one.
    pub(super) const fn as_number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The values, if this is a list.
    pub(super) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// Sets the value at a path of names, adding missing tables on the way.
    pub(super) fn set(&mut self, path: &[&str], node: Self) {
        let Some((key, rest)) = path.split_first() else {
            *self = node;
            return;
        };
        if !matches!(self, Self::Table(_)) {
            *self = Self::Table(Vec::new());
        }
        let Self::Table(entries) = self else { return };
        let at = entries.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
            entries.push(((*key).to_owned(), Self::Table(Vec::new())));
            entries.len() - 1
        });
        entries[at].1.set(rest, node);
    }

    /// Removes the value at a path, and each table on the way that is then empty.
    pub(super) fn take(&mut self, path: &[&str]) {
        let (Self::Table(entries), Some((key, rest))) = (self, path.split_first()) else { return };
        let Some(at) = entries.iter().position(|(name, _)| name == key) else { return };
        if !rest.is_empty() {
            entries[at].1.take(rest);
        }
        if rest.is_empty() || entries[at].1 == Self::Table(Vec::new()) {
            entries.remove(at);
        }
    }
}
