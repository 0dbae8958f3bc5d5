//! The decision: who hosts the rendezvous, under which address, and why.
//!
//! [`plan`] and [`endpoint`] are pure functions. Every node of a step computes them for itself, and all come to the same
//! host node.

mod checks;
mod context;
mod count;
mod decision;
mod derive;
mod endpoint;
mod fill;
mod gloo;
mod here;
mod host;
mod identity;
mod launch;
mod local;
mod names;
mod order;
mod outcome;
mod port;
mod rank;
mod stay_out;
mod store;

pub use count::{count_nodes, is_first_of_node};
pub use decision::Decision;
pub use endpoint::{endpoint, Endpoint, Given, OwnAddress};
pub use identity::Identity;
pub use launch::{may_start_late, plan};
pub use names::Form;
pub use outcome::{Fill, HostCheck, Plan, RankOrder};
