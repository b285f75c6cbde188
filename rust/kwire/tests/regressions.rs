//! Inputs found by fuzzing, one test for each file in `fuzz/regressions/plans`.

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
fn every_file_has_a_test() {
    for file in folder().read_dir().expect("the folder") {
        let name = file.expect("a file").file_name().into_string().expect("ASCII");
        assert!(
            include_str!("regressions.rs").contains(&format!("replay(\"{name}\")")),
            "no test replays {name}"
        );
    }
}

/// Fields were accepted in any order but printed in one. The printed plan opened its structs in another order, and
/// Python paired them with the wrong classes. Now only one order is accepted.
#[test]
fn tags_that_do_not_ascend() {
    replay("tags_that_do_not_ascend");
}

/// An encoded empty array that equals the default of its tag did not compare equal to the default.
#[test]
fn a_default_that_is_written() {
    replay("a_default_that_is_written");
}

/// A bool of 2 is true and is encoded as 1. An array of it did not compare equal after a round trip.
#[test]
fn a_bool_of_two() {
    replay("a_bool_of_two");
}
