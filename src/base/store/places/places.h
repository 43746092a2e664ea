// The Store for every path that a user can give to hone: plain paths and file:// are files of this machine; gs://,
// s3://, az:// and abfss:// are in object stores; hf:// is on the Hugging Face hub; http:// and https:// are on the
// web. Error H0106 for other schemes. The other errors are those of the store of the path.
//   Places places;
//   FileStoreInstead everywhere(places);   // from here on file_store() and read_file() take URLs
#pragma once

#include "base/store/store.h"

namespace hone {

class Places : public Store {
 public:
  // Plain paths go to `disk`, which must outlive the Places. Also makes read_file() read URLs through file_store().
  explicit Places(Store& disk = file_store());
  ~Places() override;

  Result<Info> info(const std::string& path) override;
  Result<std::unique_ptr<Reader>> open(const std::string& path) override;
  Result<std::vector<Entry>> list(const std::string& folder) override;
  Result<std::unique_ptr<Writer>> create(const std::string& path) override;
  Result<std::unique_ptr<Writer>> create_new(const std::string& path) override;
  Result<std::unique_ptr<Writer>> append(const std::string& path) override;
  // Error H0106 if the two paths are in different stores.
  Status rename(const std::string& from, const std::string& to) override;
  Status copy(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status remove_all(const std::string& path) override;
  Status make_dirs(const std::string& path) override;
  Status remove_unfinished(const std::string& folder) override;
  bool renames_folders_at_once(const std::string& path) override;

 private:
  struct At {
    Store* store;
    std::string path;
  };
  Result<At> at(const std::string& path);

  Store& disk_;
  std::unique_ptr<Store> objects_;
};

}  // namespace hone
