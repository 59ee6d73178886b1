//! Writes JSON objects with fields in insertion order, as the captured replies have them.
//!
//! serde_json escapes the values; the result is always one valid object.

use serde::Serialize;

/// A JSON object under construction. Cloning it lets chunks share their first fields.
#[derive(Clone, Debug)]
pub(crate) struct Object(Vec<u8>);

impl Object {
    pub(crate) fn new() -> Self {
        Self(vec![b'{'])
    }

    /// Adds a plain value.
    pub(crate) fn with(mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Self {
        self.key(key);
        self.value(value);
        self
    }

    /// Adds an object.
    pub(crate) fn nest(mut self, key: &str, inner: Object) -> Self {
        self.key(key);
        self.0.extend(inner.bytes());
        self
    }

    /// Adds a list of objects.
    pub(crate) fn list(mut self, key: &str, items: impl IntoIterator<Item = Object>) -> Self {
        self.key(key);
        self.0.push(b'[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.0.push(b',');
            }
            self.0.extend(item.bytes());
        }
        self.0.push(b']');
        self
    }

    pub(crate) fn bytes(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }

    fn key(&mut self, key: &str) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        self.value(key);
        self.0.push(b':');
    }

    fn value(&mut self, value: &(impl Serialize + ?Sized)) {
        serde_json::to_writer(&mut self.0, value).expect("plain values always serialize into memory");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_order() {
        let object = Object::new()
            .nest("error", Object::new().with("message", "a \"b\"").with("code", &401))
            .list("choices", [Object::new(), Object::new().with("index", &0)]);
        let expected = r#"{"error":{"message":"a \"b\"","code":401},"choices":[{},{"index":0}]}"#;
        assert_eq!(String::from_utf8(object.bytes()).unwrap(), expected);
    }
}
