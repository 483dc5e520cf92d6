//! Who is to be challenged: a browser with a clearance passes, one without gets a puzzle, and who is no browser is throttled.

use super::serving::Serving;
use super::{Decision, Engine, InstanceId};
use crate::challenge::answer::{Answer, Answered};
use crate::challenge::clearance::{Clearance, Visit};
use crate::challenge::endpoint::{self, Ask};
use crate::challenge::navigation::is_navigation;
use crate::challenge::page::Page;
use crate::challenge::puzzle::{self, Puzzle, WAIT};
use crate::challenge::secret::Secrets;
use crate::config::plan::Plan;
use crate::counters::bucket::{Charge, Meter, Quota, Verdict};
use crate::hash::{SubjectHash, mix};
use crate::identity::key::Caller;
use crate::identity::subjects::{Keys, Subjects};
use crate::policy::{Action, Actions, Cause, Limit, Mode, Response, Ruling, Settings};
use crate::reply::Reply;
use crate::request::Request;
use crate::score::Score;
use crate::shared::Store;
use crate::time::Nanos;

/// What a clearance may do while it is needed: 10 requests a second, 200 at once, which is a heavy page. A farm of bots that
/// shares one shares that.
const CLEARED: Quota = Quota { interval: Nanos::from_millis(100), burst: 200, charge: Charge::Admitted };

/// Who has no script and asked for more than this comes to the front door: a page is small, whatever was asked for.
const LONGEST_WAY_BACK: usize = 512;

/// The keys that are in force: the operator's, or the process's.
fn secrets<S: Store>(policy: &Settings, serving: &Serving<S>) -> Secrets {
    policy.secrets.unwrap_or(Secrets { current: serving.names.secret, previous: None })
}

impl<S: Store> Serving<S> {
    /// Settles what is done about a request in place of `ruling`, which may say challenge; `None`: it has a clearance.
    pub fn face(&mut self, policy: &Settings, caller: &Caller, ruling: Ruling, now: Nanos) -> Option<Ruling> {
        if ruling.answer() != Action::Challenge {
            return Some(ruling);
        }
        let request = caller.request();
        if request.path().and_then(Ask::read).is_some() {
            return None; // it brings an answer; what only looks like one may lead on, as `…/../../shop` does
        }
        let secrets = secrets(policy, self);
        let visit = visit(policy, &secrets, caller);
        if let Some(clearance) = visit.and_then(|visit| visit.cleared()) {
            let limit = self.spend(clearance, ruling.response.mode, now).err()?;
            return Some(Ruling { limit: Some(limit), ..throttled(ruling) });
        }
        // What only observes may not know what is asked for.
        let is_unknown = ruling.response.mode == Mode::Observe && caller.path.is_none();
        let is_asked = is_unknown || (visit.is_some() && is_navigation(request, caller.path));
        Some(if is_asked { ruling } else { throttled(ruling) })
    }

    /// A puzzle for a ruling that challenges and binds.
    pub fn puzzle(
        &mut self,
        policy: &Settings,
        ruling: &Ruling,
        score: Score,
        subjects: &mut Subjects,
        now: Nanos,
    ) -> Option<Puzzle> {
        let asks = ruling.answer() == Action::Challenge && ruling.response.mode == Mode::Enforce;
        let made = subjects.caller.request().unix.filter(|_| asks)?;
        if let (Some(client), Some(misses)) = (subjects.get(Keys::CLIENT), &mut self.misses) {
            misses.issue(client, now);
        }
        let from = if let Cause::Tier(from) = ruling.cause { from } else { 0 };
        let score = if let Cause::Tier(_) = ruling.cause { score.0 } else { 0 };
        let difficulty = policy.challenge.difficulty_at(score, from);
        let [least, _] = policy.challenge.difficulty;
        Some(Puzzle { difficulty, by_waiting: difficulty == least, made, number: self.next_number() })
    }

    /// What a browser gets that comes to one of the endpoints.
    pub fn answer(&mut self, plan: &Plan, subjects: &mut Subjects, now: Nanos) -> Option<Answer> {
        let client = subjects.get(Keys::CLIENT);
        let caller = &subjects.caller;
        if !plan.policy.challenges() {
            return None;
        }
        let path = caller.request().path()?;
        let ask = Ask::read(path)?;
        let secrets = secrets(&plan.policy, self);
        let visit = visit(&plan.policy, &secrets, caller)?;
        let to = endpoint::way_back(path);
        let by_work = matches!(ask, Ask::Answer { counter: Some(_), .. });
        Some(match ask {
            Ask::Answer { token, counter } => match Puzzle::check(&secrets, token, counter, visit.now) {
                Ok(puzzle) => {
                    let reason = puzzle::reason(client.map_or(0, |client| client.0));
                    let gets = cleared(&visit, &puzzle, &reason, &to);
                    if let (Some(client), Some(misses)) = (client, &mut self.misses) {
                        misses.answer(client, now);
                    }
                    Answer { gets, by_work, judged: Some(Ok(puzzle)) }
                }
                Err(fault) => Answer { gets: Answered::Back { to }, by_work, judged: Some(Err(fault)) },
            },
            Ask::Check { reason } => match visit.cleared() {
                Some(_) => Answer { gets: Answered::Back { to }, by_work, judged: None },
                None => Answer { gets: Answered::NoCookies { reason: shown(reason) }, by_work, judged: None },
            },
        })
    }

    /// Takes one request of a clearance's own rate. One that only would be challenged costs nothing.
    fn spend(&mut self, clearance: Clearance, mode: Mode, now: Nanos) -> Result<(), Limit> {
        if mode == Mode::Observe {
            return Ok(());
        }
        let key = self.names.clearances.key(SubjectHash(clearance.number));
        match self.exchange.charge(key, &CLEARED, now) {
            Verdict::Refuse { wait } => {
                Err(Limit { requests: CLEARED.burst, window: CLEARED.capacity(), wait })
            }
            Verdict::Admit | Verdict::Untracked => Ok(()),
        }
    }
}

/// A visit can be judged where it is known what time it is.
fn visit<'a>(policy: &'a Settings, secrets: &'a Secrets, caller: &Caller<'a>) -> Option<Visit<'a>> {
    let request = caller.request();
    let now = request.unix?;
    Some(Visit { settings: &policy.challenge, secrets, request, address: caller.source.address(), now })
}

/// The same, for who is no browser.
fn throttled(ruling: Ruling) -> Ruling {
    let actions = Actions { answer: Action::Throttle, ..ruling.response.actions };
    Ruling { response: Response { actions, ..ruling.response }, ..ruling }
}

fn cleared(visit: &Visit, puzzle: &Puzzle, reason: &str, to: &str) -> Answered {
    let mut cookie = format!("{}=", visit.settings.bind.cookie(visit.address));
    visit.clear(puzzle, &mut cookie);
    cookie.push_str("; Path=/; HttpOnly; SameSite=Lax; Max-Age=");
    cookie.push_str(&visit.settings.clearance_seconds.to_string());
    if is_secure(visit.request) {
        cookie.push_str("; Secure");
    }
    let mut check = format!("{}?r={reason}&to=", endpoint::CHECK);
    endpoint::encode(to.as_bytes(), &mut check);
    Answered::Cleared { cookie, to: check }
}

/// Did the browser come by TLS? Envoy says so.
fn is_secure(request: &Request) -> bool {
    request.headers.get(":scheme").or_else(|| request.headers.get("x-forwarded-proto")) == Some(b"https")
}

/// A reason that may be shown.
fn shown(reason: &[u8]) -> String {
    let plain = reason.iter().filter(|byte| byte.is_ascii_hexdigit() || **byte == b'-').take(16);
    plain.map(|byte| char::from(*byte)).collect()
}

impl<S: Store + Clone> Engine<S> {
    /// Writes what a request gets in place of its route's answer. `false`: it passes.
    pub fn write_reply(
        &self,
        id: InstanceId,
        decision: &Decision,
        request: &Request,
        reply: &mut Reply,
    ) -> bool {
        if let Some(answer) = &decision.answer {
            reply.answer(&answer.gets);
            return true;
        }
        let Some(ruling) = &decision.rulings.enforced else { return false };
        match decision.puzzle.and_then(|puzzle| self.page(id, decision, &puzzle, request, reply)) {
            Some(()) => true,
            None => reply.write(ruling, request),
        }
    }

    fn page(
        &self,
        id: InstanceId,
        decision: &Decision,
        puzzle: &Puzzle,
        request: &Request,
        reply: &mut Reply,
    ) -> Option<()> {
        let policy = &self.instance(id)?.plan.policy;
        let (mut token, mut to) = (String::new(), String::new());
        puzzle.seal(&secrets(policy, self.serving.as_ref()?), &mut token);
        let path = request.path().filter(|path| path.len() <= LONGEST_WAY_BACK);
        endpoint::encode(path.unwrap_or(b"/"), &mut to);
        let page = Page {
            token: &token,
            difficulty: puzzle.difficulty,
            answer: endpoint::ANSWER,
            to: &to,
            reason: &puzzle::reason(decision.client.map_or(0, |client| client.0)),
            wait: puzzle.by_waiting.then_some(WAIT),
            nonce: &format!("{:016x}", mix(puzzle.number)),
        };
        reply.challenge(&page, policy.challenge.status);
        Some(())
    }
}
