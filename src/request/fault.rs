//! What an HTTP/2 caller did wrong, as the host tells it when a stream or a connection is over.

/// A fault of the caller's own. Normal ends, the upstream's failures and what we end ourselves are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It reset a stream.
    Reset,
    /// It broke the protocol, which ends the connection.
    Protocol,
}

impl Fault {
    /// Both.
    pub const ALL: [Fault; 2] = [Fault::Reset, Fault::Protocol];

    /// The word of the metrics.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Reset => "reset",
            Fault::Protocol => "protocol",
        }
    }

    /// The fault that Envoy's response flags tell of, if any: bit 28, the client reset the stream; bit 18, an error in what
    /// it sent.
    pub fn of_flags(flags: u64) -> Option<Fault> {
        match flags {
            _ if flags & DOWNSTREAM_PROTOCOL_ERROR != 0 => Some(Fault::Protocol),
            _ if flags & DOWNSTREAM_REMOTE_RESET != 0 => Some(Fault::Reset),
            _ => None,
        }
    }
}

const DOWNSTREAM_PROTOCOL_ERROR: u64 = 1 << 18;
const DOWNSTREAM_REMOTE_RESET: u64 = 1 << 28;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_a_normal_end_or_of_the_upstream_are_no_fault() {
        assert_eq!(Fault::of_flags(0), None);
        assert_eq!(Fault::of_flags(1 << 14), None, "the connection ended");
        assert_eq!(Fault::of_flags(1 << 6), None, "the upstream's connection ended");
        assert_eq!(Fault::of_flags(1 << 28), Some(Fault::Reset));
        assert_eq!(Fault::of_flags(1 << 18 | 1 << 14), Some(Fault::Protocol));
    }
}
