//! Memory bounds: decoding takes memory in proportion to the input, whatever counts and lengths it states. Validation
//! takes none.
//!
//! The allocator counts per thread, so tests can run in parallel.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use kwire::{DecodeKind, Plan, Value, validate};

struct Counting;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed to the system's allocator unchanged. The counters do not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.get().saturating_add(layout.size());
        HELD.set(held);
        PEAK.set(PEAK.get().max(held));
        // SAFETY: the caller's obligations are the same.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.set(HELD.get().saturating_sub(layout.size()));
        // SAFETY: the caller's obligations are the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Return the result of `work` and the largest number of bytes allocated at the same time.
fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    HELD.set(0);
    PEAK.set(0);
    let made = work();
    (made, PEAK.get())
}

const SIZE: usize = if cfg!(miri) { 1 << 8 } else { 1 << 18 };

fn repeat(element: &[u8]) -> Vec<u8> {
    element.repeat(SIZE / element.len())
}

/// Return an array of these elements with a classic or compact count.
fn array(compact: bool, element: &[u8]) -> Vec<u8> {
    let count = u32::try_from(SIZE / element.len()).expect("a small one");
    let head = if compact {
        uvarint(count + 1)
    } else {
        count.to_be_bytes().to_vec()
    };
    [head, repeat(element)].concat()
}

fn uvarint(mut value: u32) -> Vec<u8> {
    let mut out = Vec::new();
    while value > 0x7f {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
    out
}

/// Return a tag section of `count` unknown tags of one byte each.
fn tags(count: u32) -> Vec<u8> {
    let entries = (0..count).flat_map(|tag| [uvarint(tag), vec![1, 0xff]].concat());
    uvarint(count).into_iter().chain(entries).collect()
}

/// Return bodies of about `SIZE` bytes whose values take much memory.
fn greedy() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("{a:[int8]}", array(false, b"\0")),
        ("{a:[bool]}", array(false, b"\x02")),
        ("{a:[{b:int8}]}", array(false, b"\0")),
        ("{a:[{b:int8 c:int8}]}", array(false, b"\0\0")),
        ("{a:[{b:{c:{d:int16}}}]}", array(false, b"\0\0")),
        ("{a:[string]}", array(false, b"\0\0")),
        ("{a:[string?]}", array(false, b"\xff\xff")),
        ("{a:[[int8]]}", array(false, b"\0\0\0\0")),
        ("{a:compact[compact_string]}", array(true, b"\x01")),
        ("{a:compact[compact_string]}", array(true, b"\x02x")),
        ("{a:compact[compact[compact_bytes]]}", array(true, b"\x02\x01")),
        ("{a:compact[maybe(int64)]}", array(true, b"\0")),
        ("{a:compact[maybe(int8)]}", array(true, b"\x01\0")),
        ("{a:compact[<>]}", array(true, b"\0")),
        ("{a:compact[<b:int8>]}", array(true, b"\0\0")),
        ("{a:compact[<>?]}", array(true, b"\x01\0")),
        ("{a:compact[<>]}", array(true, b"\x01\x07\0")),
        ("{a:compact[<b#7:compact[<>]=[]>]}", array(true, b"\x01\x07\x02\x02\0")),
        ("<>", tags(u32::try_from(SIZE / 4).expect("a small one"))),
        ("<>", tags(if cfg!(miri) { 100 } else { 10_000 })),
        (
            "<a:compact_bytes>",
            [
                &uvarint(u32::try_from(SIZE).expect("a small one") + 1)[..],
                &repeat(b"x"),
                b"\0",
            ]
            .concat(),
        ),
    ]
}

#[test]
fn decoding_allocates_less_than_64_times_the_input() {
    for (body, input) in greedy() {
        let plan: Plan = format!("Greedy v0 {body}").parse().expect(body);
        let (decoded, peak) = peak(|| Value::decode(&plan, &input));
        decoded.expect(body);
        assert!(
            peak < 64 * input.len() + (1 << 20),
            "{body}: {} times the input",
            peak / input.len()
        );
    }
}

#[test]
fn validation_allocates_nothing() {
    for (body, input) in greedy() {
        let plan: Plan = format!("Greedy v0 {body}").parse().expect(body);
        let (validated, peak) = peak(|| validate(&plan, &input));
        assert_eq!((validated, peak), (Ok(()), 0), "{body}");
    }
}

/// The last byte is missing, so that everything before it is decoded first.
#[test]
fn an_error_at_the_last_byte_allocates_no_more() {
    for (body, input) in greedy() {
        let plan: Plan = format!("Greedy v0 {body}").parse().expect(body);
        let short = &input[..input.len() - 1];
        let (decoded, peak_of_decoding) = peak(|| Value::decode(&plan, short));
        let (validated, peak_of_validating) = peak(|| validate(&plan, short));
        assert_eq!(decoded.expect_err(body), validated.expect_err(body));
        assert!(
            peak_of_decoding < 64 * input.len() + (1 << 20),
            "{body}: {peak_of_decoding}"
        );
        assert!(peak_of_validating < 1 << 10, "{body}: {peak_of_validating}");
    }
}

#[test]
fn large_counts_allocate_nothing() {
    const MOST: &[u8] = b"\x7f\xff\xff\xff";
    const MOST_COMPACT: &[u8] = b"\xff\xff\xff\xff\x0f";
    for (body, input) in [
        ("{a:[int8]}", MOST),
        ("{a:[uuid]}", MOST),
        ("{a:[string]}", MOST),
        ("{a:[{b:int8}]}", MOST),
        ("{a:[[[int64]]]}", MOST),
        ("{a:bytes}", MOST),
        ("{a:string}", MOST),
        ("{a:compact[int8]}", MOST_COMPACT),
        ("{a:compact[<>]}", MOST_COMPACT),
        ("{a:compact[maybe(int8)]}", MOST_COMPACT),
        ("{a:compact_bytes}", MOST_COMPACT),
        ("{a:compact_string}", MOST_COMPACT),
        ("<>", MOST_COMPACT),
        ("<>", b"\x01\x07\xff\xff\xff\xff\x0f"),
        ("<a#7:compact[int8]=[]>", b"\x01\x07\x05\xff\xff\xff\xff\x0f"),
    ] {
        let plan: Plan = format!("Claims v0 {body}").parse().expect(body);
        // With and without bytes after the count.
        for input in [input, &[input, &[0; 100]].concat()] {
            let (decoded, peak) = peak(|| Value::decode(&plan, input));
            let kind = decoded.expect_err(body).kind;
            let expected = [
                DecodeKind::Truncated,
                DecodeKind::CountExceedsInput,
                DecodeKind::TooLong,
            ];
            assert!(expected.contains(&kind), "{body}: {kind:?}");
            assert!(peak < 1 << 10, "{body}: {peak} bytes");
        }
    }
}

#[test]
fn parsing_allocates_in_proportion_to_the_text() {
    let numbered = |item: fn(usize) -> String, count: usize| (0..count).map(item).collect::<Vec<_>>().join(" ");
    let count = SIZE / 64;
    for text in [
        format!("Long v0 {{{}}}", numbered(|i| format!("f{i:x}:int8"), count)),
        format!("Long v0 {{{}}}", numbered(|i| format!("-f{i:x}=0"), count)),
        format!("Long v0 {{{}}}", numbered(|i| format!("f{i:x}:{{}}"), count)),
        format!("Long v0 {{{}}}", numbered(|i| format!("f{i:x}:[{{a:int8}}]?"), count)),
        format!("Long v0 <{}>", numbered(|i| format!("f{i:x}#{i}:int8=0"), count)),
        format!("Long v0 {{-a=\"{}\"}}", "x".repeat(SIZE)),
        format!("Long v0 {{-a=x\"{}\"}}", "00".repeat(SIZE / 2)),
        format!("Long v0 {}", "{a:".repeat(SIZE / 3)),
        "x".repeat(SIZE),
    ] {
        let (parsed, peak) = peak(|| text.parse::<Plan>());
        let times = peak / text.len();
        assert!(
            peak < 64 * text.len() + (1 << 20),
            "{times} times the text {:.40} {:?}",
            text,
            parsed.err()
        );
    }
}
