//! Values made of records of one size, and little-endian numbers at fixed places of a record. Reading beyond the
//! record gives 0, writing there does nothing: records are arrays of known size, so neither happens, and neither
//! can trap.

/// The longest value that the exchange writes.
pub const MAX_VALUE: usize = 48 * 1024;

/// Empties a value that is no whole number of records, or more than `max` of them: it is not ours. Says so.
pub fn emptied_if_foreign(value: &mut Vec<u8>, record_bytes: usize, max: usize) -> bool {
    let foreign = !value.len().is_multiple_of(record_bytes) || value.len() > max * record_bytes;
    if foreign {
        value.clear();
    }
    foreign
}

/// The eight bytes at `at`.
pub fn u64_at(record: &[u8], at: usize) -> u64 {
    let bytes = record.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The four bytes at `at`.
pub fn u32_at(record: &[u8], at: usize) -> u32 {
    let bytes = record.get(at..).and_then(<[u8]>::first_chunk);
    bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Writes `value` at `at`.
pub fn write(record: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = record.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}
