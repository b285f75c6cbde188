//! Batches of handwritten bodies: the columns of valid frames, and the rows of invalid ones.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt32Type};
use arrow_array::{Array, RecordBatch};
use kwire::Plan;
use kwire_columns::{BatchError, Columns, Shape};

const TOPICS: &str = "Topics v1 <topics:compact[<name:compact_string? id:uuid partitions:compact[<index:int32 \
                      replicas:compact[int32] isr:compact[int32]>]>] epoch#3:int64=-1>";
const SHAPE: &str = "Topics v0 <topics:[<name:string? id:uuid partitions:[<index:int32 replicas:[int32] isr:[int32] \
                     gone:string>]>] epoch:int64>";
const DEFAULTS: [&str; 3] = ["D v0 {-epoch=-1}", "D v0 {}", "D v0 {-gone=\"so\"}"];

fn columns(rows: &str) -> Columns {
    let plan: Plan = TOPICS.parse().expect(TOPICS);
    let shape = Shape::parse(SHAPE, &DEFAULTS).expect(SHAPE);
    Columns::new(plan, None, &shape, rows).expect(rows)
}

fn list(numbers: &[i32]) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(numbers.len() + 1).expect("a short list")];
    bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    bytes
}

/// Encode a partition, with an unknown tag if `tag` is true.
fn partition(index: i32, replicas: &[i32], isr: &[i32], tag: bool) -> Vec<u8> {
    let mut bytes = index.to_be_bytes().to_vec();
    bytes.extend(list(replicas));
    bytes.extend(list(isr));
    bytes.extend(if tag { &[1, 9, 0][..] } else { &[0] });
    bytes
}

fn topic(name: &str, partitions: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(name.len() + 1).expect("a short name")];
    bytes.extend(name.as_bytes());
    bytes.extend([7; 16]);
    bytes.push(u8::try_from(partitions.len() + 1).expect("few partitions"));
    bytes.extend(partitions.concat());
    bytes.push(0);
    bytes
}

fn frame(topics: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(topics.len() + 1).expect("few topics")];
    bytes.extend(topics.concat());
    bytes.push(0);
    bytes
}

fn numbers(batch: &RecordBatch, column: &str) -> Vec<Option<i32>> {
    batch[column].as_primitive::<Int32Type>().iter().collect()
}

fn lists(batch: &RecordBatch, column: &str) -> Vec<Option<Vec<i32>>> {
    let lists = batch[column].as_list::<i32>().iter();
    let plain = lists.map(|list| list.map(|list| list.as_primitive::<Int32Type>().values().to_vec()));
    plain.collect()
}

fn names(batch: &RecordBatch, column: &str) -> Vec<Option<String>> {
    let keyed = batch[column].as_dictionary::<Int32Type>();
    let keyed = keyed.downcast_dict::<arrow_array::StringArray>().expect("strings");
    keyed.into_iter().map(|name| name.map(str::to_owned)).collect()
}

#[test]
fn rows_of_any_layout_keep_their_order() {
    // The same layout, another one, a tag, a list too long for a one-byte length, and the same layout again.
    let long: Vec<i32> = (0..126).collect();
    let partitions = [
        partition(0, &[1, 2, 3], &[1, 2, 3], false),
        partition(1, &[2, 3, 1], &[2, 3, 1], false),
        partition(2, &[3, 1, 2], &[3], false),
        partition(3, &[1], &[], true),
        partition(4, &long, &long, false),
        partition(5, &[1, 2, 3, 4, 5, 6, 7], &[1, 2], false),
        partition(6, &[7, 6, 5, 4, 3, 2, 1], &[2, 1], false),
    ];
    let expected: Vec<Vec<i32>> = vec![
        vec![1, 2, 3],
        vec![2, 3, 1],
        vec![3, 1, 2],
        vec![1],
        long,
        vec![1, 2, 3, 4, 5, 6, 7],
        vec![7, 6, 5, 4, 3, 2, 1],
    ];
    let body = frame(&[topic("a", &partitions), topic("b", &partitions[..1])]);
    let batch = columns("topics.partitions")
        .batch(&[Some(&body)], usize::MAX, &|_| true)
        .expect("a batch");

    let indexes: Vec<Option<i32>> = (0..7).chain([0]).map(Some).collect();
    assert_eq!(numbers(&batch, "index"), indexes);
    let mut all: Vec<Option<Vec<i32>>> = expected.into_iter().map(Some).collect();
    all.push(Some(vec![1, 2, 3]));
    assert_eq!(lists(&batch, "replicas"), all);
    let mut topics = vec![Some("a".to_owned()); 7];
    topics.push(Some("b".to_owned()));
    assert_eq!(names(&batch, "name"), topics);
    assert!(batch["gone"].as_string::<i32>().iter().all(|gone| gone == Some("so")));
    assert!(
        batch["epoch"]
            .as_primitive::<Int64Type>()
            .iter()
            .all(|epoch| epoch == Some(-1))
    );
}

#[test]
fn thousands_of_rows_keep_their_order() {
    // Few and many partitions of each layout, so that some blocks are large and some are followed by other layouts.
    let mut rows: Vec<(i32, Vec<i32>)> = Vec::new();
    let frames: Vec<Vec<u8>> = (0_i32..2)
        .map(|number| {
            let topics: Vec<Vec<u8>> = (0_i32..30)
                .map(|index| {
                    let replicas: Vec<i32> = (number..number + index % 4).collect();
                    let partitions = (0..index * 2).map(|_| {
                        let row = i32::try_from(rows.len()).expect("few rows");
                        rows.push((row, replicas.clone()));
                        partition(row, &replicas, &[], false)
                    });
                    let partitions: Vec<_> = partitions.collect();
                    topic("a", &partitions)
                })
                .collect();
            frame(&topics)
        })
        .collect();
    let given: Vec<Option<&[u8]>> = frames.iter().map(|frame| Some(frame.as_slice())).collect();
    let batch = columns("topics.partitions")
        .batch(&given, usize::MAX, &|_| true)
        .expect("a batch");

    assert_eq!(rows.len(), 1740);
    let (indexes, replicas): (Vec<_>, Vec<_>) = rows.into_iter().map(|(index, ids)| (Some(index), Some(ids))).unzip();
    assert_eq!(numbers(&batch, "index"), indexes);
    assert_eq!(lists(&batch, "replicas"), replicas);
}

#[test]
fn an_invalid_frame_adds_one_row_and_no_dictionary_entry() {
    let good = frame(&[topic("good", &[partition(0, &[1], &[1], false)])]);
    let spoilt = frame(&[
        topic(
            "good",
            &[partition(0, &[1], &[1], false), partition(1, &[1], &[], true)],
        ),
        topic("spoilt", &[partition(9, &[9], &[9], false)]),
    ]);
    let short = &spoilt[..spoilt.len() - 3];
    for rows in ["topics.partitions", "topics.partitions.isr", "topics", ""] {
        let columns = columns(rows);
        let batch = columns
            .batch(
                &[Some(short), Some(&good), None, Some(short), Some(&good), Some(&[])],
                usize::MAX,
                &|_| true,
            )
            .expect("a batch");
        let frames: Vec<u32> = batch["frame"].as_primitive::<UInt32Type>().values().to_vec();
        assert_eq!(frames, [0, 1, 2, 3, 4, 5], "{rows}");
        let kinds = names(&batch, "error_kind");
        let expected = [
            Some("truncated"),
            None,
            Some("null_frame"),
            Some("truncated"),
            None,
            Some("truncated"),
        ];
        assert_eq!(kinds, expected.map(|kind| kind.map(str::to_owned)), "{rows}");
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            if field.name() != "frame" && !field.name().starts_with("error_") {
                let nulls: Vec<bool> = (0..6).map(|row| column.is_null(row)).collect();
                assert_eq!(nulls, [true, false, true, true, false, true], "{rows} {}", field.name());
            }
        }
        if rows.starts_with("topics.") {
            assert_eq!(batch["name"].as_dictionary::<Int32Type>().values().len(), 1);
        }
    }
}

#[test]
fn a_tagged_field_has_the_value_of_its_tag() {
    let mut body = frame(&[]);
    body.pop();
    body.extend([1, 3, 8, 0, 0, 0, 0, 0, 0, 0, 5]);
    let batch = columns("")
        .batch(&[Some(&body), Some(&frame(&[]))], usize::MAX, &|_| true)
        .expect("a batch");
    let epochs: Vec<i64> = batch["epoch"].as_primitive::<Int64Type>().values().to_vec();
    assert_eq!(epochs, [5, -1]);
}

#[test]
fn paths_without_an_array_are_rejected() {
    let plan: Plan = TOPICS.parse().expect(TOPICS);
    let shape = Shape::parse(SHAPE, &DEFAULTS).expect(SHAPE);
    for rows in [
        "topic",
        "topics.name",
        "topics.partitions.index",
        "epoch",
        "topics..partitions",
    ] {
        let error = Columns::new(plan.clone(), None, &shape, rows).err().expect(rows);
        assert_eq!(error.rows, rows);
        assert_eq!(
            error.paths,
            [
                "topics",
                "topics.partitions",
                "topics.partitions.replicas",
                "topics.partitions.isr"
            ]
        );
    }
}

#[test]
fn frames_beyond_the_size_limit_are_rejected_unread() {
    let megabytes = vec![0; 1 << 20];
    let frames = vec![Some(&megabytes[..]); (1 << 31) / megabytes.len()];
    let refused = columns("topics").batch(&frames, usize::MAX, &|_| true);
    assert!(matches!(refused, Err(BatchError::TooLarge { bytes }) if bytes > 1 << 31));
}
