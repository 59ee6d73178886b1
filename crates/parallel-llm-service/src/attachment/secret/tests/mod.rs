//! Which files and texts are taken for secrets: one by one, in lines, and in kinds of files.

mod corpus;
mod lists;
mod verdicts;
