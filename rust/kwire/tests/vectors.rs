//! Bytes written by Kafka's own classes, by clients, and by brokers, decoded and encoded by this crate alone.

use kwire::{Plan, Value, validate};

mod cases;

#[test]
fn plans_print_unchanged() {
    for line in cases::some_lines("plans") {
        let (_, text) = line.split_once(' ').expect("dialect and plan");
        let plan: Plan = text.parse().expect(text);
        assert_eq!(plan.to_string(), text);
    }
}

#[test]
fn bodies_round_trip() {
    let lines = cases::some_lines("bodies");
    assert!(lines.len() > if cfg!(miri) { 10 } else { 10_000 }, "{}", lines.len());
    let plans = cases::plans_of(&lines);
    for line in lines {
        let (key, body, other) = cases::case(&line);
        let plan = &plans[&key];
        let expected = if other.is_empty() {
            body.clone()
        } else {
            cases::bytes(other)
        };
        let value = Value::decode(plan, &body).unwrap_or_else(|error| panic!("{error}\n{line}"));
        let written = value.encode(plan).unwrap_or_else(|error| panic!("{error}\n{line}"));
        assert_eq!(written, expected, "{line}");
        assert_eq!(Value::decode(plan, &written), Ok(value.clone()), "{line}");
        assert_eq!(validate(plan, &body), Ok(()), "{line}");
    }
}

/// Only short bodies: a longer one does nothing at its end that a shorter one does not.
#[test]
fn every_prefix_of_a_body_is_rejected() {
    let mut lines = cases::some_lines("bodies");
    lines.retain(|line| line.len() < if cfg!(miri) { 100 } else { 500 });
    let plans = cases::plans_of(&lines);
    for line in &lines {
        let (key, body, _) = cases::case(line);
        for length in 0..body.len() {
            let beginning = &body[..length];
            let error = Value::decode(&plans[&key], beginning).expect_err(line);
            assert!(error.offset <= length, "{error}\n{line}");
            assert_eq!(validate(&plans[&key], beginning), Err(error), "{line}");
        }
    }
}

#[test]
fn damaged_bodies_have_the_error_of_the_reference() {
    let lines = cases::some_lines("damaged");
    let plans = cases::plans_of(&lines);
    for line in &lines {
        let (key, body, expected) = cases::case(line);
        let error = Value::decode(&plans[&key], &body).expect_err(line);
        let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        let path = error
            .path
            .to_string()
            .replace("].", "/")
            .replace(['.', '['], "/")
            .replace(']', "");
        let found = [
            error.kind.name().to_owned(),
            error.offset.to_string(),
            number(error.wanted),
            number(error.left.map(|left| left as u64)),
            if path.is_empty() { "-".to_owned() } else { path },
        ];
        assert_eq!(found.join(" "), expected, "{line}");
        assert_eq!(validate(&plans[&key], &body), Err(error), "{line}");
    }
}
