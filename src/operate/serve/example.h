// An example of the instances that a served model answers.
#pragma once

#include "operate/serve/served_model.h"

namespace hone {

// A text for a model of any task.
inline constexpr const char* kExampleText = "The ferry to Oslo leaves at nine.";

// In the form of the rows of hone init: a fact, a question about it, and both as one prompt.
inline constexpr const char* kExampleFact = "The ferry to the lake leaves at nine.";
inline constexpr const char* kExampleQuestion = "When does the ferry to the lake leave?";
inline constexpr const char* kExamplePrompt =
    "The ferry to the lake leaves at nine. When does it leave?";

// An instance that `:predict` answers for this model: a text (with a mask for a masked model), a
// question with its context, or a very small image as {"b64": "..."}.
Json example_instance(const ServedModel& model);

// OpenAI's chats.
inline constexpr const char* kChatRoute = "/v1/chat/completions";
// The path at which the model answers as it was evaluated: that of chats, or its `:predict`.
std::string example_route(const ServedModel& model);

}  // namespace hone
