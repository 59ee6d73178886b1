//! A byte stream gives the same server-sent events however it is split.
#![no_main]

libfuzzer_sys::fuzz_target!(|stream: &[u8]| parallel_llm_provider::fuzz::sse(stream));
