//! What fuzzing once found, one test a file of `fuzz/regressions/plans`, with its story.

use std::path::Path;

#[allow(unreachable_pub, reason = "public in the crate that fuzzes")]
#[path = "../../../fuzz/src/lib.rs"]
mod checks;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions/plans")
}

fn replay(name: &str) {
    checks::check(&std::fs::read(folder().join(name)).expect(name));
}

#[test]
fn every_file_has_a_test_of_its_name() {
    for file in folder().read_dir().expect("the folder") {
        let name = file.expect("a file").file_name().into_string().expect("ASCII");
        assert!(
            include_str!("regressions.rs").contains(&format!("replay(\"{name}\")")),
            "no test replays {name}"
        );
    }
}

/// Fields could stand in any order and were printed in one, so a plan's own text opened its structs in another order and
/// was another plan; Python paired the structs with the wrong classes. Now there is one order, and no other is read.
#[test]
fn tags_that_do_not_ascend() {
    replay("tags_that_do_not_ascend");
}

/// An empty array that was written although it is its tag's default was not the array that the default is.
#[test]
fn a_default_that_is_written() {
    replay("a_default_that_is_written");
}

/// A bool of 2 is true and is written as 1, and the array of it was not the one that came back.
#[test]
fn a_bool_of_two() {
    replay("a_bool_of_two");
}
