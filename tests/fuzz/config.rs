//! What an operator writes.

use proptest::collection::vec;
use proptest::prelude::*;
use weir::config;

use super::{EVERYTHING, text};

proptest! {
    #[test]
    fn any_bytes_as_configuration_give_a_plan_or_errors(bytes in vec(any::<u8>(), 0..300)) {
        let _ = config::parse(&bytes);
    }

    #[test]
    fn a_damaged_configuration_gives_a_plan_or_errors(at in any::<prop::sample::Index>(), with in text()) {
        let mut bytes = EVERYTHING.as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes.splice(at..(at + with.len() / 2).min(EVERYTHING.len()), with);
        if let Err(errors) = config::parse(&bytes) {
            prop_assert!(!errors.to_string().is_empty());
        }
    }
}
