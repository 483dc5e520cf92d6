//! HTTP/2 as bytes, as far as the attack needs it: requests that cost a copy, answers of which only the status is read.
//!
//! HTTP/1.1 would be simpler, but Envoy takes no more than two requests at once from one such connection.

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;

const ACK: u8 = 1;
const END_STREAM_AND_HEADERS: u8 = 1 | 4;

/// How a connection begins. Without a table for headers a status is always one and the same bytes, and with the largest
/// window nothing of it has to be given back before some hundred million answers.
pub fn preface(out: &mut Vec<u8>) {
    const HEADER_TABLE_SIZE: [u8; 6] = [0, 1, 0, 0, 0, 0];
    const ALL_BUT_THE_DEFAULT: u32 = (1 << 31) - 1 - 65_535;
    out.extend(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    frame(out, SETTINGS, 0, 0, &HEADER_TABLE_SIZE);
    frame(out, WINDOW_UPDATE, 0, 0, &ALL_BUT_THE_DEFAULT.to_be_bytes());
}

/// One `POST` without a body.
pub fn post(out: &mut Vec<u8>, stream: u32, path: &str, fields: &[(&str, &str)]) {
    // `:method: POST`, `:scheme: http` and the names of `:path` and `:authority` stand in HPACK's table.
    let mut block = vec![0x83, 0x86, 0x04];
    string(&mut block, path);
    block.push(0x01);
    string(&mut block, "shop.test");
    for (name, value) in fields {
        block.push(0x00);
        string(&mut block, name);
        string(&mut block, value);
    }
    frame(out, HEADERS, END_STREAM_AND_HEADERS, stream, &block);
}

/// Without Huffman coding; shorter than 127 bytes, as the length is one byte.
fn string(out: &mut Vec<u8>, text: &str) {
    out.push(text.len() as u8);
    out.extend(text.as_bytes());
}

fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let [_, size @ ..] = (payload.len() as u32).to_be_bytes();
    out.extend(size);
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
}

/// What a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// An answer's status; 0: one that is not understood.
    Answer(u16),
    /// A stream has ended without one, or after it.
    Reset,
    /// The connection ends.
    GoAway,
    Other,
}

/// The first frame of what was read, and its length; `None` while it is not whole. What it asks for is written to `out`.
pub fn take(read: &[u8], out: &mut Vec<u8>) -> Option<(Said, usize)> {
    let &[a, b, c, kind, flags, _, _, _, _, ..] = read else { return None };
    let end = 9 + u32::from_be_bytes([0, a, b, c]) as usize;
    let payload = read.get(9..end)?;
    let said = match kind {
        HEADERS => Said::Answer(status(payload)),
        RST_STREAM => Said::Reset,
        GOAWAY => Said::GoAway,
        SETTINGS | PING if flags & ACK == 0 => {
            frame(out, kind, ACK, 0, if kind == PING { payload } else { &[] });
            Said::Other
        }
        _ => Said::Other,
    };
    Some((said, end))
}

/// `:status` comes first in its block, after changes of the table's size.
fn status(block: &[u8]) -> u16 {
    let after = block.iter().position(|byte| byte & 0xe0 != 0x20).unwrap_or(0);
    match block[after..] {
        // In HPACK's table.
        [0x88, ..] => 200,
        // A value of three characters, with a name of the table.
        [0x08..0x0f | 0x18..0x1f | 0x48..0x4f, 3, a, b, c, ..] => {
            [a, b, c].iter().fold(0, |number, digit| number * 10 + u16::from(digit.wrapping_sub(b'0')))
        }
        _ => 0,
    }
}
