// Files of every kind: all effects of hone on files go through a Store, so tests can inject faults
// (disk.h). Stores: the machine's files, memory, http(s) (read only).
//   Store& files = file_store();
//   std::string text = HONE_TRY(files.read("config.json"));
//   HONE_TRY(files.write("out/config.json", text));   // durable and all or nothing
// Paths use '/'. Several threads may use a Store at once, and one thread a Writer. Errors H0101 to
// H0108 and H0118 name the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"
#include "base/store/disk.h"

namespace hone {

class Reader {
 public:
  virtual ~Reader() = default;
  virtual int64_t bytes() const = 0;
  // Fills `out` from `offset`; H0105 if the file ends before.
  virtual Status read(int64_t offset, std::span<std::byte> out) = 0;
};

class Writer {
 public:
  virtual ~Writer() = default;  // a created file without commit() leaves nothing
  virtual Status write(std::span<const std::byte> bytes) = 0;
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  // Makes all written bytes survive a power loss. (A created file still has no name.)
  virtual Status sync() = 0;
  // create(): the file appears under its name, durable, or the former one stays. append(): syncs
  // and closes.
  virtual Status commit() = 0;
  // Like commit(), but a power loss soon after may remove the file. For copies that can be made
  // again.
  virtual Status publish() { return commit(); }
};

class Store {
 public:
  struct Entry {
    std::string name;
    bool folder = false;
    int64_t bytes = 0;
  };
  struct Info {
    bool exists = false;
    bool folder = false;
    int64_t bytes = 0;
  };
  virtual ~Store() = default;

  virtual Result<Info> info(const std::string& path) = 0;  // a missing path is not an Error
  virtual Result<std::unique_ptr<Reader>> open(const std::string& path) = 0;
  // Sorted by name; temporary files of unfinished writes are left out.
  virtual Result<std::vector<Entry>> list(const std::string& folder) = 0;

  virtual Result<std::unique_ptr<Writer>> create(const std::string& path) = 0;
  // Like create(), but never replaces a file: H0118 from here or from commit(). If the store can,
  // check and commit are one step, so one of two programs wins.
  virtual Result<std::unique_ptr<Writer>> create_new(const std::string& path);
  virtual Result<std::unique_ptr<Writer>> append(const std::string& path) = 0;
  // Atomic and durable; replaces an existing file, or an empty folder, at `to`. (A folder of an
  // object store moves file by file.)
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  // Copies a file, by the store itself if it can; whole or not at all.
  virtual Status copy(const std::string& from, const std::string& to);
  virtual Status remove(const std::string& path) = 0;  // a file or an empty folder
  // Removes a folder and everything in it; links are removed, not followed; a missing path is not
  // an Error. Not atomic: rename the folder first if that matters.
  virtual Status remove_all(const std::string& path) = 0;
  virtual Status make_dirs(const std::string& path) = 0;
  // Removes the remains of killed writers in the folder. Nobody may write there.
  virtual Status remove_unfinished(const std::string& folder) = 0;
  // False if a folder is only a common prefix of names: renaming one at `path` then takes many
  // steps, and each file appears when it is committed.
  virtual bool renames_folders_at_once(const std::string&) { return true; }

  Result<bool> exists(const std::string& path);
  Result<int64_t> bytes(const std::string& path);
  Result<std::string> read(const std::string& path);
  Result<std::string> read(const std::string& path, int64_t offset, int64_t bytes);
  Status write(const std::string& path, std::string_view bytes);
};

// The machine's files; also URLs if base/store/places is below it, as in the program hone.
Store& file_store();
// Asks file_store(); a failure (a missing folder, an unreachable server) counts as no.
bool path_exists(const std::string& path);
bool is_file(const std::string& path);
bool is_folder(const std::string& path);
std::vector<std::string> names_in(const std::string& folder);  // sorted

// While it lives, file_store() is `store`: tests put a faulty disk under everything. Not for
// several threads.
class FileStoreInstead {
 public:
  explicit FileStoreInstead(Store& store);
  ~FileStoreInstead();
  FileStoreInstead(const FileStoreInstead&) = delete;

 private:
  Store* before_;
};
// Files on `disk`, which must outlive the store.
std::unique_ptr<Store> make_file_store(Disk& disk);
// Files in memory, without faults.
std::unique_ptr<Store> make_memory_store();

}  // namespace hone
