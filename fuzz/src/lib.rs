//! Properties of every plan and all bytes. The fuzz targets search for counterexamples.
//! `rust/kwire/tests/regressions.rs` includes this file and checks the inputs that were found.

use kwire::index::{Index, KeyFields, KeyTable};
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
            check_index(plan, body);
            return;
        }
    };
    assert_eq!(validate(plan, body), Ok(()), "validate rejects what decode accepts");
    check_index(plan, body);
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

/// Check that an index has the errors of decoding, and that the parts it finds have the values of the message.
pub fn check_index(plan: &Plan, body: &[u8]) {
    let root = &plan.root;
    let (index, fields) = match (Index::new(root, body), Value::decode(plan, body)) {
        (Ok(index), Ok(Value::Struct(fields))) => (index, fields),
        (index, value) => {
            assert_eq!(index.err(), value.err(), "an index has another error than decode");
            return;
        }
    };
    assert!(
        index.size() <= 1_000 + 100 * root.fields.len() + 16 * body.len(),
        "the index is too large"
    );
    for (position, field) in root.fields.iter().enumerate() {
        let part = index.field(root, body, position).expect("a field");
        assert_eq!(
            Value::of_part(part).as_ref(),
            Ok(&fields[position]),
            "another {}",
            field.name
        );
        check_elements(plan, body, &index, position, &fields[position]);
    }
    for tagged in &root.tagged {
        if let Some(part) = index.tagged(root, body, tagged.field.position) {
            let expected = &fields[tagged.field.position];
            assert_eq!(
                Value::of_part(part).as_ref(),
                Ok(expected),
                "another {}",
                tagged.field.name
            );
        }
    }
    if let Some(Value::Tags(tags)) = fields.last() {
        assert_eq!(index.unknown_tags(root, body), **tags, "other unknown tags");
    }
    // Other bytes than those of the index must not cause a panic.
    for other in [&body[..body.len() / 2], &[][..]] {
        for position in 0..=root.fields.len() {
            let _ = index.field(root, other, position).map(Value::of_part);
            let _ = index.elements(root, other, position, &(0..1)).map(Value::of_part);
            let _ = index.tagged(root, other, position).map(Value::of_part);
        }
        index.unknown_tags(root, other);
    }
}

/// Check the elements of an array of structs, one by one, together, and by key.
fn check_elements(plan: &Plan, body: &[u8], index: &Index, position: usize, expected: &Value<'_>) {
    let root = &plan.root;
    let (Some(count), Value::Array(elements)) = (index.count(position), expected) else {
        assert_eq!(index.count(position), None, "elements of another type than structs");
        return;
    };
    assert_eq!(count, elements.len(), "another number of elements");
    assert!(
        index.element(root, body, position, count).is_none(),
        "one element too many"
    );
    assert!(
        index.elements(root, body, position, &(0..usize::MAX)).is_none(),
        "too many elements"
    );
    for (number, element) in elements.iter().enumerate() {
        let part = index.element(root, body, position, number).expect("an element");
        assert_eq!(Value::of_part(part).as_ref(), Ok(element), "another element");
    }
    let middle = count / 3..count;
    let part = index.elements(root, body, position, &middle).expect("elements");
    assert_eq!(
        Value::of_part(part),
        Ok(Value::Array(elements[middle].to_vec().into())),
        "other elements"
    );
    for name in ["name", "topic", "topic_name", "node_id", "partition_index", "a", "b"] {
        let Some(keys) = KeyFields::new(root, position, &[name]) else {
            continue;
        };
        let table = KeyTable::new(index, root, body, position, &keys).expect("memory");
        for number in 0..count.min(8) {
            let wanted = keys.of_element(index, root, body, position, number).expect("a key");
            let found = table
                .find(index, root, body, position, &keys, &wanted)
                .expect("an element");
            assert_eq!(
                keys.of_element(index, root, body, position, found),
                Some(wanted),
                "another key"
            );
            assert!(found <= number, "an element after the first one with the key");
        }
    }
}
