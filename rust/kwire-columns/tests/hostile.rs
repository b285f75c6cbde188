//! Memory bounds: a batch takes memory in proportion to the input, whatever counts it states and wherever bodies end.
//!
//! The allocator counts per thread, so tests can run in parallel.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use kwire::Plan;
use kwire_columns::{Columns, Shape};

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

const SIZE: usize = if cfg!(miri) { 1 << 10 } else { 1 << 18 };

/// Return the largest number of bytes allocated at the same time, for each byte of the frames.
fn cost(body: &str, rows: &str, frames: &[Option<&[u8]>]) -> usize {
    let plan: Plan = format!("Test v0 {body}").parse().expect(body);
    let shape = Shape::parse(&format!("Test v0 {}", body.replace("compact", "")), &[]).expect(body);
    let columns = Columns::new(plan, None, &shape, rows).expect(rows);
    let size: usize = frames.iter().map(|frame| 1 + frame.map_or(0, <[u8]>::len)).sum();
    HELD.set(0);
    PEAK.set(0);
    drop(columns.batch(frames, usize::MAX, &|_| true).expect(body));
    // Without the constant overhead.
    PEAK.get().saturating_sub(1 << 16) / size
}

fn counted(element: &[u8]) -> Vec<u8> {
    let count = SIZE / element.len();
    let mut bytes = i32::try_from(count).expect("a count").to_be_bytes().to_vec();
    bytes.extend(element.repeat(count));
    bytes
}

#[test]
fn large_counts_allocate_nothing() {
    let mut body = i32::MAX.to_be_bytes().to_vec();
    body.extend(vec![0; SIZE]);
    for (plan, rows) in [
        ("{a:[{b:int8}]}", "a"),
        ("{a:[{b:[int32] c:int32}]}", "a"),
        ("{a:[int8]}", ""),
    ] {
        assert_eq!(cost(plan, rows, &[Some(&body)]), 0, "{plan}");
    }
}

#[test]
fn small_rows_allocate_their_columns() {
    for (plan, element, most) in [
        // One byte for the row, and about forty for the fields of the message and other columns, twice while they grow.
        ("{a:[{b:int8}] c:string d:int64}", &b"\x01"[..], 160),
        (
            "{a:[{b:int32 e:[int32]}] c:string d:int64}",
            &b"\0\0\0\x01\0\0\0\0"[..],
            40,
        ),
        ("{a:[{e:[[int8]]}] c:string d:int64}", &b"\0\0\0\0"[..], 80),
    ] {
        let mut body = counted(element);
        body.extend(b"\0\x01x\0\0\0\0\0\0\0\x01");
        let cost = cost(plan, "a", &[Some(&body)]);
        assert!(cost < most, "{plan}: {cost}");
    }
}

#[test]
fn columns_of_truncated_bodies_are_released() {
    let mut body = counted(b"\0\0\0\x01\0\0\0\0");
    body.extend(b"\x7f\xffx");
    let frames = vec![Some(&body[..]); 20];
    // The columns of one body at a time, and of none of the twenty in the end.
    let cost = cost("{a:[{b:int32 e:[int32]}] c:string}", "a", &frames);
    assert!(cost < 6, "{cost}");
}

#[test]
fn invalid_frames_allocate_one_row() {
    let frames = vec![Some(&b"\x7f"[..]); SIZE / 8];
    let cost = cost("{a:[{b:int32 e:[int32]}] c:string}", "a", &frames);
    assert!(cost < 200, "{cost}");
}
