// Converts the instances of prediction requests to queries: texts or pairs of texts.
#pragma once

#include "operate/serve/served_model.h"

namespace hone {

// Converts one instance, in one of these forms:
//   a text
//   an object whose key "text", "prompt", "content", "inputs", "text_input" or "instance" has the text, and whose
//     optional key "text_pair" has a second text
//   an object with the columns of the model's training data as keys
//   an object with the keys "question" and "context"
// Error H3415: the instance has another form, or a second text that the model does not read.
Result<TextQuery> query_of_instance(const ServedModel& model, const Json& instance);

// Whether an instance may or must have a second text. It is optional for a masked language model, and for a classifier
// whose training data are unknown.
enum class SecondText { kNone, kOptional, kRequired };
SecondText second_text(const ServedModel& model);

// An example of a pair in JSON, with the two columns of the model's training data as keys: {"sentence1": "...",
// "sentence2": "..."}. Call it only if ServedModel::reads_pairs() is true.
std::string pair_form(const ServedModel& model);

// Converts one text of a v2 tensor. Such a tensor has no place for a second text. So for a model that reads pairs, the
// text must be an instance in JSON. For a classifier whose training data are unknown, the text may be JSON with the
// keys "text" and "text_pair". Any other text is not parsed. Error H3415: the model reads pairs, and the text is not a
// pair.
Result<TextQuery> query_of_tensor(const ServedModel& model, const std::string& text);

}  // namespace hone
