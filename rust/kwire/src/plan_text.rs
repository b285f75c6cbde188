//! The text of plans, which parses to the same plan.

use std::fmt;

use crate::plan::{Absent, Literal, Plan, Struct, Tagged, Type};

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
            Self::Fields(fields) => {
                for (index, (name, value)) in fields.iter().enumerate() {
                    write!(f, "{}{name}={value}", if index == 0 { "{" } else { " " })?;
                }
                f.write_str("}")
            }
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
