//! Answers to requests that are known by their bytes.
//!
//! Clients ask the same again and again, and one request differs from the next in its correlation id alone. A server
//! that knows what it would answer need not look at them: it finds the answer by all other bytes, and puts the id in
//! front of it.
//!
//! Rules of this file: frames are looked at as they came, size first, and only at their beginning, a run of equal
//! requests at a time; what is incomplete, malformed or unknown is nobody's here, and left to whoever reads requests. An
//! answer has response header 0: the correlation id and nothing else. Nothing is kept that a peer sends.

use std::collections::HashMap;

/// The longest request that can be known, without its size. A longer one costs more to look for than to read.
pub const LONGEST: usize = 256;

/// Where the parts of a frame begin: size, then key and version, then correlation id, then the rest.
const KEY: usize = 4;
const CORRELATION: usize = 8;
const REST: usize = 12;

/// Answers by their requests. `L` is whatever the server wants to be told when it gave one.
#[derive(Debug)]
pub struct KnownRequests<L> {
    answers: HashMap<Box<[u8]>, Answer<L>>,
}

#[derive(Debug)]
struct Answer<L> {
    /// The size that stands in front of it.
    size: [u8; 4],
    body: Box<[u8]>,
    label: L,
}

/// A run of frames that hold one known request, each with an id of its own; not an empty one.
#[derive(Debug)]
pub struct Run<'a, L> {
    frames: &'a [u8],
    frame: usize,
    answer: &'a Answer<L>,
}

impl<L> Default for KnownRequests<L> {
    fn default() -> Self {
        Self {
            answers: HashMap::new(),
        }
    }
}

impl<L> KnownRequests<L> {
    /// Keep the body that answers a request, which is given without its size. False, and nothing kept, when no such
    /// request can be known, or no frame could hold the answer.
    pub fn insert(&mut self, request: &[u8], body: &[u8], label: L) -> bool {
        let mut buffer = [0; LONGEST];
        let (Some(known_by), Ok(size)) = (without_correlation(request, &mut buffer), i32::try_from(body.len() + 4))
        else {
            return false;
        };
        let answer = Answer {
            size: size.to_be_bytes(),
            body: body.into(),
            label,
        };
        self.answers.insert(known_by.into(), answer);
        true
    }

    /// Forget all of them.
    pub fn clear(&mut self) {
        self.answers.clear();
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Every label.
    pub fn labels(&self) -> impl Iterator<Item = &L> {
        self.answers.values().map(|answer| &answer.label)
    }

    /// The run that `received` begins with, if its first request is known; as long as its answers take `at_most` bytes,
    /// and one request at least.
    pub fn run<'a>(&'a self, received: &'a [u8], at_most: usize) -> Option<Run<'a, L>> {
        let (size, _) = received.split_first_chunk::<KEY>()?;
        let frame = KEY + usize::try_from(i32::from_be_bytes(*size)).ok()?;
        let first = received.get(..frame)?;
        let mut buffer = [0; LONGEST];
        let answer = self.answers.get(without_correlation(first.get(KEY..)?, &mut buffer)?)?;
        let most = (at_most / answer.len()).max(1);
        let requests = received
            .chunks_exact(frame)
            .take(most)
            .take_while(|other| same_request(first, other));
        let frames = received.get(..frame * requests.count())?;
        Some(Run { frames, frame, answer })
    }
}

impl<L> Answer<L> {
    /// Of its frame.
    fn len(&self) -> usize {
        REST - KEY + self.body.len()
    }
}

impl<L> Run<'_, L> {
    /// How many bytes of what was received it takes.
    pub fn received(&self) -> usize {
        self.frames.len()
    }

    /// How many requests there are.
    pub fn requests(&self) -> usize {
        self.frames.len() / self.frame
    }

    /// How many bytes its answers take, with their sizes.
    pub fn size(&self) -> usize {
        self.requests() * self.answer.len()
    }

    /// What the server wanted to be told.
    pub fn label(&self) -> &L {
        &self.answer.label
    }

    /// Put the answers, in order, into `out`, which has `size` bytes.
    pub fn write(&self, out: &mut [u8]) {
        let requests = self.frames.chunks_exact(self.frame);
        for (request, out) in requests.zip(out.chunks_exact_mut(self.answer.len())) {
            let (size, out) = out.split_at_mut(CORRELATION - KEY);
            let (correlation_id, body) = out.split_at_mut(REST - CORRELATION);
            size.copy_from_slice(&self.answer.size);
            correlation_id.copy_from_slice(&request[CORRELATION..REST]);
            body.copy_from_slice(&self.answer.body);
        }
    }
}

/// A request's bytes but its correlation id. None for one that has none, or is too long.
fn without_correlation<'b>(request: &[u8], buffer: &'b mut [u8; LONGEST]) -> Option<&'b [u8]> {
    let (before, request) = request.split_at_checked(CORRELATION - KEY)?;
    let (_, after) = request.split_at_checked(REST - CORRELATION)?;
    let known_by = buffer.get_mut(..before.len() + after.len())?;
    known_by[..before.len()].copy_from_slice(before);
    known_by[before.len()..].copy_from_slice(after);
    Some(known_by)
}

/// Whether two frames of the same length, both long enough, differ in their correlation ids at most.
fn same_request(one: &[u8], other: &[u8]) -> bool {
    one[..CORRELATION] == other[..CORRELATION] && one[REST..] == other[REST..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(correlation_id: u8, rest: &[u8]) -> Vec<u8> {
        let size = u8::try_from(8 + rest.len()).unwrap();
        let mut frame = vec![0, 0, 0, size, 0, 18, 0, 3, 0, 0, 0, correlation_id];
        frame.extend_from_slice(rest);
        frame
    }

    fn known() -> KnownRequests<&'static str> {
        let mut known = KnownRequests::default();
        assert!(known.insert(&frame(9, b"me")[KEY..], b"answer", "me"));
        assert!(known.insert(&frame(9, b"")[KEY..], b"", "empty"));
        known
    }

    fn answered(known: &KnownRequests<&str>, received: &[u8], at_most: usize) -> Option<(usize, usize, Vec<u8>)> {
        let run = known.run(received, at_most)?;
        let mut out = vec![0; run.size()];
        run.write(&mut out);
        Some((run.received(), run.requests(), out))
    }

    #[test]
    fn equal_requests_are_answered_together_each_under_its_own_id() {
        let received = [frame(1, b"me"), frame(2, b"me"), frame(3, b"")].concat();
        let (taken, requests, out) = answered(&known(), &received, 1000).unwrap();
        assert_eq!((taken, requests), (28, 2));
        assert_eq!(out, b"\0\0\0\x0a\0\0\0\x01answer\0\0\0\x0a\0\0\0\x02answer");
        assert_eq!(
            answered(&known(), &received[taken..], 1000).unwrap().2,
            b"\0\0\0\x04\0\0\0\x03"
        );
        assert_eq!(known().run(&received, 1000).unwrap().label(), &"me");
    }

    #[test]
    fn half_a_frame_ends_a_run_and_begins_none() {
        let received = [frame(1, b"me"), frame(2, b"me")].concat();
        for cut in 0..received.len() {
            let requests = answered(&known(), &received[..cut], 1000).map(|(_, requests, _)| requests);
            assert_eq!(requests, (cut >= 14).then_some(1), "{cut}");
        }
    }

    #[test]
    fn a_run_stops_at_the_bound_but_not_before_its_first_request() {
        let received = frame(1, b"me").repeat(5);
        for (at_most, requests) in [(0, 1), (27, 1), (28, 2), (1000, 5)] {
            assert_eq!(answered(&known(), &received, at_most).unwrap().1, requests);
        }
    }

    #[test]
    fn what_is_not_known_to_the_last_byte_is_left_alone() {
        let known = known();
        for place in (0..14).filter(|place| !(CORRELATION..REST).contains(place)) {
            let mut received = frame(1, b"me");
            received[place] ^= 1;
            received.push(0); // one byte more, for the frame that says it is longer
            assert!(known.run(&received, 1000).is_none(), "{place}");
        }
        assert!(known.run(&[0xff; 100], 1000).is_none());
        assert!(known.run(&[0; 100], 1000).is_none());
    }

    #[test]
    fn only_requests_of_a_sensible_length_can_be_known() {
        let mut known = KnownRequests::default();
        for length in 0..8 {
            assert!(!known.insert(&vec![0; length], b"", ()));
        }
        assert!(known.insert(&[0; LONGEST + 4], b"", ()));
        assert!(!known.insert(&[0; LONGEST + 5], b"", ()));
        assert_eq!((known.len(), known.labels().count()), (1, 1));
        known.clear();
        assert!(known.is_empty());
    }
}
