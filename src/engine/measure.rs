//! The numbers that are kept where they arise, brought into the metrics.

use super::Engine;
use crate::connections::Connections;
use crate::detect::Detector;
use crate::detect::novelty::Novelty;
use crate::detect::surge::Dimension;
use crate::exchange::counts::Counts;
use crate::shared::Store;
use crate::telemetry::metrics::{Metric, Table};
use crate::telemetry::webhook::Outbox;

impl<S: Store + Clone> Engine<S> {
    /// Brings the numbers that are kept elsewhere into the metrics.
    pub(super) fn measure(&mut self) {
        self.measure_worker();
        self.measure_exchange();
        self.measure_traffic();
        self.measure_counting();
        self.measure_posting();
        self.measure_policy();
    }

    fn measure_worker(&mut self) {
        let plans = self.instances.iter().flatten().map(|instance| &instance.plan);
        let memory = plans.map(|plan| plan.memory_bytes()).max().unwrap_or(0);
        let serves = u64::from(self.serving.is_some());
        let connections = if self.connections.is_some() { Connections::MEMORY_BYTES } else { 0 };
        for (metric, value) in [
            (Metric::RequestsInFlight, self.in_flight.into()),
            (Metric::Workers, serves),
            (Metric::PlanMemory, serves * memory + connections),
        ] {
            self.metrics.set(metric, value);
        }
    }

    fn measure_exchange(&mut self) {
        let Some(serving) = &self.serving else { return };
        let stats = serving.exchange.stats();
        for (metric, value) in [
            (Metric::ExchangeSyncs, stats.syncs),
            (Metric::ExchangeConflicts, stats.cas_lost),
            (Metric::ExchangeCorrupt, stats.corrupt),
            (Metric::ExchangeFull, stats.full),
            (Metric::ExchangeUnsynced, stats.unsynced),
            (Metric::ExchangeLost, stats.pending_lost),
            (Metric::ExchangeReseeded, stats.reseeded),
            (Metric::ExchangeGivenUp, stats.given_up),
        ] {
            self.metrics.set(metric, value);
        }
        self.metrics.set_cells(Table::Limits, &stats.table);
        let arrears = stats.arrears;
        for (metric, value) in [
            (Metric::TableTracked, arrears.tracked),
            (Metric::TableUntracked, arrears.contest_lost),
            (Metric::TableEvictions, arrears.evictions),
            (Metric::TableSlotsUsed, arrears.used),
        ] {
            self.metrics.set_table(metric, Table::Arrears, value);
        }
    }

    fn measure_traffic(&mut self) {
        let Some(surge) = self.serving.as_ref().and_then(|serving| serving.surge.as_ref()) else { return };
        let stats = surge.stats();
        for (metric, value) in [
            (Metric::TrafficAsks, stats.asks),
            (Metric::TrafficUnjudged, stats.full),
            (Metric::TrafficLate, stats.late + stats.lost),
        ] {
            self.metrics.set(metric, value);
        }
        for (dimension, surged) in Dimension::ALL.into_iter().zip(stats.surged) {
            self.metrics.set_surges(dimension, surged);
        }
        self.metrics.set_cells(Table::Baselines, &stats.table);
    }

    fn measure_counting(&mut self) {
        let now = self.clock.last();
        let Some(serving) = &self.serving else { return };
        for detector in Detector::ALL {
            let stats = serving.counting.counts(detector).map(Counts::stats).unwrap_or_default();
            self.metrics.set_sketch(Table::of(detector), &stats.sketch);
            self.metrics.set_untold(detector, stats.untold + stats.given_up + stats.corrupt);
        }
        let open = serving.counting.counts(Detector::Loops).map_or(0, |counts| counts.full(now));
        self.metrics.set(Metric::LoopsOpen, open);
        let novelty = serving.counting.novelty();
        self.metrics.set(Metric::FirstSightings, novelty.map_or(0, Novelty::total));
        self.metrics.set_sketch(Table::Sightings, &novelty.map(Novelty::stats).unwrap_or_default());
    }

    fn measure_posting(&mut self) {
        let outboxes = self.instances.iter().flatten().map(|instance| &instance.outbox);
        let stats = outboxes.clone().fold(self.posted, |all, outbox| all.and(outbox.stats()));
        let in_flight: u32 = outboxes.map(Outbox::in_flight).sum();
        self.metrics.set_webhook(&stats);
        self.metrics.set(Metric::WebhookCalls, in_flight.into());
    }

    fn measure_policy(&mut self) {
        let Some(serving) = &self.serving else { return };
        let (bans, sums) = (serving.bans.stats(), serving.sums.stats());
        // Every worker knows all bans, so one speaks for all.
        let active = if serving.exchange.leads() { bans.active } else { 0 };
        for (metric, value) in [
            (Metric::BansActive, active),
            (Metric::BansFull, bans.full),
            (Metric::LedgerCharges, serving.charges),
            (Metric::TarpitHeld, serving.tarpit.held().into()),
            (Metric::TarpitSkipped, serving.tarpit.skipped()),
            (Metric::QuotaUnsynced, sums.unsynced + sums.full + sums.given_up),
        ] {
            self.metrics.set(metric, value);
        }
        self.metrics.set_cells(Table::Bans, &bans.table);
    }
}
