//! The pure SMTP session against dialogs that people wrote and against random ones that a model judges.

#[path = "../dialog/mod.rs"]
mod dialog;
mod dialogs;
mod model;
mod peer;
mod random;
