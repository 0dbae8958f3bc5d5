//! What Slurm writes of nodes and tasks.

mod het;
mod nodes;
mod tasks;

pub use het::{ordered, Ordered};
pub use nodes::Nodes;
pub use tasks::TaskCounts;
