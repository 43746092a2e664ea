// The folders that a command makes before it knows whether it will write into them.
#pragma once

#include <string>
#include <vector>

namespace hone {

// Remembers which of a folder and its parents do not exist yet. When it goes, it removes those of them that exist by
// then and are empty, so that a command that failed leaves no empty folder. Does nothing for URLs, where folders are
// parts of names.
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
