// Reads a request body of OpenAI's API: finds the model that the body names, and makes the queries for the model.
#pragma once

#include "operate/serve/openai/openai_request.h"

namespace hone {

// The model that the body's key "model" names, "name" or "name@version". Errors: H3415 the body names no model; H3416
// there is no such model; others of ModelSet::find.
Result<ModelSet::Model> named_model(ServeContext& server, const Json& body);
// named_model() for a request that needs a model that writes texts. Errors: H3415 the body names no model, or one that
// does not write texts; H3416 there is no such model; others of ModelSet::find.
Result<ModelSet::Model> model_asked(ServeContext& server, const Json& body);

// The texts at `key` of the body, one query each: a text, a list of texts, a list of token ids, or a list of lists of
// token ids. Error H3415: the key is missing, has another form or more than kMostTexts texts.
Result<std::vector<TextQuery>> prompts_asked(const Json& body, const char* key = "prompt");

// The query of a chat. `ordered` is the body with its keys in the order of the request, because templates write the
// keys of tools in this order. Errors: those of ServedModel::chat_template and of chat_text().
Result<TextQuery> chat_asked(const OrderedJson& ordered, const ServedModel& model);

// A new id for an answer: the prefix, the time (`wall_seconds` since 1970) and a count; unique in this process.
std::string new_openai_id(const std::string& prefix, double wall_seconds);

// The answer for an Error, in OpenAI's form.
WebAnswer openai_error(const Error& e);
// The error with OpenAI's names for the settings that the body has (with_names_of() in route.h).
Error named_as_in(const Json& body, const Error& e);

}  // namespace hone
