// Data files by address, brought to this machine.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/store/hub_repository.h"

namespace hone {

// http://..., https://..., hf://datasets/org/name[@revision]/path/in/it: the address of files.
bool is_data_address(const std::string& text);

// Replaces each address by the local paths of its files, through the caches of hub_repository.h and
// web_cache.h; all else stays as it is. The path of an hf:// address may be a glob (patterns.h).
// Errors: H2806, those of the caches.
Result<std::vector<std::string>> fetch_data_files(std::span<const std::string> names,
                                                  const HubOptions& options);

}  // namespace hone
