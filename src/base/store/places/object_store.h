// Object stores (base/store/objects/bucket.h) as a Store. Paths are whole URLs: "gs://bucket/folder/file".
//
// A folder is a common prefix of keys. It appears with its first file and disappears with its last one. Unlike on a
// disk, rename() of a folder moves file by file, and a writer of append() keeps the whole text in memory and writes the
// object again at each sync().
#pragma once

#include "base/store/objects/bucket.h"
#include "base/store/store.h"

namespace hone {

class ObjectStore : public Store {
 public:
  Result<Info> info(const std::string& url) override;
  Result<std::unique_ptr<Reader>> open(const std::string& url) override;
  Result<std::vector<Entry>> list(const std::string& url) override;
  Result<std::unique_ptr<Writer>> create(const std::string& url) override;
  Result<std::unique_ptr<Writer>> create_new(const std::string& url) override;
  Result<std::unique_ptr<Writer>> append(const std::string& url) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status copy(const std::string& from, const std::string& to) override;
  Status remove(const std::string& url) override;
  Status remove_all(const std::string& url) override;
  Status make_dirs(const std::string&) override { return Ok{}; }
  Status remove_unfinished(const std::string&) override { return Ok{}; }
  bool renames_folders_at_once(const std::string&) override { return false; }
};

// All objects of the bucket whose keys begin with `prefix`, sorted by key. ObjectInfo::key is the whole key. Objects
// with keys that are not safe (is_safe_key) are left out; `unsafe` not null: receives them.
Result<std::vector<ObjectInfo>> all_objects(Bucket& bucket, const std::string& prefix,
                                            std::vector<ObjectInfo>* unsafe = nullptr);

}  // namespace hone
