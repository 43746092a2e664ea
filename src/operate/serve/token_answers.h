// Questions and answers of models that look at tokens, in JSON and the names of Transformers' pipelines.
#pragma once

#include "operate/serve/served_model.h"

namespace hone {

// {"question": "...", "context": "..."}. H3415: it is not one.
Result<TextQuery> question_of(const Json& instance);

// [{"entity_group", "score", "word", "start", "end"}], of single tokens {"entity", "score", "index", "word", "start", "end"}.
OrderedJson entities_json(const TextAnswer& answer);
// {"score", "start", "end", "answer"}; a list, if more than one was asked for and found.
OrderedJson answers_json(const TextAnswer& answer);

}  // namespace hone
