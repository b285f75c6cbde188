//! The plans and bodies that `python -m tests.write_rust_cases` writes. That module describes the format.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use kwire::Plan;

/// Return the plans of some cases by dialect, message, and version, such as `kafka MetadataResponse v12`.
pub(crate) fn plans_of(cases: &[String]) -> HashMap<String, Plan> {
    let keys: HashSet<String> = cases.iter().map(|line| case(line).0).collect();
    let mut plans = HashMap::new();
    for line in lines("plans") {
        let (dialect, text) = line.split_once(' ').expect("dialect and plan");
        let mut words = text.splitn(3, ' ');
        let mut word = || words.next().expect("name, version, body");
        let key = format!("{dialect} {} {}", word(), word());
        if keys.contains(&key) {
            plans.insert(key, text.parse().unwrap_or_else(|error| panic!("{error}\n{text}")));
        }
    }
    plans
}

/// Split a line of a case file into the key of its plan, its body, and the rest.
pub(crate) fn case(line: &str) -> (String, Vec<u8>, &str) {
    let mut parts = line.splitn(5, ' ');
    let mut next = || parts.next().unwrap_or_default();
    let key = [next(), next(), next()].join(" ");
    (key, bytes(next()), next())
}

/// Decode hex digits. `-` stands for no bytes.
pub(crate) fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.trim_matches('-').as_bytes().chunks_exact(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex"))
        .collect()
}

/// Return the lines of a case file.
pub(crate) fn lines(name: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/kwire-cases");
    let file = folder.join(name).with_extension("txt");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| {
        panic!(
            "{}: {error}\nIt is derived from the declarations: run `make test`, or in .venv `python -m tests.write_rust_cases`",
            file.display()
        )
    });
    text.lines().map(str::to_owned).collect()
}

/// Return the lines of a case file, or under Miri, which is slow, a few of them.
pub(crate) fn some_lines(name: &str) -> Vec<String> {
    lines(name)
        .into_iter()
        .step_by(if cfg!(miri) { 500 } else { 1 })
        .collect()
}
