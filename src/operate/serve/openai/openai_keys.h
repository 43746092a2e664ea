// The keys of OpenAI's bodies that hone knows.
#pragma once

#include <span>

#include "base/core/json.h"

namespace hone {

// The use of a key.
enum class KeyUse {
  ignored,  // it says who asks and for what, and changes no answer
  read,     // a reader of the body knows it
  fixed,    // supported with one value only, which says the same as leaving it out
};
struct OpenaiKey {
  const char* name;
  KeyUse use;
  const char* values = "";  // of a fixed key: a list of JSON texts
};

std::span<const OpenaiKey> completion_keys();
std::span<const OpenaiKey> chat_keys();
std::span<const OpenaiKey> response_keys();

bool is_key(std::span<const OpenaiKey> keys, const std::string& name);
// H3415 with its name: a fixed key has another value. Null, false and empty values count as absent.
Status check_fixed_keys(const Json& body, std::span<const OpenaiKey> keys);

}  // namespace hone
