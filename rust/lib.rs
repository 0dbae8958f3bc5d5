//! Resolve Slurm node lists, host nodes, addresses and interfaces for a distributed launch.
//!
//! Everything here is a function of its inputs: an environment map, the options of `torchrun`, the interfaces of this
//! node and a resolver. Nothing reads the process's own environment, a clock or a source of random numbers.
#![forbid(unsafe_code)]

pub mod allocation;
pub mod environ;
pub mod error;
pub mod host_port;
pub mod hostlist;
pub mod interface;
pub mod label;
pub mod launched;
pub mod mpi;
pub mod node;
pub mod number;
pub mod options;
pub mod plan;
pub mod resolver;
pub mod settings;
pub mod site;
pub mod slurm;
pub mod template;

#[cfg(feature = "python")]
mod python;

pub use error::{Error, Result};
