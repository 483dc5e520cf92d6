//! `weir schema`: the table of all fields as README shows it.

use std::fmt::Write;
use weir::config::schema;

/// One row per field.
pub fn markdown() -> String {
    let mut out = String::from("| field | value | default | meaning |\n|---|---|---|---|\n");
    for field in schema::fields() {
        let (path, form, meaning) = (field.path, &field.form, field.meaning);
        let _ = write!(out, "| `{path}` | {form} | {} | {meaning}", form.default());
        if !field.raising.is_empty() {
            let _ = write!(out, "<br>*Raised or changed:* {}", field.raising);
        }
        out.push_str(" |\n");
    }
    out
}
