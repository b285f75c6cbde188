//! The index of a body: it has the errors of decoding, finds every part, and finds elements by key.

use kwire::Plan;
use kwire::index::{Index, KeyFields, KeyTable};

mod cases;

#[allow(unreachable_pub, dead_code, reason = "public in the crate that fuzzes")]
#[path = "../../../fuzz/src/lib.rs"]
mod checks;

#[test]
fn parts_of_bodies_equal_those_of_the_message() {
    for file in ["bodies", "damaged"] {
        let lines = cases::some_lines(file);
        let plans = cases::plans_of(&lines);
        for line in &lines {
            let (key, body, _) = cases::case(line);
            checks::check_index(&plans[&key], &body);
        }
    }
}

fn plan(text: &str) -> Plan {
    text.parse().expect(text)
}

/// Return a body of an array of structs with an int16 and a compact string.
fn keyed(elements: &[(i16, &str)]) -> Vec<u8> {
    let mut body = vec![u8::try_from(elements.len() + 1).expect("few elements")];
    for (number, name) in elements {
        body.extend_from_slice(&number.to_be_bytes());
        body.push(u8::try_from(name.len() + 1).expect("a short name"));
        body.extend_from_slice(name.as_bytes());
        body.push(0);
    }
    body.push(0);
    body
}

const KEYED: &str = "Keyed v0 <elements:compact[<number:int16 name:compact_string>]>";

#[test]
fn first_element_with_a_key_is_found() {
    let plan = plan(KEYED);
    let body = keyed(&[(1, "one"), (2, "two"), (2, "two"), (3, "two"), (3, "")]);
    let index = Index::new(&plan.root, &body).expect("valid");
    let find = |names: &[&str], wanted: &[Option<&[u8]>]| {
        let keys = KeyFields::new(&plan.root, 0, names).expect("comparable");
        KeyTable::new(&index, &plan.root, &body, 0, &keys)
            .expect("memory")
            .find(&index, &plan.root, &body, 0, &keys, wanted)
    };

    assert_eq!(find(&["name"], &[Some(b"two")]), Some(1));
    assert_eq!(find(&["number"], &[Some(&[0, 3])]), Some(3));
    assert_eq!(find(&["number", "name"], &[Some(&[0, 3]), Some(b"two")]), Some(3));
    assert_eq!(find(&["name", "number"], &[Some(b""), Some(&[0, 3])]), Some(4));
    assert_eq!(find(&["name"], &[Some(b"tw")]), None);
    assert_eq!(find(&["name"], &[None]), None);
    assert_eq!(find(&["name"], &[]), None);
}

#[test]
fn keys_of_other_types_have_no_table() {
    let plan = plan("Keyed v0 {flags:[{flag:bool share:float64 names:[string]}] numbers:[int32] one:{number:int32}}");

    for name in ["flag", "share", "names", "missing"] {
        assert!(KeyFields::new(&plan.root, 0, &[name]).is_none(), "{name}");
    }
    assert!(KeyFields::new::<&str>(&plan.root, 0, &[]).is_none());
    for position in [1, 2, 3] {
        assert!(KeyFields::new(&plan.root, position, &["number"]).is_none());
    }
}

/// Otherwise creating the table would take quadratic time for chosen bytes.
#[test]
fn equal_keys_cost_no_more_than_different_ones() {
    let plan = plan("Keyed v0 {elements:[{number:int32}]}");
    let mut body = 200_000_u32.to_be_bytes().to_vec();
    body.resize(4 + 4 * 200_000, 7);
    let index = Index::new(&plan.root, &body).expect("valid");
    let keys = KeyFields::new(&plan.root, 0, &["number"]).expect("comparable");

    let table = KeyTable::new(&index, &plan.root, &body, 0, &keys).expect("memory");
    let found = table.find(&index, &plan.root, &body, 0, &keys, &[Some(&[7, 7, 7, 7])]);
    assert_eq!(found, Some(0));
}

#[test]
fn structs_of_fixed_size_need_no_offsets() {
    let plan = plan("Fixed v0 {elements:[{number:int8}]}");
    let mut body = 100_000_u32.to_be_bytes().to_vec();
    body.resize(4 + 100_000, 1);
    let index = Index::new(&plan.root, &body).expect("valid");

    assert_eq!(index.count(0), Some(100_000));
    assert_eq!(index.range(0, &(5..7)), Some(9..11));
    assert_eq!(index.range(0, &(0..100_001)), None);
    assert!(index.size() < 1_000, "{}", index.size());
}
