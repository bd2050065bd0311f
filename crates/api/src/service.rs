//! The health of the service, and its errors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Example;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[expect(
    missing_docs,
    reason = "a doc comment would become the description of a schema that needs none"
)]
pub struct Health {
    #[schemars(extend("const" = "ok"))]
    pub status: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
#[expect(
    missing_docs,
    reason = "a doc comment would become the description of a schema that needs none"
)]
pub struct ErrorBody {
    #[schemars(length(min = 1))]
    pub error: String,
}

impl Example for Health {
    fn example() -> Self {
        Self {
            status: "ok".to_owned(),
        }
    }
}
