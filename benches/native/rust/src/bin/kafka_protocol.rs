//! The kafka-protocol crate. Its strings are slices of the input, which is a `Bytes`.

use std::error::Error;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::MetadataResponse;
use kafka_protocol::protocol::{Decodable, Encodable};
use native::{Codec, Given, serve};

struct KafkaProtocol {
    input: Bytes,
    version: i16,
}

impl Codec for KafkaProtocol {
    type Message<'a> = MetadataResponse;

    fn decode(&self, _: &[u8]) -> Result<MetadataResponse, Box<dyn Error>> {
        Ok(MetadataResponse::decode(&mut self.input.clone(), self.version)?)
    }

    fn encode(&self, message: &MetadataResponse) -> Result<impl AsRef<[u8]>, Box<dyn Error>> {
        let mut buffer = BytesMut::with_capacity(message.compute_size(self.version)?);
        message.encode(&mut buffer, self.version)?;
        Ok(buffer)
    }

    fn encode_into(&self, message: &MetadataResponse, buffer: &mut BytesMut) -> Option<Result<(), Box<dyn Error>>> {
        Some(message.encode(buffer, self.version).map_err(Into::into))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let given = Given::from_arguments()?;
    let codec = KafkaProtocol {
        input: Bytes::copy_from_slice(&given.input),
        version: given.version,
    };
    serve(&codec, &given.input)
}
