//! HTTP/2 frame by frame, for what no client library would send.
//!
//! ```ignore
//! let mut raw = proxy.raw().await;
//! raw.send(&[frames::preface(), frames::get(1, "/delay/5000"), frames::data(0, b"illegal")].concat()).await;
//! assert_eq!(raw.goaway().await, Some(frames::PROTOCOL_ERROR));
//! ```

/// The error that a GOAWAY names after a violation of the protocol.
pub const PROTOCOL_ERROR: u32 = 1;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// How a connection begins: the magic and empty settings.
pub fn preface() -> Vec<u8> {
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(SETTINGS, 0, 0, &[])].concat()
}

/// A whole `GET` request: `frames::get(1, "/")`. A client's streams are odd and rise.
pub fn get(stream: u32, path: &str) -> Vec<u8> {
    get_with(stream, path, &[])
}

/// The same with header fields as they are, legal or not: `frames::get_with(1, "/", &[("Upper", "case")])`.
pub fn get_with(stream: u32, path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    // `:method: GET` stands in HPACK's table.
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &block(0x82, path, headers))
}

/// `:scheme: http` stands in HPACK's table too, and the names of `:path` and `:authority`.
fn block(method: u8, path: &str, headers: &[(&str, impl AsRef<str>)]) -> Vec<u8> {
    let mut block = vec![method, 0x86];
    block.extend([vec![0x04], hpack(path), vec![0x01], hpack("weir.test")].concat());
    for (name, value) in headers {
        block.extend([vec![0x00], hpack(name), hpack(value.as_ref())].concat());
    }
    block
}

/// RST_STREAM(CANCEL): `[frames::get(1, "/"), frames::reset(1)].concat()` leaves in one piece.
pub fn reset(stream: u32) -> Vec<u8> {
    reset_with(stream, 8)
}

/// RST_STREAM with any code: `frames::reset_with(1, 0)` is NO_ERROR.
pub fn reset_with(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

/// A `POST` of which a body of so many bytes is promised: `[frames::post(1, "/", 5), frames::last_data(1, b"abc")]` breaks
/// its promise.
pub fn post(stream: u32, path: &str, length: usize) -> Vec<u8> {
    // `:method: POST` stands in HPACK's table.
    let fields = [("content-length", length.to_string())];
    frame(HEADERS, END_HEADERS, stream, &block(0x83, path, &fields))
}

/// DATA that ends its stream.
pub fn last_data(stream: u32, bytes: &[u8]) -> Vec<u8> {
    frame(DATA, END_STREAM, stream, bytes)
}

/// DATA; on stream 0 it is a protocol error.
pub fn data(stream: u32, bytes: &[u8]) -> Vec<u8> {
    frame(DATA, 0, stream, bytes)
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let size = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&size[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A text without Huffman coding, shorter than 127 bytes.
fn hpack(text: &str) -> Vec<u8> {
    assert!(text.len() < 127, "longer texts have another form");
    [&[text.len() as u8], text.as_bytes()].concat()
}

/// What a frame from the proxy says, as far as tests ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The headers of an answer.
    Answer {
        stream: u32,
    },
    /// The stream's end by error.
    Reset {
        stream: u32,
    },
    /// The connection's end, with its error.
    GoAway {
        error: u32,
    },
    Other,
}

/// Cuts the first frame off what has been read; `None` while it is not whole.
pub fn take(read: &mut Vec<u8>) -> Option<Frame> {
    let &[a, b, c, kind, _flags, s0, s1, s2, s3, ..] = read.as_slice() else { return None };
    let end = 9 + u32::from_be_bytes([0, a, b, c]) as usize;
    if read.len() < end {
        return None;
    }
    let frame: Vec<u8> = read.drain(..end).collect();
    let stream = u32::from_be_bytes([s0, s1, s2, s3]);
    Some(match kind {
        HEADERS => Frame::Answer { stream },
        RST_STREAM => Frame::Reset { stream },
        GOAWAY => Frame::GoAway { error: u32::from_be_bytes(frame[13..17].try_into().unwrap()) },
        _ => Frame::Other,
    })
}
