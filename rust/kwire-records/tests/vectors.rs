//! Batches written by Kafka's own classes, and damaged ones, through this crate alone.
//! `python -m tests.write_rust_cases` writes them: verdict, number of records, unread bytes, and the bytes in hex.

use std::path::Path;

use kwire_records::{Batches, Budget, DecodeError, Decoder, Limits, Stop};

#[allow(dead_code, unreachable_pub, reason = "public in the crate that fuzzes")]
#[path = "../../../fuzz/src/records.rs"]
mod checks;

struct Case {
    is_valid: bool,
    records: usize,
    unread: usize,
    bytes: Vec<u8>,
}

fn cases() -> Vec<Case> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/kwire-cases/records.txt");
    let text = std::fs::read_to_string(file).expect("python -m tests.write_rust_cases writes it");
    let found: Vec<_> = text.lines().map(case).collect();
    assert!(found.len() > 1000, "{}", found.len());
    found
}

fn case(line: &str) -> Case {
    let mut words = line.split(' ');
    let mut next = || words.next().expect("four words");
    let is_valid = next() == "ok";
    let records = next().parse().expect("a number");
    let unread = next().parse().expect("a number");
    let hex = next().trim_matches('-').as_bytes();
    let digits = hex.chunks(2).map(|pair| std::str::from_utf8(pair).expect("ASCII"));
    let bytes = digits.map(|pair| u8::from_str_radix(pair, 16).expect("hex")).collect();
    Case {
        is_valid,
        records,
        unread,
        bytes,
    }
}

/// Return the number of records and of unread bytes.
fn decode(bytes: &[u8]) -> Result<(usize, usize), Box<DecodeError>> {
    let mut decoder = Decoder::default();
    let mut budget = Budget::new(Limits::NONE);
    let mut batches = Batches::new(bytes);
    let mut found = checks::Collector::default();
    for batch in batches.by_ref() {
        let batch = batch?;
        batch.check_crc()?;
        decoder
            .walk(&batch, true, &mut budget, &mut found)
            .map_err(|stop| match stop {
                Stop::Bytes(error) => error,
                Stop::Visitor(never) => match never {},
            })?;
    }
    Ok((found.records.len(), batches.unread()))
}

#[test]
fn batches_have_kafkas_verdict() {
    for case in cases() {
        match decode(&case.bytes) {
            Ok(found) => {
                assert!(case.is_valid, "{:02x?}", case.bytes);
                assert_eq!(found, (case.records, case.unread));
            }
            Err(error) => assert!(!case.is_valid, "{error}: {:02x?}", case.bytes),
        }
    }
}

#[test]
fn every_prefix_is_cut_or_invalid() {
    for case in cases().iter().filter(|case| case.is_valid && case.bytes.len() < 500) {
        for length in 0..case.bytes.len() {
            let prefix = &case.bytes[..length];
            let (records, unread) = decode(prefix).expect("a prefix is a shorter input");
            assert!(records <= case.records && unread <= length);
        }
    }
}

#[test]
fn damaged_batches_keep_the_properties_of_the_fuzz_target() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).expect("below a usize")
    };
    for case in cases() {
        checks::check(&case.bytes);
        if case.bytes.is_empty() || case.bytes.len() > 2000 {
            continue;
        }
        for _ in 0..40 {
            let mut bytes = case.bytes.clone();
            for _ in 0..=random(3) {
                let place = random(bytes.len());
                bytes[place] = match random(4) {
                    0 => 0xff,
                    1 => 0,
                    _ => bytes[place] ^ 1 << random(8),
                };
            }
            checks::check(&bytes);
        }
    }
}

#[test]
fn regressions_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions/records");
    for file in folder.read_dir().expect("the folder") {
        checks::check(&std::fs::read(file.expect("a file").path()).expect("its bytes"));
    }
}
