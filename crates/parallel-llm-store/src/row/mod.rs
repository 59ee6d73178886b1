//! What the database holds, whichever database it is: rows, how their texts are compressed, and their checksums.

pub(crate) mod checksum;
pub(crate) mod compressed;
pub(crate) mod entries;
pub(crate) mod owner;
pub(crate) mod seat_fact;
