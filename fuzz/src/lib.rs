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
                "a plan prints as another plan"
            );
            check_body(&plan, body);
        }
        Err(error) => assert!(
            text.is_char_boundary(error.offset),
            "the error is outside the text: {error}"
        ),
    }
}

/// Check that decoding and validation agree, and that a decoded body encodes to at most as many bytes, which decode to
/// the same value.
pub fn check_body(plan: &Plan, body: &[u8]) {
    let value = match Value::decode(plan, body) {
        Ok(value) => value,
        Err(error) => {
            assert!(error.offset <= body.len(), "the error is outside the body: {error}");
            assert_eq!(
                validate(plan, body),
                Err(error),
                "validate returns another error than decode"
            );
            return;
        }
    };
    assert_eq!(validate(plan, body), Ok(()), "validate rejects what decode accepts");
    let written = value.encode(plan).expect("a decoded value encodes");
    assert!(written.len() <= body.len(), "the encoding is longer than the input");
    let again = Value::decode(plan, &written).expect("an encoded value decodes");
    assert_eq!(again, value, "the value changed in a round trip");
    assert_eq!(
        again.encode(plan).as_ref(),
        Ok(&written),
        "the bytes changed in a round trip"
    );
    if let Some((_, beginning)) = written.split_last() {
        assert!(
            Value::decode(plan, beginning).is_err(),
            "a body without its last byte is accepted"
        );
    }
}
