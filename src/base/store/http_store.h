// The web as a Store: paths are http and https URLs. It is read-only: calls that write or list fail with H0106. Other
// errors: H0101 if the server has no such file (status 404 or 410), H0105 if a file ends too early, H0108 for another
// status, H0107 and H0109 of HttpClient.
#pragma once

#include "base/store/store.h"

namespace hone {

Store& http_store();

}  // namespace hone
