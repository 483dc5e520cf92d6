//! Is this caller over one of the operator's rates, or of a kind that the operator names? One bucket per rule, rate and
//! subject; each that applies is charged, and the rules all of whose rates are exceeded are reported in file order. Costs
//! one keyed hash per distinct key of the rules plus one charge per rule that applies.
//!
//! * [`rate`]: what is counted, and when a rule has its say.  * [`matching`]: to what it applies.

pub mod matching;
pub mod rate;

pub use matching::{Host, Listed, Match, Prints};
pub use rate::{Rate, Rates};

use crate::counters::bucket::{Meter, Quota, Verdict};
use crate::hash::{Family, Key, Seed, SubjectHash};
use crate::identity::key::Part;
use crate::identity::prefixes::Prefixes;
use crate::identity::subjects::{KeyIndex, Keys, Subjects};
use crate::request::Request;
use crate::request::path::Paths;
use crate::time::Nanos;
use core::net::IpAddr;

/// The rules of one configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// In file order.
    pub rules: Box<[Rule]>,
    /// Addresses that a rule names for itself, by the kind of rate: ordinary rules pass over them.
    pub claimed: [Prefixes; 3],
}

/// One rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Its name: with the kind of rate, what its buckets are known by across reloads.
    pub name: Box<str>,
    /// Is it in force?
    pub enabled: bool,
    /// What a subject may do. Who exceeds all of them is over the rule.
    pub rates: Rates,
    /// Only callers with one of these.
    pub prints: Prints,
    /// Only these addresses.
    pub only: Option<Prefixes>,
    /// Only such requests.
    pub matches: Match,
    /// What its buckets belong to.
    pub key: KeyIndex,
    /// Is its answer one to requests: a delay or a refusal, and no more?
    pub answers_requests: bool,
}

/// A rule that matched: its subject is over its rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Index of the rule.
    pub rule: u16,
    /// Time until the last bucket that refused has a token.
    pub wait: Nanos,
    /// The quota of that bucket; `None` for a rule without a rate.
    pub quota: Option<Quota>,
    /// The key that the rule counts by …
    pub key: KeyIndex,
    /// … and whom the bucket belongs to.
    pub subject: SubjectHash,
}

/// What the rules have to say about one request, connection or error.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The rules that matched, in file order.
    pub hits: &'a [Hit],
    /// A rule applied but could not name its subject: it gave no verdict.
    pub no_subject: bool,
    /// A rule matched that is for certain fingerprints.
    pub by_print: bool,
}

/// The state of this detector for one configuration: the rules' names as key families under the process's seed.
#[derive(Debug, Default)]
pub struct Rules {
    /// Of each rule, by the kind of rate.
    families: Box<[[Family; 3]]>,
    hits: Vec<Hit>,
}

/// What rules look at besides the caller.
pub struct Facts<'a> {
    /// What happens.
    pub happens: Rate,
    /// The request; of a connection, what is known of it.
    pub request: &'a Request<'a>,
    /// Its path.
    pub paths: Paths<'a>,
}

impl Rules {
    /// Prepares for a configuration. Allocates all that requests will need.
    pub fn new(settings: &Settings, seed: &Seed, epoch: u32) -> Rules {
        let families = |rule: &Rule| Rate::ALL.map(|rate| Family::new(seed, epoch, rate.name(), &rule.name));
        Rules {
            families: settings.rules.iter().map(families).collect(),
            hits: Vec::with_capacity(settings.rules.len()),
        }
    }

    /// What the rules' buckets are known by.
    pub fn families(&self) -> &[Family] {
        self.families.as_flattened()
    }

    /// Charges every rule that applies and reports those that are over their rates.
    pub fn observe(
        &mut self,
        settings: &Settings,
        facts: &Facts,
        subjects: &mut Subjects,
        meter: &mut impl Meter,
        now: Nanos,
    ) -> Found<'_> {
        self.hits.clear();
        let (mut no_subject, mut by_print) = (false, false);
        let claims = Claims::of(settings, subjects.caller.source.address());
        for (index, (rule, families)) in settings.rules.iter().zip(&self.families).enumerate() {
            if !rule.is_asked(facts, &claims) {
                continue;
            }
            let Some(subject) = subjects.get(rule.key) else {
                no_subject = true;
                continue;
            };
            if let Some((wait, quota)) = rule.exceeded(facts.happens, families, subject, meter, now) {
                by_print |= !rule.prints.is_empty();
                self.hits.push(Hit { rule: index as u16, wait, quota, key: rule.key, subject });
            }
        }
        Found { hits: &self.hits, no_subject, by_print }
    }
}

/// Which kinds of rates other rules claim for themselves of a caller.
struct Claims {
    address: Option<IpAddr>,
    claimed: [bool; 3],
}

impl Claims {
    fn of(settings: &Settings, address: Option<IpAddr>) -> Claims {
        let of = |claimed: &Prefixes| address.is_some_and(|address| claimed.contains(address));
        Claims { address, claimed: settings.claimed.each_ref().map(of) }
    }

    /// Does a rule apply to the caller? One that counts nothing has nothing that others could claim.
    fn leave(&self, rule: &Rule, rate: Rate) -> bool {
        match &rule.only {
            Some(list) => self.address.is_some_and(|address| list.contains(address)),
            None => rule.rates.is_empty() || !self.claimed.get(rate as usize).copied().unwrap_or_default(),
        }
    }
}

impl Rule {
    /// Has the rule a say about what happens, and does it apply?
    fn is_asked(&self, facts: &Facts, claims: &Claims) -> bool {
        let Some(rate) = self.rates.asked_at(facts.happens, self.answers_requests) else { return false };
        self.enabled
            && !(self.rates.is_empty() && self.prints.is_empty())
            && claims.leave(self, rate)
            && self.prints.fit(facts.request.fingerprints)
            && self.matches.fits(facts.request, &facts.paths)
    }

    /// Charges what happens, and says whether all rates are exceeded now: until when, and the quota for which that is so.
    fn exceeded(
        &self,
        happens: Rate,
        families: &[Family; 3],
        subject: SubjectHash,
        meter: &mut impl Meter,
        now: Nanos,
    ) -> Option<(Nanos, Option<Quota>)> {
        let (mut over, mut longest) = (true, (Nanos::ZERO, None));
        for ((rate, quota), key) in self.rates.iter().map(|found| (found, keys(families, found.0, subject))) {
            let verdict =
                if rate == happens { meter.charge(key, quota, now) } else { meter.look(key, quota, now) };
            match verdict {
                Verdict::Refuse { wait } if wait >= longest.0 => longest = (wait, Some(*quota)),
                Verdict::Refuse { .. } => {}
                Verdict::Admit | Verdict::Untracked => over = false,
            }
        }
        over.then_some(longest)
    }
}

fn keys(families: &[Family; 3], rate: Rate, subject: SubjectHash) -> Key {
    let [requests, connections, errors] = families;
    match rate {
        Rate::Requests => requests.key(subject),
        Rate::Connections => connections.key(subject),
        Rate::Errors => errors.key(subject),
    }
}

impl Settings {
    /// Does a rule look at the route?
    pub fn need_route(&self, keys: &Keys) -> bool {
        self.rules.iter().any(|r| r.matches.route.is_some() || keys.parts(r.key).contains(&Part::Route))
    }

    /// Does a rule look at the client's network?
    pub fn need_network(&self, keys: &Keys) -> bool {
        self.rules.iter().any(|rule| keys.parts(rule.key).contains(&Part::Network))
    }

    /// Does a rule look at the path?
    pub fn need_path(&self) -> bool {
        self.rules.iter().any(|rule| rule.matches.path_prefix.is_some())
    }

    /// Does a rule look at headers? Host, method and credentials are in them.
    pub fn need_headers(&self, keys: &Keys) -> bool {
        let matches = |m: &Match| m.host.is_some() || m.path_prefix.is_some() || !m.methods.is_empty();
        let elsewhere =
            |part: &Part| matches!(part, Part::Client | Part::Network | Part::Route | Part::Fingerprint(_));
        self.rules.iter().any(|rule| matches(&rule.matches) || !keys.parts(rule.key).iter().all(elsewhere))
    }

    /// Does a rule look at fingerprints?
    pub fn need_fingerprints(&self, keys: &Keys) -> bool {
        let by_key =
            |rule: &Rule| keys.parts(rule.key).iter().any(|part| matches!(part, Part::Fingerprint(_)));
        self.rules.iter().any(|rule| !rule.prints.is_empty() || by_key(rule))
    }

    /// Does a rule that is in force count this?
    pub fn count(&self, rate: Rate) -> bool {
        self.rules.iter().any(|rule| rule.enabled && rule.rates.of(rate).is_some())
    }
}

impl Hit {
    #[cfg(test)]
    pub(crate) fn of_rule(rule: u16) -> Hit {
        use crate::counters::bucket::Charge;
        let quota = Some(Quota { interval: Nanos::from_millis(10), burst: 1, charge: Charge::Admitted });
        let wait = Nanos::from_secs(1);
        Hit { rule, wait, quota, key: Keys::CLIENT, subject: SubjectHash(0) }
    }
}

#[cfg(test)]
mod tests;
