//! How a request ended, as the host tells, and the one question that is asked about it.

/// The end of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// HTTP status of the answer, where there was one.
    pub status: Option<u16>,
    /// gRPC status of a gRPC caller's answer.
    pub grpc_status: Option<u64>,
    /// Who answered: Envoy's response code details.
    pub details: &'a [u8],
    /// What was wrong: Envoy's response flags.
    pub flags: u64,
}

/// Envoy's word for an answer that the upstream gave.
const UPSTREAM: &[u8] = b"via_upstream";

/// Response flags of requests that reached for an upstream which failed them: its answer took too long (UT), it reset the
/// stream (UR), could not be connected to (UF), ended the connection (UC), broke the protocol (UPE). Not those that no
/// upstream was asked for: no healthy host (UH), no route (NR), too many pending (UO), refused by a filter.
const FAILED: u64 = 1 << 2 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 23;

impl Outcome<'_> {
    /// Did the upstream fail, by a 5xx or what comes to one? Answers of Envoy's own, and of any filter, are none.
    pub fn upstream_failed(&self) -> bool {
        let failed = self.status.is_some_and(|status| status >= 500) || self.grpc_status.is_some_and(is_5xx);
        failed && (self.details == UPSTREAM || self.flags & FAILED != 0)
    }
}

/// gRPC statuses that are a 5xx of HTTP: UNKNOWN, DEADLINE_EXCEEDED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS.
fn is_5xx(grpc_status: u64) -> bool {
    matches!(grpc_status, 2 | 4 | 12..=15)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(status: u16, details: &str, flags: u64) -> bool {
        Outcome { status: Some(status), details: details.as_bytes(), flags, ..Outcome::default() }
            .upstream_failed()
    }

    #[test]
    fn only_what_an_upstream_did_is_its_failure() {
        assert!(failed(500, "via_upstream", 0));
        assert!(failed(503, "upstream_reset_before_response_started{connection_failure}", 1 << 5));
        assert!(failed(504, "response_timeout", 1 << 2));
        assert!(!failed(499, "via_upstream", 0));
        assert!(!failed(404, "via_upstream", 0));
        for (status, details, flags) in [
            (503, "weir_shed", 0),
            (503, "no_healthy_upstream", 1 << 1),
            (503, "overload", 1 << 7),
            (500, "direct_response", 0),
            (503, "fault_filter_abort", 1 << 10),
            (404, "route_not_found", 1 << 8),
        ] {
            assert!(!failed(status, details, flags), "{details}");
        }
        assert!(!Outcome::default().upstream_failed(), "a caller that left");
    }

    #[test]
    fn a_grpc_answer_fails_by_its_own_status() {
        let grpc = |status| Outcome {
            status: Some(200),
            grpc_status: Some(status),
            details: UPSTREAM,
            ..Outcome::default()
        };
        let failing: Vec<u64> = (0..20).filter(|status| grpc(*status).upstream_failed()).collect();
        assert_eq!(failing, [2, 4, 12, 13, 14, 15]);
    }
}
