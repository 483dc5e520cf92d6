//! Events for the webhook of each configuration: what the host is to post, and what came of it.

use super::{Engine, Instance, InstanceId};
use crate::shared::Store;
use crate::telemetry::webhook::{Batch, Settings, Token};
use crate::time::Nanos;

impl<S: Store + Clone> Engine<S> {
    /// Takes an event, as a line, for the webhook of this configuration, if it has one.
    pub fn offer(&mut self, id: InstanceId, line: &str) {
        let now = self.clock.last();
        let instance = self.instances.get_mut(id.0).and_then(Option::as_mut);
        if let Some(Instance { outbox, .. }) =
            instance.filter(|instance| instance.plan.events.webhook.is_some())
        {
            outbox.offer(line, now);
        }
    }

    /// The next call to make for this configuration, and where to.
    pub fn next_post(&mut self, id: InstanceId) -> Option<(Settings, Batch)> {
        let now = self.clock.last();
        let live = self.serving.as_ref().map_or(1, |serving| serving.exchange.live(now));
        let Instance { plan, outbox, .. } = self.instances.get_mut(id.0)?.as_mut()?;
        let settings = plan.events.webhook.as_ref()?;
        let batch = outbox.next(settings, live, now)?;
        Some((settings.clone(), batch))
    }

    /// A call was made; `None`: the host did not make it.
    pub fn posted(&mut self, id: InstanceId, events: u32, token: Option<Token>) {
        let now = self.clock.last();
        if let Some(instance) = self.instances.get_mut(id.0).and_then(Option::as_mut) {
            instance.outbox.sent(events, token, now);
        }
    }

    /// A call has its answer: did the webhook take it?
    pub fn answered(&mut self, id: InstanceId, token: Token, taken: bool) {
        if let Some(instance) = self.instances.get_mut(id.0).and_then(Option::as_mut) {
            instance.outbox.answered(token, taken);
        }
    }

    /// A configuration is gone: the latest of its filter that has a webhook sends what waited.
    pub(super) fn hand_on_events(&mut self, gone: &mut Instance, now: Nanos) {
        let heirs = self.instances.iter_mut().flatten();
        let heirs = heirs.filter(|heir| heir.name == gone.name && heir.plan.events.webhook.is_some());
        let heir = heirs.max_by_key(|heir| heir.number).map(|heir| &mut heir.outbox);
        let stats = core::mem::take(&mut gone.outbox).succeed(heir, now);
        self.posted = self.posted.and(stats);
    }
}
