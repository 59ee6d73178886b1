//! An error response becomes one plain, bounded sentence with a known code.
#![no_main]

libfuzzer_sys::fuzz_target!(|message: &[u8]| parallel_llm_provider::fuzz::error_body(message));
