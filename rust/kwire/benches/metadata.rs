//! Benchmarks of the crate on `MetadataResponse`. Run all with `cargo bench -p kwire`, one with `cargo bench -p kwire
//! -- 'decode/b v12'`.
//!
//! The sizes are those of `benches/workloads.py`: (a) has 10 brokers and 100 topics of 10 partitions, (b) has 30
//! brokers and 5,000 topics of 20 partitions. Throughput is in bytes of the body. The time of decoding includes
//! dropping the values.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kwire::{Plan, Value, validate};

#[path = "../tests/cases/mod.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod cases;

struct Workload {
    name: &'static str,
    plan: Plan,
    body: Vec<u8>,
}

fn workloads() -> [Workload; 3] {
    [
        ("a v1", false, [10, 100, 10]),
        ("a v12", true, [10, 100, 10]),
        ("b v12", true, [30, 5_000, 20]),
    ]
    .map(|(name, flexible, [brokers, topics, partitions])| {
        let key = format!("kafka MetadataResponse v{}", if flexible { 12 } else { 1 });
        let plan = cases::plans_of(std::slice::from_ref(&key))
            .remove(&key)
            .expect("it is declared");
        let body = Metadata {
            flexible,
            out: Vec::new(),
        }
        .write(brokers, topics, partitions);
        Workload { name, plan, body }
    })
}

/// Writes responses like those of a broker: hosts of 35 characters, topics of 30, and three replicas in Kafka's
/// assignment, all in sync and none offline.
struct Metadata {
    flexible: bool,
    out: Vec<u8>,
}

impl Metadata {
    fn write(mut self, brokers: usize, topics: usize, partitions: usize) -> Vec<u8> {
        if self.flexible {
            self.int32(0); // throttle_time_ms
        }
        self.length(brokers);
        for broker in 1..=brokers {
            self.int32(broker);
            self.text(&format!("broker-{broker:05}.kafka.example.internal"));
            self.int32(9092);
            self.text_or_null(None); // rack
            self.tags();
        }
        if self.flexible {
            self.text_or_null(Some("lkc-0123456789abcdef")); // cluster_id
        }
        self.int32(1); // controller_id
        self.length(topics);
        for topic in 0..topics {
            self.out.extend([0, 0]); // error_code
            self.text(&format!("orders.by-customer.enriched-{topic:05}"));
            if self.flexible {
                self.out.extend(
                    (topic as u128)
                        .wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_0c1b_4f1d_0b29)
                        .to_be_bytes(),
                );
            }
            self.out.push(0); // is_internal
            self.length(partitions);
            for partition in 0..partitions {
                self.partition(topic, partition, brokers);
            }
            if self.flexible {
                self.out.extend(i32::MIN.to_be_bytes()); // topic_authorized_operations
            }
            self.tags();
        }
        self.tags();
        self.out
    }

    fn partition(&mut self, topic: usize, partition: usize, brokers: usize) {
        let first = (topic + partition) % brokers;
        let shift = (topic + partition / brokers) % (brokers - 1);
        let followers = [0, 1].map(|replica| (first + 1 + (shift + replica) % (brokers - 1)) % brokers);
        let replicas = [first, followers[0], followers[1]].map(|broker| broker + 1);
        self.out.extend([0, 0]); // error_code
        self.int32(partition);
        self.int32(replicas[0]); // leader_id
        if self.flexible {
            self.int32(topic % 6); // leader_epoch
        }
        for _ in ["replica_nodes", "isr_nodes"] {
            self.length(replicas.len());
            for replica in replicas {
                self.int32(replica);
            }
        }
        if self.flexible {
            self.length(0); // offline_replicas
        }
        self.tags();
    }

    fn int32(&mut self, value: usize) {
        self.out
            .extend(i32::try_from(value).expect("a small one").to_be_bytes());
    }

    /// Write the length of an array, or length + 1 of a compact string.
    fn length(&mut self, length: usize) {
        if self.flexible {
            self.uvarint(length + 1);
        } else {
            self.int32(length);
        }
    }

    fn uvarint(&mut self, mut value: usize) {
        while value > 0x7f {
            self.out.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.out.push(value.to_le_bytes()[0]);
    }

    fn text(&mut self, text: &str) {
        self.text_or_null(Some(text));
    }

    fn text_or_null(&mut self, text: Option<&str>) {
        match (self.flexible, text) {
            (true, Some(text)) => self.uvarint(text.len() + 1),
            (true, None) => self.uvarint(0),
            (false, Some(text)) => self
                .out
                .extend(i16::try_from(text.len()).expect("a short one").to_be_bytes()),
            (false, None) => self.out.extend((-1i16).to_be_bytes()),
        }
        self.out.extend(text.unwrap_or_default().as_bytes());
    }

    fn tags(&mut self) {
        if self.flexible {
            self.uvarint(0);
        }
    }
}

fn parse(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parse");
    for Workload { name, plan, .. } in &workloads()[..2] {
        let text = plan.to_string();
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| black_box(&text).parse::<Plan>());
        });
    }
}

fn bodies(criterion: &mut Criterion) {
    for Workload { name, plan, body } in &workloads() {
        // Check that the results are correct before measuring.
        let value = Value::decode(plan, body).expect("a body");
        assert_eq!(validate(plan, body), Ok(()));
        assert_eq!(value.encode(plan).as_ref(), Ok(body));

        let mut measure = |what: &str, work: &dyn Fn() -> bool| {
            let mut group = criterion.benchmark_group(what);
            group.throughput(Throughput::Bytes(body.len() as u64));
            group.bench_function(BenchmarkId::from_parameter(name), |bencher| bencher.iter(work));
        };
        measure("validate", &|| validate(black_box(plan), black_box(body)).is_ok());
        measure("decode", &|| Value::decode(black_box(plan), black_box(body)).is_ok());
        measure("encode", &|| black_box(&value).encode(black_box(plan)).is_ok());
    }
}

criterion_group! {
    name = metadata;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = parse, bodies
}
criterion_main!(metadata);
