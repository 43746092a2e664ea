// Removes secrets from records: more people read a record than may know its secrets.
#pragma once

#include <string>
#include <string_view>

#include "base/core/json.h"

namespace hone {

// Whether this is the name of a credential: token, hub_token, AWSAccessKeyId; not pad_token.
bool names_a_secret(const std::string& name);

// Returns false if redact_text() would change nothing. Allocates nothing.
bool may_hold_a_secret(std::string_view text);
// "https://me:word@host/x?sig=abc" -> "https://host/x?sig=***". Words that are not URLs stay, but for the
// well-known forms of tokens (hf_..., AKIA..., "Bearer ..."), values of flags and variables whose names say that
// they are secret, and what follows "Authorization: Bearer".
std::string redact_text(const std::string& text);
// Redacts a text that is one address; its password may have any characters.
std::string redact_address(const std::string& address);
// The words of a command: "--hub_token abc" -> "--hub_token ***".
OrderedJson redact_command(const OrderedJson& words);

// Redacts every text in a value. Members with the name of a credential (token, hub_token, password,
// secret_key, api-key) become "***". pad_token, eos_token and similar names stay.
OrderedJson redact_secrets(OrderedJson value);

}  // namespace hone
