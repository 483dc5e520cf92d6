//! One configuration of one filter in this VM. Envoy makes a new root context for each change of configuration and
//! lets the old one live until its streams are gone; what matters lives in the [`super::Worker`].

use super::abi::{self, Level};
use super::attributes::present;
use super::closing::end_one;
use super::http_stream::HttpStream;
use super::shared::HostStore;
use super::tcp_stream::TcpStream;
use super::{Worker, clock, webhook, with_worker};
use crate::config::plan::Plan;
use crate::config::{self, advice};
use crate::engine::InstanceId;
use crate::policy::tarpit::StreamId;
use crate::shared::once::first_to_say;
use crate::telemetry::metrics::Metric;
use core::time::Duration;
use proxy_wasm::traits::{Context, HttpContext, RootContext, StreamContext};
use proxy_wasm::types::ContextType;
use std::rc::Rc;

/// A root context.
pub struct Root {
    id: u32,
    role: Role,
}

/// What a root context is for, by its `root_id`.
enum Role {
    /// Not configured yet, or refused.
    None,
    /// `weir`: the HTTP filter.
    Http(Rc<Filter>),
    /// `weir_l4`: the network filter, of this name.
    Network(Rc<str>),
}

/// What the streams of one configuration share.
pub struct Filter {
    /// The configuration in the engine …
    pub instance: InstanceId,
    /// … and what it says.
    pub plan: Rc<Plan>,
}

impl Root {
    /// A root context that is not configured yet.
    pub fn new(id: u32) -> Root {
        Root { id, role: Role::None }
    }

    /// Puts a configuration in force, or says all that is wrong with it.
    fn configure(&mut self, text: &[u8]) -> Result<(), String> {
        let name = String::from_utf8_lossy(&present("plugin_name").unwrap_or_default()).into_owned();
        if present("plugin_root_id").as_deref() == Some(b"weir_l4") {
            return self.configure_network(&name, text);
        }
        let plan = config::parse(text).map_err(|errors| errors.to_string())?;
        tell(&name, &plan, text);
        let period = Duration::from_millis(plan.tick().as_millis());
        let filter = with_worker(|worker| {
            let instance = worker.engine.configure(&name, plan, clock::now());
            worker.stats.define_all(&worker.engine.metrics);
            let plan = Rc::clone(worker.engine.plan(instance)?);
            Some(Rc::new(Filter { instance, plan }))
        });
        self.role = filter.flatten().map_or(Role::None, Role::Http);
        self.set_tick_period(period);
        Ok(())
    }

    /// The network filter has no configuration of its own: what it would say that differs from the HTTP filter's could not
    /// hold.
    fn configure_network(&mut self, name: &str, text: &[u8]) -> Result<(), String> {
        if !matches!(text.trim_ascii(), b"" | b"{}") {
            return Err(
                "root_id weir_l4: the HTTP filter's configuration counts, so this must be empty or {}".into(),
            );
        }
        with_worker(|worker| {
            worker.engine.attach();
            worker.stats.define_all(&worker.engine.metrics);
        });
        self.role = Role::Network(name.into());
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
    /// The webhook has answered, or will not.
    fn on_http_call_response(&mut self, token: u32, headers: usize, _body_size: usize, _trailers: usize) {
        if let Role::Http(filter) = &self.role {
            webhook::hear(filter.instance, token, headers);
        }
    }

    /// The configuration was replaced and its last stream is gone: a timer left behind would tick for nobody.
    fn on_done(&mut self) -> bool {
        self.set_tick_period(Duration::ZERO);
        with_worker(|worker| {
            match &self.role {
                Role::None => {}
                Role::Http(filter) => worker.engine.retire(filter.instance, clock::now()),
                Role::Network(_) => worker.engine.detach(),
            }
            if worker.engine.is_idle() {
                worker.stats.withdraw(&mut worker.engine.metrics);
            }
        });
        if let Role::Http(_) = self.role {
            self.role = Role::None; // a network filter stays one: its kind of context must not change
        }
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
        self.carry_on();
        if let Role::Http(filter) = &self.role {
            webhook::post(filter.instance);
        }
    }

    /// Another worker has something to tell, or this one has more to resume.
    fn on_queue_ready(&mut self, queue: u32) {
        with_worker(|worker| worker.hear(queue));
        self.carry_on();
    }

    fn get_type(&self) -> Option<ContextType> {
        match self.role {
            Role::Network(_) => Some(ContextType::StreamContext),
            Role::None | Role::Http(_) => Some(ContextType::HttpContext),
        }
    }

    fn create_http_context(&self, id: u32) -> Option<Box<dyn HttpContext>> {
        let filter = if let Role::Http(filter) = &self.role { Some(Rc::clone(filter)) } else { None };
        Some(Box::new(HttpStream::new(id, filter)))
    }

    fn create_stream_context(&self, id: u32) -> Option<Box<dyn StreamContext>> {
        let Role::Network(name) = &self.role else { return None };
        Some(Box::new(TcpStream::new(id, Rc::clone(name))))
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

/// Requests that go on, and connections that end, with one call into this VM. Envoy carries them out one inside the other
/// where it answers by itself (no route, no upstream, a later filter's refusal), each with a call back into this VM: 274 of
/// them overflow the stack, and the VM dies. And all at once they keep others waiting, 10,000 for a second.
const AT_ONCE: usize = 32;

impl Root {
    /// Ends connections that are to end, and lets those go on who were held for long enough; if there may be more, Envoy is
    /// to call again when it has served others.
    fn carry_on(&self) {
        let perhaps_more = (0..AT_ONCE).all(|_| end_one() || resume_one());
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
