//! Working when told to: reads `decode 5` from standard input, decodes five times, answers with the CPU nanoseconds of
//! each. So programs in several languages can take turns.

use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, Write, stdin, stdout};

use bytes::BytesMut;
use cpu_time::ThreadTime;

/// One codec at MetadataResponse, in one version.
pub trait Codec {
    /// The message as its own objects; they may borrow from the input.
    type Message<'a>
    where
        Self: 'a;

    /// Bytes to objects.
    fn decode<'a>(&'a self, input: &'a [u8]) -> Result<Self::Message<'a>, Box<dyn Error>>;

    /// Objects to bytes that nobody held before.
    fn encode<'a>(&'a self, message: &Self::Message<'a>) -> Result<impl AsRef<[u8]>, Box<dyn Error>>;

    /// Whether the bytes are a message, without making objects, where the codec can.
    fn validate(&self, _: &[u8]) -> Option<Result<(), Box<dyn Error>>> {
        None
    }

    /// Objects into a buffer that is used again, where the codec can.
    fn encode_into<'a>(&'a self, _: &Self::Message<'a>, _: &mut BytesMut) -> Option<Result<(), Box<dyn Error>>> {
        None
    }
}

/// What the command line said: bytes of a message, its version, and whatever else the codec needs.
pub struct Given {
    /// The message without its header.
    pub input: Vec<u8>,
    /// Of the message.
    pub version: i16,
    /// The remaining argument, if there is one.
    pub extra: Option<String>,
}

impl Given {
    /// From the arguments of the program.
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

/// Check that the codec writes what it read, then obey until the input ends.
pub fn obey<C: Codec>(codec: &C, input: &[u8]) -> Result<(), Box<dyn Error>> {
    let message = codec.decode(input)?;
    if codec.encode(&message)?.as_ref() != input {
        return Err("it writes something else than it read".into());
    }
    let mut buffer = BytesMut::new();
    let mut operations = vec!["decode", "encode"];
    if codec.encode_into(&message, &mut buffer).transpose()?.is_some() {
        operations.push("reuse");
    }
    if codec.validate(input).transpose()?.is_some() {
        operations.push("validate");
    }
    say(&operations.join(" "))?;

    for line in stdin().lock().lines() {
        let line = line?;
        let (operation, calls) = line.split_once(' ').ok_or("a command is an operation and a number")?;
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
                        .ok_or("it cannot")??;
                    black_box(&buffer);
                    start.elapsed()
                }
                "validate" => {
                    codec.validate(black_box(input)).ok_or("it cannot")??;
                    start.elapsed()
                }
                other => return Err(format!("there is no operation {other}").into()),
            };
            taken.push(elapsed.as_nanos().to_string());
        }
        say(&taken.join(" "))?;
    }
    Ok(())
}

fn say(line: &str) -> std::io::Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
