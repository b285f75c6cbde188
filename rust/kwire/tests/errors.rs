//! Every kind of error, with its offset, its path, and the bytes wanted and left.

use kwire::{DecodeError, DecodeKind, EncodeError, EncodeKind, Plan, Value, validate};

fn plan(body: &str) -> Plan {
    format!("Test v0 {body}").parse().expect(body)
}

/// Return the error for invalid bytes. `validate` must return the same.
fn decode_error(body: &str, input: &[u8]) -> DecodeError {
    let plan = plan(body);
    let error = Value::decode(&plan, input).expect_err(body);
    assert_eq!(validate(&plan, input), Err(error.clone()), "{body}");
    *error
}

/// The kind, offset, path, bytes wanted, and bytes left of an error.
type Fault<'a> = (DecodeKind, usize, &'a str, Option<u64>, Option<usize>);

#[track_caller]
fn assert_decode_error(body: &str, input: &[u8], expected: Fault<'_>) {
    let error = decode_error(body, input);
    let path = error.path.to_string();
    assert_eq!(
        (error.kind, error.offset, &*path, error.wanted, error.left),
        expected,
        "{body} {input:02x?}"
    );
}

#[test]
fn truncated() {
    use DecodeKind::Truncated;
    for (body, input, offset, path, wanted, left) in [
        ("{a:int8 b:int32}", &b"\x01\0\0\0"[..], 1, "b", 4, 3),
        ("{a:bool}", b"", 0, "a", 1, 0),
        ("{a:int16}", b"\0", 0, "a", 2, 1),
        ("{a:uint16}", b"\0", 0, "a", 2, 1),
        ("{a:uint32}", b"\0", 0, "a", 4, 1),
        ("{a:int64}", b"\0", 0, "a", 8, 1),
        ("{a:float64}", b"\0\0\0\0\0\0\0", 0, "a", 8, 7),
        ("{a:uuid}", b"\0", 0, "a", 16, 1),
        // An error inside a value names the offset of its length prefix.
        ("{a:string}", b"\0", 0, "a", 2, 1),
        ("{a:int8 b:string}", b"\x01\0\x03hi", 1, "b", 3, 2),
        ("{a:bytes}", b"\0\0\0", 0, "a", 4, 3),
        ("{a:bytes}", b"\x7f\xff\xff\xff!", 0, "a", 0x7fff_ffff, 1),
        ("{a:[int8]}", b"\0\0", 0, "a", 4, 2),
        ("{a:compact_string}", b"", 0, "a", 1, 0),
        ("{a:compact_string}", b"\x04hi", 0, "a", 3, 2),
        ("{a:int8 b:compact_bytes}", b"\x01\x80\x80", 1, "b", 1, 0),
        ("{a:maybe(int8)}", b"", 0, "a", 1, 0),
        ("{a:maybe(int8)}", b"\x01", 1, "a", 1, 0),
        ("{a:{b:int8}?}", b"", 0, "a", 1, 0),
        ("{a:{b:{c:int8}}}", b"", 0, "a.b.c", 1, 0),
        (
            "{a:[{b:[string]}]}",
            b"\0\0\0\x02\0\0\0\0\0\0\0\x01\0\x02x",
            12,
            "a[1].b[0]",
            2,
            1,
        ),
        // Tag sections: the count, a tag, a size, and the content.
        ("<>", b"", 0, "", 1, 0),
        ("<a:int8>", b"\x01", 1, "", 1, 0),
        ("<a#5:int8=0>", b"\x01\x85\x80", 1, "", 1, 0),
        ("<a#5:int8=0>", b"\x01\x05\x80", 2, "a", 1, 0),
        ("<a#5:int8=0>", b"\x01\x05\x02\x01", 3, "a", 2, 1),
        ("<a#5:int8=0>", b"\x01\x06\x80", 2, "", 1, 0),
        ("<a#5:int8=0>", b"\x01\x06\x02\x01", 3, "", 2, 1),
        // A tagged value must not read beyond the end of its tag.
        ("<a#5:int32=0>", b"\x01\x05\x03\0\0\0\0\0\0", 3, "a", 4, 3),
        ("<a#5:compact_string=\"\">", b"\x01\x05\x03\x04hi!", 3, "a", 3, 2),
    ] {
        assert_decode_error(body, input, (Truncated, offset, path, Some(wanted), Some(left)));
    }
}

#[test]
fn count_exceeds_input() {
    use DecodeKind::CountExceedsInput;
    for (body, input, offset, path, wanted, left) in [
        ("{a:[int32]}", &b"\0\0\0\x02\0\0\0\0\0\0\0"[..], 0, "a", 8, 7),
        ("{a:[int8]}", b"\x7f\xff\xff\xff", 0, "a", 0x7fff_ffff, 0),
        ("{a:[string]}", b"\x7f\xff\xff\xff\0\0", 0, "a", 0xffff_fffe, 2),
        ("{a:[uuid]}", b"\x7f\xff\xff\xff", 0, "a", 0x7_ffff_fff0, 0),
        (
            "{a:[{b:int16 c:string d:[int8]}]}",
            b"\0\0\0\x02\0\0\0\0\0\0\0\0",
            0,
            "a",
            16,
            8,
        ),
        ("{a:compact[<b:compact_string>]}", b"\x03\x01\0\x01", 0, "a", 4, 3),
        (
            "{a:compact[<b#0:uuid=u\"00000000000000000000000000000000\">]}",
            b"\xff\xff\xff\xff\x0f",
            0,
            "a",
            0xffff_fffe,
            0,
        ),
        ("{a:[[int8]]}", b"\0\0\0\x01\0\0\0\x01", 4, "a[0]", 1, 0),
        ("<>", b"\x02\0\0\x01", 0, "", 4, 3),
        ("{a:<>}", b"\xff\xff\xff\xff\x0f\0", 0, "a", 0x1_ffff_fffe, 1),
        // In a tagged value, only its own bytes count as left.
        (
            "<a#0:compact[int32]=[]>",
            b"\x01\0\x05\x03\0\0\0\0\0\0\0\0",
            3,
            "a",
            8,
            4,
        ),
    ] {
        assert_decode_error(body, input, (CountExceedsInput, offset, path, Some(wanted), Some(left)));
    }
}

#[test]
fn errors_without_lengths() {
    use DecodeKind::{InvalidMarker, InvalidUtf8, NegativeLength, NullNotAllowed, TagOrder, TooLong, VarintOverflow};
    let too_long = [b"\x81\x80\x02".to_vec(), vec![b'a'; 0x8000]].concat();
    for (kind, body, input, offset, path) in [
        (NegativeLength, "{a:string}", &b"\xff\xfe"[..], 0, "a"),
        (NegativeLength, "{a:string?}", b"\x80\0", 0, "a"),
        (NegativeLength, "{a:int8 b:bytes?}", b"\0\xff\xff\xff\xfe", 1, "b"),
        (NegativeLength, "{a:[int8]?}", b"\x80\0\0\0", 0, "a"),
        (NullNotAllowed, "{a:string}", b"\xff\xff", 0, "a"),
        (NullNotAllowed, "{a:bytes}", b"\xff\xff\xff\xff", 0, "a"),
        (NullNotAllowed, "{a:[int8]}", b"\xff\xff\xff\xff", 0, "a"),
        (NullNotAllowed, "{a:compact_string}", b"\0", 0, "a"),
        (NullNotAllowed, "{a:compact_bytes}", b"\0", 0, "a"),
        (NullNotAllowed, "{a:compact[int8]}", b"\0", 0, "a"),
        (NullNotAllowed, "{a:[compact_string]}", b"\0\0\0\x02\x01\0", 5, "a[1]"),
        (TooLong, "{a:compact_string}", &too_long, 0, "a"),
        // The length is checked before the remaining bytes.
        (TooLong, "{a:compact_string}", b"\x81\x80\x02", 0, "a"),
        (InvalidUtf8, "{a:int8 b:string}", b"\0\0\x01\xff", 1, "b"),
        (InvalidUtf8, "{a:compact_string}", b"\x04\xed\xa0\x80", 0, "a"),
        (
            VarintOverflow,
            "{a:int8 b:compact_string}",
            b"\0\xff\xff\xff\xff\x10",
            1,
            "b",
        ),
        (VarintOverflow, "{a:compact[int8]}", b"\x80\x80\x80\x80\x80\0", 0, "a"),
        (VarintOverflow, "<a:int8>", b"\0\x80\x80\x80\x80\x7f", 1, ""),
        (TagOrder, "<a#5:int8=0>", b"\x02\x05\x01\0\x05\x01\0", 4, ""),
        (TagOrder, "<a#5:int8=0>", b"\x02\x06\0\x05\x01\0", 3, ""),
        (TagOrder, "{s:[<>]}", b"\0\0\0\x01\x02\x01\0\0\0", 7, "s[0]"),
        (InvalidMarker, "{a:{b:int8}?}", b"\0", 0, "a"),
        (InvalidMarker, "{a:int8 b:[<>?]}", b"\0\0\0\0\x02\xff\x02", 6, "b[1]"),
    ] {
        assert_decode_error(body, input, (kind, offset, path, None, None));
    }
}

#[test]
fn tag_size_and_trailing_bytes() {
    let expected = (DecodeKind::TagSize, 3, "a", Some(4), Some(3));
    assert_decode_error("<a#5:int8=0>", b"\x01\x05\x04\x01\0\0\0", expected);
    let expected = (DecodeKind::TagSize, 4, "s[0].a", Some(2), Some(1));
    assert_decode_error("{s:compact[<a#0:<>?=null>]}", b"\x02\x01\0\x02\xff\0", expected);
    assert_decode_error(
        "{a:int8}",
        b"\x01\x02\x03",
        (DecodeKind::TrailingBytes, 1, "", Some(0), Some(2)),
    );
    assert_decode_error("{}", b"\0", (DecodeKind::TrailingBytes, 0, "", Some(0), Some(1)));
    assert_decode_error("<>", b"\0\0", (DecodeKind::TrailingBytes, 1, "", Some(0), Some(1)));
}

#[test]
fn decode_error_text() {
    for (body, input, text) in [
        (
            "{a:[{b:int32}]}",
            &b"\0\0\0\x01\0\0\0\0\0"[..],
            "trailing_bytes at byte 8: 1 left over",
        ),
        (
            "{a:[{b:[int8]}]}",
            b"\0\0\0\x01\0\0\0\x07",
            "a[0].b: count_exceeds_input at byte 4: 7 bytes wanted, 0 left",
        ),
        ("{a:int16}", b"\0", "a: truncated at byte 0: 2 bytes wanted, 1 left"),
        (
            "<a#5:int8=0>",
            b"\x01\x05\x04\x01\0\0\0",
            "a: tag_size at byte 3: 3 of 4 bytes not used",
        ),
        ("<>", b"\x02\x05\0\x05\0", "tag_order at byte 3"),
    ] {
        assert_eq!(decode_error(body, input).to_string(), text);
    }
}

#[track_caller]
fn assert_encode_error(body: &str, value: &Value<'_>, kind: EncodeKind, path: &str) -> Box<EncodeError> {
    let error = value.encode(&plan(body)).expect_err(body);
    assert_eq!((error.kind, &*error.path.to_string()), (kind, path), "{body} {value:?}");
    error
}

fn structure<'a>(fields: impl Into<Box<[Value<'a>]>>) -> Value<'a> {
    Value::Struct(fields.into())
}

/// Errors that only a source can find (strings without UTF-8, fields that a version lacks) cannot occur in a `Value`.
#[test]
fn encode_errors() {
    use EncodeKind::{NullNotAllowed, OutOfRange, TagClash, TooLong, WrongType};
    let long = "a".repeat(0x8000);
    let tags = |raw: &[u8]| Value::Tags(raw.into());
    for (kind, body, fields, path) in [
        (OutOfRange, "{a:int8}", vec![Value::Int(128)], "a"),
        (OutOfRange, "{a:int8}", vec![Value::Int(-129)], "a"),
        (OutOfRange, "{a:int16}", vec![Value::Int(0x8000)], "a"),
        (OutOfRange, "{a:int32}", vec![Value::Int(-0x8000_0001)], "a"),
        (OutOfRange, "{a:uint16}", vec![Value::Int(-1)], "a"),
        (OutOfRange, "{a:uint32}", vec![Value::Int(0x1_0000_0000)], "a"),
        (
            OutOfRange,
            "{a:[int8]}",
            vec![Value::Array([Value::Int(0), Value::Int(200)].into())],
            "a[1]",
        ),
        (TooLong, "{a:string}", vec![Value::Text(&long)], "a"),
        (TooLong, "{a:compact_string}", vec![Value::Text(&long)], "a"),
        (NullNotAllowed, "{a:string}", vec![Value::Null], "a"),
        (NullNotAllowed, "{a:compact_bytes}", vec![Value::Null], "a"),
        (NullNotAllowed, "{a:[int8]}", vec![Value::Null], "a"),
        (NullNotAllowed, "{a:{}}", vec![Value::Null], "a"),
        (
            NullNotAllowed,
            "{a:int8 b:{c:bool}}",
            vec![Value::Int(0), structure([Value::Null])],
            "b.c",
        ),
        (WrongType, "{a:int8}", vec![Value::Bool(true)], "a"),
        (WrongType, "{a:bool}", vec![Value::Int(1)], "a"),
        (WrongType, "{a:float64}", vec![Value::Int(1)], "a"),
        (WrongType, "{a:uuid}", vec![Value::Bytes(&[0; 16])], "a"),
        (WrongType, "{a:string?}", vec![Value::Bytes(b"")], "a"),
        (WrongType, "{a:bytes}", vec![Value::Text("")], "a"),
        (
            WrongType,
            "{a:[{b:int8}]}",
            vec![Value::Array([Value::Int(0)].into())],
            "a[0]",
        ),
        (WrongType, "{a:{b:int8}}", vec![structure([])], "a"),
        (WrongType, "<a#0:int8=0>", vec![Value::Text(""), Value::Null], "a"),
        (
            TagClash,
            "<a#7:int8=0>",
            vec![Value::Int(1), tags(b"\x07\0")],
            "unknown_tags",
        ),
        (
            TagClash,
            "{s:[<a#7:int8=0>]}",
            vec![Value::Array(
                [structure([Value::Int(0), tags(b"\x06\0\x07\0")]).clone()].into(),
            )],
            "s[0].unknown_tags",
        ),
        (WrongType, "<>", vec![tags(b"\x07")], "unknown_tags"),
        (WrongType, "<>", vec![tags(b"\x07\x02\0")], "unknown_tags"),
        (WrongType, "<>", vec![tags(b"\xff\xff\xff\xff\xff\xff")], "unknown_tags"),
    ] {
        assert_encode_error(body, &structure(fields), kind, path);
    }
    assert_encode_error("{}", &Value::Int(0), WrongType, "");
}

#[test]
fn encode_error_text() {
    let error = assert_encode_error(
        "{a:[int8]}",
        &structure([Value::Array([Value::Int(128)].into())]),
        EncodeKind::OutOfRange,
        "a[0]",
    );
    assert_eq!(error.to_string(), "a[0]: out_of_range: 128 does not fit 1 bytes");
    let error = assert_encode_error("{a:int8}", &structure([Value::Null]), EncodeKind::NullNotAllowed, "a");
    assert_eq!(error.to_string(), "a: null_not_allowed: expected an integer");
}
