// The id of a request. The header X-Request-Id of the answer, the body of an error, and the access log contain it.
#pragma once

#include <string>

#include "operate/http/request.h"

namespace hone {

inline constexpr const char* kRequestId = "x-request-id";

// The value of the request's header X-Request-Id, if it has 1 to 128 letters, digits and "-_.:/+="; else a new random
// id.
std::string request_id_of(const WebHeaders& headers);
// Adds the header X-Request-Id to an answer, and the member "request_id" to the JSON body of an error.
void name_request(const std::string& id, WebAnswer& answer);

}  // namespace hone
