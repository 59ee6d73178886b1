//! The program as its users reach it: the command line, MCP on pipes and over HTTP, its files and its database. All model
//! calls go to the simulator.
//!
//! One binary for all files: they share their clients and link once.

mod ask;
mod attachments;
mod bad_input;
mod calibration;
mod checks;
mod choosing;
mod completions;
mod conversations;
mod dialects;
mod doctor;
mod documentation;
mod dry_run;
mod endings;
mod faults;
mod flows;
mod folders;
mod further;
mod help;
mod history;
mod hostile;
mod http;
mod install;
mod keys;
mod limits;
mod lists;
mod manual;
mod matrix;
mod mcp;
mod memory;
mod mistakes;
mod models;
mod names;
mod offers;
mod personas;
mod pllm;
mod providers;
mod quirks;
mod repeats;
mod roots;
mod runs;
mod screen;
mod soak;
mod store;
mod store_modes;
mod strategies;
mod tables;
mod tasks;
mod telemetry;
mod templates;
mod tenants;
mod terminal;
mod upstreams;
mod views;
