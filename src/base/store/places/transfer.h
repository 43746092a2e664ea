// Copies files and folders between places, through file_store().
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/store/store.h"

namespace hone {

struct TransferFile {
  std::string path;  // below the folder
  int64_t bytes = 0;
};
// Every file below a folder, sorted; a single file has the path "".
Result<std::vector<TransferFile>> files_below(Store& store, const std::string& folder);

using OnBytes = std::function<void(int64_t bytes)>;  // called when more bytes are copied

// Copies one file and returns its bytes; reading and writing overlap, in two blocks of 32 MiB. "-"
// is standard input or output.
Result<int64_t> copy_file(Store& store, const std::string& from, const std::string& to,
                          const OnBytes& on_bytes = {});

struct TransferResult {
  int64_t files = 0, bytes = 0;  // copied
  int64_t same = 0, removed = 0;
};
// Copies every file of the folder `from` to `to`. Files that are equal already (by size and
// checksum, never by date) are skipped; `remove` deletes files that `from` lacks.
Result<TransferResult> sync_folder(Store& store, const std::string& from, const std::string& to,
                                   bool remove, const OnBytes& on_bytes = {});

}  // namespace hone
