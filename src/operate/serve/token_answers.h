// Converts requests and answers of question answering, and answers of token classification, from and to JSON in the
// form of Transformers' pipelines.
#pragma once

#include "operate/serve/served_model.h"

namespace hone {

// The query of an instance {"question": "...", "context": "..."}. Error H3415: one of the two is missing, blank or
// not a text.
Result<TextQuery> question_of(const Json& instance);

// A list of objects {"entity_group", "score", "word", "start", "end"}. With EntityStrategy::none, a list of objects
// {"entity", "score", "index", "word", "start", "end"}. "end" is exclusive.
OrderedJson entities_json(const TextAnswer& answer);
// An object {"score", "start", "end", "answer"} if there is exactly one answer, else a list of these objects. "end" is
// exclusive.
OrderedJson answers_json(const TextAnswer& answer);

}  // namespace hone
