//! An answer by HTTP/1.1, as bytes.

/// The length of an answer, once its header section is there.
pub fn length(answer: &[u8]) -> Option<usize> {
    let head = find(answer, b"\r\n\r\n")? + 4;
    Some(head + header(&answer[..head], "content-length").map_or(0, digits))
}

/// "HTTP/1.1 200 OK"
pub fn status(answer: &[u8]) -> u16 {
    digits(&answer["HTTP/1.1 ".len()..]) as u16
}

/// What stands behind the name, to the end of the answer. Envoy writes names in lower case.
pub fn header<'a>(answer: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let name = format!("\r\n{name}: ");
    find(answer, name.as_bytes()).map(|at| &answer[at + name.len()..])
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_digit()).fold(0, |number, b| number * 10 + usize::from(b - b'0'))
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}
