//! The parser of plans. `docs/plans.md` has the grammar.
//!
//! A recursive-descent parser of bounded depth with one token of lookahead. For any text it takes time and memory in
//! proportion to the length, and it never panics.

use std::sync::Arc;

use crate::error::PlanError;
use crate::plan::{Absent, Element, Field, Length, Literal, Plan, Primitive, Struct, Tagged, Type};

/// The maximum nesting of structs, arrays, and maybes. Kafka's messages need 9.
const MAX_DEPTH: usize = 64;

type Result<T> = std::result::Result<T, PlanError>;

impl std::str::FromStr for Plan {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self> {
        let mut parser = Parser {
            text,
            position: 0,
            structs: 0,
            depth: 0,
        };
        let name = parser.name()?;
        parser.expect(" v")?;
        let version = parser.number::<u16>()?;
        parser.expect(" ")?;
        let root = parser.structure()?;
        if parser.position != text.len() {
            return Err(parser.error("unexpected text after the plan"));
        }
        Ok(Self {
            name: name.into(),
            version,
            root,
            structs: parser.structs,
        })
    }
}

struct Parser<'t> {
    text: &'t str,
    position: usize,
    structs: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn error(&self, reason: impl Into<String>) -> PlanError {
        PlanError {
            offset: self.position,
            reason: reason.into(),
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.position..]
    }

    fn next_is(&self, what: &str) -> bool {
        self.rest().starts_with(what)
    }

    fn accept(&mut self, what: &str) -> bool {
        let found = self.next_is(what);
        if found {
            self.position += what.len();
        }
        found
    }

    fn expect(&mut self, what: &str) -> Result<()> {
        if self.accept(what) {
            Ok(())
        } else {
            Err(self.error(format!("expected {what:?}")))
        }
    }

    /// Take characters as long as `part` accepts them. The result may be empty.
    fn take_while(&mut self, part: impl Fn(u8) -> bool) -> &'t str {
        let length = self
            .rest()
            .bytes()
            .take_while(|byte| byte.is_ascii() && part(*byte))
            .count();
        let taken = &self.rest()[..length];
        self.position += length;
        taken
    }

    fn name(&mut self) -> Result<&'t str> {
        let start = self.position;
        let name = self.take_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
            self.position = start;
            return Err(self.error("expected a name"));
        }
        Ok(name)
    }

    fn number<N: std::str::FromStr>(&mut self) -> Result<N> {
        let start = self.position;
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        digits.parse().map_err(|_| {
            self.position = start;
            self.error(format!("expected a number of at most {} bits", 8 * size_of::<N>()))
        })
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_DEPTH {
            return Err(self.error(format!("types are nested more than {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn structure(&mut self) -> Result<Struct> {
        self.deeper(Self::structure_body)
    }

    fn structure_body(&mut self) -> Result<Struct> {
        let flexible = self.accept("<");
        if !flexible && !self.accept("{") {
            return Err(self.error("expected \"{\" or \"<\""));
        }
        let end = if flexible { ">" } else { "}" };
        let index = self.structs;
        self.structs += 1;
        let (mut fields, mut tagged, mut absent) = (Vec::new(), Vec::<Tagged>::new(), Vec::new());
        let mut names = std::collections::HashSet::new();
        while !self.accept(end) {
            if !names.is_empty() && !self.accept(" ") {
                return Err(self.error(format!("expected \" \" or {end:?}")));
            }
            let start = self.position;
            let mark = if self.accept("-") {
                Some(false)
            } else if self.accept("~") {
                Some(true)
            } else {
                None
            };
            let name = self.name()?;
            if !names.insert(name) {
                self.position = start;
                return Err(self.error(format!("duplicate field {name}")));
            }
            let name: Arc<str> = name.into();
            if let Some(ignorable) = mark {
                self.expect("=")?;
                absent.push(Absent {
                    name,
                    ignorable,
                    default: self.literal()?,
                });
                continue;
            }
            // Fields come in one order, so that a plan has one text: plain, then tagged in ascending order, then
            // absent.
            if !absent.is_empty() {
                self.position = start;
                return Err(self.error("fields of this version must precede absent fields"));
            }
            if self.accept("#") {
                if !flexible {
                    return Err(self.error("tagged field in a struct without tags: write <> instead of {}"));
                }
                let read = self.tagged(name)?;
                if tagged.last().is_some_and(|before| before.tag >= read.tag) {
                    self.position = start;
                    return Err(self.error("tags must ascend"));
                }
                tagged.push(read);
            } else {
                if !tagged.is_empty() {
                    self.position = start;
                    return Err(self.error("plain fields must precede tagged fields"));
                }
                self.expect(":")?;
                let kind = self.kind()?;
                fields.push(Field {
                    name,
                    kind,
                    position: 0,
                });
            }
        }
        let places = fields
            .iter_mut()
            .chain(tagged.iter_mut().map(|tagged| &mut tagged.field));
        places
            .enumerate()
            .for_each(|(position, field)| field.position = position);
        Ok(Struct::new(index, flexible, fields, tagged, absent))
    }

    fn tagged(&mut self, name: Arc<str>) -> Result<Tagged> {
        let tag = self.number::<u32>()?;
        self.expect(":")?;
        let start = self.position;
        let kind = self.kind()?;
        self.expect("=")?;
        let before_default = self.position;
        let default = self.literal()?;
        if matches!((&kind, &default), (Type::Maybe(_), Literal::Null)) {
            self.position = start;
            return Err(self.error("a tagged field cannot be a maybe with the default null"));
        }
        let start = before_default;
        if !agrees(&kind, &default) {
            self.position = start;
            return Err(self.error(format!("invalid default for {kind}")));
        }
        Ok(Tagged {
            tag,
            field: Field {
                name,
                kind,
                position: 0,
            },
            default,
        })
    }

    fn kind(&mut self) -> Result<Type> {
        self.deeper(Self::kind_body)
    }

    fn kind_body(&mut self) -> Result<Type> {
        if self.next_is("<") || self.next_is("{") {
            let body = Box::new(self.structure()?);
            return Ok(if self.accept("?") {
                Type::NullableStruct(body)
            } else {
                Type::Struct(body)
            });
        }
        if self.accept("maybe(") {
            let inner = self.kind()?;
            self.expect(")")?;
            return Ok(Type::Maybe(Box::new(inner)));
        }
        let start = self.position;
        let compact_array = self.accept("compact[");
        if compact_array || self.accept("[") {
            let inside = self.position;
            let kind = self.kind()?;
            self.expect("]")?;
            let smallest = kind.smallest();
            if smallest == 0 {
                self.position = inside;
                return Err(self.error("array elements must take at least one byte"));
            }
            let length = Length {
                compact: compact_array,
                nullable: self.accept("?"),
            };
            return Ok(Type::Array(length, Box::new(Element { kind, smallest })));
        }
        let name = self.name()?;
        if let Some(primitive) = Primitive::ALL.into_iter().find(|primitive| primitive.name() == name) {
            return Ok(Type::Primitive(primitive));
        }
        let (compact, plain) = name
            .strip_prefix("compact_")
            .map_or((false, name), |plain| (true, plain));
        let length = Length {
            compact,
            nullable: self.accept("?"),
        };
        match plain {
            "string" => Ok(Type::String(length)),
            "bytes" => Ok(Type::Bytes(length)),
            _ => {
                self.position = start;
                Err(self.error(format!("unknown type {name}")))
            }
        }
    }

    fn literal(&mut self) -> Result<Literal> {
        for (text, literal) in [
            ("null", Literal::Null),
            ("true", Literal::Bool(true)),
            ("false", Literal::Bool(false)),
            ("[]", Literal::EmptyArray),
            ("{}", Literal::Struct),
            ("inf", Literal::Float(f64::INFINITY)),
            ("-inf", Literal::Float(f64::NEG_INFINITY)),
            ("nan", Literal::Float(f64::NAN)),
        ] {
            if self.accept(text) {
                return Ok(literal);
            }
        }
        if self.accept("x\"") {
            let bytes = self.hex_digits("")?;
            return Ok(Literal::Bytes(bytes.into()));
        }
        if self.accept("u\"") {
            let bytes = self.hex_digits("-")?;
            return bytes
                .try_into()
                .map(Literal::Uuid)
                .map_err(|_| self.error("a uuid must have 16 bytes"));
        }
        if self.accept("\"") {
            return self.text().map(Literal::Text);
        }
        if self.accept("{") {
            return self.deeper(Self::literal_fields);
        }
        self.numeral()
    }

    fn literal_fields(&mut self) -> Result<Literal> {
        let mut fields = Vec::new();
        loop {
            let name = self.name()?;
            self.expect("=")?;
            fields.push((Arc::from(name), self.literal()?));
            if self.accept("}") {
                return Ok(Literal::Fields(fields.into()));
            }
            if !self.accept(" ") {
                return Err(self.error("expected \" \" or \"}\""));
            }
        }
    }

    fn numeral(&mut self) -> Result<Literal> {
        let start = self.position;
        let digits = self.take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e'));
        let parsed = if digits.contains(['.', 'e']) {
            digits.parse().ok().map(Literal::Float)
        } else {
            digits.parse().ok().map(Literal::Int)
        };
        parsed.ok_or_else(|| {
            self.position = start;
            self.error("expected a literal")
        })
    }

    /// Parse pairs of hex digits up to the closing quote. Characters of `between` may separate the digits.
    fn hex_digits(&mut self, between: &str) -> Result<Vec<u8>> {
        let inside = self.take_while(|byte| byte.is_ascii_hexdigit() || between.contains(char::from(byte)));
        self.expect("\"")?;
        let digits: Vec<u32> = inside.chars().filter_map(|digit| digit.to_digit(16)).collect();
        if !digits.len().is_multiple_of(2) {
            return Err(self.error("odd number of hex digits"));
        }
        Ok(digits
            .chunks_exact(2)
            .map(|pair| u8::try_from(pair[0] << 4 | pair[1]).unwrap_or(u8::MAX))
            .collect())
    }

    /// Parse an ASCII JSON string up to the closing quote.
    fn text(&mut self) -> Result<Box<str>> {
        let mut units: Vec<u16> = Vec::new();
        loop {
            let plain = self.take_while(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\');
            units.extend(plain.encode_utf16());
            if self.accept("\"") {
                return String::from_utf16(&units)
                    .map(Into::into)
                    .map_err(|_| self.error("unpaired surrogate"));
            }
            if !self.accept("\\") {
                return Err(self.error("expected a printable ASCII character, an escape, or the closing quote"));
            }
            let start = self.position;
            let escaped = self.rest().bytes().next();
            self.position += usize::from(escaped.is_some_and(|byte| byte.is_ascii()));
            units.push(match escaped {
                Some(plain @ (b'"' | b'\\' | b'/')) => plain.into(),
                Some(b'b') => 0x08,
                Some(b'f') => 0x0c,
                Some(b'n') => 0x0a,
                Some(b'r') => 0x0d,
                Some(b't') => 0x09,
                Some(b'u') => {
                    let digits = self
                        .rest()
                        .get(..4)
                        .filter(|digits| digits.bytes().all(|d| d.is_ascii_hexdigit()));
                    let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
                    self.position += if unit.is_some() { 4 } else { 0 };
                    unit.ok_or_else(|| self.error("expected four hex digits"))?
                }
                _ => {
                    self.position = start;
                    return Err(self.error("unknown escape"));
                }
            });
        }
    }
}

/// Return whether a default is a value of a type.
fn agrees(kind: &Type, default: &Literal) -> bool {
    match (kind, default) {
        (Type::Primitive(Primitive::Bool), Literal::Bool(_))
        | (Type::Primitive(Primitive::Float64), Literal::Float(_))
        | (Type::Primitive(Primitive::Uuid), Literal::Uuid(_))
        | (Type::String(_), Literal::Text(_))
        | (Type::Bytes(_), Literal::Bytes(_))
        | (Type::Array(..), Literal::EmptyArray)
        | (Type::NullableStruct(_) | Type::Maybe(_), Literal::Null) => true,
        (Type::Maybe(inner), _) => agrees(inner, default),
        (Type::Struct(body), Literal::Struct) => body.fields.is_empty(),
        (Type::Struct(body), Literal::Fields(values)) => {
            body.fields.len() == values.len()
                && body
                    .fields
                    .iter()
                    .zip(values)
                    .all(|(field, (name, value))| field.name == *name && agrees(&field.kind, value))
        }
        (Type::String(length) | Type::Bytes(length) | Type::Array(length, _), Literal::Null) => length.nullable,
        (Type::Primitive(primitive), Literal::Int(value)) => match primitive {
            Primitive::Int8 => i8::try_from(*value).is_ok(),
            Primitive::Int16 => i16::try_from(*value).is_ok(),
            Primitive::Int32 => i32::try_from(*value).is_ok(),
            Primitive::Int64 => true,
            Primitive::Uint16 => u16::try_from(*value).is_ok(),
            Primitive::Uint32 => u32::try_from(*value).is_ok(),
            Primitive::Bool | Primitive::Float64 | Primitive::Uuid => false,
        },
        _ => false,
    }
}
