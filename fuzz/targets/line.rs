//! Every line of a client is a message, or is ignored, or gets one reply that names no id but its own.
#![no_main]

libfuzzer_sys::fuzz_target!(|line: &[u8]| parallel_llm_mcp_door::fuzz::line(line));
