//! What a message looks like in all its versions together.
//!
//! Rules of this file: columns are the same whatever the version, so that batches of several versions go into one
//! table. A plan says only what one version has; a shape says which fields there are, of what type, in which order, and
//! what they hold where a version lacks them.

use kwire::plan::{Literal, Primitive, Struct, Type};
use kwire::{Plan, PlanError};

/// The fields of a message, whatever the version.
#[derive(Clone, Debug)]
pub struct Shape {
    declared: Plan,
    /// For each struct, by its index, what fields hold when they are absent; others hold their type's zero.
    defaults: Vec<Struct>,
}

impl Shape {
    /// `text`: a plan with every field of every version, none of them tagged, in the order of declaration. `defaults`:
    /// for each struct that it opens, in that order, a plan of absent fields only, with their defaults.
    pub fn parse(text: &str, defaults: &[&str]) -> Result<Self, PlanError> {
        let declared: Plan = text.parse()?;
        let defaults = defaults.iter().map(|text| text.parse().map(|plan: Plan| plan.root));
        Ok(Self {
            declared,
            defaults: defaults.collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn root(&self) -> &Struct {
        &self.declared.root
    }

    pub(crate) fn name(&self) -> &str {
        &self.declared.name
    }

    /// What a field holds in versions without it.
    pub(crate) fn default(&self, body: &Struct, name: &str, kind: &Type) -> Literal {
        let defaults = self.defaults.get(body.index).map_or(&[][..], |body| &body.absent);
        let given = defaults.iter().find(|absent| *absent.name == *name);
        given.map_or_else(|| zero(kind), |absent| absent.default.clone())
    }
}

/// The value of a type that says nothing.
fn zero(kind: &Type) -> Literal {
    match kind {
        Type::Primitive(Primitive::Bool) => Literal::Bool(false),
        Type::Primitive(Primitive::Float64) => Literal::Float(0.0),
        Type::Primitive(Primitive::Uuid) => Literal::Uuid([0; 16]),
        Type::Primitive(_) => Literal::Int(0),
        Type::String(length) | Type::Bytes(length) | Type::Array(length, _) if length.nullable => Literal::Null,
        Type::String(_) => Literal::Text("".into()),
        Type::Bytes(_) => Literal::Bytes([].into()),
        Type::Array(..) => Literal::EmptyArray,
        Type::Struct(_) => Literal::Struct,
        Type::NullableStruct(_) | Type::Maybe(_) => Literal::Null,
    }
}

/// What stands inside nulls: the type itself, and whether there may be null in its place.
pub(crate) fn bare(kind: &Type) -> (&Type, bool) {
    match kind {
        Type::Maybe(inner) => (bare(inner).0, true),
        Type::NullableStruct(_) => (kind, true),
        Type::String(length) | Type::Bytes(length) | Type::Array(length, _) => (kind, length.nullable),
        Type::Primitive(_) | Type::Struct(_) => (kind, false),
    }
}

/// The struct that a type is, nulls aside.
pub(crate) fn body(kind: &Type) -> Option<&Struct> {
    match bare(kind).0 {
        Type::Struct(body) | Type::NullableStruct(body) => Some(body),
        _ => None,
    }
}
