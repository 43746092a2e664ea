// Reads the format that a request demands for its answer:
//   https://platform.openai.com/docs/guides/structured-outputs
#pragma once

#include <memory>

#include "base/core/json.h"
#include "learn/grammar/automaton.h"

namespace hone {

// Returns the automaton that accepts the allowed answers; null if any text is allowed. `format` is one of null and
// {"type": "text"} (any text), {"type": "json_object"}, and {"type": "json_schema", ...}. The last has the member
// "schema" beside "type" (/v1/responses), or within a member "json_schema" (other routes). `place` is the key of the
// body, for errors. Errors: H3415 the format has another form; H2511 hone does not support the schema; H2512 the schema
// is wrong or allows no document.
Result<std::shared_ptr<const Automaton>> language_of_format(const OrderedJson& format,
                                                            const std::string& place);

}  // namespace hone
