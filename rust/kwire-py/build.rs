//! Make the configuration and the version of the Python interpreter available to the crate.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
    println!(
        "cargo:rustc-env=PYTHON_MINOR={}",
        pyo3_build_config::get().version().minor
    );
}
