//! The tests of the store. Every case takes a store; a macro makes one test of it for each engine.
//!
//! A new case is one `async fn(Bed)` in one of the modules below, and its name in the list at the end.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod attempts;
mod bed;
mod deliveries;
mod faults;
mod inboxes;
mod mail;
mod messages;
mod outgoing;
mod overview;
mod projects;
mod refusals;
mod retention;
mod sessions;
mod sweep;

use bed::Bed;

macro_rules! cases {
    ($($module:ident: $($case:ident),+ $(,)?;)+) => {
        mod sqlite {
            $(mod $module {
                $(#[tokio::test]
                async fn $case() {
                    let bed = crate::Bed::sqlite().await;
                    let place = bed.place();
                    crate::$module::$case(bed).await;
                    place.check().await;
                })+
            })+
        }
        mod postgres {
            $(mod $module {
                $(#[tokio::test]
                async fn $case() {
                    let bed = crate::Bed::postgres().await;
                    let place = bed.place();
                    crate::$module::$case(bed).await;
                    place.check().await;
                })+
            })+
        }
    };
}

cases! {
    attempts:
        every_attempt_is_kept_with_its_reply,
        attempts_go_with_their_item;
    deliveries:
        sequences_follow_the_order_of_delivery,
        recipients_share_one_content,
        an_inbox_named_twice_gets_one_message,
        a_tag_goes_to_the_inbox_without_it_if_that_is_live,
        a_full_inbox_refuses_and_the_rest_of_the_batch_is_stored,
        the_sender_s_project_owns_what_its_mail_opens,
        late_mail_goes_to_the_former_project,
        a_sender_with_a_key_opens_a_reserved_address_for_its_own_project,
        an_address_opened_again_is_empty,
        mail_for_a_deleted_project_is_refused,
        concurrent_writers_leave_no_gap,
        deliveries_to_the_same_inboxes_do_not_end_each_other,
        bytes_that_text_cannot_hold_are_stored,
        a_committed_message_survives_a_restart,
        an_announcement_follows_the_commit,
        what_the_service_sends_itself_opens_no_inbox,
        mail_after_a_deletion_reopens_the_inbox_with_any_clock;
    faults:
        the_deliveries_of_a_batch_use_the_faults_in_order,
        a_fault_waits_for_the_one_before_it,
        the_first_recipient_with_a_fault_decides,
        a_bounce_needs_a_notification_unless_there_is_no_sender,
        concurrent_uses_are_counted_once,
        only_inboxes_with_faults_left_are_listed,
        faults_end_with_their_inbox_and_are_swept;
    inboxes:
        an_id_is_given_once,
        an_inbox_is_its_project_s_alone,
        an_inbox_ends_at_its_hour,
        an_ended_inbox_is_gone_with_its_messages,
        a_permanent_inbox_lives_until_it_is_ended,
        a_reserved_address_is_claimed_by_its_own_project_only_and_is_empty_again;
    mail:
        all_mail_of_a_project_is_listed_page_by_page,
        mail_is_searched_by_address_sender_subject_and_text,
        mail_that_has_gone_is_not_listed;
    messages:
        a_message_comes_back_whole,
        a_cursor_belongs_to_its_inbox,
        the_oldest_match_is_after_the_cursor,
        a_list_is_newest_first_and_read_in_bounded_pages,
        the_subject_filter_ignores_case_and_takes_wildcards_for_themselves;
    outgoing:
        a_claim_counts_the_attempt_and_is_exclusive,
        a_lease_that_ended_is_taken_over_and_fences_the_former_worker,
        a_renewed_lease_goes_on_and_a_released_one_ends,
        an_item_whose_claim_was_lost_on_the_way_back_is_taken_again,
        no_domain_fills_the_queue_for_the_others,
        the_next_look_is_at_what_becomes_due_or_free,
        a_bounce_and_the_failure_are_one_transaction,
        an_administrator_retries_and_cancels_items_that_are_not_being_sent,
        items_are_listed_newest_first_by_project_and_status,
        what_waits_survives_a_restart,
        a_deleted_project_takes_its_queue_along;
    overview:
        inboxes_are_listed_newest_first_with_their_last_message,
        inboxes_with_the_latest_mail_come_first,
        inboxes_are_found_by_a_part_of_their_address_their_kind_and_page_by_page,
        a_project_s_messages_and_bytes_are_those_that_live,
        a_mark_changes_with_what_it_marks_and_with_nothing_else;
    projects:
        names_are_unique_among_live_projects,
        a_key_works_until_it_is_replaced,
        a_key_belongs_to_one_project,
        the_default_project_is_made_once,
        of_many_first_keys_one_is_taken,
        rotations_at_once_leave_one_key,
        a_deleted_project_is_gone_with_its_keys_and_inboxes,
        a_project_is_found_by_its_id_and_renamed_to_what_is_free;
    refusals:
        a_refusal_of_a_client_replaces_its_earlier_one,
        refusals_are_listed_newest_first_by_project,
        refusals_are_found_by_text_reason_and_time,
        of_a_flood_of_refusals_the_latest_thousand_are_kept,
        an_address_is_its_project_s_while_it_is_reserved,
        a_deleted_project_takes_its_refusals_along;
    retention:
        messages_go_when_they_are_older_than_the_retention,
        the_retention_ends_with_the_project,
        a_full_inbox_takes_mail_again_when_its_old_messages_have_gone,
        old_messages_go_in_small_steps,
        retention_is_for_live_permanent_inboxes_and_ends_with_them;
    sessions:
        a_session_lasts_until_its_time_or_until_it_is_closed,
        all_sessions_of_a_credential_are_closed_at_once,
        sessions_that_are_over_are_swept,
        a_setting_is_what_was_kept_last;
    sweep:
        what_has_expired_is_removed_step_by_step,
        a_shared_content_goes_with_its_last_message,
        a_deleted_message_takes_its_content_along_and_is_swept_with_its_inbox,
        a_reservation_ends_after_thirty_days,
        a_live_inbox_is_left_alone,
        messages_of_a_former_life_are_removed_and_new_ones_kept;
}
