//! What an operator writes.

use proptest::collection::vec;
use proptest::prelude::*;
use weir::config;

use super::{EVERYTHING, text};

const TRAFFIC: &str = include_str!("../../testdata/config/good/traffic.json");
const POLICY: &str = include_str!("../../testdata/config/good/policy.json");

proptest! {
    #[test]
    fn any_bytes_as_configuration_give_a_plan_or_errors(bytes in vec(any::<u8>(), 0..300)) {
        let _ = config::parse(&bytes);
    }

    #[test]
    fn a_damaged_configuration_gives_a_plan_or_errors(
        whole in prop::sample::select(&[EVERYTHING, TRAFFIC, POLICY][..]),
        at in any::<prop::sample::Index>(),
        with in text(),
    ) {
        let mut bytes = whole.as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes.splice(at..(at + with.len() / 2).min(whole.len()), with);
        if let Err(errors) = config::parse(&bytes) {
            prop_assert!(!errors.to_string().is_empty());
        }
    }
}
