// Files of the web kept beside the hub's cache, so that a file is loaded once and can be used
// offline:  <cache>/.web/<first 16 digits of the SHA-256 of the URL>/<file name>, with its etag in
// <file name>.etag.
#pragma once

#include <string>

#include "base/store/hub_repository.h"

namespace hone {

// The local path of what an http or https address holds now; offline, or when its server cannot be
// reached, of what it held when it was loaded last. The hub's own addresses get the hub's token.
// Errors H0101 (no such file), H0103, H0107, H0108, H0112.
Result<std::string> cached_url(const std::string& url, const HubOptions& options = {});

}  // namespace hone
