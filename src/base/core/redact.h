// Takes secrets out of what is recorded: a registry is read by more people than may know them.
#pragma once

#include <string>

#include "base/core/json.h"

namespace hone {

// "https://me:word@host/x?sig=abc" -> "https://host/x?sig=***". Texts that are not URLs stay, but for the
// well-known forms of tokens (hf_..., AKIA..., "Bearer ...").
std::string redact_text(const std::string& text);

// The same for every text of a value; members whose names say that they hold a credential (token, hub_token,
// password, secret_key, api-key) become "***". pad_token, eos_token and their kind stay.
OrderedJson redact_secrets(OrderedJson value);

}  // namespace hone
