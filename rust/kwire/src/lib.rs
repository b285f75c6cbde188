//! A codec for Kafka's protocol that is driven by plans.
//!
//! A plan says, in one line of text, what a message looks like in one version. This crate parses plans and walks bytes
//! by them. It knows no Python: tests, fuzzing and benchmarks need plans and bytes alone.
