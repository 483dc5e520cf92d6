//! One configuration of one filter in this VM. Envoy makes a new root context for each change of configuration and
//! lets the old one live until its streams are gone; what matters lives in the [`super::Worker`].

use super::abi::{self, Level};
use super::attributes::present;
use super::http_stream::HttpStream;
use super::shared::HostStore;
use super::{Worker, clock, with_worker};
use crate::config::plan::Plan;
use crate::config::{self, advice};
use crate::engine::InstanceId;
use crate::policy::tarpit::StreamId;
use crate::shared::once::first_to_say;
use crate::telemetry::metrics::Metric;
use core::time::Duration;
use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::ContextType;
use std::rc::Rc;

/// A root context.
pub struct Root {
    id: u32,
    filter: Option<Rc<Filter>>,
}

/// What the streams of one configuration share.
pub struct Filter {
    /// The configuration.
    pub instance: InstanceId,
    /// The property that holds the number of a client's network.
    pub network: Option<Box<str>>,
    /// The response header that is Weir's alone.
    pub why_header: Option<Box<str>>,
}

impl Root {
    /// A root context that is not configured yet.
    pub fn new(id: u32) -> Root {
        Root { id, filter: None }
    }

    /// Puts a configuration in force, or says all that is wrong with it.
    fn configure(&mut self, text: &[u8]) -> Result<(), String> {
        if present("plugin_root_id").as_deref() == Some(b"weir_l4") {
            return Err(
                "root_id weir_l4: this version of Weir has no network filter; use root_id weir".into()
            );
        }
        let plan = config::parse(text).map_err(|errors| errors.to_string())?;
        let name = String::from_utf8_lossy(&present("plugin_name").unwrap_or_default()).into_owned();
        tell(&name, &plan, text);
        let period = Duration::from_millis(plan.tick().as_millis());
        let (network, why_header) = (plan.network.clone(), plan.policy.why_header.clone());
        self.filter = with_worker(|worker| {
            let instance = worker.engine.configure(&name, plan, clock::now());
            worker.stats.define_all(&worker.engine.metrics);
            Rc::new(Filter { instance, network, why_header })
        });
        self.set_tick_period(period);
        Ok(())
    }
}

/// Says once per process what a filter does from now on, and what of it may not be meant.
fn tell(name: &str, plan: &Plan, text: &[u8]) {
    if first_to_say(&mut HostStore, &format!("{name} {}", String::from_utf8_lossy(text))) {
        let _ = abi::log(Level::Info, &format!("configuration of {name}: {}", advice::summary(plan)));
        for warning in advice::warnings(plan) {
            let _ = abi::log(Level::Warn, &format!("configuration of {name}: {warning}"));
        }
    }
}

impl Context for Root {
    /// The configuration was replaced and its last stream is gone: a timer left behind would tick for nobody.
    fn on_done(&mut self) -> bool {
        self.set_tick_period(Duration::ZERO);
        with_worker(|worker| {
            if let Some(filter) = self.filter.take() {
                worker.engine.retire(filter.instance, clock::now());
            }
            if worker.engine.is_idle() {
                worker.stats.withdraw(&mut worker.engine.metrics);
            }
        });
        true
    }
}

impl RootContext for Root {
    fn on_configure(&mut self, _size: usize) -> bool {
        let text = self.get_plugin_configuration().unwrap_or_default();
        let Err(errors) = self.configure(&text) else { return true };
        for line in errors.lines() {
            let _ = abi::log(Level::Error, &format!("configuration refused: {line}"));
        }
        with_worker(|worker| {
            worker.engine.metrics.count(Metric::ConfigRejected);
            worker.stats.publish(&mut worker.engine.metrics); // this VM may be a trial that never ticks
        });
        false
    }

    fn on_tick(&mut self) {
        with_worker(Worker::tick);
        self.resume_due();
    }

    /// Another worker has something to tell, or this one has more to resume.
    fn on_queue_ready(&mut self, queue: u32) {
        with_worker(|worker| worker.hear(queue));
        self.resume_due();
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }

    fn create_http_context(&self, id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(HttpStream::new(id, self.filter.clone())))
    }
}

impl Worker {
    /// The tick of any root context: several tick while an old listener drains, and the engine exchanges when it is due.
    fn tick(&mut self) {
        if self.engine.on_tick(clock::now()) {
            self.listen();
            self.notify();
            self.stats.publish(&mut self.engine.metrics);
        }
    }
}

/// Requests that go on with one call into this VM. Envoy carries them out one inside the other where it answers by itself
/// (no route, no upstream, a later filter's refusal), each with a call back into this VM: 274 of them overflow the stack,
/// and the VM dies. And all at once they keep others waiting, 10,000 for a second.
const RESUMED_AT_ONCE: usize = 32;

impl Root {
    /// Lets requests go on that were held for long enough; if there may be more, Envoy is to call again when it has served
    /// others.
    fn resume_due(&self) {
        let perhaps_more = (0..RESUMED_AT_ONCE).all(|_| resume_one());
        let _ = abi::set_effective_context(self.id);
        if perhaps_more {
            with_worker(|worker| worker.call_again());
        }
    }
}

/// Lets one request go on, if one is due. The context of one that has ended may be gone.
fn resume_one() -> bool {
    let Some(StreamId(stream)) = with_worker(|worker| worker.engine.due()).flatten() else { return false };
    if abi::set_effective_context(stream).is_ok() {
        let _ = abi::resume_request();
    }
    true
}
