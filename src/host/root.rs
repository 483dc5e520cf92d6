//! One configuration of one filter in this VM. Envoy makes a new root context for each change of configuration and
//! lets the old one live until its streams are gone; what matters lives in the [`super::Worker`].

use super::abi::{self, Level};
use super::attributes::present;
use super::http_stream::HttpStream;
use super::shared::HostStore;
use super::{clock, with_worker};
use crate::config::plan::Plan;
use crate::config::{self, advice};
use crate::engine::InstanceId;
use crate::shared::once::first_to_say;
use crate::telemetry::metrics::Metric;
use core::time::Duration;
use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::ContextType;

/// A root context.
pub struct Root {
    id: u32,
    instance: Option<InstanceId>,
}

impl Root {
    /// A root context that is not configured yet.
    pub fn new(id: u32) -> Root {
        Root { id, instance: None }
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
        let interval = Duration::from_millis(plan.exchange.interval.as_millis());
        self.instance = with_worker(|worker| {
            worker.ticker = self.id;
            let instance = worker.engine.configure(&name, plan, clock::now());
            worker.stats.define_all(&worker.engine.metrics);
            instance
        });
        self.set_tick_period(interval);
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
            if worker.ticker == self.id {
                worker.ticker = 0;
            }
            if let Some(instance) = self.instance.take() {
                worker.engine.retire(instance, clock::now());
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
        with_worker(|worker| {
            if worker.ticker == 0 {
                worker.ticker = self.id;
            }
            if worker.ticker == self.id {
                worker.engine.on_tick(clock::now());
                worker.stats.publish(&mut worker.engine.metrics);
            }
        });
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }

    fn create_http_context(&self, _id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(HttpStream::new(self.instance)))
    }
}
