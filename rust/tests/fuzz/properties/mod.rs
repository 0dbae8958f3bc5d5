//! What holds for any input. The fuzz targets look for input that breaks it, and `rust/tests/fuzz_replay.rs` tries the
//! corpus.
#![allow(missing_docs, unreachable_pub, clippy::missing_panics_doc)] // they panic where something does not hold

mod endpoint;
mod environment;
mod hostlist;
mod interface;
mod node;
mod plan;

pub use endpoint::endpoint;
pub use environment::environment;
pub use hostlist::hostlist;
pub use interface::interface;
pub use plan::plan;

use torchrun_jsc::Error;

/// A message stands on one line and has nothing that a terminal would act on.
fn assert_harmless(error: &Error) {
    let message = error.to_string();
    assert!(!message.chars().any(char::is_control), "{message:?}");
}
