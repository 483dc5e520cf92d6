//! Set-associative keyed table.
