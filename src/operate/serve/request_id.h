// The id of a request: in the header X-Request-Id of its answer, in the body of an error, in the access log.
#pragma once

#include <string>

#include "operate/http/request.h"

namespace hone {

inline constexpr const char* kRequestId = "x-request-id";

// The client's own, if it has 1 to 128 letters, digits and "-_.:/+="; else a new one.
std::string request_id_of(const WebHeaders& headers);
// Adds the header, and "request_id" to the JSON of an error.
void name_request(const std::string& id, WebAnswer& answer);

}  // namespace hone
