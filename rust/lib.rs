//! Resolve Slurm node lists, host nodes, addresses and interfaces for a distributed launch.
//!
//! Everything here is a function of its inputs: an environment map, the options of `torchrun`, the interfaces of this
//! node and a resolver. Nothing reads the process's own environment, a clock or a source of random numbers.
#![forbid(unsafe_code)]

pub mod endpoint;
pub mod error;
pub mod hostlist;
pub mod interface;
pub mod launched;
pub mod plan;
pub mod resolve;
pub mod slurm;

#[cfg(feature = "python")]
mod python;

pub use error::{Error, Result};
