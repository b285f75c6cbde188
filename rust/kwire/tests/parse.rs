//! The plan parser: what it accepts, what it rejects and at which offset, and its limits.

use kwire::Plan;
use kwire::plan::{Literal, Primitive, Type};

fn parse_error(text: &str) -> (usize, String) {
    let error = text.parse::<Plan>().expect_err(text);
    (error.offset, error.reason)
}

/// Return the lines of each block of `docs/plans.md` with this mark.
fn blocks_of_the_document(mark: &str) -> Vec<Vec<String>> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/plans.md");
    let page = std::fs::read_to_string(page).expect(page);
    let fence = format!("```{mark}\n");
    let blocks = page.split(&fence).skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap_or_default());
    blocks.map(|block| block.lines().map(str::to_owned).collect()).collect()
}

#[test]
fn plans_of_the_document_print_unchanged() {
    let plans: Vec<String> = blocks_of_the_document("plan").concat();
    assert!(plans.len() > 5);
    for text in plans {
        let plan: Plan = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(plan.to_string(), text);
    }
}

#[test]
fn invalid_plans_of_the_document_have_the_documented_error() {
    let lines = blocks_of_the_document("refused").concat();
    assert!(lines.len() > 30);
    for pair in lines.chunks(2) {
        let [text, complaint] = pair else {
            panic!("a text without its caret: {pair:?}")
        };
        let (indent, reason) = complaint.split_once("^ ").expect(complaint);
        assert_eq!(parse_error(text), (indent.len(), reason.to_owned()), "{text}");
    }
}

#[test]
fn errors_name_the_offset_of_the_mistake() {
    const UNFINISHED: &str = "expected a printable ASCII character, an escape, or the closing quote";
    for (text, offset, reason) in [
        ("", 0, "expected a name"),
        ("v0 {}", 2, "expected \" v\""),
        ("1Name v0 {}", 0, "expected a name"),
        ("Name  v0 {}", 4, "expected \" v\""),
        ("Name v {}", 6, "expected a number of at most 16 bits"),
        ("Name v-1 {}", 6, "expected a number of at most 16 bits"),
        ("Name v0{}", 7, "expected \" \""),
        ("Name v0 int8", 8, "expected \"{\" or \"<\""),
        ("Name v0 {a}", 10, "expected \":\""),
        ("Name v0 {a:}", 11, "expected a name"),
        ("Name v0 {a:int32?}", 16, "expected \" \" or \"}\""),
        ("Name v0 {a:Int32}", 11, "unknown type Int32"),
        ("Name v0 {a:compact_int32}", 11, "unknown type compact_int32"),
        ("Name v0 {a:[int8}", 16, "expected \"]\""),
        (
            "Name v0 {a:compact[{}]}",
            19,
            "array elements must take at least one byte",
        ),
        ("Name v0 {a:[{b:{}}]}", 12, "array elements must take at least one byte"),
        ("Name v0 {a:maybe(int8}", 21, "expected \")\""),
        ("Name v0 {a:int8", 15, "expected \" \" or \"}\""),
        ("Name v0 <a:int8}", 15, "expected \" \" or \">\""),
        ("Name v0 {a:int8 }", 16, "expected a name"),
        ("Name v0 {a:int8  b:int8}", 16, "expected a name"),
        ("Name v0 {a:int8 -a=0}", 16, "duplicate field a"),
        (
            "Name v0 {-b=0 a:int8}",
            14,
            "fields of this version must precede absent fields",
        ),
        (
            "Name v0 <b#0:int8=0 a:int8>",
            20,
            "plain fields must precede tagged fields",
        ),
        (
            "Name v0 <~b=0 a#0:int8=0>",
            14,
            "fields of this version must precede absent fields",
        ),
        ("Name v0 <a#1:int8=0 b#0:int8=0>", 20, "tags must ascend"),
        ("Name v0 <a#1:int8=0 b#1:int8=0>", 20, "tags must ascend"),
        ("Name v0 <a#:int8=0>", 11, "expected a number of at most 32 bits"),
        ("Name v0 <a#0:int8>", 17, "expected \"=\""),
        ("Name v0 <a#0:bool=0>", 18, "invalid default for bool"),
        ("Name v0 <a#0:float64=1>", 21, "invalid default for float64"),
        ("Name v0 <a#0:uint16=-1>", 20, "invalid default for uint16"),
        (
            "Name v0 <a#0:compact_string=x\"\">",
            28,
            "invalid default for compact_string",
        ),
        (
            "Name v0 <a#0:compact[int8]=null>",
            27,
            "invalid default for compact[int8]",
        ),
        ("Name v0 <a#0:<>?={}>", 17, "invalid default for <>?"),
        ("Name v0 {-a}", 11, "expected \"=\""),
        ("Name v0 {-a=}", 12, "expected a literal"),
        ("Name v0 {-a=1-1}", 12, "expected a literal"),
        ("Name v0 {-a=[1]}", 12, "expected a literal"),
        ("Name v0 {-a=\"}", 14, UNFINISHED),
        ("Name v0 {-a=\"\u{2603}\"}", 13, UNFINISHED),
        ("Name v0 {-a=\"\\x\"}", 14, "unknown escape"),
        ("Name v0 {-a=\"\\u12\"}", 15, "expected four hex digits"),
        ("Name v0 {-a=\"\\u\u{2603}\"}", 15, "expected four hex digits"),
        ("Name v0 {-a=\"\\ud800x\"}", 21, "unpaired surrogate"),
        ("Name v0 {-a=x\"0\"}", 16, "odd number of hex digits"),
        ("Name v0 {-a=x\"0g\"}", 15, "expected \"\\\"\""),
        ("Name v0 {-a=u\"\"}", 15, "a uuid must have 16 bytes"),
        ("Name v0 {}\n", 10, "unexpected text after the plan"),
    ] {
        assert_eq!(parse_error(text), (offset, reason.to_owned()), "{text}");
    }
}

#[test]
fn error_text() {
    let error = "Name v0 {a:int33}".parse::<Plan>().expect_err("int33");
    assert_eq!(error.to_string(), "invalid plan at byte 11: unknown type int33");
}

#[test]
fn deep_nesting_is_rejected() {
    const DEEP: usize = if cfg!(miri) { 300 } else { 10_000 };
    for (opening, innermost, closing) in [
        ("{a:", "int8", "}"),
        ("<a:", "int8", ">"),
        ("<a#0:compact[", "int8", "]=[]>"),
        ("{a:[", "int8", "]}"),
        ("{a:maybe(", "string?", ")}"),
    ] {
        let nested = |depth: usize| format!("Name v0 {}{innermost}{}", opening.repeat(depth), closing.repeat(depth));
        nested(20).parse::<Plan>().expect("20 are not too deep");
        for text in [nested(DEEP), format!("Name v0 {}", opening.repeat(DEEP))] {
            let (offset, reason) = parse_error(&text);
            assert_eq!(reason, "types are nested more than 64 deep");
            assert!(offset < 1_000, "noticed as soon as it is too deep");
        }
    }
    for array in ["[", "compact[", "maybe("] {
        let (_, reason) = parse_error(&format!("Name v0 {{a:{}", array.repeat(DEEP)));
        assert_eq!(reason, "types are nested more than 64 deep");
    }
}

#[test]
fn nesting_of_64_is_the_maximum() {
    let arrays = |depth: usize| format!("Name v0 {{a:{}int8{}}}", "[".repeat(depth), "]".repeat(depth));
    // The message and the innermost type count as well.
    arrays(62).parse::<Plan>().expect("64 in all");
    assert_eq!(parse_error(&arrays(63)).1, "types are nested more than 64 deep");
}

const EVERYTHING: &str = concat!(
    "Every v7 <a:bool b:compact[<c:int8 d:maybe(compact_string?) e#5:compact[uuid]?=null ~f=\"\\u2603\">]? g:<h:float64>? ",
    "i#0:int32=-7 j#1:compact_bytes=x\"00ff\" -k={} -l=-0.5>"
);

#[test]
fn every_prefix_of_a_plan_is_rejected() {
    EVERYTHING.parse::<Plan>().expect("a plan");
    for length in 0..EVERYTHING.len() {
        assert!(
            EVERYTHING[..length].parse::<Plan>().is_err(),
            "{}",
            &EVERYTHING[..length]
        );
    }
}

/// After any change of a character, the text is a plan that prints as itself, or has an error within the text.
#[test]
fn every_changed_character_parses_or_fails() {
    let step = if cfg!(miri) { 29 } else { 1 };
    for place in (0..EVERYTHING.len()).step_by(step) {
        for character in ('\0'..='\u{7f}').chain(['\u{2603}', '\u{1f600}']).step_by(step) {
            let (before, after) = (&EVERYTHING[..place], &EVERYTHING[place + 1..]);
            let text = format!("{before}{character}{after}");
            match text.parse::<Plan>() {
                Ok(plan) => assert_eq!(plan.to_string().parse(), Ok(plan), "{text}"),
                Err(error) => assert!(text.is_char_boundary(error.offset), "{error}\n{text}"),
            }
        }
    }
}

#[test]
fn a_plan_has_the_fields_of_its_text() {
    let plan: Plan = EVERYTHING.parse().expect("a plan");
    assert_eq!((&*plan.name, plan.version, plan.structs), ("Every", 7, 3));
    let root = &plan.root;
    assert!(root.flexible);
    let names = |fields: &[kwire::plan::Field]| fields.iter().map(|field| field.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&root.fields), ["a", "b", "g"]);
    let tags: Vec<_> = root
        .tagged
        .iter()
        .map(|tagged| (tagged.tag, tagged.field.position))
        .collect();
    assert_eq!(tags, [(0, 3), (1, 4)]);
    let absent: Vec<_> = root
        .absent
        .iter()
        .map(|absent| (&*absent.name, absent.ignorable))
        .collect();
    assert_eq!(absent, [("k", false), ("l", false)]);
    assert_eq!(root.tagged[1].default, Literal::Bytes([0, 0xff].into()));
    assert_eq!(root.fields[0].kind, Type::Primitive(Primitive::Bool));

    let Type::Array(length, element) = &root.fields[1].kind else {
        panic!("b is an array")
    };
    assert!(length.compact && length.nullable);
    let Type::Struct(inner) = &element.kind else {
        panic!("of structs")
    };
    assert_eq!(
        (inner.index, inner.smallest()),
        (1, 3),
        "an int8, a control byte, no tags"
    );
    assert_eq!(inner.absent[0].default, Literal::Text("\u{2603}".into()));
    assert!(inner.absent[0].ignorable);
    let Type::NullableStruct(last) = &root.fields[2].kind else {
        panic!("g is a struct")
    };
    assert_eq!((last.index, last.smallest()), (2, 9));
}

#[test]
fn literals_print_in_canonical_form() {
    for (text, printed) in [
        ("+5", "5"),
        ("007", "7"),
        ("-0", "0"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("1.", "1.0"),
        (".5", "0.5"),
        ("-0.0", "-0.0"),
        ("1e3", "1000.0"),
        ("1e300", "1e300"),
        ("1e999", "inf"),
        ("x\"00FF\"", "x\"00ff\""),
        (
            "u\"00000000000000000000000000000ABC\"",
            "u\"00000000-0000-0000-0000-000000000abc\"",
        ),
        (r#""\/\b\f\n\r\t\"\\""#, r#""/\u0008\u000c\u000a\u000d\u0009\"\\""#),
        (r#""\uD83D\ude00\u0041""#, r#""\ud83d\ude00A""#),
    ] {
        let plan: Plan = format!("Name v0 {{-a={text}}}").parse().expect(text);
        assert_eq!(plan.root.absent[0].default.to_string(), printed);
    }
}
