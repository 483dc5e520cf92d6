//! The page. (Replaced by the merge.)
#![allow(missing_docs)]
use core::fmt::Write;

pub struct Page<'a> {
    pub token: &'a str,
    pub difficulty: u8,
    pub answer: &'a str,
    pub to: &'a str,
    pub reason: &'a str,
    pub wait: Option<u32>,
    pub nonce: &'a str,
}

pub fn write(page: &Page, out: &mut String) {
    let _ = write!(out, "<!doctype html>{} {}", page.token, page.reason);
}

pub fn content_security_policy(nonce: &str, out: &mut String) {
    let _ = write!(out, "default-src 'none'; script-src 'nonce-{nonce}'");
}

pub fn write_cookies_off(reason: &str, _nonce: &str, out: &mut String) {
    out.push_str(reason);
}
