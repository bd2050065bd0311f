//! SMTP over a real socket, in front of the real service on a database of its own. Time passes by a manual clock.

mod dialog;
mod session_peer;
mod smtp_socket {
    pub mod client;
    pub mod deliveries;
    pub mod dialogs;
    pub mod limits;
    pub mod server;
    pub mod socket_peer;
    pub mod time;
    pub mod tls;
}
