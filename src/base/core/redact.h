// Takes secrets out of what is recorded: more people read it than may know them.
#pragma once

#include <string>
#include <string_view>

#include "base/core/json.h"

namespace hone {

// Whether this is the name of a credential: token, hub_token, AWSAccessKeyId; not pad_token.
bool names_a_secret(const std::string& name);

// False: redact_text() would change nothing. Allocates nothing.
bool may_hold_a_secret(std::string_view text);
// "https://me:word@host/x?sig=abc" -> "https://host/x?sig=***". Words that are not URLs stay, but for the
// well-known forms of tokens (hf_..., AKIA..., "Bearer ..."), values of flags and variables whose names say that
// they are secret, and what follows "Authorization: Bearer".
std::string redact_text(const std::string& text);
// All of the text is one address, with any signs in its password.
std::string redact_address(const std::string& address);
// The words of a command: "--hub_token abc" -> "--hub_token ***".
OrderedJson redact_command(const OrderedJson& words);

// The same for every text of a value; members whose names say that they hold a credential (token, hub_token,
// password, secret_key, api-key) become "***". pad_token, eos_token and their kind stay.
OrderedJson redact_secrets(OrderedJson value);

}  // namespace hone
