// Example requests for a served model, which hone prints for its users.
#pragma once

#include "operate/serve/served_model.h"

namespace hone {

// A text for a model of any task.
inline constexpr const char* kExampleText = "The ferry to Oslo leaves at nine.";

// Texts like those of the sample rows that hone init writes: a fact, a question about the fact, and a prompt with both.
inline constexpr const char* kExampleFact = "The ferry to the lake leaves at nine.";
inline constexpr const char* kExampleQuestion = "When does the ferry to the lake leave?";
inline constexpr const char* kExamplePrompt =
    "The ferry to the lake leaves at nine. When does it leave?";

// An instance that the model's `:predict` route accepts: a text (with a mask for a masked language model), an object
// with a pair of texts, a question with its context, or a very small image {"b64": "..."}.
Json example_instance(const ServedModel& model);

// The path of OpenAI's chat API.
inline constexpr const char* kChatRoute = "/v1/chat/completions";
// The path whose requests have the form of the model's training data: kChatRoute if ServedModel::knows_chats(), else
// the model's `:predict` route.
std::string example_route(const ServedModel& model);

}  // namespace hone
