//! A cache of prepared responses, looked up by the bytes of the request.
//!
//! Clients repeat their requests, and two such requests differ only in the correlation id. The cache finds the response
//! by all other bytes of the request and prepends the correlation id, so a server does not decode requests that it has
//! answered before.
//!
//! The cache reads frames as they arrive, size prefix first, and only at the start of the buffer. Incomplete, malformed,
//! and unknown frames are misses. It stores only what the server inserts, so a client cannot make it grow. Responses
//! have response header version 0: the correlation id and nothing else.
//!
//! ```
//! use kwire_response_cache::ResponseCache;
//!
//! let mut cache = ResponseCache::default();
//! let request = [0, 18, 0, 3, 0, 0, 0, 7]; // API key, version, correlation id
//! assert!(cache.insert(&request, b"body", ()));
//!
//! let received = [0, 0, 0, 8, 0, 18, 0, 3, 0, 0, 0, 9]; // the same request with another correlation id
//! let hit = cache.get(&received, 1024).unwrap();
//! let mut response = vec![0; hit.response_len()];
//! hit.write(&mut response);
//! assert_eq!(response, b"\0\0\0\x08\0\0\0\x09body");
//! ```

#![forbid(unsafe_code)]

use std::collections::HashMap;

/// The length of a cache key in bytes: a request without its correlation id. Decoding a longer request costs less than
/// looking it up.
pub const MAX_KEY: usize = 256;

/// Where the parts of a frame begin: size, then API key and version, then correlation id, then the rest.
const API_KEY: usize = 4;
const CORRELATION_ID: usize = 8;
const REST: usize = 12;

/// Responses by request. `L` is a label that the server attaches to each response.
#[derive(Debug)]
pub struct ResponseCache<L> {
    responses: HashMap<Box<[u8]>, Response<L>>,
}

#[derive(Debug)]
struct Response<L> {
    /// The size prefix of the frame.
    size: [u8; 4],
    body: Box<[u8]>,
    label: L,
}

/// One or more consecutive frames of the same request, and its response.
#[derive(Debug)]
pub struct Hit<'a, L> {
    frames: &'a [u8],
    frame_len: usize,
    response: &'a Response<L>,
}

impl<L> Default for ResponseCache<L> {
    fn default() -> Self {
        Self {
            responses: HashMap::new(),
        }
    }
}

impl<L> ResponseCache<L> {
    /// Store the response body for a request, which is given without its size prefix.
    ///
    /// Returns false and stores nothing if the request is too short to have a correlation id or longer than [`MAX_KEY`]
    /// allows, if the body does not fit into a frame, or if memory is short.
    pub fn insert(&mut self, request: &[u8], body: &[u8], label: L) -> bool {
        let mut buffer = [0; MAX_KEY];
        let (Some(key), Ok(size)) = (cache_key(request, &mut buffer), i32::try_from(body.len() + 4)) else {
            return false;
        };
        let mut copied = Vec::new();
        if copied.try_reserve_exact(body.len()).is_err() || self.responses.try_reserve(1).is_err() {
            return false;
        }
        copied.extend_from_slice(body);
        let response = Response {
            size: size.to_be_bytes(),
            body: copied.into_boxed_slice(),
            label,
        };
        self.responses.insert(key.into(), response);
        true
    }

    /// Remove all responses.
    pub fn clear(&mut self) {
        self.responses.clear();
    }

    /// Return the number of responses.
    pub fn len(&self) -> usize {
        self.responses.len()
    }

    /// Return whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.responses.is_empty()
    }

    /// Iterate over the labels of all responses.
    pub fn labels(&self) -> impl Iterator<Item = &L> {
        self.responses.values().map(|response| &response.label)
    }

    /// Look up the first request in `received`.
    ///
    /// The hit extends over the frames that repeat this request, as long as their responses take at most `max_bytes`. It
    /// covers at least one request.
    pub fn get<'a>(&'a self, received: &'a [u8], max_bytes: usize) -> Option<Hit<'a, L>> {
        let (size, _) = received.split_first_chunk::<API_KEY>()?;
        let frame_len = API_KEY + usize::try_from(i32::from_be_bytes(*size)).ok()?;
        let first = received.get(..frame_len)?;
        let mut buffer = [0; MAX_KEY];
        let response = self.responses.get(cache_key(first.get(API_KEY..)?, &mut buffer)?)?;
        let max_requests = (max_bytes / response.frame_len()).max(1);
        let requests = received
            .chunks_exact(frame_len)
            .take(max_requests)
            .take_while(|other| is_same_request(first, other));
        let frames = received.get(..frame_len * requests.count())?;
        Some(Hit {
            frames,
            frame_len,
            response,
        })
    }
}

impl<L> Response<L> {
    /// Return the length of a response frame, including its size prefix.
    fn frame_len(&self) -> usize {
        REST - API_KEY + self.body.len()
    }
}

impl<L> Hit<'_, L> {
    /// Return how many received bytes the requests take.
    pub fn received_len(&self) -> usize {
        self.frames.len()
    }

    /// Return the number of requests.
    pub fn requests(&self) -> usize {
        self.frames.len() / self.frame_len
    }

    /// Return how many bytes the responses take, including their size prefixes.
    pub fn response_len(&self) -> usize {
        self.requests() * self.response.frame_len()
    }

    /// Return the label of the response.
    pub fn label(&self) -> &L {
        &self.response.label
    }

    /// Write one response frame for each request to `out`, which has [`response_len`](Self::response_len) bytes.
    pub fn write(&self, out: &mut [u8]) {
        let requests = self.frames.chunks_exact(self.frame_len);
        for (request, out) in requests.zip(out.chunks_exact_mut(self.response.frame_len())) {
            let (size, out) = out.split_at_mut(CORRELATION_ID - API_KEY);
            let (correlation_id, body) = out.split_at_mut(REST - CORRELATION_ID);
            size.copy_from_slice(&self.response.size);
            correlation_id.copy_from_slice(&request[CORRELATION_ID..REST]);
            body.copy_from_slice(&self.response.body);
        }
    }
}

/// Copy a request without its correlation id to `buffer`. Returns `None` if the request is too short or too long.
fn cache_key<'b>(request: &[u8], buffer: &'b mut [u8; MAX_KEY]) -> Option<&'b [u8]> {
    let (before, request) = request.split_at_checked(CORRELATION_ID - API_KEY)?;
    let (_, after) = request.split_at_checked(REST - CORRELATION_ID)?;
    let key = buffer.get_mut(..before.len() + after.len())?;
    key[..before.len()].copy_from_slice(before);
    key[before.len()..].copy_from_slice(after);
    Some(key)
}

/// Return whether two frames of equal length are the same request, apart from the correlation id. Both have at least
/// [`REST`] bytes.
fn is_same_request(one: &[u8], other: &[u8]) -> bool {
    one[..CORRELATION_ID] == other[..CORRELATION_ID] && one[REST..] == other[REST..]
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

    fn cache() -> ResponseCache<&'static str> {
        let mut cache = ResponseCache::default();
        assert!(cache.insert(&frame(9, b"me")[API_KEY..], b"response", "me"));
        assert!(cache.insert(&frame(9, b"")[API_KEY..], b"", "empty"));
        cache
    }

    fn respond(cache: &ResponseCache<&str>, received: &[u8], max_bytes: usize) -> Option<(usize, usize, Vec<u8>)> {
        let hit = cache.get(received, max_bytes)?;
        let mut out = vec![0; hit.response_len()];
        hit.write(&mut out);
        Some((hit.received_len(), hit.requests(), out))
    }

    #[test]
    fn a_hit_covers_repeated_requests_and_keeps_their_correlation_ids() {
        let received = [frame(1, b"me"), frame(2, b"me"), frame(3, b"")].concat();
        let (taken, requests, out) = respond(&cache(), &received, 1000).unwrap();
        assert_eq!((taken, requests), (28, 2));
        assert_eq!(out, b"\0\0\0\x0c\0\0\0\x01response\0\0\0\x0c\0\0\0\x02response");
        assert_eq!(
            respond(&cache(), &received[taken..], 1000).unwrap().2,
            b"\0\0\0\x04\0\0\0\x03"
        );
        assert_eq!(cache().get(&received, 1000).unwrap().label(), &"me");
    }

    #[test]
    fn an_incomplete_frame_is_not_part_of_a_hit() {
        let received = [frame(1, b"me"), frame(2, b"me")].concat();
        for cut in 0..received.len() {
            let requests = respond(&cache(), &received[..cut], 1000).map(|(_, requests, _)| requests);
            assert_eq!(requests, (cut >= 14).then_some(1), "{cut}");
        }
    }

    #[test]
    fn max_bytes_limits_a_hit_to_at_least_one_request() {
        let received = frame(1, b"me").repeat(5);
        for (max_bytes, requests) in [(0, 1), (31, 1), (32, 2), (1000, 5)] {
            assert_eq!(respond(&cache(), &received, max_bytes).unwrap().1, requests);
        }
    }

    #[test]
    fn a_request_that_differs_in_any_other_byte_is_a_miss() {
        let cache = cache();
        for place in (0..14).filter(|place| !(CORRELATION_ID..REST).contains(place)) {
            let mut received = frame(1, b"me");
            received[place] ^= 1;
            received.push(0); // completes the frame if the changed byte makes it longer by one
            assert!(cache.get(&received, 1000).is_none(), "{place}");
        }
        assert!(cache.get(&[0xff; 100], 1000).is_none());
        assert!(cache.get(&[0; 100], 1000).is_none());
    }

    #[test]
    fn insert_rejects_requests_that_are_too_short_or_too_long() {
        let mut cache = ResponseCache::default();
        for length in 0..8 {
            assert!(!cache.insert(&vec![0; length], b"", ()));
        }
        assert!(cache.insert(&[0; MAX_KEY + 4], b"", ()));
        assert!(!cache.insert(&[0; MAX_KEY + 5], b"", ()));
        assert_eq!((cache.len(), cache.labels().count()), (1, 1));
        cache.clear();
        assert!(cache.is_empty());
    }
}
