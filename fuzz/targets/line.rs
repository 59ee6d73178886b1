//! Every line a client may send is a message, nothing, or gets one reply that names no id that is not its own.
#![no_main]

libfuzzer_sys::fuzz_target!(|line: &[u8]| parallel_llm_mcp_door::fuzz::line(line));
