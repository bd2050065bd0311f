//! The HTTP contract through its public face: the router on a real service, one file a resource.

mod authentication;
mod bodies;
mod clock;
mod documents;
mod everything;
mod explain;
mod hang_ups;
mod inboxes;
mod list;
mod messages;
mod open_waits;
mod openapi;
mod outgoing;
mod refusals;
mod server;
mod smtp;
mod wait;
mod wait_slots;
