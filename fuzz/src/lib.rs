//! Properties of every plan and all bytes. The fuzz targets search for counterexamples.
//! `rust/kwire/tests/regressions.rs` includes this file and checks those that were found.

use kwire::{Plan, Value, validate};

/// Check an input: a plan, a line feed, and a body.
pub fn check(input: &[u8]) {
    let mut parts = input.splitn(2, |byte| *byte == b'\n');
    let (text, body) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let Ok(text) = std::str::from_utf8(text) else { return };
    match text.parse::<Plan>() {
        Ok(plan) => {
            assert_eq!(
                plan.to_string().parse().as_ref(),
                Ok(&plan),
                "a plan's own text is another plan"
            );
            check_body(&plan, body);
        }
        Err(error) => assert!(
            text.is_char_boundary(error.offset),
            "an error outside of the text: {error}"
        ),
    }
}

/// Check that decoding and validation agree, and that a decoded body encodes to at most as many bytes, which decode to
/// the same value.
pub fn check_body(plan: &Plan, body: &[u8]) {
    let value = match Value::decode(plan, body) {
        Ok(value) => value,
        Err(error) => {
            assert!(error.offset <= body.len(), "an error outside of the body: {error}");
            assert_eq!(
                validate(plan, body),
                Err(error),
                "validate says something else than decode"
            );
            return;
        }
    };
    assert_eq!(validate(plan, body), Ok(()), "validate refuses what decode takes");
    let written = value.encode(plan).expect("what was read can be written");
    assert!(written.len() <= body.len(), "no form of a value is longer than ours is");
    let again = Value::decode(plan, &written).expect("what was written can be read");
    assert_eq!(again, value, "another value after a round trip");
    assert_eq!(
        again.encode(plan).as_ref(),
        Ok(&written),
        "other bytes after a round trip"
    );
    if let Some((_, beginning)) = written.split_last() {
        assert!(
            Value::decode(plan, beginning).is_err(),
            "a body without its last byte is a body"
        );
    }
}
