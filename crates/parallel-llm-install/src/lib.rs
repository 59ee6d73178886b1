//! Our entry in the settings of other programs: MCP clients as data, and how their files are changed.

pub mod clients;
