//! Plans: what the walkers follow.
//!
//! Rules of this file: a plan is data, complete and checked once it exists; whoever holds one need not check again that
//! tags ascend or that array elements have bytes. Its text form (`Display`) parses back to the same plan.

use std::fmt;
use std::sync::Arc;

/// One message at one version.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The message's name.
    pub name: Box<str>,
    /// The version.
    pub version: u16,
    /// Its body.
    pub root: Struct,
    /// How many structs the plan opens, the root included.
    pub structs: usize,
}

/// A struct: its fields in the order of the wire.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is the answer to another question of the walkers"
)]
pub struct Struct {
    /// The how-manieth struct that the text opens; 0 is the root.
    pub index: usize,
    /// Whether it ends with a tag section.
    pub flexible: bool,
    /// Fields on the wire.
    pub fields: Vec<Field>,
    /// Tagged fields, ascending.
    pub tagged: Vec<Tagged>,
    /// Fields that this version lacks.
    pub absent: Vec<Absent>,
    /// How to go through `fields`, one for one.
    pub(crate) steps: Vec<Step>,
    /// The fewest bytes that it takes.
    pub(crate) smallest: usize,
    /// Whether it holds no other struct: then it is worth remembering by its bytes.
    pub(crate) leaf: bool,
    /// Whether it is one run and nothing else: then every one has the same size.
    pub(crate) fixed: bool,
    /// Whether it is runs and lists of int32 and nothing else, and not many: then several with lists of the same lengths
    /// are gone through as one.
    pub(crate) flat: bool,
}

/// A field on the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub kind: Type,
    /// Its place among the fields, then the tagged ones, of its struct: what visitors and sources know it by.
    pub position: usize,
}

/// A field in the tag section.
#[derive(Clone, Debug, PartialEq)]
pub struct Tagged {
    /// Its number.
    pub tag: u32,
    /// Name, type, position.
    pub field: Field,
    /// The value that is not written, and that stands where the tag is missing.
    pub default: Literal,
}

/// A field that this version lacks.
#[derive(Clone, Debug, PartialEq)]
pub struct Absent {
    /// Its name.
    pub name: Arc<str>,
    /// Whether a value set in it is dropped silently.
    pub ignorable: bool,
    /// What it holds.
    pub default: Literal,
}

/// How the walkers go through the field at the same place of `fields`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) kind: StepKind,
    /// Bytes taken by this field and the fixed ones right behind it, when it is fixed itself.
    pub(crate) run: u32,
    /// How many fields those are.
    pub(crate) fields: u32,
}

/// The field's type in one byte, so that the walkers jump once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StepKind {
    /// A value of fixed size.
    Fixed(Primitive),
    /// An array of int32, Kafka's lists of brokers and partitions.
    Int32Array { compact: bool },
    /// Another type.
    Other,
}

/// Types of fixed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Primitive {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint16,
    Uint32,
    Float64,
    Uuid,
}

impl Primitive {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Bool,
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Uint16,
        Self::Uint32,
        Self::Float64,
        Self::Uuid,
    ];

    /// As plans write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint16 => "uint16",
            Self::Uint32 => "uint32",
            Self::Float64 => "float64",
            Self::Uuid => "uuid",
        }
    }

    /// Bytes on the wire.
    #[inline]
    pub fn size(self) -> usize {
        match self {
            Self::Bool | Self::Int8 => 1,
            Self::Int16 | Self::Uint16 => 2,
            Self::Int32 | Self::Uint32 => 4,
            Self::Int64 | Self::Float64 => 8,
            Self::Uuid => 16,
        }
    }
}

/// The type of a field or element.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// A value of fixed size.
    Primitive(Primitive),
    /// UTF-8 behind its length.
    String(Length),
    /// Bytes behind their number.
    Bytes(Length),
    /// A count, then elements.
    Array(Length, Box<Element>),
    /// A struct in place.
    Struct(Box<Struct>),
    /// A marker, 1 or -1, then the struct if 1.
    NullableStruct(Box<Struct>),
    /// KIP-4's `MaybeOf`: a control byte, then the value unless 0.
    Maybe(Box<Self>),
}

/// How a length is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// An unsigned varint of length + 1, rather than int16 (strings) or int32.
    pub compact: bool,
    /// Whether there may be null in its place.
    pub nullable: bool,
}

/// What an array holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// Its type.
    pub kind: Type,
    /// The fewest bytes that one takes; never 0.
    pub(crate) smallest: usize,
}

/// A default as plans write it.
#[derive(Clone, Debug)]
pub enum Literal {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// `-1`
    Int(i64),
    /// `0.0`
    Float(f64),
    /// `"text"`, as JSON writes it
    Text(Box<str>),
    /// `x"00ff"`
    Bytes(Box<[u8]>),
    /// `u"00000000-0000-0000-0000-000000000000"`
    Uuid([u8; 16]),
    /// `[]`
    EmptyArray,
    /// `{}`: a struct whose every field is at its default; only where the field is absent
    Struct,
}

impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) | (Self::EmptyArray, Self::EmptyArray) | (Self::Struct, Self::Struct) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            // By bits, as everywhere in this crate: a NaN equals itself.
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Uuid(a), Self::Uuid(b)) => a == b,
            _ => false,
        }
    }
}

impl Type {
    /// The fewest bytes that a value takes.
    pub(crate) fn smallest(&self) -> usize {
        match self {
            Self::Primitive(primitive) => primitive.size(),
            Self::String(length) => {
                if length.compact {
                    1
                } else {
                    2
                }
            }
            Self::Bytes(length) | Self::Array(length, _) => {
                if length.compact {
                    1
                } else {
                    4
                }
            }
            Self::Struct(body) => body.smallest,
            Self::NullableStruct(_) | Self::Maybe(_) => 1,
        }
    }

    fn holds_struct(&self) -> bool {
        match self {
            Self::Primitive(_) | Self::String(_) | Self::Bytes(_) => false,
            Self::Array(_, element) => element.kind.holds_struct(),
            Self::Struct(_) | Self::NullableStruct(_) => true,
            Self::Maybe(inner) => inner.holds_struct(),
        }
    }
}

impl Struct {
    /// A struct of these parts; works out steps and sizes. `fields` and `tagged` have their positions already.
    pub(crate) fn new(
        index: usize,
        flexible: bool,
        fields: Vec<Field>,
        tagged: Vec<Tagged>,
        absent: Vec<Absent>,
    ) -> Self {
        let smallest = fields.iter().fold(usize::from(flexible), |sum: usize, field| {
            sum.saturating_add(field.kind.smallest())
        });
        let leaf = !fields
            .iter()
            .chain(tagged.iter().map(|t| &t.field))
            .any(|field| field.kind.holds_struct());
        let steps = steps(&fields);
        let flat = is_flat(&steps, smallest);
        let fixed = !flexible && steps.first().is_some_and(|step| step.fields as usize == fields.len());
        Self {
            index,
            flexible,
            fields,
            tagged,
            absent,
            steps,
            smallest,
            leaf,
            fixed,
            flat,
        }
    }

    /// The fewest bytes that it takes.
    pub fn smallest(&self) -> usize {
        self.smallest
    }

    /// This struct, and every one inside it, in the order in which the text opens them.
    pub fn each_struct<'p>(&'p self, tell: &mut impl FnMut(&'p Self)) {
        fn inside<'p>(kind: &'p Type, tell: &mut impl FnMut(&'p Struct)) {
            match kind {
                Type::Struct(body) | Type::NullableStruct(body) => body.each_struct(tell),
                Type::Array(_, element) => inside(&element.kind, tell),
                Type::Maybe(inner) => inside(inner, tell),
                Type::Primitive(_) | Type::String(_) | Type::Bytes(_) => {}
            }
        }
        tell(self);
        self.named().for_each(|field| inside(&field.kind, tell));
    }

    /// Fields and tagged fields by position.
    pub fn named(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().chain(self.tagged.iter().map(|tagged| &tagged.field))
    }
}

fn steps(fields: &[Field]) -> Vec<Step> {
    let mut steps = vec![
        Step {
            kind: StepKind::Other,
            run: 0,
            fields: 0
        };
        fields.len()
    ];
    let (mut run, mut count) = (0u32, 0u32);
    // From the end, since a run is told to its first field.
    for (field, step) in fields.iter().zip(&mut steps).rev() {
        match &field.kind {
            Type::Primitive(kind) => {
                // Sixteen bytes a field at the most: no text is long enough to overflow this.
                run = run.saturating_add(u32::try_from(kind.size()).unwrap_or(u32::MAX));
                count = count.saturating_add(1);
                *step = Step {
                    kind: StepKind::Fixed(*kind),
                    run,
                    fields: count,
                };
                continue;
            }
            Type::Array(
                Length {
                    compact,
                    nullable: false,
                },
                element,
            ) if element.kind == Type::Primitive(Primitive::Int32) => {
                step.kind = StepKind::Int32Array { compact: *compact };
            }
            _ => {}
        }
        (run, count) = (0, 0);
    }
    steps
}

/// The most runs and int32 arrays that a struct of uniform layout may have.
pub(crate) const MAX_PARTS: usize = 8;
/// Lengths are compared as words of this many bytes, so a struct of uniform layout has at least as many.
pub(crate) const LENGTH_WORD: u32 = 4;

/// Whether structs of these steps may be gone through as one.
fn is_flat(steps: &[Step], smallest: usize) -> bool {
    let parts = parts(steps).take_while(|step| step.kind != StepKind::Other).count();
    smallest >= LENGTH_WORD as usize && parts <= MAX_PARTS && steps.iter().all(|step| step.kind != StepKind::Other)
}

/// The steps at which a run or a list begins.
pub(crate) fn parts(steps: &[Step]) -> impl Iterator<Item = &Step> {
    let mut position = 0;
    std::iter::from_fn(move || {
        let step = steps.get(position)?;
        position += match step.kind {
            StepKind::Fixed(_) => step.fields as usize,
            _ => 1,
        };
        Some(step)
    })
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} v{} {}", self.name, self.version, self.root)
    }
}

impl fmt::Display for Struct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut space = "";
        f.write_str(if self.flexible { "<" } else { "{" })?;
        for field in &self.fields {
            write!(f, "{space}{}:{}", field.name, field.kind)?;
            space = " ";
        }
        for Tagged { tag, field, default } in &self.tagged {
            write!(f, "{space}{}#{tag}:{}={default}", field.name, field.kind)?;
            space = " ";
        }
        for Absent {
            name,
            ignorable,
            default,
        } in &self.absent
        {
            write!(f, "{space}{}{name}={default}", if *ignorable { '~' } else { '-' })?;
            space = " ";
        }
        f.write_str(if self.flexible { ">" } else { "}" })
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (length, nullable) = match self {
            Self::Primitive(primitive) => return f.write_str(primitive.name()),
            Self::Struct(body) => return write!(f, "{body}"),
            Self::NullableStruct(body) => return write!(f, "{body}?"),
            Self::Maybe(inner) => return write!(f, "maybe({inner})"),
            Self::String(length) | Self::Bytes(length) | Self::Array(length, _) => {
                (length, if length.nullable { "?" } else { "" })
            }
        };
        match self {
            Self::String(_) => write!(f, "{}string{nullable}", if length.compact { "compact_" } else { "" }),
            Self::Bytes(_) => write!(f, "{}bytes{nullable}", if length.compact { "compact_" } else { "" }),
            Self::Array(_, element) => {
                write!(
                    f,
                    "{}[{}]{nullable}",
                    if length.compact { "compact" } else { "" },
                    element.kind
                )
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) if value.is_nan() => f.write_str("nan"),
            Self::Float(value) if value.is_infinite() => f.write_str(if *value > 0.0 { "inf" } else { "-inf" }),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(text) => write_text(f, text),
            Self::Bytes(bytes) => {
                f.write_str("x\"")?;
                write_hex(f, bytes)?;
                f.write_str("\"")
            }
            Self::Uuid(bytes) => {
                f.write_str("u\"")?;
                for (index, part) in [&bytes[..4], &bytes[4..6], &bytes[6..8], &bytes[8..10], &bytes[10..]]
                    .iter()
                    .enumerate()
                {
                    f.write_str(if index == 0 { "" } else { "-" })?;
                    write_hex(f, part)?;
                }
                f.write_str("\"")
            }
            Self::EmptyArray => f.write_str("[]"),
            Self::Struct => f.write_str("{}"),
        }
    }
}

fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    let mut units = [0; 2];
    for character in text.chars() {
        match character {
            '"' | '\\' => write!(f, "\\{character}")?,
            ' '..='~' => write!(f, "{character}")?,
            _ => character
                .encode_utf16(&mut units)
                .iter()
                .try_for_each(|unit| write!(f, "\\u{unit:04x}"))?,
        }
    }
    f.write_str("\"")
}
