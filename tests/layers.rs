//! The dependency rule of the source: a room imports only rooms of a lower level. And the rule of the manifest:
//! the proxy's SDK is nobody's dependency but the module's.
#![allow(clippy::unwrap_used, clippy::string_slice)] // a test fails by panicking

use std::fs;
use std::path::{Path, PathBuf};

/// Rooms by level. A file of `src/` belongs to the room of its first path component.
const LEVELS: &[(u8, &[&str])] = &[
    (0, &["time", "hash"]),
    (1, &["counters", "request", "shared"]),
    (2, &["identity"]),
    (3, &["bans", "challenge", "connections", "detect", "exchange"]),
    (4, &["score"]),
    (5, &["policy"]),
    (6, &["reply", "telemetry"]),
    (7, &["config"]),
    (8, &["engine"]),
    (9, &["host", "bin"]),
];

fn level(room: &str) -> Option<u8> {
    LEVELS.iter().find(|(_, rooms)| rooms.contains(&room)).map(|&(level, _)| level)
}

fn room_of(file: &Path) -> String {
    let first = file.strip_prefix("src").unwrap().components().next().unwrap();
    first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned()
}

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
}

/// Every room that a text names in `crate::ROOM`, `crate::{ROOM, …}` or `weir::ROOM`. Comments don't count.
fn imports(text: &str) -> Vec<String> {
    let code: String =
        text.lines().map(|line| line.split("//").next().unwrap_or("").to_owned() + "\n").collect();
    let mut rooms = Vec::new();
    for prefix in ["crate::", "weir::"] {
        for (at, _) in code.match_indices(prefix) {
            let rest = &code[at + prefix.len()..];
            match rest.strip_prefix('{') {
                Some(list) => rooms.extend(top_level_names(list)),
                None => rooms.push(name(rest)),
            }
        }
    }
    rooms
}

/// The first names in `a::{b, c}, d}`: `a`, `d`.
fn top_level_names(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    let (mut depth, mut start) = (0, true);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => start = true,
            c if start && c.is_alphabetic() => {
                names.push(name(&list[at..]));
                start = false;
            }
            _ => {}
        }
    }
    names
}

fn name(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[test]
fn a_room_imports_only_rooms_of_a_lower_level() {
    let mut files = Vec::new();
    sources(Path::new("src"), &mut files);
    assert!(files.len() > 10, "no sources found: run from the package's folder");
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| !file.ends_with("lib.rs")) {
        let room = room_of(file);
        let own = level(&room).unwrap_or_else(|| panic!("{}: give the room {room} a level", file.display()));
        for other in imports(&fs::read_to_string(file).unwrap()) {
            let Some(its) = level(&other) else { continue };
            if other != room && its >= own {
                faults
                    .push(format!("{}: {room} (level {own}) imports {other} (level {its})", file.display()));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn the_test_sees_every_way_to_import() {
    let text = "use crate::{time::{Nanos, Step}, engine}; fn f() { crate::policy::g() } // crate::host\nuse weir::reply;";
    let mut rooms = imports(text);
    rooms.sort();
    assert_eq!(rooms, ["engine", "policy", "reply", "time"]);
}

#[test]
fn only_host_knows_the_proxy() {
    let mut files = Vec::new();
    sources(Path::new("src"), &mut files);
    for file in files.iter().filter(|file| room_of(file) != "host") {
        let text = fs::read_to_string(file).unwrap();
        assert!(!text.contains("proxy_wasm"), "{} names proxy_wasm", file.display());
    }
    let manifest = fs::read_to_string("Cargo.toml").unwrap();
    let before = manifest.split("proxy-wasm = ").next().unwrap();
    let section = before.rsplit('[').next().unwrap().split(']').next().unwrap();
    assert_eq!(section, "target.'cfg(target_arch = \"wasm32\")'.dependencies");
}
