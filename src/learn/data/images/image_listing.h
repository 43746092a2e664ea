// Keeps the listings of folders in a file, so that many runs list the objects of a bucket only once. In this file, the
// number after the name of an image is the size of the image in bytes:
//
//   {"format": "hone listing 1"}
//   {"folder": "gs://b/train", "folders": ["bird", "cat"], "files": []}
//   {"folder": "gs://b/train/bird", "folders": [], "files": [["0001.jpg", 10218], ...]}
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/store/store.h"

namespace hone {

class ImageListing {
 public:
  // Reads the listings from `file`, a path or URL, if it exists. If `file` is "", list() always asks the store, and
  // save() does nothing. Errors: H2964 the file does not have this form; those of the store.
  static Result<ImageListing> open(const std::string& file);

  // The entries of the folder: from the file if it lists this folder, else from the store. May be called by several
  // threads at a time. Errors: those of the store.
  Result<std::vector<Store::Entry>> list(const std::string& folder);
  // Writes the file if list() asked the store. Leaves out folders that contain names that are not UTF-8; each run lists
  // these folders again. Errors: those of the store.
  Status save() const;
  int64_t kept() const { return kept_; }  // number of folders that the file had when it was opened

 private:
  explicit ImageListing(std::string file) : file_(std::move(file)) {}
  Status read();

  std::string file_;
  std::map<std::string, std::vector<Store::Entry>> folders_;
  int64_t kept_ = 0;
  bool changed_ = false;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
};

}  // namespace hone
