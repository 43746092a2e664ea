// Downloads the data files that a user names by URL.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/store/hub_repository.h"

namespace hone {

// True for a URL of data files: http://..., https://..., or hf://datasets/org/name[@revision]/path/to/file.
bool is_data_address(const std::string& text);

// Replaces each URL in `names` by the local paths of its files. Downloads the files that are not in the caches of
// hub_repository.h and web_cache.h. Other names stay unchanged. The path in an hf:// URL may be a glob (patterns.h).
// Errors: H2806 an hf:// URL does not name an existing file; those of the caches.
Result<std::vector<std::string>> fetch_data_files(std::span<const std::string> names,
                                                  const HubOptions& options);

}  // namespace hone
