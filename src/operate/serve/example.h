// An example of the instances that a served model answers.
#pragma once

#include "operate/serve/served_model.h"

namespace hone {

// An instance that `:predict` answers for this model: a text (with a mask for a masked model), a
// question with its context, or a very small image as {"b64": "..."}.
Json example_instance(const ServedModel& model);

}  // namespace hone
