//! Fuzz record batches.

#![no_main]

#[path = "../src/records.rs"]
mod records;

libfuzzer_sys::fuzz_target!(|input: &[u8]| records::check(input));
