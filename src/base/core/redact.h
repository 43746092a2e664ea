// Replaces secrets (passwords, tokens) by "***" in logs and stored records, because people who must not know the
// secrets read them too.
#pragma once

#include <string>
#include <string_view>

#include "base/core/json.h"

namespace hone {

// Returns true if `name` is the name of a credential: token, hub_token, AWSAccessKeyId, password, api-key. Names of
// text tokens such as pad_token, and names that end in "file", are not names of credentials.
bool names_a_secret(const std::string& name);

// Returns true if the text may have a secret. If false, redact_text() would change nothing. Allocates no memory.
bool may_hold_a_secret(std::string_view text);
// Returns the text with these secrets replaced by "***":
//   - in a URL, user and password (removed) and secret parameters: "https://me:word@host/x?sig=abc" becomes
//     "https://host/x?sig=***"
//   - words in the well-known forms of tokens: "hf_...", "AKIA..."
//   - values of flags, variables and JSON members for which names_a_secret() is true: "--hub_token abc",
//     "HF_TOKEN=abc", "\"password\": \"abc\""
//   - the word after "Authorization: Bearer" or "Authorization: Basic"
std::string redact_text(const std::string& text);
// Redacts a text that is one URL. Unlike in redact_text(), the password may have blanks and quotes.
std::string redact_address(const std::string& address);
// Redacts an array of the words of a command: ["--hub_token", "abc"] becomes ["--hub_token", "***"]. Elements that are
// not strings are left out.
OrderedJson redact_command(const OrderedJson& words);

// Redacts every string in a JSON value with redact_text(). A member whose name is that of a credential
// (names_a_secret()) becomes "***" if it is a string and not empty.
OrderedJson redact_secrets(OrderedJson value);

}  // namespace hone
