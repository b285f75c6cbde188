//! A loop that executes operations on command: it reads `decode 5` from standard input, decodes five times, and prints the
//! CPU nanoseconds of each call.

use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, Write, stdin, stdout};

use bytes::BytesMut;
use cpu_time::ThreadTime;

/// A codec for MetadataResponse in one version.
pub trait Codec {
    /// The decoded message, which may borrow from the input.
    type Message<'a>
    where
        Self: 'a;

    /// Decode a message.
    fn decode<'a>(&'a self, input: &'a [u8]) -> Result<Self::Message<'a>, Box<dyn Error>>;

    /// Encode a message into a new buffer.
    fn encode<'a>(&'a self, message: &Self::Message<'a>) -> Result<impl AsRef<[u8]>, Box<dyn Error>>;

    /// Check bytes without building objects, if the codec supports it.
    fn validate(&self, _: &[u8]) -> Option<Result<(), Box<dyn Error>>> {
        None
    }

    /// Encode a message into a buffer that is reused, if the codec supports it.
    fn encode_into<'a>(&'a self, _: &Self::Message<'a>, _: &mut BytesMut) -> Option<Result<(), Box<dyn Error>>> {
        None
    }
}

/// The arguments of the program.
pub struct Given {
    /// The encoded message without its header.
    pub input: Vec<u8>,
    /// The version of the message.
    pub version: i16,
    /// The third argument, if there is one.
    pub extra: Option<String>,
}

impl Given {
    /// Parse the command line.
    pub fn from_arguments() -> Result<Self, Box<dyn Error>> {
        let mut arguments = std::env::args().skip(1);
        let (Some(file), Some(version)) = (arguments.next(), arguments.next()) else {
            return Err("usage: PROGRAM FILE VERSION".into());
        };
        Ok(Self {
            input: std::fs::read(file)?,
            version: version.parse()?,
            extra: arguments.next(),
        })
    }
}

/// Check a round trip, then execute commands until the end of standard input.
pub fn serve<C: Codec>(codec: &C, input: &[u8]) -> Result<(), Box<dyn Error>> {
    let message = codec.decode(input)?;
    if codec.encode(&message)?.as_ref() != input {
        return Err("the encoded message differs from the input".into());
    }
    let mut buffer = BytesMut::new();
    let mut operations = vec!["decode", "encode"];
    if codec.encode_into(&message, &mut buffer).transpose()?.is_some() {
        operations.push("reuse");
    }
    if codec.validate(input).transpose()?.is_some() {
        operations.push("validate");
    }
    print_line(&operations.join(" "))?;

    for line in stdin().lock().lines() {
        let line = line?;
        let (operation, calls) = line.split_once(' ').ok_or("expected an operation and a number")?;
        let mut taken = Vec::new();
        for _ in 0..calls.parse()? {
            let start = ThreadTime::now();
            let elapsed = match operation {
                "decode" => {
                    let made = black_box(codec.decode(black_box(input))?);
                    let elapsed = start.elapsed();
                    drop(made);
                    elapsed
                }
                "encode" => {
                    let made = black_box(codec.encode(black_box(&message))?);
                    let elapsed = start.elapsed();
                    drop(made);
                    elapsed
                }
                "reuse" => {
                    buffer.clear();
                    codec
                        .encode_into(black_box(&message), &mut buffer)
                        .ok_or("unsupported operation")??;
                    black_box(&buffer);
                    start.elapsed()
                }
                "validate" => {
                    codec.validate(black_box(input)).ok_or("unsupported operation")??;
                    start.elapsed()
                }
                other => return Err(format!("unknown operation {other}").into()),
            };
            taken.push(elapsed.as_nanos().to_string());
        }
        print_line(&taken.join(" "))?;
    }
    Ok(())
}

fn print_line(line: &str) -> std::io::Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
