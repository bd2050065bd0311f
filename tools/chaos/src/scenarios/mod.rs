//! What a client does: one scenario after another, chosen by its random numbers.

mod browsing;
mod deleting;
mod failing;
mod filtering;
mod looking;
mod sending;
mod trespassing;
mod waiting;

use rand::RngExt;

use crate::client::Client;

pub(crate) use waiting::slots;

/// Plays one scenario.
pub(crate) fn one(client: &mut Client<'_>) {
    match client.random.random_range(0..132) {
        0..30 => waiting::for_mail(client),
        30..36 => waiting::in_vain(client),
        36..50 => sending::to_several(client),
        50..58 => sending::over_http(client),
        58..64 => sending::from_an_inbox(client),
        64..68 => sending::and_hanging_up(client),
        68..78 => failing::on_request(client),
        78..84 => deleting::an_inbox(client),
        84..88 => deleting::a_message(client),
        88..93 => looking::at_everything(client),
        93..96 => looking::for_a_message(client),
        96..100 => looking::for_the_cause(client),
        100..110 => filtering::a_wait(client),
        110..113 => filtering::a_list(client),
        113..115 => filtering::until_the_inbox_expires(client),
        115..116 => browsing::a_permanent_inbox(client),
        116..119 => browsing::and_deleting(client),
        119..121 => browsing::an_open_page(client),
        121..124 => trespassing::in_another_project(client),
        124..127 => trespassing::with_a_tag(client),
        127..131 => failing::several_at_once(client),
        _ => deleting::by_an_empty_search(client),
    }
}
