//! The fields of a message in all its versions.
//!
//! Columns do not depend on the version, so that batches of several versions fit into one table. A plan describes one
//! version. A shape lists all fields, their types and order, and their values in versions that lack them.

use kwire::plan::{Literal, Primitive, Struct, Type};
use kwire::{Plan, PlanError};

/// The fields of a message in all versions.
#[derive(Clone, Debug)]
pub struct Shape {
    declared: Plan,
    /// For each struct, by index, the defaults of absent fields. Other fields default to the zero of their type.
    defaults: Vec<Struct>,
}

impl Shape {
    /// Parse a shape.
    ///
    /// `text` is a plan with every field of every version in the order of declaration, none of them tagged. `defaults`
    /// has for each struct that it opens, in that order, a plan of absent fields with their defaults.
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

    /// Return the value of a field in versions that lack it.
    pub(crate) fn default(&self, body: &Struct, name: &str, kind: &Type) -> Literal {
        let defaults = self.defaults.get(body.index).map_or(&[][..], |body| &body.absent);
        let given = defaults.iter().find(|absent| *absent.name == *name);
        given.map_or_else(|| zero(kind), |absent| absent.default.clone())
    }
}

/// Return the zero of a type.
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

/// Return the type without maybes, and whether it can be null.
pub(crate) fn bare(kind: &Type) -> (&Type, bool) {
    match kind {
        Type::Maybe(inner) => (bare(inner).0, true),
        Type::NullableStruct(_) => (kind, true),
        Type::String(length) | Type::Bytes(length) | Type::Array(length, _) => (kind, length.nullable),
        Type::Primitive(_) | Type::Struct(_) => (kind, false),
    }
}

/// Return the struct of a type, nullable or not.
pub(crate) fn body(kind: &Type) -> Option<&Struct> {
    match bare(kind).0 {
        Type::Struct(body) | Type::NullableStruct(body) => Some(body),
        _ => None,
    }
}
