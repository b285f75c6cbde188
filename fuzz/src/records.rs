//! Properties of all bytes as record batches.
//! `rust/kwire-records/tests/regressions.rs` includes this file and checks inputs that once failed.

use kwire_records::{
    BatchFields, Batches, Budget, Decoder, Encoder, Header, Limits, NewRecord, Record, Stop, Visitor, columns,
};

/// A record with its own bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedRecord {
    /// The absolute offset.
    pub offset: i64,
    /// The timestamp.
    pub timestamp: i64,
    /// The stored timestamp.
    pub raw_timestamp: i64,
    /// The key.
    pub key: Option<Vec<u8>>,
    /// The value.
    pub value: Option<Vec<u8>>,
    /// Keys and values of the headers.
    pub headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// Collects the records of a batch.
#[derive(Default)]
pub struct Collector {
    /// The header of the batch.
    pub header: Option<Header>,
    /// Its records.
    pub records: Vec<OwnedRecord>,
}

impl Visitor for Collector {
    type Error = std::convert::Infallible;

    fn batch(&mut self, header: &Header, count: usize) -> Result<(), Self::Error> {
        self.header = Some(*header);
        self.records.reserve(count.min(1000));
        Ok(())
    }

    fn record(&mut self, record: &Record<'_>) -> Result<(), Self::Error> {
        self.records.push(OwnedRecord {
            offset: record.offset,
            timestamp: record.timestamp,
            raw_timestamp: record.raw_timestamp,
            key: record.key.map(<[u8]>::to_vec),
            value: record.value.map(<[u8]>::to_vec),
            headers: Vec::new(),
        });
        Ok(())
    }

    fn header(&mut self, index: usize, key: &[u8], value: Option<&[u8]>) -> Result<(), Self::Error> {
        let headers = &mut self.records.last_mut().expect("a record comes first").headers;
        assert_eq!(headers.len(), index, "headers come in order");
        headers.push((key.to_vec(), value.map(<[u8]>::to_vec)));
        Ok(())
    }
}

const LIMITS: Limits = Limits {
    max_size: 1 << 22,
    max_ratio: 1000,
};

/// Check that errors lie in the input, that what is decoded encodes and decodes to the same records, and that columns
/// have a row for each record.
pub fn check(input: &[u8]) {
    let mut decoder = Decoder::default();
    let mut budget = Budget::new(LIMITS);
    let mut batches = Batches::new(input);
    let mut records = 0;
    let mut failed = false;
    for batch in batches.by_ref() {
        let walked = batch.map_err(Stop::Bytes).and_then(|batch| {
            let mut found = Collector::default();
            decoder.walk(&batch, false, &mut budget, &mut found)?;
            Ok(found)
        });
        match walked {
            Ok(found) => {
                records += found.records.len();
                check_round_trip(&found);
            }
            Err(Stop::Bytes(error)) => {
                assert!(
                    error.decompressed || error.offset <= input.len(),
                    "the error is outside the input: {error}"
                );
                failed = true;
                break;
            }
            Err(Stop::Visitor(never)) => match never {},
        }
    }
    let rows = columns(&[Some(input)], false, LIMITS, &|_| true)
        .expect("few columns")
        .num_rows();
    assert_eq!(rows, if failed { 1 } else { records });
    assert!(failed || batches.unread() <= input.len());
}

fn check_round_trip(found: &Collector) {
    let header = found.header.expect("a batch begins");
    let fields = BatchFields {
        magic: header.magic,
        attributes: header.attributes,
        base_offset: Some(header.base_offset),
        last_offset_delta: Some(header.last_offset_delta),
        base_timestamp: Some(header.base_timestamp),
        max_timestamp: Some(header.max_timestamp),
        partition_leader_epoch: header.partition_leader_epoch,
        producer_id: header.producer_id,
        producer_epoch: header.producer_epoch,
        base_sequence: header.base_sequence,
    };
    let mut encoder = Encoder::default();
    let mut out = Vec::new();
    // A message set of one magic cannot hold the timestamps of entries of the other one.
    let is_mixed = |record: &OwnedRecord| match header.magic {
        0 => record.timestamp != -1,
        _ => header.is_log_append_time() && record.timestamp != header.max_timestamp,
    };
    if found.records.iter().any(is_mixed) {
        return;
    }
    encoder.begin(&fields, &mut out).expect("fields of a decoded batch");
    for record in &found.records {
        let headers: Vec<_> = record
            .headers
            .iter()
            .map(|(key, value)| (key.as_slice(), value.as_deref()))
            .collect();
        let new = NewRecord {
            offset: record.offset,
            timestamp: record.timestamp,
            raw_timestamp: Some(record.raw_timestamp),
            key: record.key.as_deref(),
            value: record.value.as_deref(),
            headers: &headers,
        };
        encoder.record(&new, &mut out).expect("a decoded record");
    }
    encoder.finish(None, &mut out).expect("the records are small");
    let mut again = Vec::new();
    for batch in Batches::new(&out) {
        let batch = batch.expect("an encoded batch splits");
        batch.check_crc().expect("an encoded batch has its checksum");
        let mut collected = Collector::default();
        let mut budget = Budget::new(Limits::NONE);
        Decoder::default()
            .walk(&batch, true, &mut budget, &mut collected)
            .expect("an encoded batch decodes");
        let last_offset = |header: &Header| header.base_offset.wrapping_add(header.last_offset_delta);
        assert_eq!(collected.header.as_ref().map(last_offset), Some(last_offset(&header)));
        again.extend(collected.records);
    }
    assert_eq!(again, found.records);
}
