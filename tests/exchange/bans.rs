//! The list of bans, as a whole: how soon all workers agree, whatever is lost on the way.

use crate::sim::{Dice, MILLI, SECOND};
use weir::bans::{Bans, Era, MAX_BAN, Outcome, Reason, Settings, Standing};
use weir::hash::{Key, Seed, mix};
use weir::shared::mem::{Faults, MemStore};
use weir::shared::names::{BAN_VERSIONS, ShardName, Sharded};
use weir::time::Nanos;

const START: u64 = 1_000 * SECOND;
const TICK: u64 = 200 * MILLI;
const RULE: Reason = Reason::Rule;
/// Faults that meet shards and versions.
const BANS: Faults = Faults { prefix: "weir/2/b", ..Faults::NONE };

fn worker(store: &MemStore, bans: u32, now: u64) -> Bans<MemStore> {
    Bans::new(store.clone(), Settings { bans }, Era::of(&Seed([1; 16]), 0), Nanos(now))
}

fn key(subject: u64) -> Key {
    Key(mix(subject + 1))
}

fn bans(worker: &mut Bans<MemStore>, subject: u64, now: u64) -> bool {
    matches!(worker.check(key(subject), Nanos(now)), Standing::Banned(_))
}

/// What goes wrong beside the store.
#[derive(Clone, Copy, Default)]
struct Trouble {
    /// Ticks left out, in percent.
    missed: u64,
    /// Every second one worker is replaced by one that remembers nothing.
    reload: bool,
    /// Notices reach the others.
    notices: bool,
}

/// The workers of a process, and when each ticks.
struct Process {
    store: MemStore,
    workers: Vec<Bans<MemStore>>,
    due: Vec<u64>,
    dice: Dice,
    trouble: Trouble,
}

impl Process {
    fn new(workers: usize, trouble: Trouble) -> Process {
        let (store, mut dice) = (MemStore::new(), Dice::new(workers as u64));
        Process {
            workers: (0..workers).map(|_| worker(&store, 5_000, START)).collect(),
            due: (0..workers).map(|_| START + dice.below(TICK)).collect(),
            store,
            dice,
            trouble,
        }
    }

    /// One worker at random.
    fn any(&mut self) -> usize {
        self.dice.below(self.workers.len() as u64) as usize
    }

    /// The ticks that are due by `now`; clocks drift by half a percent.
    fn run(&mut self, now: u64) {
        for at in 0..self.workers.len() {
            if self.due[at] <= now {
                if self.dice.below(100) >= self.trouble.missed {
                    self.workers[at].tick(Nanos(now));
                }
                self.due[at] += TICK * 995 / 1000 + self.dice.below(TICK / 100);
            }
        }
        if self.trouble.reload && now.is_multiple_of(SECOND) {
            let at = self.any();
            self.workers[at] = worker(&self.store, 5_000, now);
        }
        self.notify(now);
    }

    fn notify(&mut self, now: u64) {
        for from in 0..self.workers.len() {
            let news = self.workers[from].take_news();
            if self.trouble.notices && news != 0 {
                (0..self.workers.len())
                    .filter(|to| *to != from)
                    .for_each(|to| self.workers[to].hear(news, Nanos(now)));
            }
        }
    }

    fn agree(&mut self, subject: u64, banned: bool, now: u64) -> bool {
        self.workers.iter_mut().all(|worker| bans(worker, subject, now) == banned)
    }
}

/// How long it took all workers to agree, in ms.
#[derive(Default)]
struct Times {
    bans: Vec<u64>,
    unbans: Vec<u64>,
}

/// Something that not all workers know yet: since when, of whom, and whether it is a ban.
struct Open {
    since: u64,
    subject: u64,
    banned: bool,
}

/// For a minute 10 bans and 2 unbans a second, each at some worker; looked at every 5 ms. At the end all must hold
/// what was last said of everybody.
fn run(workers: usize, faults: Faults, trouble: Trouble) -> Times {
    let mut process = Process::new(workers, trouble);
    process.store.inject(faults);
    let (mut times, mut open, mut said) = (Times::default(), Vec::<Open>::new(), Vec::<bool>::new());
    let end = Nanos(START + 3_600 * SECOND);
    for step in 0..(60 + 10) * 200 {
        let now = START + step * 5 * MILLI;
        process.run(now);
        open.retain(|change| {
            let agreed = process.agree(change.subject, change.banned, now);
            if agreed {
                let times = if change.banned { &mut times.bans } else { &mut times.unbans };
                times.push((now - change.since) / MILLI);
            }
            !agreed
        });
        if step % 20 == 3 && step < 60 * 200 {
            let at = process.any();
            assert_eq!(process.workers[at].ban(key(said.len() as u64), end, RULE, Nanos(now)), Outcome::New);
            open.push(Open { since: now, subject: said.len() as u64, banned: true });
            said.push(true);
        }
        if step % 100 == 57 && step < 60 * 200 {
            // One that all know of: the order of what is on its way has its own test.
            let subject = process.dice.below(said.len() as u64) as usize;
            if said[subject] && !open.iter().any(|change| change.subject == subject as u64) {
                let at = process.any();
                process.workers[at].unban(key(subject as u64), Nanos(now));
                open.push(Open { since: now, subject: subject as u64, banned: false });
                said[subject] = false;
            }
        }
        process.notify(now);
    }
    let now = START + 70 * SECOND;
    assert!(open.is_empty(), "all agree in the end");
    said.iter()
        .enumerate()
        .for_each(|(subject, banned)| assert!(process.agree(subject as u64, *banned, now)));
    times
}

fn report(name: &str, workers: usize, mut times: Times) -> (u64, u64) {
    times.bans.sort_unstable();
    let at = |percent: usize| times.bans[times.bans.len() * percent / 100];
    let (p50, p99, max) = (at(50), at(99), times.bans[times.bans.len() - 1]);
    let unban = times.unbans.iter().copied().max().unwrap_or_default();
    println!(
        "bans, {name:34} {workers:2} workers: p50 {p50:4} p99 {p99:4} max {max:4} ms, unban max {unban:4} ms"
    );
    (p99, max.max(unban))
}

#[test]
fn table_of_times_until_all_workers_agree() {
    for workers in [1, 2, 4, 16] {
        let quiet = Trouble::default();
        let (_, max) = report("nothing goes wrong", workers, run(workers, Faults::NONE, quiet));
        assert!(max <= 205, "one exchange, as looked at every 5 ms");
        let told = Trouble { notices: true, ..quiet };
        let (_, max) = report("with notices", workers, run(workers, Faults::NONE, told));
        assert!(max <= 5);
        let lost = Faults { lose_writes: 10_000, ..BANS };
        let (p99, max) = report("1 % of writes lost", workers, run(workers, lost, quiet));
        assert!(p99 <= 400 && max <= 605);
        let (p99, max) = report("1 % of writes lost, with notices", workers, run(workers, lost, told));
        assert!(p99 <= 205 && max <= 605);
        let refused = Faults { refuse_writes: 200_000, ..BANS };
        let (_, max) = report("20 % of writes refused", workers, run(workers, refused, quiet));
        assert!(max <= 405);
        let wiped = Faults { wipe_reads: 3_000, ..BANS };
        let (_, max) = report("0.3 % of reads find nothing", workers, run(workers, wiped, quiet));
        assert!(max <= 2 * 3_400, "a round of the sweep, and another");
        let bad = Trouble { missed: 10, reload: true, ..quiet };
        let (p99, max) = report("10 % of ticks missed, reloads", workers, run(workers, Faults::NONE, bad));
        assert!(p99 <= 800 && max <= 1_200);
    }
}

#[test]
fn a_new_worker_enforces_at_its_first_request() {
    let mut process = Process::new(3, Trouble::default());
    for subject in 0..500 {
        let at = process.any();
        process.workers[at].ban(key(subject), Nanos(START + 60 * SECOND), RULE, Nanos(START));
    }
    let mut fresh = worker(&process.store, 5_000, START + 1);
    assert!((0..500).all(|subject| bans(&mut fresh, subject, START + 1)));
    assert_eq!(fresh.stats().active, 500);
}

/// Acts of three workers in every order, with every pattern of ticks between them: what was said last of what was known
/// holds everywhere in the end.
#[test]
fn bans_and_unbans_in_every_order_on_three_workers_end_alike() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Act {
        Ban(u64),
        Unban,
    }
    let acts = [Act::Ban(50), Act::Unban, Act::Ban(30), Act::Unban];
    let end = |seconds: u64| Nanos(START + seconds * SECOND);
    for order in permutations(4) {
        for places in 0..81usize {
            for ticks in (0..64u32).step_by(7) {
                let store = MemStore::new();
                let mut workers: Vec<_> = (0..3).map(|_| worker(&store, 10, START)).collect();
                let mut expected = false;
                for (step, act) in order.iter().map(|at| acts[*at]).enumerate() {
                    let worker = &mut workers[places / 3usize.pow(step as u32) % 3];
                    match act {
                        Act::Ban(seconds) => _ = worker.ban(key(1), end(seconds), RULE, Nanos(START)),
                        Act::Unban => assert_eq!(
                            worker.unban(key(1), Nanos(START)),
                            expected,
                            "shared data is the truth"
                        ),
                    }
                    expected = act != Act::Unban;
                    let bit = ticks >> (step * 2) & 3;
                    if bit < 3 && step < 3 {
                        workers[bit as usize].tick(Nanos(START));
                    }
                }
                for _ in 0..2 {
                    workers.iter_mut().for_each(|worker| worker.tick(Nanos(START)));
                }
                for worker in &mut workers {
                    assert_eq!(bans(worker, 1, START), expected, "{order:?} {places} {ticks}");
                }
            }
        }
    }
}

fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(n - 1);
    let with = |short: &Vec<usize>, at: usize| {
        let mut longer = short.clone();
        longer.insert(at, n - 1);
        longer
    };
    shorter.iter().flat_map(|short| (0..n).map(move |at| with(short, at))).collect()
}

#[test]
fn what_one_worker_alone_remembers_loses_to_an_unban_when_shared_data_is_wiped_between() {
    let store = MemStore::new();
    let mut workers: Vec<_> = (0..3).map(|_| worker(&store, 10, START)).collect();
    workers[0].ban(key(1), Nanos(START + 50 * SECOND), RULE, Nanos(START));
    workers[1].tick(Nanos(START));
    workers[1].unban(key(1), Nanos(START));
    store.keys().iter().for_each(|key| store.wipe(key));
    // Worker 0 heals the ban that it knows, before worker 1 heals the tombstone.
    for _ in 0..16 {
        workers[0].tick(Nanos(START));
    }
    workers[2].tick(Nanos(START));
    assert!(bans(&mut workers[2], 1, START), "nobody else knew better");
    for _ in 0..16 {
        workers.iter_mut().rev().for_each(|worker| worker.tick(Nanos(START)));
    }
    assert!(workers.iter_mut().all(|worker| !bans(worker, 1, START)));
}

#[test]
fn fifty_thousand_bans_by_four_workers_are_known_to_all() {
    let store = MemStore::new();
    let mut workers: Vec<_> = (0..4).map(|_| worker(&store, 50_000, START)).collect();
    let mut now = START;
    let mut refused = 0;
    for subject in 0..50_000u64 {
        let by = &mut workers[subject as usize % 4];
        let outcome = by.ban(key(subject), Nanos(START + 3_600 * SECOND), RULE, Nanos(now));
        refused += u64::from(outcome != Outcome::New);
        if subject % 1_000 == 999 {
            now += 50 * MILLI;
            workers[(subject / 1_000) as usize % 4].tick(Nanos(now));
        }
    }
    for _ in 0..2 {
        workers.iter_mut().for_each(|worker| worker.tick(Nanos(now)));
    }
    let mut fresh = worker(&store, 50_000, now);
    let missing =
        |worker: &mut Bans<MemStore>| (0..50_000).filter(|subject| !bans(worker, *subject, now)).count();
    println!(
        "bans, 50,000 by 4 workers: {refused} refused, unknown to {:?} and {}",
        workers.iter_mut().map(missing).collect::<Vec<_>>(),
        missing(&mut fresh)
    );
    assert!(workers.iter_mut().chain([&mut fresh]).all(|worker| missing(worker) <= 3));
    assert!(workers.iter().all(|worker| worker.stats().corrupt == 0 && worker.stats().active >= 49_997));
}

#[test]
fn a_full_table_counts_what_it_refuses_and_keeps_what_it_has_through_all_ticks() {
    let store = MemStore::new();
    let mut workers: Vec<_> = (0..4).map(|_| worker(&store, 100, START)).collect();
    let end = Nanos(START + 60 * SECOND);
    let mut kept: Vec<Vec<u64>> = vec![Vec::new(); 4];
    for subject in 0..10_000 {
        let at = subject as usize % 4;
        if workers[at].ban(key(subject), end, RULE, Nanos(START)) == Outcome::New {
            kept[at].push(subject);
        }
    }
    for step in 0..20 {
        workers.iter_mut().for_each(|worker| worker.tick(Nanos(START + step * TICK)));
    }
    for (worker, kept) in workers.iter_mut().zip(kept) {
        let (full, used) = (worker.stats().full, worker.stats().table.used);
        assert_eq!((full, worker.stats().active), (2_500 - kept.len() as u64, u64::from(used)));
        assert!(full > 500 && kept.iter().all(|subject| bans(worker, *subject, START)), "{full}");
    }
}

#[test]
fn a_clock_that_stands_still_bans_and_unbans_and_ends_nothing() {
    let mut process = Process::new(4, Trouble { notices: true, ..Trouble::default() });
    let end = Nanos(START + SECOND);
    for subject in 0..200u64 {
        process.workers[subject as usize % 4].ban(key(subject), end, RULE, Nanos(START));
    }
    for _ in 0..40 {
        process.workers.iter_mut().for_each(|worker| worker.tick(Nanos(START)));
    }
    assert!((0..200).all(|subject| process.agree(subject, true, START)));
    (0..200)
        .for_each(|subject| assert!(process.workers[subject as usize % 3].unban(key(subject), Nanos(START))));
    process.workers.iter_mut().for_each(|worker| worker.tick(Nanos(START)));
    assert!((0..200).all(|subject| process.agree(subject, false, START)));
}

#[test]
fn foreign_bytes_in_every_shard_ban_nobody_for_longer_than_a_ban_and_leave_room_for_ours() {
    let (store, mut dice) = (MemStore::new(), Dice::new(9));
    let mut random = |bytes: usize| (0..bytes).map(|_| dice.next() as u8).collect::<Vec<u8>>();
    for shard in 0..64 {
        store.overwrite(ShardName::new(Sharded::Bans, shard).as_str(), &random(1_536 * 32));
    }
    store.overwrite(BAN_VERSIONS, &random(256));
    let mut workers: Vec<_> = (0..2).map(|_| worker(&store, 1_000, START)).collect();
    assert!(
        workers[0]
            .iter(Nanos(START))
            .all(|(_, ban)| ban.until <= Nanos(START) + MAX_BAN + Nanos::from_secs(60))
    );
    for subject in 0..200 {
        assert_eq!(workers[0].ban(key(subject), Nanos(START + SECOND), RULE, Nanos(START)), Outcome::New);
    }
    workers[1].tick(Nanos(START));
    assert!((0..200).all(|subject| bans(&mut workers[1], subject, START)));
    assert_eq!(workers[0].stats().full, 0);
}
