// The form of an answer that a request asks for:
//   https://platform.openai.com/docs/guides/structured-outputs
#pragma once

#include <memory>

#include "base/core/json.h"
#include "learn/grammar/automaton.h"

namespace hone {

// {"type": "text"}, {"type": "json_object"}, or {"type": "json_schema", ...} with "schema" beside
// the type (Responses), or within "json_schema" (chats). Null: any text, no language. `place` is the
// key of the body. Errors: H3415, and H2511 and H2512 of the schema.
Result<std::shared_ptr<const Automaton>> language_of_format(const OrderedJson& format,
                                                            const std::string& place);

}  // namespace hone
