// Instances of requests as texts, or pairs of texts, that a served model reads.
#pragma once

#include "operate/serve/served_model.h"

namespace hone {

// A text; an object with "text" (or "prompt", "content", "inputs", "text_input", "instance") and perhaps "text_pair"; one
// with the columns that the training read; {"question", "context"}. H3415: it has another form, or a second text that the
// model does not read.
Result<TextQuery> query_of_instance(const ServedModel& model, const Json& instance);

// Whether an instance may have "text_pair". A classifier whose training is not known takes both forms.
enum class SecondText { kNone, kOptional, kRequired };
SecondText second_text(const ServedModel& model);

// An instance of a pair in the words of the model's training: {"sentence1": "...", "sentence2": "..."}.
std::string pair_form(const ServedModel& model);

// A text of the v2 protocol, which has no other place for a second text: a model of pairs reads it as the JSON of an
// instance, and any classifier whose training is not known so reads {"text", "text_pair"}. H3415: the model reads pairs,
// and the text holds no pair.
Result<TextQuery> query_of_tensor(const ServedModel& model, const std::string& text);

}  // namespace hone
