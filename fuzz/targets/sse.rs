//! A stream of events gives the same events however it is cut.
#![no_main]

libfuzzer_sys::fuzz_target!(|stream: &[u8]| parallel_llm_provider::fuzz::sse(stream));
