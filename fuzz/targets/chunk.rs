//! The body of a reply gives the same parts however it is split, in every protocol.
#![no_main]

libfuzzer_sys::fuzz_target!(|body: &[u8]| parallel_llm_provider::fuzz::chunk(body));
