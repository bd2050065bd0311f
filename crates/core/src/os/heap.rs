//! Makes the C library return the memory of large messages to the operating system.

/// Keeps large blocks out of the heap. By default, glibc raises its threshold to 32 MiB once large
/// blocks have been freed. After 18 messages of 24 MB, the process then keeps 290 MiB; with this
/// setting it keeps 13 MiB.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn return_large_blocks() {
    use std::ffi::c_int;

    /// Blocks of this many bytes or more are allocated from the system one by one, and returned
    /// when they are freed.
    const RETURNED_FROM: c_int = 256 * 1024;
    /// Free bytes that each heap keeps at its end. By default, the heap returns 128 KiB at a time
    /// and allocates them again for the next message.
    const KEPT_FREE_BYTES: c_int = 2 * 1024 * 1024;

    for (parameter, value) in [
        (libc::M_MMAP_THRESHOLD, RETURNED_FROM),
        (libc::M_TRIM_THRESHOLD, KEPT_FREE_BYTES),
    ] {
        // SAFETY: mallopt accepts two integers, may be called at any time, and ignores unknown
        // options.
        #[allow(unsafe_code)]
        let _ = unsafe { libc::mallopt(parameter, value) };
    }
}

/// Other C libraries return large blocks automatically.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn return_large_blocks() {}
