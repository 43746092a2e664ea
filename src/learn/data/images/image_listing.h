// The listing of folders in a file, so that the objects of a bucket are listed once for many runs.
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
  // Reads the file, of any store, unless it is absent. "": every folder is listed, nothing is kept. Errors: H2964 a file of
  // another form; those of the store.
  static Result<ImageListing> open(const std::string& file);

  // The entries of the folder: those of the file, else of the store. May be called from several threads.
  Result<std::vector<Store::Entry>> list(const std::string& folder);
  // Writes the file if list() asked the store. Folders with names that are not UTF-8 are left out, and listed each time.
  Status save() const;
  int64_t kept() const { return kept_; }  // folders that came from the file

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
