//! Tells the system what memory the process can do without: what large messages have left behind, and what only the start
//! has needed.

use std::ffi::{c_int, c_void};

/// Blocks from this size on, in octets, are taken from the system one by one and returned when they are freed.
const RETURNED_FROM: c_int = 256 * 1024;
/// Free octets that each heap keeps at its end. The default gives back 128 KiB at a time and takes it again for the next
/// message, each time at the cost of an interrupt on every processor.
const KEPT: c_int = 2 * 1024 * 1024;

/// Keeps large blocks out of the heap. By default glibc raises its threshold to 32 MiB as soon as large blocks have been
/// freed, and from then on keeps what messages of 25 MiB leave behind, scattered, for ever.
#[cfg(target_env = "gnu")]
pub(super) fn return_large_blocks() {
    for (parameter, value) in [(libc::M_MMAP_THRESHOLD, RETURNED_FROM), (libc::M_TRIM_THRESHOLD, KEPT)] {
        // SAFETY: mallopt takes two integers and may be called at any time; what it does not understand it ignores.
        #[allow(unsafe_code)]
        let _ = unsafe { libc::mallopt(parameter, value) };
    }
}

/// Other C libraries return large blocks by themselves.
#[cfg(not(target_env = "gnu"))]
pub(super) fn return_large_blocks() {}

/// Takes the program's own code and constants out of the process's memory. They stay in the system's cache of files, and
/// what is used again comes back from there, a few pages at a time: most of what the start has run is not.
#[cfg(target_os = "linux")]
pub(super) fn release_program() {
    // SAFETY: the callback has the type that is asked for, and keeps nothing.
    #[allow(unsafe_code)]
    let _ = unsafe { libc::dl_iterate_phdr(Some(release_segments), std::ptr::null_mut()) };
}

/// Elsewhere the system finds out by itself.
#[cfg(not(target_os = "linux"))]
pub(super) fn release_program() {}

/// Releases the segments of the first object that nothing can have written to, and ends the iteration: the first one is
/// the program itself.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
// They are addresses within this process.
#[allow(clippy::cast_possible_truncation)]
extern "C" fn release_segments(object: *mut libc::dl_phdr_info, _size: usize, _data: *mut c_void) -> c_int {
    // SAFETY: the C library passes an object that lives as long as the call, with `dlpi_phnum` headers.
    let (base, segments) = unsafe {
        let object = &*object;
        (object.dlpi_addr as usize, std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()))
    };
    let page = rustix::param::page_size();
    for segment in segments {
        if segment.p_type != libc::PT_LOAD || segment.p_flags & libc::PF_W != 0 {
            continue;
        }
        let address = base + segment.p_vaddr as usize;
        let (begin, end) = (address.next_multiple_of(page), (address + segment.p_memsz as usize) / page * page);
        let pages = std::ptr::with_exposed_provenance_mut(begin);
        // SAFETY: these whole pages are mapped from the program's file, privately and without the right to write, so they
        // are as the file is, and come back from it unchanged.
        let _ = unsafe { libc::madvise(pages, end.saturating_sub(begin), libc::MADV_DONTNEED) };
    }
    1
}
