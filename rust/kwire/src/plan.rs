//! Plans: what the decoder and encoder follow.
//!
//! The parser checks a plan completely, so its users need not check again that tags ascend or that array elements have
//! bytes.

use std::sync::Arc;

/// A message in one version.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The message's name.
    pub name: Box<str>,
    /// The version of the message.
    pub version: u16,
    /// The body of the message.
    pub root: Struct,
    /// The number of structs in the plan, including the root.
    pub structs: usize,
}

/// A struct: its fields in wire order.
#[derive(Clone, Debug, PartialEq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is the answer to another question of the walkers"
)]
pub struct Struct {
    /// The index of the struct in the order in which the text opens them. The root is 0.
    pub index: usize,
    /// Whether the struct ends with a tag section.
    pub flexible: bool,
    /// The plain fields.
    pub fields: Vec<Field>,
    /// The tagged fields, in ascending order of tags.
    pub tagged: Vec<Tagged>,
    /// The fields that this version lacks.
    pub absent: Vec<Absent>,
    /// How to read each of `fields`.
    pub(crate) steps: Vec<Step>,
    /// The smallest encoded size in bytes.
    pub(crate) smallest: usize,
    /// Whether it contains no other struct. Such structs are cached by their bytes.
    pub(crate) leaf: bool,
    /// Whether it is a single run of fixed-size fields, so that every instance has the same size.
    pub(crate) fixed: bool,
    /// Whether it consists of a few runs and int32 arrays only. Neighbors whose arrays have the same lengths are then
    /// decoded together.
    pub(crate) flat: bool,
    /// Whether it consists of a few runs, int32 arrays, and arrays of fixed-size structs. Visitors that take those as
    /// well get such neighbors together.
    pub(crate) uniform: bool,
}

/// A field that every instance has on the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub kind: Type,
    /// The position of the field in its struct, tagged fields after plain ones. Visitors and sources identify fields by
    /// it.
    pub position: usize,
}

/// A field in the tag section.
#[derive(Clone, Debug, PartialEq)]
pub struct Tagged {
    /// The tag number.
    pub tag: u32,
    /// The name, type, and position.
    pub field: Field,
    /// The value that is not encoded and that a missing tag stands for.
    pub default: Literal,
}

/// A field that this version lacks.
#[derive(Clone, Debug, PartialEq)]
pub struct Absent {
    /// Its name.
    pub name: Arc<str>,
    /// Whether a value other than the default is dropped silently when encoding.
    pub ignorable: bool,
    /// The value of the field in decoded messages.
    pub default: Literal,
}

/// How to read the field at the same index of `fields`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) kind: StepKind,
    /// The size in bytes of this field and the fixed-size fields that follow it. 0 unless this field has a fixed size.
    pub(crate) run: u32,
    /// The number of those fields.
    pub(crate) fields: u32,
    /// The size in bytes of the elements if this field is an array of fixed-size structs that is not nullable, else 0.
    pub(crate) element: u32,
    /// Whether the count of that array is compact.
    pub(crate) compact: bool,
}

/// A part of a struct of uniform layout, in the order of [`UniformLayout`](crate::decode::UniformLayout).
#[derive(Clone, Copy, Debug)]
pub enum Part<'p> {
    /// Consecutive fields of fixed size.
    Run(&'p [Field]),
    /// An int32 array.
    Int32s(&'p Field),
    /// An array of structs of a fixed size.
    Structs(&'p Field, &'p Struct),
}

/// The type of a field in one byte, so that the decoder needs one jump.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum StepKind {
    /// A value of fixed size.
    Fixed(Primitive),
    /// An int32 array that is not nullable, such as the replicas of a partition.
    Int32Array { compact: bool },
    /// Any other type.
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
    /// All primitive types.
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

    /// Return the name in plans.
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

    /// Return the encoded size in bytes.
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
    /// A length, then UTF-8.
    String(Length),
    /// A length, then bytes.
    Bytes(Length),
    /// A count, then elements.
    Array(Length, Box<Element>),
    /// A struct without a prefix.
    Struct(Box<Struct>),
    /// A marker byte of 1, then the struct, or of -1 for null.
    NullableStruct(Box<Struct>),
    /// KIP-4's `MaybeOf`: a control byte, then the value unless the byte is 0.
    Maybe(Box<Self>),
}

/// How a length is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// Whether the length is an unsigned varint of length + 1, instead of int16 (strings) or int32.
    pub compact: bool,
    /// Whether null is allowed.
    pub nullable: bool,
}

/// The elements of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// The type of an element.
    pub kind: Type,
    /// The smallest encoded size of an element in bytes. Never 0.
    pub(crate) smallest: usize,
}

/// A default, as plans write it.
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
    /// `{}`: a struct with every field at its default. Only absent fields have it, and tagged structs without fields.
    Struct,
    /// `{a=-1 b=""}`: a struct with these plain fields, and all others at their defaults. Only tagged structs have it.
    Fields(Box<[(Arc<str>, Self)]>),
}

impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) | (Self::EmptyArray, Self::EmptyArray) | (Self::Struct, Self::Struct) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            // Floats are compared by bits in all of this crate, so that NaN equals itself.
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Uuid(a), Self::Uuid(b)) => a == b,
            (Self::Fields(a), Self::Fields(b)) => a == b,
            _ => false,
        }
    }
}

impl Type {
    /// Return the smallest encoded size of a value in bytes.
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
    /// Create a struct and compute its steps and sizes. The positions of `fields` and `tagged` must be set.
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
        let uniform = can_be_uniform(&steps, smallest);
        let flat = uniform && steps.iter().all(|step| step.element == 0);
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
            uniform,
        }
    }

    /// Return the smallest encoded size in bytes.
    pub fn smallest(&self) -> usize {
        self.smallest
    }

    /// Iterate over the parts of a struct of uniform layout.
    #[inline(always)]
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let mut position = 0;
        std::iter::from_fn(move || {
            let step = self.steps.get(position)?;
            let field = self.fields.get(position)?;
            let fields = step.fields.max(1) as usize;
            let part = match (step.kind, &field.kind) {
                (StepKind::Fixed(_), _) => Part::Run(self.fields.get(position..position.checked_add(fields)?)?),
                (StepKind::Int32Array { .. }, _) => Part::Int32s(field),
                (StepKind::Other, Type::Array(_, element)) => match &element.kind {
                    Type::Struct(body) => Part::Structs(field, body),
                    _ => return None,
                },
                (StepKind::Other, _) => return None,
            };
            position = position.checked_add(fields)?;
            Some(part)
        })
    }

    /// Call `visit` for this struct and all structs inside it, in the order in which the text opens them.
    pub fn each_struct<'p>(&'p self, visit: &mut impl FnMut(&'p Self)) {
        fn inside<'p>(kind: &'p Type, visit: &mut impl FnMut(&'p Struct)) {
            match kind {
                Type::Struct(body) | Type::NullableStruct(body) => body.each_struct(visit),
                Type::Array(_, element) => inside(&element.kind, visit),
                Type::Maybe(inner) => inside(inner, visit),
                Type::Primitive(_) | Type::String(_) | Type::Bytes(_) => {}
            }
        }
        visit(self);
        self.named().for_each(|field| inside(&field.kind, visit));
    }

    /// Iterate over plain and tagged fields by position.
    pub fn named(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().chain(self.tagged.iter().map(|tagged| &tagged.field))
    }
}

fn steps(fields: &[Field]) -> Vec<Step> {
    let mut steps = vec![
        Step {
            kind: StepKind::Other,
            run: 0,
            fields: 0,
            element: 0,
            compact: false,
        };
        fields.len()
    ];
    let (mut run, mut count) = (0u32, 0u32);
    // Backwards, because the first field of a run holds the size of the run.
    for (field, step) in fields.iter().zip(&mut steps).rev() {
        match &field.kind {
            Type::Primitive(kind) => {
                // Cannot saturate: a field has at most 16 bytes, and no text is long enough.
                run = run.saturating_add(u32::try_from(kind.size()).unwrap_or(u32::MAX));
                count = count.saturating_add(1);
                *step = Step {
                    kind: StepKind::Fixed(*kind),
                    run,
                    fields: count,
                    ..*step
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
            Type::Array(
                Length {
                    compact,
                    nullable: false,
                },
                element,
            ) => {
                if let Type::Struct(body) = &element.kind
                    && body.fixed
                {
                    // 0 for larger elements, which no reasonable plan has.
                    step.element = u32::try_from(body.smallest).unwrap_or(0);
                    step.compact = *compact;
                }
            }
            _ => {}
        }
        (run, count) = (0, 0);
    }
    steps
}

/// The most parts that a struct of uniform layout may have.
pub const MAX_PARTS: usize = 8;
/// Lengths are compared as words of this many bytes, so a struct of uniform layout has at least as many.
pub(crate) const LENGTH_WORD: u32 = 4;

/// Return whether structs with these steps can have a uniform layout.
fn can_be_uniform(steps: &[Step], smallest: usize) -> bool {
    let other = |step: &Step| step.kind == StepKind::Other && step.element == 0;
    smallest >= LENGTH_WORD as usize && !steps.iter().any(other) && parts(steps).count() <= MAX_PARTS
}

/// Iterate over the first steps of runs and the steps of other fields.
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
