//! JSON whose objects have each name once. A name that is there twice has no one meaning, and parsers differ about it.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A JSON value of which nothing is kept.
pub(super) struct Unique;

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(UniqueReader)
    }
}

/// A value that may be that of a name for the second time.
struct Value {
    is_again: bool,
}

impl<'de> DeserializeSeed<'de> for Value {
    type Value = Unique;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Unique, D::Error> {
        // Fails within the value, so that the path of the error has its name.
        if self.is_again { Err(D::Error::custom("it is there twice")) } else { Unique::deserialize(source) }
    }
}

struct UniqueReader;

impl<'de> Visitor<'de> for UniqueReader {
    type Value = Unique;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_str<E>(self, _: &str) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Unique, A::Error> {
        while list.next_element::<Unique>()?.is_some() {}
        Ok(Unique)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Unique, A::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = object.next_key::<String>()? {
            object.next_value_seed(Value { is_again: !names.insert(name) })?;
        }
        Ok(Unique)
    }
}
