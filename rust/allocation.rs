//! The nodes and processes that this one is one of: who started it, and what is believed of the environment.

mod started;
mod step_ids;
mod value;

pub use started::Started;
pub use value::{Allocation, GivenNodes};
