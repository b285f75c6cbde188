//! The kwire crate with its `Value`. The third argument is a plan.

use std::error::Error;

use kwire::{Plan, Value};
use native::{Codec, Given, serve};

struct Kwire(Plan);

impl Codec for Kwire {
    type Message<'a> = Value<'a>;

    fn decode<'a>(&'a self, input: &'a [u8]) -> Result<Value<'a>, Box<dyn Error>> {
        Ok(Value::decode(&self.0, input)?)
    }

    fn encode<'a>(&'a self, message: &Value<'a>) -> Result<impl AsRef<[u8]>, Box<dyn Error>> {
        Ok(message.encode(&self.0)?)
    }

    fn validate(&self, input: &[u8]) -> Option<Result<(), Box<dyn Error>>> {
        Some(kwire::validate(&self.0, input).map_err(Into::into))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let given = Given::from_arguments()?;
    let plan = given.extra.ok_or("the third argument must be a plan")?;
    serve(&Kwire(plan.parse()?), &given.input)
}
