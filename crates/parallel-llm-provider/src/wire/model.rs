//! The list of models, as `GET models` returns it.
//!
//! Neither fields nor their types and names are guaranteed, and some lists give the same fact under two names. So an
//! object is kept as its fields, and a fact is the first of its names that can be read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire::loose;

/// The whole list. Entries are read one by one, so that an unreadable one only affects itself.
#[derive(Debug)]
pub(crate) struct List<'a> {
    pub(crate) models: Vec<&'a RawValue>,
    /// Whether there are further pages.
    pub(crate) has_more_pages: bool,
}

impl<'a> List<'a> {
    /// Reads a list that is bare or in an envelope: `{"data": […]}` nearly everywhere, `{"models": […]}` at
    /// Google. `None` if it is neither.
    pub(crate) fn read(body: &'a [u8]) -> Option<Self> {
        if let Ok(models) = serde_json::from_slice(body) {
            return Some(Self { models, has_more_pages: false });
        }
        let envelope: Fields<'a> = serde_json::from_slice(body).ok()?;
        let list = |field: Option<&'a RawValue>| serde_json::from_str(field?.get()).ok();
        let models: Vec<&RawValue> = envelope.first(&["data", "models"], list)?;
        let counted = envelope.first(&["total_count"], loose::count);
        let has_more_pages = counted.is_some_and(|count| count > models.len() as u64)
            || envelope.get("has_more").is_some_and(|more| more.get() == "true")
            || loose::holds_any(envelope.part("links").get("next"))
            || loose::holds_any(envelope.get("nextPageToken"));
        Some(Self { models, has_more_pages })
    }
}

/// The fields of an object. One that is `null` counts as missing.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Fields<'a>(#[serde(borrow)] BTreeMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    /// One field.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.get(name).copied().filter(|raw| raw.get() != "null")
    }

    /// The first of these fields that can be read this way.
    pub(crate) fn first<T>(
        &self,
        names: &[&str],
        read: impl Fn(Option<&'a RawValue>) -> Option<T>,
    ) -> Option<T> {
        names.iter().find_map(|name| read(self.get(name)))
    }

    /// The first of these fields that is text.
    pub(crate) fn text(&self, names: &[&str]) -> Option<Cow<'a, str>> {
        self.first(names, loose::text_of)
    }

    /// The fields of a nested object, none if there is no such object.
    pub(crate) fn part(&self, name: &str) -> Self {
        loose::part(self.get(name))
    }
}
