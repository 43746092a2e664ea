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
// Every file below a folder, sorted; a single file has the path "". Buckets hold keys that cannot be
// paths of files: with a part that is empty, "." or "..", or of more than 255 bytes. `not_files`
// receives them; null: they are an error, H0106.
Result<std::vector<TransferFile>> files_below(Store& store, const std::string& folder,
                                              std::vector<TransferFile>* not_files = nullptr);
// H0106 that names keys which were left out.
Error left_out(const std::string& folder, const std::vector<TransferFile>& not_files);

// Whether two files are equal by size and checksum. False if a store knows no checksum of an object.
// Errors: those of both stores.
Result<bool> have_same_bytes(Store& store, const std::string& a, const std::string& b);

using OnBytes = std::function<void(int64_t bytes)>;  // called when more bytes are copied

// Copies one file and returns its bytes; reading and writing overlap, in two blocks of 32 MiB. "-"
// is standard input or output (throws OutputClosed if nobody reads it). Errors: those of both stores, H0104.
Result<int64_t> copy_file(Store& store, const std::string& from, const std::string& to,
                          const OnBytes& on_bytes = {});

struct TransferResult {
  int64_t files = 0, bytes = 0;  // copied
  int64_t same = 0, removed = 0;
  // Not copied: keys that cannot be files, and on a disk those that are folders of others too.
  std::vector<TransferFile> not_files = {};
};
// Copies every file of the folder `from` to `to`.
Result<TransferResult> copy_folder(Store& store, const std::string& from, const std::string& to,
                                   const OnBytes& on_bytes = {});
// Copies every file of the folder `from` to `to`. Files that are equal already (by size and
// checksum, never by date) are skipped; `remove` deletes files that `from` lacks.
Result<TransferResult> sync_folder(Store& store, const std::string& from, const std::string& to,
                                   bool remove, const OnBytes& on_bytes = {});

}  // namespace hone
