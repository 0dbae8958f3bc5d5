//! An allocation and a step, out of the environment.

mod het;
mod nodes;
mod step;
mod tasks;

pub use het::Ordered;
pub use nodes::Nodes;
pub use step::Step;
pub use tasks::TaskCounts;
