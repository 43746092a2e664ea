// Files of the web in a cache beside the hub's, so that a file is downloaded once and works
// offline:  <cache>/.web/<first 16 digits of the SHA-256 of the URL>/<file name>, with its etag in
// <file name>.etag.
#pragma once

#include <string>

#include "base/store/hub_repository.h"

namespace hone {

// The local path of an http or https file in its current version; offline, or if its server cannot
// be reached, in the cached version. The hub's own addresses get the hub's token. Errors H0101 (no
// such file), H0103, H0107, H0108, H0112.
Result<std::string> cached_url(const std::string& url, const HubOptions& options = {});

}  // namespace hone
