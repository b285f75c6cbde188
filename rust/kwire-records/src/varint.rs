//! Writing integers of variable length, with the sign in the lowest bit (zigzag).

fn zigzag(value: i32) -> u32 {
    (value << 1).cast_unsigned() ^ (value >> 31).cast_unsigned()
}

#[inline(always)]
pub(crate) fn varint_size(value: i32) -> usize {
    match zigzag(value) {
        0..0x80 => 1,
        0x80..0x4000 => 2,
        0x4000..0x20_0000 => 3,
        0x20_0000..0x1000_0000 => 4,
        _ => 5,
    }
}

#[inline(always)]
pub(crate) fn put_varint(value: i32, out: &mut Vec<u8>) {
    let mut small = Small::new();
    small.varint(value);
    out.extend_from_slice(small.bytes());
}

/// The first bytes of a record: at most 26.
pub(crate) struct Small {
    bytes: [u8; 32],
    pub(crate) length: usize,
}

impl Small {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self {
            bytes: [0; 32],
            length: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn put(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
        }
        self.length += 1;
    }

    #[inline(always)]
    pub(crate) fn varint(&mut self, value: i32) {
        self.unsigned(zigzag(value).into());
    }

    #[inline(always)]
    pub(crate) fn varlong(&mut self, value: i64) {
        self.unsigned((value << 1).cast_unsigned() ^ (value >> 63).cast_unsigned());
    }

    #[inline(always)]
    fn unsigned(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.put((value & 0x7f).to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.put(value.to_le_bytes()[0]);
    }

    #[inline(always)]
    pub(crate) fn append(&mut self, other: &Self) {
        for byte in other.bytes() {
            self.put(*byte);
        }
    }

    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}
