//! Adds this program to MCP clients: the clients as data, and how their configuration files are changed.

pub mod clients;
