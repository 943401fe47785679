//! The JSON-RPC request: the shape of its params, which its method decides, and the documents inside of them.

use super::part::Part;
use super::{Params, shape};
use crate::{Code, Error};

pub(super) fn rules(request: Part<'_>) -> Result<(), Error> {
    let Some((method, params)) = shape::params(request.text("/method")).zip(request.get("/params")) else {
        return Ok(());
    };
    Params::under(method, params, Code::JsonrpcInvalid)?.documents()
}
