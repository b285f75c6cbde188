//! Fuzz a plan and a body; both come from the fuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| kwire_fuzz::check(input));
