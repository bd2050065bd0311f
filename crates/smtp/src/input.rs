//! Bytes that were received and have not been read yet.

/// A larger buffer is freed when it is empty.
const KEPT_BYTES: usize = 4_096;

/// A queue of bytes. Reading does not move bytes, so many short lines are as cheap as one long
/// line.
#[derive(Debug, Default)]
pub(super) struct Input {
    bytes: Vec<u8>,
    taken: usize,
}

impl Input {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.unread().is_empty()
    }

    /// Drops `count` bytes from the front. A large buffer is freed when it is empty, so that idle
    /// sessions do not keep the memory.
    pub(super) fn take(&mut self, count: usize) {
        self.taken += count;
        if self.is_empty() {
            self.clear();
        }
    }

    pub(super) fn clear(&mut self) {
        self.taken = 0;
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_returned_once_and_in_order() {
        let mut input = Input::default();
        input.push(b"abc");
        input.take(1);
        input.push(b"d");
        assert_eq!(input.unread(), b"bcd");
        input.take(3);
        assert!(input.is_empty());
    }

    #[test]
    fn an_empty_buffer_is_small() {
        let mut input = Input::default();
        input.push(&[0; 100_000]);
        input.take(100_000);
        assert!(input.bytes.capacity() <= KEPT_BYTES);
    }
}
