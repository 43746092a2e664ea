// Removes empty folders that a failed command has made.
#pragma once

#include <string>
#include <vector>

namespace hone {

// The constructor records which of `folder` and its parents do not exist yet. The destructor removes these folders if
// they exist by then and are empty, unless another process has locked them (flock): a training run that starts in a
// folder locks it (learn/train/run_lock.h). Does nothing for a URL: in an object store, a folder is only a part of
// names.
class NewFolders {
 public:
  explicit NewFolders(const std::string& folder);
  ~NewFolders();
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;

 private:
  std::vector<std::string> missing_;  // the innermost first
};

}  // namespace hone
