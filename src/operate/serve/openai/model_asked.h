// The model that a body of OpenAI's API names, and the queries to it.
#pragma once

#include "operate/serve/openai/openai_request.h"

namespace hone {

// The model "name" or "name@version" of the body. H3415: there is no name; H3416.
Result<ModelSet::Model> named_model(ServeContext& server, const Json& body);
// The model "name" or "name@version" that writes texts. H3415: there is no name, or it writes none;
// H3416.
Result<ModelSet::Model> model_asked(ServeContext& server, const Json& body);

// The prompts of a completion, or the texts of another key: a text, a list of them, token ids, or lists of those.
Result<std::vector<TextQuery>> prompts_asked(const Json& body, const char* key = "prompt");

// The query of a chat. `ordered` is the body with its keys in order: templates write tools as given.
// H3415: the model has no template; errors of templates.
Result<TextQuery> chat_asked(const OrderedJson& ordered, const ServedModel& model);

// A new identifier: the prefix and a number that no other answer of the process has.
std::string new_openai_id(const std::string& prefix, double wall_seconds);

// OpenAI's errors.
WebAnswer openai_error(const Error& e);
// The same in the names of the body's settings.
Error named_as_in(const Json& body, const Error& e);

}  // namespace hone
