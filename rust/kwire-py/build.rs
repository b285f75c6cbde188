//! Make the configuration of the Python interpreter available to the crate.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
}
