// Reads the form that a request demands of its answer:
//   https://platform.openai.com/docs/guides/structured-outputs
#pragma once

#include <memory>

#include "base/core/json.h"
#include "learn/grammar/automaton.h"

namespace hone {

// The automaton that accepts the allowed answers; null: any text is allowed. `format` is {"type": "text"}, {"type":
// "json_object"}, or {"type": "json_schema", ...} with "schema" beside the type (Responses) or within "json_schema"
// (chats); null: any text. `place` is the key of the body, for errors. Errors: H3415 the format has another form; H2511
// hone does not support the schema; H2512 the schema is wrong or allows no document.
Result<std::shared_ptr<const Automaton>> language_of_format(const OrderedJson& format,
                                                            const std::string& place);

}  // namespace hone
