//! The plans and bodies that `python -m tests.write_rust_cases` writes. That module describes the format.

use std::collections::{HashMap, HashSet};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

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
    let file = path(name);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| missing(&file, &error));
    text.lines().map(str::to_owned).collect()
}

/// Return the lines of a case file, or under Miri, which is slow, a few of them.
pub(crate) fn some_lines(name: &str) -> Vec<String> {
    const SAMPLES: u64 = 20;
    if !cfg!(miri) {
        return lines(name);
    }
    // Miri takes minutes to read the whole file, so this reads a block at each of several offsets.
    let path = path(name);
    let mut file = std::fs::File::open(&path).unwrap_or_else(|error| missing(&path, &error));
    let size = file.metadata().expect("metadata").len();
    let sample = |index: u64| {
        let mut block = Vec::new();
        file.seek(SeekFrom::Start(index * size / SAMPLES)).expect("seek");
        (&file).take(4096).read_to_end(&mut block).expect("read");
        let text = String::from_utf8(block).expect("ASCII");
        // The first and the last line of a block are incomplete.
        let mut lines = text.split('\n').skip(1).map(str::to_owned).collect::<Vec<_>>();
        lines.pop();
        lines.into_iter().next()
    };
    (0..SAMPLES).filter_map(sample).collect()
}

fn path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/kwire-cases");
    folder.join(name).with_extension("txt")
}

fn missing(file: &Path, error: &std::io::Error) -> ! {
    panic!(
        "{}: {error}\nThe file is derived from the declarations: run `make test`, or in .venv `python -m tests.write_rust_cases`",
        file.display()
    )
}
