// Converts the instances of prediction requests to queries: texts or pairs of texts.
#pragma once

#include "operate/serve/served_model.h"

namespace hone {

// Converts one instance, in one of these forms:
//   a text
//   an object with the text as "text", "prompt", "content", "inputs", "text_input" or "instance", and perhaps
//     "text_pair", the second text
//   an object with the columns of the model's training data
//   {"question", "context"}
// Error H3415: the instance has another form, or a second text that the model does not read.
Result<TextQuery> query_of_instance(const ServedModel& model, const Json& instance);

// Whether an instance may or must have a second text. It is optional for a masked language model, and for a classifier
// whose training data are unknown.
enum class SecondText { kNone, kOptional, kRequired };
SecondText second_text(const ServedModel& model);

// The JSON form of a pair, with the two columns of the model's training data: {"sentence1": "...", "sentence2": "..."}.
// Call it only if the model reads_pairs().
std::string pair_form(const ServedModel& model);

// Converts one text of a v2 tensor, which has no place for a second text. For a model that reads pairs, the text must
// be the JSON of an instance. For a classifier whose training data are unknown, the text may be the JSON {"text",
// "text_pair"}. Any other text is taken as it is. Error H3415: the model reads pairs, and the text is not a pair.
Result<TextQuery> query_of_tensor(const ServedModel& model, const std::string& text);

}  // namespace hone
