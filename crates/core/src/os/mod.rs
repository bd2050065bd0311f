//! The differences between operating systems: private files, limits, disks and stop signals.
//! Everything above this module is the same on Linux, macOS and Windows.

mod heap;
mod process;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub use heap::return_large_blocks;
pub use process::{as_f64, process_use};
#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;

/// Whether a lock on a whole file and SQLite's own locks can be used on the same file. On Linux
/// they are of two kinds (flock and fcntl); on other systems they may exclude each other.
pub const FILE_LOCKS_ARE_SEPARATE: bool = cfg!(target_os = "linux");

#[cfg(test)]
mod tests {
    use std::fs::{self, DirBuilder, File};

    use super::*;

    #[test]
    fn private_files_are_accessible_only_to_their_owner() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("a/b");
        let file = parent.path().join("file");
        private_directory(DirBuilder::new().recursive(true))
            .create(&directory)
            .unwrap();
        private_file(File::options().write(true).create_new(true))
            .open(&file)
            .unwrap();
        assert!(!others_may_access(&directory.metadata().unwrap()));
        assert!(!others_may_access(&file.metadata().unwrap()));
    }

    #[test]
    fn a_disk_has_free_bytes() {
        let directory = tempfile::tempdir().unwrap();
        assert!(free_bytes(directory.path()).unwrap() > 0);
        assert!(free_bytes(&directory.path().join("absent")).is_err());
    }

    #[test]
    fn a_replaced_file_has_another_identity() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("one"), "one").unwrap();
        let identity = || file_identity(&path("one").metadata().unwrap());
        let first = identity();
        assert_eq!(identity(), first);
        fs::write(path("two"), "two").unwrap();
        fs::rename(path("two"), path("one")).unwrap();
        assert_ne!(identity(), first);
    }

    #[test]
    fn the_raised_limit_is_no_lower() {
        let before = raise_open_files(0);
        assert!(raise_open_files(before) >= before);
    }
}
