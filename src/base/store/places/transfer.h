// Whole files and folders from place to place, by file_store().
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
// Every file below a folder, sorted; a file is one with the path "".
Result<std::vector<TransferFile>> files_below(Store& store, const std::string& folder);

using OnBytes = std::function<void(int64_t bytes)>;  // more bytes are copied

// One file; reading and writing overlap, in two blocks of 32 MiB. Returns its bytes. "-" is standard
// input or output.
Result<int64_t> copy_file(Store& store, const std::string& from, const std::string& to,
                          const OnBytes& on_bytes = {});

struct TransferResult {
  int64_t files = 0, bytes = 0;  // copied
  int64_t same = 0, removed = 0;
};
// Makes `to` hold every file of the folder `from`. Files that are the same already (by their sizes and
// by a checksum, never by a date) are left alone; `remove` deletes what `from` does not have.
Result<TransferResult> sync_folder(Store& store, const std::string& from, const std::string& to,
                                   bool remove, const OnBytes& on_bytes = {});

}  // namespace hone
