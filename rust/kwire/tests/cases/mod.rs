//! Plans and bodies that `python -m tests.write_rust_cases` wrote; that file says in which form.

use std::collections::HashMap;
use std::path::Path;

use kwire::Plan;

/// The plans by dialect, message and version: `kafka MetadataResponse v12`.
pub(crate) fn plans() -> HashMap<String, Plan> {
    lines("plans")
        .iter()
        .map(|line| {
            let [dialect, text] = words::<2>(line);
            let [name, version, _] = words::<3>(text);
            let plan = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
            (format!("{dialect} {name} {version}"), plan)
        })
        .collect()
}

/// A line of a file of cases: the key of its plan, its body, and the rest.
pub(crate) fn case(line: &str) -> (String, Vec<u8>, &str) {
    let mut parts = line.splitn(5, ' ');
    let mut next = || parts.next().unwrap_or_default();
    let key = [next(), next(), next()].join(" ");
    (key, bytes(next()), next())
}

/// The bytes of hex digits; none of `-`.
pub(crate) fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.trim_matches('-').as_bytes().chunks_exact(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex"))
        .collect()
}

/// The lines of a file of cases. All of them, but under Miri, which is slow, every fiftieth.
pub(crate) fn lines(name: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/kwire-cases");
    let file = folder.join(name).with_extension("txt");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| {
        panic!(
            "{}: {error}\nIt is derived from the declarations: run `make test`, or in .venv `python -m tests.write_rust_cases`",
            file.display()
        )
    });
    let step = if cfg!(miri) && name != "plans" { 50 } else { 1 };
    text.lines().step_by(step).map(str::to_owned).collect()
}

/// So many parts, the last one with whatever spaces it has.
fn words<const N: usize>(line: &str) -> [&str; N] {
    let parts: Vec<&str> = line.splitn(N, ' ').collect();
    parts
        .try_into()
        .unwrap_or_else(|_| panic!("{N} words are wanted: {line}"))
}
