// JSON of token classification and question answering, in the form of Transformers' pipelines.
#pragma once

#include "operate/serve/served_model.h"

namespace hone {

// The query of an instance {"question": "...", "context": "..."}. Error H3415: one of the two is missing, blank or
// not a text.
Result<TextQuery> question_of(const Json& instance);

// A list of {"entity_group", "score", "word", "start", "end"}; with EntityStrategy::none of {"entity", "score",
// "index", "word", "start", "end"}. "end" is exclusive.
OrderedJson entities_json(const TextAnswer& answer);
// {"score", "start", "end", "answer"}; a list of these objects unless there is exactly one. "end" is exclusive.
OrderedJson answers_json(const TextAnswer& answer);

}  // namespace hone
