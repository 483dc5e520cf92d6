//! The host functions that Weir calls, typed. The SDK's wrappers panic on any status that they don't list, and a
//! panic ends the VM; these return it.

#![allow(unsafe_code)]

/// Owned bytes from the host.
pub type Bytes = Vec<u8>;

/// A host function's answer other than OK: the number of proxy-wasm's `WasmResult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u32);

/// The value's version was another.
pub const CAS_MISMATCH: Status = Status(8);

/// `MapType::HttpRequestHeaders` and `MapType::HttpResponseHeaders`.
const REQUEST_HEADERS: u32 = 0;
const RESPONSE_HEADERS: u32 = 2;
/// `MapType::HttpCallResponseHeaders`.
const CALL_HEADERS: u32 = 6;

/// `StreamType::HttpRequest` and `StreamType::Downstream`.
const REQUEST: u32 = 0;
const DOWNSTREAM: u32 = 2;

/// Log levels of Envoy.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Level {
    /// What an operator may want to know.
    Info = 2,
    /// What an operator should look at.
    Warn = 3,
    /// What an operator must mend.
    Error = 4,
}

/// Metric types of proxy-wasm.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum MetricType {
    /// Only grows.
    Counter = 0,
    /// Goes up and down.
    Gauge = 1,
}

#[link(wasm_import_module = "env")]
unsafe extern "C" {
    fn proxy_log(level: u32, text: *const u8, size: usize) -> u32;
    fn proxy_get_header_map_pairs(map: u32, data: *mut *mut u8, size: *mut usize) -> u32;
    fn proxy_get_header_map_value(
        map: u32,
        name: *const u8,
        name_size: usize,
        data: *mut *mut u8,
        size: *mut usize,
    ) -> u32;
    fn proxy_replace_header_map_value(
        map: u32,
        name: *const u8,
        name_size: usize,
        value: *const u8,
        size: usize,
    ) -> u32;
    fn proxy_remove_header_map_value(map: u32, name: *const u8, name_size: usize) -> u32;
    fn proxy_get_property(path: *const u8, path_size: usize, data: *mut *mut u8, size: *mut usize) -> u32;
    fn proxy_set_property(path: *const u8, path_size: usize, value: *const u8, size: usize) -> u32;
    fn proxy_get_shared_data(
        key: *const u8,
        key_size: usize,
        data: *mut *mut u8,
        size: *mut usize,
        cas: *mut u32,
    ) -> u32;
    fn proxy_set_shared_data(key: *const u8, key_size: usize, value: *const u8, size: usize, cas: u32)
    -> u32;
    fn proxy_register_shared_queue(name: *const u8, size: usize, token: *mut u32) -> u32;
    fn proxy_enqueue_shared_queue(token: u32, value: *const u8, size: usize) -> u32;
    fn proxy_dequeue_shared_queue(token: u32, data: *mut *mut u8, size: *mut usize) -> u32;
    fn proxy_set_effective_context(id: u32) -> u32;
    fn proxy_close_stream(stream: u32) -> u32;
    fn proxy_continue_stream(kind: u32) -> u32;
    fn proxy_send_local_response(
        status: u32,
        details: *const u8,
        details_size: usize,
        body: *const u8,
        body_size: usize,
        headers: *const u8,
        headers_size: usize,
        grpc_status: i32,
    ) -> u32;
    fn proxy_define_metric(kind: u32, name: *const u8, size: usize, id: *mut u32) -> u32;
    fn proxy_increment_metric(id: u32, offset: i64) -> u32;
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    fn clock_time_get(clock: u32, precision: u64, time: *mut u64) -> u16;
    fn random_get(buffer: *mut u8, size: usize) -> u16;
}

fn check(status: u32) -> Result<(), Status> {
    if status == 0 { Ok(()) } else { Err(Status(status)) }
}

/// Calls a function that returns bytes: the host allocates them in this VM (`proxy_on_memory_allocate`) and hands
/// them over.
fn returned(call: impl FnOnce(*mut *mut u8, *mut usize) -> u32) -> Result<Bytes, Status> {
    let (mut data, mut size) = (core::ptr::null_mut::<u8>(), 0usize);
    check(call(&mut data, &mut size))?;
    if data.is_null() {
        return Ok(Bytes::new());
    }
    // SAFETY: the SDK's allocator made the block as a boxed slice of `size` bytes, and nobody else owns it.
    Ok(unsafe { Vec::from_raw_parts(data, size, size) })
}

/// All request headers, encoded (see [`crate::request::headers`]).
pub fn request_headers() -> Result<Bytes, Status> {
    // SAFETY: the out-pointers are valid for the call.
    returned(|data, size| unsafe { proxy_get_header_map_pairs(REQUEST_HEADERS, data, size) })
}

/// Does the request have this header?
pub fn has_request_header(name: &str) -> bool {
    // SAFETY: `name` outlives the call, the out-pointers are valid for it.
    let value = returned(|data, size| unsafe {
        proxy_get_header_map_value(REQUEST_HEADERS, name.as_ptr(), name.len(), data, size)
    });
    value.is_ok_and(|value| !value.is_empty())
}

/// The status of the answer to a call of our own.
pub fn call_status() -> Result<Bytes, Status> {
    const NAME: &str = ":status";
    // SAFETY: the name is static, the out-pointers are valid for the call.
    returned(|data, size| unsafe {
        proxy_get_header_map_value(CALL_HEADERS, NAME.as_ptr(), NAME.len(), data, size)
    })
}

/// Gives the response this header, in place of any of the name that it has.
pub fn set_response_header(name: &str, value: &str) -> Result<(), Status> {
    // SAFETY: both slices outlive the call.
    check(unsafe {
        proxy_replace_header_map_value(
            RESPONSE_HEADERS,
            name.as_ptr(),
            name.len(),
            value.as_ptr(),
            value.len(),
        )
    })
}

/// Takes all headers of this name from the response.
pub fn remove_response_header(name: &str) -> Result<(), Status> {
    // SAFETY: `name` outlives the call.
    check(unsafe { proxy_remove_header_map_value(RESPONSE_HEADERS, name.as_ptr(), name.len()) })
}

/// A property, by its path's parts joined with NUL.
pub fn property(path: &str) -> Result<Bytes, Status> {
    // SAFETY: `path` outlives the call, the out-pointers are valid for it.
    returned(|data, size| unsafe { proxy_get_property(path.as_ptr(), path.len(), data, size) })
}

/// Sets a property: `NAME` becomes the filter state object `wasm.NAME`.
pub fn set_property(name: &str, value: &[u8]) -> Result<(), Status> {
    // SAFETY: both slices outlive the call.
    check(unsafe { proxy_set_property(name.as_ptr(), name.len(), value.as_ptr(), value.len()) })
}

/// A shared value and its version.
pub fn shared_data(key: &str) -> Result<(Bytes, u32), Status> {
    let mut cas = 0;
    // SAFETY: `key` outlives the call, the out-pointers are valid for it.
    let value = returned(|data, size| unsafe {
        proxy_get_shared_data(key.as_ptr(), key.len(), data, size, &mut cas)
    })?;
    Ok((value, cas))
}

/// Writes a shared value if its version is still `cas`.
pub fn set_shared_data(key: &str, value: &[u8], cas: u32) -> Result<(), Status> {
    // SAFETY: both slices outlive the call.
    check(unsafe { proxy_set_shared_data(key.as_ptr(), key.len(), value.as_ptr(), value.len(), cas) })
}

/// Makes the current root context hear what comes into the queue of this name, in place of whoever did; a stream
/// stands for its root. Returns the queue's token in this process.
pub fn register_queue(name: &str) -> Result<u32, Status> {
    let mut token = 0;
    // SAFETY: `name` outlives the call, the out-pointer is valid for it.
    check(unsafe { proxy_register_shared_queue(name.as_ptr(), name.len(), &mut token) })?;
    Ok(token)
}

/// Puts a value into a queue, and wakes who hears it.
pub fn enqueue(token: u32, value: &[u8]) -> Result<(), Status> {
    // SAFETY: `value` outlives the call.
    check(unsafe { proxy_enqueue_shared_queue(token, value.as_ptr(), value.len()) })
}

/// Takes the oldest value out of a queue; an error where there is none.
pub fn dequeue(token: u32) -> Result<Bytes, Status> {
    // SAFETY: the out-pointers are valid for the call.
    returned(|data, size| unsafe { proxy_dequeue_shared_queue(token, data, size) })
}

/// Makes the calls that follow mean another context than the one that was called; an error where it is gone.
pub fn set_effective_context(id: u32) -> Result<(), Status> {
    // SAFETY: no pointers.
    check(unsafe { proxy_set_effective_context(id) })
}

/// Lets the paused request of the context go on, as soon as the VM has returned.
pub fn resume_request() -> Result<(), Status> {
    // SAFETY: no pointers.
    check(unsafe { proxy_continue_stream(REQUEST) })
}

/// Ends the connection of the context, which is a network filter's, when what was written has gone out.
pub fn close_connection() -> Result<(), Status> {
    // SAFETY: no pointers.
    check(unsafe { proxy_close_stream(DOWNSTREAM) })
}

/// A reply of our own. `headers` is an encoded map.
pub fn send_local_response(
    status: u16,
    details: &str,
    body: &[u8],
    headers: &[u8],
    grpc_status: Option<u8>,
) -> Result<(), Status> {
    // SAFETY: all slices outlive the call.
    check(unsafe {
        proxy_send_local_response(
            status.into(),
            details.as_ptr(),
            details.len(),
            body.as_ptr(),
            body.len(),
            headers.as_ptr(),
            headers.len(),
            grpc_status.map_or(-1, i32::from),
        )
    })
}

/// Makes a metric known and returns its id in this VM.
pub fn define_metric(kind: MetricType, name: &str) -> Result<u32, Status> {
    let mut id = 0;
    // SAFETY: `name` outlives the call, the out-pointer is valid for it.
    check(unsafe { proxy_define_metric(kind as u32, name.as_ptr(), name.len(), &mut id) })?;
    Ok(id)
}

/// Adds to a metric. A counter takes positive offsets only.
pub fn increment_metric(id: u32, offset: i64) -> Result<(), Status> {
    // SAFETY: no pointers.
    check(unsafe { proxy_increment_metric(id, offset) })
}

/// Writes a line to Envoy's log.
pub fn log(level: Level, text: &str) -> Result<(), Status> {
    // SAFETY: `text` outlives the call.
    check(unsafe { proxy_log(level as u32, text.as_ptr(), text.len()) })
}

/// A WASI clock in nanoseconds; 0 where the host has none.
pub fn clock(id: u32) -> u64 {
    let mut time = 0;
    // SAFETY: the out-pointer is valid for the call.
    let errno = unsafe { clock_time_get(id, 1, &mut time) };
    if errno == 0 { time } else { 0 }
}

/// Fills `buffer` with randomness (the host gives up to 64 KiB a call).
pub fn random(buffer: &mut [u8]) {
    // SAFETY: the pointer and the size are of one slice.
    let _ = unsafe { random_get(buffer.as_mut_ptr(), buffer.len()) };
}
