//! The lower layers of the server: the types of the domain, why a wait failed, and everything that
//! is stored.
//!
//! Its interface is not stable: it is a crate only so that the compiler can work on it separately.
//! The modules are listed from the top layer to the bottom, and each imports only modules below it.

pub mod store;

pub mod db;

pub mod evidence;

pub mod model;

pub mod jobs;
pub mod large;
pub mod tls;

pub mod causes;
pub mod os;
