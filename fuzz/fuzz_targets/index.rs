//! Fuzz the index of a body, from which views are decoded. Two bytes of the input choose a plan of a declared message,
//! the rest is a body.
//!
//! `python -m fuzz.run` writes the plans. Its corpora and regressions have this format.

#![no_main]

use std::sync::LazyLock;

use kwire::Plan;

static PLANS: LazyLock<Vec<Plan>> = LazyLock::new(|| {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/kwire-cases/plans.txt");
    let lines = std::fs::read_to_string(file).expect("python -m tests.write_rust_cases writes it");
    let texts = lines.lines().filter_map(|line| line.split_once(' '));
    texts.map(|(_, text)| text.parse().expect("a plan")).collect()
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let Some((choice, body)) = input.split_first_chunk() {
        let plan = &PLANS[usize::from(u16::from_be_bytes(*choice)) % PLANS.len()];
        kwire_fuzz::check_index(plan, body);
    }
});
