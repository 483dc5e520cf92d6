//! `weir schema`: the table of all fields as README shows it.

use std::fmt::Write;
use weir::config::schema::FIELDS;

/// One row per field.
pub fn markdown() -> String {
    let mut out = String::from(
        "| field | value | default | meaning | raising or changing it |\n|---|---|---|---|---|\n",
    );
    for field in FIELDS {
        let (path, form, meaning, raising) = (field.path, &field.form, field.meaning, field.raising);
        let _ = writeln!(out, "| `{path}` | {form} | {} | {meaning} | {raising} |", form.default());
    }
    out
}
