// The keys that hone knows in request bodies of OpenAI's API.
#pragma once

#include <span>

#include "base/core/json.h"

namespace hone {

// The way in which hone treats a key.
enum class KeyUse {
  ignored,  // ignores the key, which does not change an answer, such as the name of a user
  read,     // uses its value (openai_request.h, chat_request.h)
  fixed,    // accepts only the values that have the same meaning as a missing key
};
struct OpenaiKey {
  const char* name;
  KeyUse use;
  const char* values = "";  // the allowed values of a fixed key, as the text of a JSON list
};

std::span<const OpenaiKey> completion_keys();
std::span<const OpenaiKey> chat_keys();
std::span<const OpenaiKey> response_keys();

bool is_key(std::span<const OpenaiKey> keys, const std::string& name);
// Error H3415, which names the key: a fixed key has a value that is not allowed. A key with the value null, false, []
// or {} counts as missing.
Status check_fixed_keys(const Json& body, std::span<const OpenaiKey> keys);

}  // namespace hone
