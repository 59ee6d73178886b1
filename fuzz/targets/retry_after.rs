//! No parsed `Retry-After` is negative or longer than a year.
#![no_main]

libfuzzer_sys::fuzz_target!(|message: &[u8]| parallel_llm_provider::fuzz::retry_after(message));
