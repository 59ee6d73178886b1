//! Ask many language models at once and get one answer you can trust.
