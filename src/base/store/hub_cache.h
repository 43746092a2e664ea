// The folders and links of the hub's cache (layout: hub_repository.h).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/core/error.h"

namespace hone {

// A repository's place in a cache.
class HubCache {
 public:
  // `repository` is models/org/name, datasets/name, ...
  HubCache(std::string root, const std::string& repository);

  // The last known commit of a revision; a full commit means itself.
  std::optional<std::string> commit_of(const std::string& revision) const;
  Status remember(const std::string& revision, const std::string& commit) const;

  std::string snapshot(const std::string& commit) const;
  std::vector<std::string> files(const std::string& commit) const;  // cached ones
  // The names of all files of a commit, if the hub was ever asked.
  std::optional<std::vector<std::string>> listing(const std::string& commit) const;
  Status remember_listing(const std::string& commit, const std::vector<std::string>& files) const;
  bool has(const std::string& commit, const std::string& file) const;

  std::string blob(const std::string& etag) const;
  bool has_blob(const std::string& etag) const;
  // Links snapshots/<commit>/<file> to the blob.
  Status link(const std::string& commit, const std::string& file, const std::string& etag) const;

  // A lock between processes: the constructor waits, the destructor releases.
  class Lock {
   public:
    explicit Lock(int fd) : fd_(fd) {}
    Lock(Lock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    ~Lock();

   private:
    int fd_;
  };
  Result<Lock> lock(const std::string& etag) const;

 private:
  std::string root_, folder_, locks_;
};

bool is_commit(const std::string& text);  // 40 hexadecimal digits

}  // namespace hone
