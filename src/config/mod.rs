//! What the operator writes, and the [`plan`] that it is compiled to. The only room that reads JSON.

pub mod plan;
