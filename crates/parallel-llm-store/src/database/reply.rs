//! A result whose type only its caller knows: what hands it on is compiled once, and not for each type.

use std::any::Any;
use std::fmt;

use parallel_llm_engine::Failure;

use super::sql::parts::session::Reader;

/// A result of a type that its caller knows.
pub(crate) struct Reply(Box<dyn Any + Send>);

impl Reply {
    pub(crate) fn new<T: Send + 'static>(result: T) -> Self {
        Self(Box::new(result))
    }

    /// The result, of the type with which it was made.
    pub(crate) fn take<T: 'static>(self) -> T {
        *self.0.downcast().expect("a reply has the type with which it was made")
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Reply")
    }
}

/// A function of one view of the database.
pub(crate) type Read = Box<dyn FnOnce(&Reader<'_>) -> Result<Reply, Failure> + Send>;

/// The function, with a reply as its result.
pub(crate) fn reading<T: Send + 'static>(
    read: impl FnOnce(&Reader<'_>) -> Result<T, Failure> + Send + 'static,
) -> Read {
    Box::new(move |reader| read(reader).map(Reply::new))
}
