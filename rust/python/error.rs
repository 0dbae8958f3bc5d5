//! Errors as Python's exceptions.

use pyo3::prelude::*;

use crate::Error;

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        let class = match error {
            Error::Hostlist { .. } | Error::TooManyHosts { .. } => "HostlistError",
            Error::Setting { .. } => "SettingError",
            Error::Resolve { .. } => "ResolveError",
        };
        // abi3 cannot create exception classes with two bases, so they are defined in errors.py and looked up by name.
        Python::attach(|py| match py.import("torchrun_jsc.errors").and_then(|errors| errors.getattr(class)) {
            Ok(class) => class.call1((error.to_string(),)).map_or_else(|error| error, PyErr::from_value),
            Err(import) => import,
        })
    }
}
