// Copies files and folders between two paths of one Store. In Places, a Store of disks and object stores together, one
// path may be on a disk and the other in an object store.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/store/store.h"

namespace hone {

struct TransferFile {
  std::string path;  // relative to the folder
  int64_t bytes = 0;
};
// All files below `folder`: in an object store sorted by path, elsewhere folder by folder in the order of names. If
// `folder` is a file, the result is this file with the path "". A bucket may have keys that cannot be paths of files:
// with a part that is empty, "." or "..", or longer than 255 bytes. `not_files` receives them; if it is null, they are
// Error H0106.
Result<std::vector<TransferFile>> files_below(Store& store, const std::string& folder,
                                              std::vector<TransferFile>* not_files = nullptr);
// The Error H0106 with the names of keys that cannot be files.
Error left_out(const std::string& folder, const std::vector<TransferFile>& not_files);

// Returns true if two files are equal by size and checksum. Also returns false if one of them is an object without a
// checksum in its store. Errors: those of both stores.
Result<bool> have_same_bytes(Store& store, const std::string& a, const std::string& b);

using OnBytes = std::function<void(int64_t bytes)>;  // called with the size of each copied block

// Copies one file and returns its size in bytes. Reading and writing overlap, with two blocks of up to 32 MiB in
// memory. "-" is standard input as `from` and standard output as `to`; throws OutputClosed if writing to standard
// output fails. Errors: those of both stores, H0104 if standard input cannot be read.
Result<int64_t> copy_file(Store& store, const std::string& from, const std::string& to,
                          const OnBytes& on_bytes = {});

struct TransferResult {
  int64_t files = 0, bytes = 0;   // the copied files and the sum of their sizes
  int64_t same = 0, removed = 0;  // the files that were equal already, and those that were deleted
  // Objects that were not copied: their keys cannot be paths of files, or on a disk they would be a file and a folder
  // at once ("a" and "a/b").
  std::vector<TransferFile> not_files = {};
};
// Copies all files below the folder `from` to the folder `to`. Errors: those of both stores.
Result<TransferResult> copy_folder(Store& store, const std::string& from, const std::string& to,
                                   const OnBytes& on_bytes = {});
// Makes the folder `to` equal to `from`: copies the files that differ by size or checksum (dates do not count), and
// skips the others. `remove` true: deletes the files of `to` that `from` does not have. Errors: those of both stores.
Result<TransferResult> sync_folder(Store& store, const std::string& from, const std::string& to,
                                   bool remove, const OnBytes& on_bytes = {});

}  // namespace hone
