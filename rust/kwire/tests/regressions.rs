//! What fuzzing once found, one test a file of `fuzz/regressions/plans`, with its story.

use std::path::Path;

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
