//! Who guards, all in the same run.

use crate::guard::Guard;
use crate::report::Report;
use crate::rivals::{Gradients, Open, Static};
use crate::world::{self, Scenario};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    Open,
    Static,
    Gradient,
}

impl Contender {
    pub const ALL: [Contender; 3] = [Contender::Open, Contender::Static, Contender::Gradient];

    pub fn name(self) -> &'static str {
        match self {
            Contender::Open => "none",
            Contender::Static => "static",
            Contender::Gradient => "gradient",
        }
    }

    pub fn run(self, scenario: &Scenario) -> Report {
        world::run(scenario, &mut *self.guard())
    }

    fn guard(self) -> Box<dyn Guard> {
        match self {
            Contender::Open => Box::new(Open),
            Contender::Static => Box::new(Static::default()),
            Contender::Gradient => Box::new(Gradients::default()),
        }
    }
}
