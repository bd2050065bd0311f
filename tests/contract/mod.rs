//! The HTTP contract through its public face: the router on a real service, one file a resource.

mod authentication;
mod documents;
mod inboxes;
mod list;
mod messages;
mod openapi;
mod outgoing;
mod parking;
mod refusals;
mod server;
mod wait;
mod wait_slots;
