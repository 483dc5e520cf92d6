//! Bans and sums: neither a request, nor a ban, nor a tick allocates.

use super::allocations;
use weir::bans::{Bans, Era, Reason, Settings, Standing};
use weir::exchange::sums::Sums;
use weir::hash::{Key, Seed, mix};
use weir::shared::mem::MemStore;
use weir::time::Nanos;

const TICK: Nanos = Nanos::from_millis(200);

/// Ten ticks with 100 bans each by one worker, 20 of them lifted by the other, and a request of everybody.
fn traffic(workers: &mut [Bans<MemStore>; 2], start: Nanos) -> usize {
    let mut banned = 0;
    for round in 0..10u64 {
        let now = start + TICK.times(round);
        for n in 0..100 {
            workers[0].ban(Key(mix(n + 1)), now + Nanos::from_secs(1), Reason::Rule, now);
        }
        let news = workers[0].take_news();
        workers[1].hear(news, now);
        (0..20).for_each(|n| _ = workers[1].unban(Key(mix(n + 1)), now));
        for worker in workers.iter_mut() {
            worker.tick(now);
            banned += (0..100).filter(|n| worker.check(Key(mix(n + 1)), now) != Standing::Free).count();
        }
    }
    banned
}

#[test]
fn bans_allocate_nothing_after_warm_up() {
    let (store, era, start) = (MemStore::new(), Era::of(&Seed([1; 16]), 0), Nanos::from_secs(1000));
    let mut workers = [0; 2].map(|_| Bans::new(store.clone(), Settings { bans: 1_000 }, era, start));
    for round in 0..3 {
        traffic(&mut workers, start + Nanos::from_secs(10 * round));
    }
    let mut banned = 0;
    assert_eq!(allocations(|| banned = traffic(&mut workers, start + Nanos::from_secs(100))), 0);
    assert_eq!(banned, 10 * 2 * 80);
}

#[test]
fn sums_allocate_nothing_after_warm_up() {
    let mut sums = Sums::new(MemStore::new());
    let mut charge = |start: Nanos| {
        for n in 0..2_000u64 {
            let now = start + Nanos(n * 1_000_000);
            sums.charge(Key(mix(n % 500)), 1, 3, start + Nanos::from_secs(3), now);
        }
        sums.settle(Key(mix(1)), start)
    };
    (0..3).for_each(|round| assert!(charge(Nanos::from_secs(1000 + 10 * round))));
    assert_eq!(allocations(|| _ = charge(Nanos::from_secs(2000))), 0);
}
