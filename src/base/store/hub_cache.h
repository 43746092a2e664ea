// The cache folder of the Hugging Face hub on this machine: its files, links and locks. hub_repository.h describes the
// layout.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/core/error.h"

namespace hone {

// The part of the cache that belongs to one repository. Errors of all calls: H0101 to H0104 of the file store.
class HubCache {
 public:
  // `root` is the cache folder; `repository` is models/org/name, datasets/name, ...
  HubCache(std::string root, const std::string& repository);

  // The commit that remember() stored for a revision (a branch or tag); nullopt if there is none. A revision that is a
  // full commit is returned unchanged.
  std::optional<std::string> commit_of(const std::string& revision) const;
  Status remember(const std::string& revision, const std::string& commit) const;

  std::string snapshot(const std::string& commit) const;  // the folder with the files of a commit
  std::vector<std::string> files(const std::string& commit) const;  // the cached files, sorted
  // The names of all files of a commit, cached or not, from remember_listing(); nullopt if there is no such list.
  std::optional<std::vector<std::string>> listing(const std::string& commit) const;
  Status remember_listing(const std::string& commit, const std::vector<std::string>& files) const;
  bool has(const std::string& commit, const std::string& file) const;  // the file is cached

  std::string blob(const std::string& etag) const;  // the path of a file's content
  bool has_blob(const std::string& etag) const;
  // Links snapshots/<commit>/<file> to the blob. On a file system without links, moves the blob to this path.
  Status link(const std::string& commit, const std::string& file, const std::string& etag) const;

  // Holds a lock between processes. The destructor releases it.
  class Lock {
   public:
    explicit Lock(int fd) : fd_(fd) {}
    Lock(Lock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    ~Lock();

   private:
    int fd_;
  };
  // Waits for the lock of a blob. On a file system without locks, returns without one.
  Result<Lock> lock(const std::string& etag) const;

 private:
  std::string root_, folder_, locks_;
};

bool is_commit(const std::string& text);  // 40 hexadecimal digits

}  // namespace hone
