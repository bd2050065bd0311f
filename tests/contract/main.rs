//! The HTTP contract: the router with a real service, one file per resource, on every engine.
//!
//! A new case is one `async fn(Engine)` in one of the modules below, and its name in the list at the end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod authentication;
mod bodies;
mod clock;
mod documents;
mod everything;
mod explain;
mod faults;
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

macro_rules! cases {
    ($($module:ident: $($case:ident),+ $(,)?;)+) => {
        mod sqlite {
            $(mod $module {
                $(#[tokio::test]
                async fn $case() {
                    crate::$module::$case(testkit::Engine::Sqlite).await;
                })+
            })+
        }
        mod postgres {
            $(mod $module {
                $(#[tokio::test]
                async fn $case() {
                    crate::$module::$case(testkit::Engine::Postgres).await;
                })+
            })+
        }
    };
}

cases! {
    authentication:
        without_a_key_nothing_is_said_about_what_exists,
        a_wrong_key_is_as_good_as_none,
        a_key_is_taken_from_either_header,
        public_paths_need_no_key_and_ignore_a_wrong_one,
        the_alias_prefix_answers_like_the_first,
        what_belongs_to_another_key_does_not_exist,
        the_key_is_checked_first_then_the_inbox_then_query_and_body;
    bodies:
        a_form_of_a_stranger_is_small,
        a_subject_filter_has_a_limit,
        a_send_takes_its_place_before_its_body_is_read,
        past_the_budget_a_request_waits_and_then_gets_a_503,
        an_answer_holds_its_room_until_it_is_sent,
        a_list_of_large_messages_fits_into_a_small_part_of_the_budget;
    clock:
        a_wait_ends_in_time_when_the_clock_is_set_back,
        a_rotated_key_stops_in_time_when_the_clock_is_set_back;
    documents:
        the_guide_is_markdown_under_both_names,
        the_guide_names_this_installation_and_the_version,
        the_guide_has_every_endpoint_and_every_error,
        another_origin_may_not_read_answers_and_the_guide_says_so,
        the_contract_names_this_installation_and_the_version;
    everything:
        the_details_say_how_a_message_came_and_what_is_in_it,
        a_sender_that_could_have_no_inbox_is_kept_as_it_was_given,
        a_message_of_the_service_itself_came_over_no_connection,
        an_attachment_is_a_download_that_nothing_can_run,
        a_page_shows_images_and_runs_nothing,
        a_large_message_is_the_same_in_pieces,
        filters_by_sender_and_content_combine,
        a_deleted_message_is_gone_and_still_a_cursor,
        an_inbox_that_was_full_takes_mail_once_a_message_is_deleted,
        of_a_shared_message_each_recipient_deletes_their_own;
    explain:
        nothing_has_connected,
        messages_came_but_the_filters_exclude_them,
        mail_was_refused,
        each_recipient_of_a_refused_message_hears_of_it_alone,
        a_recipient_was_refused,
        the_address_was_mistyped,
        an_older_inbox_with_a_similar_name_got_the_mail,
        mail_opened_another_inbox,
        mail_went_to_another_domain,
        a_refusal_without_a_recipient_is_shown_but_does_not_decide,
        the_inbox_has_ended,
        only_the_owner_is_answered;
    faults:
        a_list_is_replaced_shown_and_cleared,
        what_is_not_valid_is_refused_by_name,
        only_the_owner_is_answered,
        a_deferred_client_is_accepted_the_third_time,
        a_fault_concerns_its_own_inbox_and_its_tags,
        each_message_meets_the_next_fault,
        every_sender_but_the_null_path_is_notified,
        the_bounces_of_an_inbox_are_limited,
        a_fault_ends_with_its_inbox,
        a_full_inbox_uses_no_fault,
        mail_of_the_service_meets_no_fault,
        a_refused_message_is_explained;
    inboxes:
        a_created_inbox_is_temporary_and_lives_for_an_hour,
        every_inbox_has_an_address_of_its_own,
        a_body_that_is_no_empty_object_is_refused,
        an_inbox_is_found_by_its_address_in_any_case,
        finding_needs_an_address,
        an_address_without_an_inbox_of_this_key_is_not_found,
        an_id_that_names_no_inbox_of_this_key_is_not_found,
        deleting_takes_the_inbox_and_its_messages,
        an_inbox_and_its_messages_are_gone_after_an_hour,
        mail_to_an_unknown_address_creates_a_temporary_inbox;
    list:
        an_empty_inbox_has_an_empty_list,
        the_newest_comes_first_with_the_same_fields_as_alone,
        a_subject_is_a_substring_in_any_case,
        after_and_before_are_cursors,
        a_cursor_that_names_no_message_of_the_inbox_is_refused,
        a_limit_is_an_integer_of_at_least_one,
        a_list_of_many_pages_is_whole;
    messages:
        a_message_has_all_its_fields,
        what_a_message_does_not_have_is_empty_and_never_missing,
        an_id_that_names_no_message_of_this_key_is_not_found;
    open_waits:
        it_goes_on_after_the_answer,
        it_ends_with_the_answer_if_the_client_requests_it,
        what_was_sent_ahead_is_answered_in_order,
        an_earlier_answer_that_is_not_read_yet_is_not_lost,
        at_a_stop_the_answer_says_that_it_is_the_last;
    openapi:
        the_router_answers_exactly_the_operations_of_the_contract,
        answers_fit_the_schemas_of_the_contract;
    outgoing:
        a_local_recipient_gets_the_message_from_the_address_of_the_inbox,
        text_and_html_are_optional,
        a_foreign_recipient_is_accepted,
        a_reply_names_a_message_of_the_same_project,
        a_reply_to_a_large_message_names_it,
        a_reply_to_a_message_without_an_id_threads,
        an_unknown_local_recipient_is_not_found,
        a_wrong_body_is_refused,
        only_one_bare_address_is_a_recipient,
        a_subject_cannot_bring_a_header_of_its_own,
        a_send_wakes_a_wait;
    refusals:
        a_path_that_does_not_exist_is_not_found,
        a_method_that_a_path_does_not_have_is_refused_with_those_it_has,
        every_answer_carries_its_own_request_id_and_is_not_cached,
        a_body_has_a_limit,
        the_body_decides_and_not_its_content_type,
        a_failing_database_is_an_internal_error_that_says_no_more,
        a_head_is_a_get_without_its_body,
        health_is_ok;
    server:
        a_connection_serves_one_request_after_the_other,
        a_long_list_is_streamed,
        a_client_that_hangs_up_frees_its_place,
        at_the_limit_the_longest_idle_connection_is_closed,
        past_the_limit_a_connection_waits_until_another_is_idle,
        a_client_with_too_many_requests_gets_no_more_connections,
        headers_are_bounded,
        a_request_has_exactly_one_host,
        a_client_that_is_still_sending_too_large_a_body_reads_the_refusal,
        a_stop_closes_idle_connections_and_lets_running_requests_finish,
        a_stop_answers_open_waits_with_a_503_immediately;
    wait:
        a_stored_message_is_returned_at_once_as_it_is_shown_alone,
        the_oldest_match_comes_first_and_after_is_the_cursor,
        a_wait_is_answered_when_its_message_arrives,
        several_waits_on_one_inbox_are_all_answered,
        mail_that_does_not_match_leaves_a_wait_open,
        a_wait_ends_at_its_timeout,
        a_timeout_of_zero_is_one_lookup,
        an_after_that_names_no_message_of_the_inbox_is_refused,
        deleting_the_inbox_ends_its_waits_at_once,
        the_inbox_s_end_ends_its_waits_before_their_timeout,
        a_permanent_inbox_waits_past_the_hour_and_is_not_deleted,
        a_wait_ends_at_once_when_its_project_is_deleted,
        a_wait_whose_key_was_revoked_gets_no_message;
    wait_slots:
        the_fifth_wait_that_has_to_stay_open_is_refused,
        a_wait_that_can_be_answered_at_once_needs_no_place,
        the_limit_is_checked_last,
        each_key_has_its_own_four,
        a_place_is_free_as_soon_as_its_wait_is_answered,
        a_place_is_free_as_soon_as_the_client_hangs_up,
        a_place_is_free_as_soon_as_the_inbox_is_deleted,
        a_refused_wait_takes_no_place,
        both_headers_and_both_prefixes_count_as_one_key;
}
