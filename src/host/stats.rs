//! Carries numbers out to Envoy's stats. A metric is defined once per VM: Envoy keeps every definition for ever.

use super::abi::{self, MetricType};
use crate::telemetry::metrics::{Kind, Metrics};

/// The ids of the series in this VM, by their place in [`Metrics`].
#[derive(Default)]
pub struct Stats(Vec<Option<u32>>);

impl Stats {
    /// Publishes what has changed.
    pub fn publish(&mut self, metrics: &mut Metrics) {
        metrics.flush(|index, name, kind, difference| {
            let Some(id) = self.id(index, name, kind) else { return false };
            abi::increment_metric(id, difference).is_ok()
        });
    }

    /// Publishes what is left and takes this VM's part out of the gauges, which would keep it when the VM is gone.
    pub fn withdraw(&mut self, metrics: &mut Metrics) {
        self.publish(metrics);
        metrics.withdraw(|index, name, kind, difference| {
            let Some(id) = self.id(index, name, kind) else { return false };
            abi::increment_metric(id, difference).is_ok()
        });
    }

    /// Makes every metric known, so that those at zero show.
    pub fn define_all(&mut self, metrics: &Metrics) {
        for (index, name, kind) in metrics.names() {
            self.id(index, name, kind);
        }
    }

    fn id(&mut self, index: usize, name: &str, kind: Kind) -> Option<u32> {
        if self.0.len() <= index {
            self.0.resize(index + 1, None);
        }
        let id = self.0.get_mut(index)?;
        if id.is_none() {
            let kind = match kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
            };
            *id = abi::define_metric(kind, name).ok();
        }
        *id
    }
}
