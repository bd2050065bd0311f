//! The places for attempts: how many may be under way at once, in all, for a project, and for a
//! domain of a project; and which queues get the free ones.

use std::collections::HashMap;

use crate::model::{Outgoing, ProjectId, Timestamp, domain_of};
use crate::service::in_turns;
use crate::store::DomainQueue;

/// Maximum number of concurrent attempts. Each has one piece of its message in memory, as stored
/// and as it is sent.
const MAX_ATTEMPTS: usize = 150;
/// Maximum number of concurrent attempts of one project, so that its mail to silent servers does
/// not take all places.
const MAX_ATTEMPTS_A_PROJECT: usize = 50;
/// Maximum number of concurrent attempts of one project to one domain.
pub(super) const MAX_ATTEMPTS_A_DOMAIN: usize = 5;

/// The places that attempts under way have.
pub(super) struct Places {
    free: usize,
    of_projects: HashMap<ProjectId, usize>,
    of_domains: HashMap<(ProjectId, String), usize>,
}

impl Places {
    /// Those of the attempts at these items.
    pub(super) fn of<'a>(under_way: impl Iterator<Item = &'a Outgoing>) -> Self {
        let mut places = Self {
            free: MAX_ATTEMPTS,
            of_projects: HashMap::new(),
            of_domains: HashMap::new(),
        };
        for item in under_way {
            places.free = places.free.saturating_sub(1);
            *places.of_projects.entry(item.project).or_default() += 1;
            *places
                .of_domains
                .entry((item.project, domain_of(&item.recipient).to_owned()))
                .or_default() += 1;
        }
        places
    }

    /// The queues with due items that get free places, and how many. The projects take turns, and
    /// so do the queues of each, that with the oldest item first.
    pub(super) fn share(mut self, queues: Vec<DomainQueue>) -> Vec<(DomainQueue, usize)> {
        let mut queues: Vec<_> = queues.into_iter().map(|queue| (queue, 0)).collect();
        let mut wanted = self.wanted(&queues);
        wanted.sort_unstable();
        in_turns(&mut wanted, |(_, _, index)| queues[*index].0.project);
        for (_, _, index) in wanted {
            let (queue, places) = &mut queues[index];
            let of_project = self.of_projects.entry(queue.project).or_default();
            if self.free > 0 && *of_project < MAX_ATTEMPTS_A_PROJECT {
                (self.free, *of_project, *places) = (self.free - 1, *of_project + 1, *places + 1);
            }
        }
        queues.retain(|(_, places)| *places > 0);
        queues
    }

    /// A place for each due item that its domain has room for: the turn of its queue, since when
    /// that has had a due item, and its index.
    fn wanted(&self, queues: &[(DomainQueue, usize)]) -> Vec<(usize, Option<Timestamp>, usize)> {
        let wanted = queues.iter().enumerate().flat_map(|(index, (queue, _))| {
            let under_way = self
                .of_domains
                .get(&(queue.project, queue.domain.clone()))
                .copied()
                .unwrap_or_default();
            let wanted = queue
                .due
                .min(MAX_ATTEMPTS_A_DOMAIN.saturating_sub(under_way));
            (0..wanted).map(move |turn| (turn, queue.due_since, index))
        });
        wanted.collect()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const SINCE: Timestamp = Timestamp::from_millis(1_000);

    fn queue(project: u128, domain: &str, due: usize) -> DomainQueue {
        let project = ProjectId(Uuid::from_u128(project));
        DomainQueue {
            project,
            domain: domain.to_owned(),
            due,
            due_since: Some(SINCE),
            next: None,
        }
    }

    /// The free places of each of `queues` while `under_way` has places.
    fn shared(under_way: &[DomainQueue], queues: &[DomainQueue]) -> Vec<usize> {
        let mut places = Places::of([].into_iter());
        for queue in under_way {
            places.free -= queue.due;
            *places.of_projects.entry(queue.project).or_default() += queue.due;
            *places
                .of_domains
                .entry((queue.project, queue.domain.clone()))
                .or_default() += queue.due;
        }
        let shared = places.share(queues.to_vec());
        let of = |queue| {
            shared
                .iter()
                .find(|(other, _)| other == queue)
                .map_or(0, |(_, places)| *places)
        };
        queues.iter().map(of).collect()
    }

    #[test]
    fn a_domain_of_a_project_has_five_places() {
        let queues = [
            queue(1, "a", 20_000),
            queue(1, "b", 3),
            queue(2, "a", 7),
            queue(2, "c", 0),
        ];
        assert_eq!(shared(&[], &queues), [5, 3, 5, 0]);
        assert_eq!(
            shared(&[queue(1, "a", 4), queue(2, "a", 5)], &queues),
            [1, 3, 0, 0]
        );
    }

    #[test]
    fn a_project_has_fifty_places_and_its_queues_take_turns() {
        let mut queues: Vec<_> = (0..20)
            .map(|number| queue(1, &number.to_string(), 5))
            .collect();
        queues.push(queue(2, "a", 5));
        let places = shared(&[], &queues);
        assert_eq!((places[..20].iter().sum::<usize>(), places[20]), (50, 5));
        assert!(
            places[..20].iter().all(|places| (2..=3).contains(places)),
            "{places:?}"
        );
        assert_eq!(shared(&[queue(1, "elsewhere", 50)], &queues)[..20], [0; 20]);
    }

    #[test]
    fn projects_take_turns_when_places_are_few() {
        let queues: Vec<_> = (0..200).map(|project| queue(project, "a", 5)).collect();
        assert!(shared(&[], &queues).iter().all(|places| *places <= 1));
        let busy: Vec<_> = (1_000..1_029)
            .map(|project| queue(project, "a", 5))
            .collect();
        let queues = [queue(1, "a", 5), queue(1, "b", 5), queue(2, "a", 5)];
        assert_eq!(shared(&busy, &queues), [2, 1, 2]);
    }

    #[test]
    fn the_oldest_queue_of_a_project_comes_first() {
        let queues = [
            queue(1, "new", 5),
            DomainQueue {
                due_since: Some(Timestamp::from_millis(1)),
                ..queue(1, "old", 5)
            },
        ];
        let busy: Vec<_> = (1_000..1_149)
            .map(|project| queue(project, "a", 1))
            .collect();
        assert_eq!(shared(&busy, &queues), [0, 1]);
    }
}
