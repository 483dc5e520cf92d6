//! Is this caller over one of the operator's rates? One bucket per rule, rate and subject; each rule that applies
//! is charged, and those that are over their rate are reported in file order. Costs one keyed hash per distinct
//! key of the rules plus one charge per rule that applies.

use crate::counters::bucket::{Meter, Quota, Verdict};
use crate::hash::{Family, Seed, SubjectHash};
use crate::identity::key::Part;
use crate::identity::prefixes::Prefixes;
use crate::identity::subjects::{KeyIndex, Keys, Subjects};
use crate::request::Request;
use crate::request::path::Paths;
use crate::time::Nanos;

/// The rules of one configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// In file order.
    pub rules: Box<[Rule]>,
    /// Addresses that a rule names for itself: ordinary rules pass over them.
    pub claimed: Prefixes,
}

/// One rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Its name: with the kind of rate, what its buckets are known by across reloads.
    pub name: Box<str>,
    /// Is it in force?
    pub enabled: bool,
    /// Requests per subject.
    pub requests: Option<Quota>,
    /// Only these addresses.
    pub only: Option<Prefixes>,
    /// Only such requests.
    pub matches: Match,
    /// What its buckets belong to.
    pub key: KeyIndex,
}

/// Which requests a rule applies to. Conditions hold together; an absent one always holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// The host asked for.
    pub host: Option<Host>,
    /// Beginning of the path, in normal form.
    pub path_prefix: Option<Box<[u8]>>,
    /// Methods, as sent; empty: all.
    pub methods: Box<[Box<str>]>,
    /// Envoy's route name.
    pub route: Option<Box<str>>,
}

/// A host pattern, lower case and without a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// This host.
    Exactly(Box<str>),
    /// Every host that ends so: `.example.com`.
    Under(Box<str>),
}

impl Host {
    /// Does the pattern fit an `:authority`, whatever its case, port or trailing dot?
    pub fn fits(&self, authority: &[u8]) -> bool {
        let host = without_port(authority);
        let host = host.strip_suffix(b".").unwrap_or(host);
        match self {
            Host::Exactly(name) => host.eq_ignore_ascii_case(name.as_bytes()),
            Host::Under(suffix) => {
                let cut = host.len().checked_sub(suffix.len());
                cut.filter(|&cut| cut > 0)
                    .and_then(|cut| host.get(cut..))
                    .is_some_and(|end| end.eq_ignore_ascii_case(suffix.as_bytes()))
            }
        }
    }
}

fn without_port(authority: &[u8]) -> &[u8] {
    match authority.iter().rposition(|&b| b == b':') {
        Some(colon) if !authority.ends_with(b"]") => authority.get(..colon).unwrap_or(authority),
        _ => authority,
    }
}

impl Match {
    /// Does the rule apply? A condition on a fact that is absent does not hold.
    fn fits(&self, request: &Request, paths: &Paths) -> bool {
        self.host.as_ref().is_none_or(|host| request.authority().is_some_and(|a| host.fits(a)))
            && self.path_prefix.as_ref().is_none_or(|prefix| paths.any(|path| path.starts_with(prefix)))
            && (self.methods.is_empty() || request.method().is_some_and(|m| self.has_method(m)))
            && self.route.as_ref().is_none_or(|route| request.route == Some(route.as_bytes()))
    }

    fn has_method(&self, method: &[u8]) -> bool {
        self.methods.iter().any(|m| m.as_bytes() == method)
    }
}

/// A rule that matched: its subject is over its rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Index of the rule.
    pub rule: u16,
    /// Time until the bucket that refused has a token.
    pub wait: Nanos,
    /// The quota that is exceeded.
    pub quota: Quota,
    /// The key that the rule counts by …
    pub key: KeyIndex,
    /// … and whom the bucket belongs to.
    pub subject: SubjectHash,
}

/// What the rules have to say about one request.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The rules that matched, in file order.
    pub hits: &'a [Hit],
    /// A rule applied but could not name its subject: it gave no verdict.
    pub no_subject: bool,
}

/// The state of this detector for one configuration: the rules' names as key families under the process's seed.
#[derive(Debug, Default)]
pub struct Rules {
    families: Box<[Family]>,
    hits: Vec<Hit>,
}

/// What rules look at besides the caller.
pub struct Facts<'a> {
    /// The request.
    pub request: &'a Request<'a>,
    /// Its path.
    pub paths: Paths<'a>,
}

impl Rules {
    /// The kind of rate, in a bucket's name.
    pub const REQUESTS: &'static str = "requests";

    /// Prepares for a configuration. Allocates all that requests will need.
    pub fn new(settings: &Settings, seed: &Seed, epoch: u32) -> Rules {
        let family = |rule: &Rule| Family::new(seed, epoch, Self::REQUESTS, &rule.name);
        Rules {
            families: settings.rules.iter().map(family).collect(),
            hits: Vec::with_capacity(settings.rules.len()),
        }
    }

    /// What the rules' buckets are known by.
    pub fn families(&self) -> &[Family] {
        &self.families
    }

    /// Charges every rule that applies and reports those that are over their rate.
    pub fn observe(
        &mut self,
        settings: &Settings,
        facts: &Facts,
        subjects: &mut Subjects,
        meter: &mut impl Meter,
        now: Nanos,
    ) -> Found<'_> {
        self.hits.clear();
        let mut no_subject = false;
        let address = subjects.caller.source.address();
        let claimed = address.is_some_and(|address| settings.claimed.contains(address));
        for (index, (rule, family)) in settings.rules.iter().zip(&self.families).enumerate() {
            let Some(quota) = rule.requests.filter(|_| rule.enabled) else { continue };
            let for_address = match &rule.only {
                Some(list) => address.is_some_and(|address| list.contains(address)),
                None => !claimed,
            };
            if !for_address || !rule.matches.fits(facts.request, &facts.paths) {
                continue;
            }
            let Some(subject) = subjects.get(rule.key) else {
                no_subject = true;
                continue;
            };
            match meter.charge(family.key(subject), &quota, now) {
                Verdict::Refuse { wait } => {
                    self.hits.push(Hit { rule: index as u16, wait, quota, key: rule.key, subject });
                }
                Verdict::Admit | Verdict::Untracked => {}
            }
        }
        Found { hits: &self.hits, no_subject }
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
        let elsewhere = |part: &Part| matches!(part, Part::Client | Part::Network | Part::Route);
        self.rules.iter().any(|rule| matches(&rule.matches) || !keys.parts(rule.key).iter().all(elsewhere))
    }
}

impl Hit {
    #[cfg(test)]
    pub(crate) fn of_rule(rule: u16) -> Hit {
        use crate::counters::bucket::Charge;
        let quota = Quota { interval: Nanos::from_millis(10), burst: 1, charge: Charge::Admitted };
        Hit { rule, wait: Nanos::from_secs(1), quota, key: Keys::CLIENT, subject: SubjectHash(0) }
    }
}

#[cfg(test)]
mod tests;
