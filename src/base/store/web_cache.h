// A cache for files of the web, so that a file is downloaded once and is available offline. It is in the hub's cache
// folder (base/store/hub_repository.h):
//   <cache>/.web/<first 16 digits of the SHA-256 of the URL>/<file name>        the file
//   <cache>/.web/<first 16 digits of the SHA-256 of the URL>/<file name>.etag   its HTTP ETag
#pragma once

#include <string>

#include "base/store/hub_repository.h"

namespace hone {

// Returns the local path of an http or https file. Downloads the file if the cache does not have its current version.
// The cached version is used if the options say offline or the server cannot be reached. URLs of the hub are requested
// with the hub's token. Errors: H0101 the server has no such file, H0103 no space is left, H0107 the server cannot be
// reached, H0108 it refuses the request, H0109 the user asked to stop, H0112 offline and not in the cache.
Result<std::string> cached_url(const std::string& url, const HubOptions& options = {});

}  // namespace hone
