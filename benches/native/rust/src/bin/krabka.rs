//! The krabka-protocol crate with its borrowing structs, which are its fastest.

use std::error::Error;

use bytes::BytesMut;
use krabka_protocol::borrowed::metadata_response::MetadataResponse;
use krabka_protocol::{DecodeBorrow, Encode};
use native::{Codec, Given, serve};

struct Krabka {
    version: i16,
}

impl Codec for Krabka {
    type Message<'a> = MetadataResponse<'a>;

    fn decode<'a>(&'a self, input: &'a [u8]) -> Result<MetadataResponse<'a>, Box<dyn Error>> {
        Ok(MetadataResponse::decode_borrow(&mut &input[..], self.version)?)
    }

    fn encode<'a>(&'a self, message: &MetadataResponse<'a>) -> Result<impl AsRef<[u8]>, Box<dyn Error>> {
        let mut buffer = BytesMut::with_capacity(message.encoded_len(self.version));
        message.encode(&mut buffer, self.version)?;
        Ok(buffer)
    }

    fn encode_into<'a>(
        &'a self,
        message: &MetadataResponse<'a>,
        buffer: &mut BytesMut,
    ) -> Option<Result<(), Box<dyn Error>>> {
        Some(message.encode(buffer, self.version).map_err(Into::into))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let given = Given::from_arguments()?;
    serve(&Krabka { version: given.version }, &given.input)
}
